"""A way from blocking code to an event loop: one thread that has one, begun at the first call.

    caller's thread                  "windlass-sync"
    call(work) ── threadsafe ──────► await work()
    result     ◄── future ───────────

The loop ends with `close`, or at the end of the process.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from windlass.client.opening import CLOSED, FORKED, has_loop
from windlass.errors import NotAllowed, WindlassError

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


class Portal:
    """Runs coroutines for any number of threads at once. `last` is awaited before the loop ends."""

    def __init__(self, last: Work[None]) -> None:
        self._last = last
        self._lock, self._closing = threading.Lock(), threading.Lock()
        self._process = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self.is_closed = False

    def call(self, work: Work[T], *, verb: str, instead: str) -> T:
        """What `work()` answers or raises. Raises NotAllowed on a thread whose own loop this would hold up."""
        _refuse_in_a_loop(verb, instead)
        future = self._submit(work)
        try:
            return future.result()
        except CancelledError:
            raise NotAllowed(f"app.sync was closed while {verb} waited. What it asked for may have happened.") from None
        finally:
            future.cancel()  # of an interrupted caller; else it is done

    def close(self) -> None:
        """End the loop, once what is open on it is closed. A forked process leaves it alone: it is its parent's."""
        if self._thread is None or self._process != os.getpid():
            return
        verb, instead = "app.sync.close()", "await asyncio.to_thread(app.sync.close)"
        _refuse_in_a_loop(verb, instead)
        with self._closing:
            if not self.is_closed:
                try:
                    self.call(self._last, verb=verb, instead=instead)
                finally:
                    self._end(self._thread)

    def _end(self, thread: threading.Thread) -> None:
        with self._lock:
            self.is_closed = True
            if self._loop is not None and self._stopped is not None:
                self._loop.call_soon_threadsafe(self._stopped.set)
        thread.join()
        atexit.unregister(self._close_at_exit)

    def _submit(self, work: Work[T]) -> Future[T]:
        if self._process not in (0, os.getpid()):
            raise NotAllowed(FORKED)
        with self._lock:
            if self.is_closed:
                raise NotAllowed(CLOSED)
            if self._loop is None:
                self._loop = self._begin()
            return asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)

    def _begin(self) -> asyncio.AbstractEventLoop:
        begun: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon, because Python waits for other threads before it asks anybody to close.
        self._thread = threading.Thread(target=self._serve, args=(begun,), name="windlass-sync", daemon=True)
        self._process = os.getpid()
        self._thread.start()
        loop = begun.result()
        atexit.register(self._close_at_exit)
        return loop

    def _serve(self, begun: Future[asyncio.AbstractEventLoop]) -> None:
        async def serve() -> None:
            self._stopped = asyncio.Event()
            begun.set_result(asyncio.get_running_loop())
            await self._stopped.wait()

        asyncio.run(serve())  # cancels what is left on the loop

    def _close_at_exit(self) -> None:
        with suppress(WindlassError):  # nobody is left to be told
            self.close()


def _refuse_in_a_loop(verb: str, instead: str) -> None:
    if has_loop():
        raise NotAllowed(f"{verb} blocks, and an event loop runs here (Jupyter, FastAPI?). Use: {instead}.")


async def _awaited(work: Work[T]) -> T:
    """Called on the loop, so that what it refuses is refused the same way as what it finds later."""
    return await work()
