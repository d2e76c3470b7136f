"""Who talks to SQLite: one thread per store, one whole transaction per hop.

event loop                         writer thread
submit(work) ──── SimpleQueue ───► work()            one hand-over in,
future       ◄── call_soon_threadsafe ── result      one out, per transaction
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Killed(BaseException):
    """The store plays dead: the work in hand is dropped and nobody is told."""


class WriterThread:
    """Runs pieces of work one after the other. What waits when it is killed never gets an answer."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any], asyncio.AbstractEventLoop] | None]
        self._queue = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue work; the answer comes on the loop that asks."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put((work, future, loop))
        return future

    def stop(self) -> None:
        """End after what is queued."""
        self._queue.put(None)

    def join(self, *, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            work, future, loop = item
            result, error = None, None
            try:
                result = work()
            except Killed:
                return
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop that asked is closed: nobody is left to tell
                loop.call_soon_threadsafe(_answer, future, result, error)
            # Else the last result would stay alive until the next piece of work comes.
            del item, work, future, loop, result, error


def _answer(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # the caller was cancelled; the transaction is committed all the same
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
