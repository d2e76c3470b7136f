"""A worker that was asked to leave: it goes by itself, once, and whoever owns it may wait for that."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

LOGGER = logging.getLogger("windlass.worker")


class Drain:
    def __init__(self) -> None:
        self.is_over = asyncio.Event()  # the worker was asked to leave, and has gone
        self._task: asyncio.Task[None] | None = None

    def begin(self, leave: Callable[[], Awaitable[None]], *, context: contextvars.Context) -> None:
        self._task = asyncio.get_running_loop().create_task(self._go(leave), context=context)

    async def joined(self) -> bool:
        """False: it was not asked to leave. Else wait until it has gone; cancelled ourselves, its grace is over too."""
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
            LOGGER.exception("A worker that was asked to leave did not leave in order")
        finally:
            self.is_over.set()
