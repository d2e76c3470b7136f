"""A worker that leaves by itself, once: it was asked to, or its database is gone. Its owner may wait for that."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

from windlass.errors import FILE_GONE, StoreRefused

LOGGER = logging.getLogger("windlass.worker")


class Drain:
    def __init__(self) -> None:
        self.is_over = asyncio.Event()  # the worker has gone
        self.is_lost = asyncio.Event()  # its database is gone
        self.error: StoreRefused | None = None  # and this is what its owner raises then
        self._task: asyncio.Task[None] | None = None

    def notice(self, error: Exception) -> bool:
        """Is this the first word of a database that is gone?"""
        if self.error is not None or not isinstance(error, StoreRefused) or error.reason != FILE_GONE:
            return False
        self.error = error
        self.is_lost.set()
        return True

    def begin(self, leave: Callable[[], Awaitable[None]], *, context: contextvars.Context) -> None:
        self._task = asyncio.get_running_loop().create_task(self._go(leave), context=context)

    async def joined(self) -> bool:
        """False: it does not leave by itself. Else wait until it is gone; cancelled ourselves, its grace is over."""
        if self._task is None:
            return False
        try:
            await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait([self._task])
            raise
        return True

    async def _go(self, leave: Callable[[], Awaitable[None]]) -> None:
        try:
            await leave()
        except Exception:  # a bug of ours must not leave anybody waiting
            LOGGER.exception("A worker that leaves by itself did not leave in order")
        finally:
            self.is_over.set()
