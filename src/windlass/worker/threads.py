"""Where sync steps run: threads that never keep the process alive.

The standard pool joins its threads at exit, so one step that hangs would hang Ctrl-C; these are daemon threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from windlass.model.time import SECOND
from windlass.runtime import Clock

Job = tuple[Callable[[], Any], asyncio.Future[Any], contextvars.Context]
LOGGER = logging.getLogger("windlass.worker")
IDLE_FOR = 30.0  # seconds a thread waits for another job before it ends
NO_THREAD_FOR = SECOND  # until a thread that could not be started is tried again


class Threads:
    """A thread for each job, up to a limit; idle ones are used again. Whoever finds no room is told when there is."""

    def __init__(self, limit: int, *, clock: Clock) -> None:
        self._limit, self._busy, self._clock = limit, 0, clock
        self._waiting: list[Callable[[], None]] = []
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def has_room(self, tell: Callable[[], None]) -> bool:
        """Can a job begin at once? If not, `tell` is called when it may be so. Only on the thread of the loop."""
        if self._busy >= self._limit:
            if tell not in self._waiting:
                self._waiting.append(tell)
            return False
        try:
            self._have_idle_thread()
        except RuntimeError as error:  # the system gives no more threads just now
            LOGGER.warning("A sync step waits: %s.", error)
            self._clock.call_later(NO_THREAD_FOR, tell)
            return False
        return True

    def reserve(self) -> None:
        """Keep room for a job that begins in a moment, as there is by now: see `has_room`."""
        self._busy += 1

    def give_up(self) -> None:
        """The job that room was kept for does not begin."""
        self._busy -= 1
        self._tell()

    def submit(
        self, call: Callable[[], Any], *, context: contextvars.Context, is_reserved: bool = False
    ) -> asyncio.Future[Any]:
        """Run the call in a thread. Cancelling the future does not stop the thread: nothing can."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._have_idle_thread()
        with self._lock:
            self._idle -= 1  # this job is for one of them
        self._busy += not is_reserved
        self._jobs.put((call, future, context))
        return future

    def _have_idle_thread(self) -> None:
        with self._lock:
            if self._idle == 0:
                threading.Thread(target=self._work, name="windlass-step", daemon=True).start()
                self._idle = 1

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

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell()

    def _answer(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        def settle() -> None:
            self.give_up()
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
