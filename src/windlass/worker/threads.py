"""Where sync steps run: threads that never keep the process alive.

The standard pool joins its threads at exit, so one step that hangs would hang Ctrl-C; these are daemon threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

Job = tuple[Callable[[], Any], asyncio.Future[Any], contextvars.Context]
IDLE_FOR = 30.0  # seconds a thread waits for another job before it ends


class Threads:
    """A thread for each job, up to a limit; idle ones are used again. Whoever finds no room is told when there is."""

    def __init__(self, limit: int = 1_000) -> None:
        self._limit, self._busy = limit, 0
        self._waiting: list[Callable[[], None]] = []
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def has_room(self, tell: Callable[[], None]) -> bool:
        """Can a job begin at once? If not, `tell` is called when one has ended. Only on the thread of the loop."""
        if self._busy < self._limit:
            return True
        if tell not in self._waiting:
            self._waiting.append(tell)
        return False

    def submit(self, call: Callable[[], Any], *, context: contextvars.Context) -> asyncio.Future[Any]:
        """Run the call in a thread. Cancelling the future does not stop the thread: nothing can."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._busy += 1
        with self._lock:
            needs_thread = self._idle == 0
            if not needs_thread:
                self._idle -= 1
        self._jobs.put((call, future, context))
        if needs_thread:
            threading.Thread(target=self._work, name="windlass-step", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            try:
                call, future, context = self._jobs.get(timeout=IDLE_FOR)
            except queue.Empty:
                with self._lock:
                    if self._idle == 0:  # a job was promised to this thread just now
                        continue
                    self._idle -= 1
                    return
            try:
                value, error = context.run(call), None
            except BaseException as raised:
                value, error = None, raised
            with self._lock:
                self._idle += 1
            self._answer(future, value, error)
            del call, future, context, value, error

    def _answer(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        def settle() -> None:
            self._busy -= 1
            waiting, self._waiting = self._waiting, []
            for tell in waiting:
                tell()
            if future.cancelled():
                return
            if error is None:
                future.set_result(value)
            elif isinstance(error, StopIteration):
                future.set_exception(RuntimeError("The step raised StopIteration."))  # a future cannot carry one
            else:
                future.set_exception(error)

        try:
            future.get_loop().call_soon_threadsafe(settle)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more
