"""Open something once, at the first await, however many ask at the same time; and say no on the wrong loop.

What is opened belongs to one event loop of one process: after a fork, on another loop, or after close it is refused.
To open a database may migrate it, so a caller that only reads has it checked first.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from windlass.answers import seen
from windlass.errors import SCHEMA_BEHIND, NotAllowed, StoreRefused

T = TypeVar("T")

CLOSED = 'This App is closed. Make another one, or do the work inside its "async with".'
FORKED = "This App was opened before the process forked. Open it after the fork."


class Opening(Generic[T]):
    def __init__(
        self,
        open: Callable[[], Awaitable[T]],
        close: Callable[[T], Awaitable[None]],
        *,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`check` raises StoreRefused where `open` would migrate."""
        self._open, self._close, self._check = open, close, check
        self._task: asyncio.Task[T] | None = None
        self._is_checked = False  # the task checks before it opens
        self._owner: tuple[int, asyncio.AbstractEventLoop] | None = None  # process and loop that opened it
        self.is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether some loop holds it, or is about to."""
        return self._owner is not None

    async def get(self) -> T:
        """What was opened. Raises NotAllowed after close, after a fork and on another loop, or what opening raises."""
        while True:
            task = self._begun(checks=False)
            if task.done():
                return task.result()
            was_checked = self._is_checked
            try:
                return await asyncio.shield(task)
            except StoreRefused:
                if not was_checked:
                    raise
                # It was opened for a caller that only reads, and this one may migrate.

    async def look(self) -> T:
        """The same for a caller that only reads. Raises StoreRefused too if to open it would migrate it."""
        task = self._begun(checks=True)
        return task.result() if task.done() else await asyncio.shield(task)

    async def enter(self) -> None:
        """Open it now; one that has to be migrated is opened by the first call that changes something."""
        try:
            await self.look()
        except StoreRefused as refused:
            if refused.reason != SCHEMA_BEHIND:
                raise

    def _begun(self, *, checks: bool) -> asyncio.Task[T]:
        if self.is_closed:
            raise NotAllowed(CLOSED)
        self.check_owner()
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._owner, self._is_checked = (os.getpid(), loop), checks
            # A task of its own and shielded: the first caller may be cancelled while the others still want it.
            self._task = loop.create_task(self._opened(checks=checks), context=contextvars.Context())
            self._task.add_done_callback(seen)  # every caller may have been cancelled
        return self._task

    def opened(self) -> T:
        """What is open. Raises NotAllowed if nothing is."""
        if self._task is None or not self._task.done():
            raise NotAllowed("This App is not open.")
        return self._task.result()

    async def release(self) -> None:
        """Close what is open. It may be opened again, also on another loop."""
        task, self._task, self._owner = self._task, None, None
        if task is None:
            return
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            await self._close(task.result())

    def check_owner(self) -> None:
        """Refuse the wrong process and the wrong loop; nothing to refuse while it is not open."""
        if self._owner is None:
            return
        process, loop = self._owner
        if process != os.getpid():
            raise NotAllowed(FORKED)
        if loop is not asyncio.get_running_loop():
            what = "that is over" if loop.is_closed() else "that still runs"
            raise NotAllowed(
                f'This App is open on another event loop {what}. Close it there ("async with app:"), '
                "or make one App per loop."
            )

    def check_free(self, verb: str, instead: str) -> None:
        """Refuse a call that starts a loop: where one runs, while another one holds this, and after close."""
        if self.is_closed:
            raise NotAllowed(f"This App is closed, so {verb} is not possible. Make another one.")
        if has_loop():
            raise NotAllowed(
                f"{verb} starts an event loop and one is already running (Jupyter, FastAPI?). Use: {instead}."
            )
        if self.is_open:
            raise NotAllowed(f"This App is open on another event loop, so {verb} cannot start its own. Use: {instead}.")

    async def _opened(self, *, checks: bool) -> T:
        try:
            if checks and self._check is not None:
                await self._check()
            return await self._open()
        except BaseException:
            self._task = self._owner = None  # the next caller may try again
            raise


def has_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
