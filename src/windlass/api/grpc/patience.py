"""Those who wait for an answer: sent away when the server leaves, or when their key is not good any more.

One look at a key every two seconds, however many wait with it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from windlass.answers import seen
from windlass.api.admission import Admission, Caller
from windlass.api.grpc.errors import LEAVING
from windlass.errors import Busy, NotAuthenticated, Unavailable, WindlassError
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock, Timer

NO_MORE = "The key of this call is not accepted any more, or not in this namespace."
MOST_STREAMS = 100  # of one key at one server
RECHECK_FOR = Duration(2 * SECOND)
LAST_CHANCE_FOR = Duration(SECOND // 2)  # to read what was sent, and why there is no more
REAL_CLOCK = SystemClock()  # a matter of real time, also under a test's clock
T = TypeVar("T")
Cut = asyncio.Future[WindlassError]  # with why somebody is sent away


class Patience:
    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._waiting: dict[tuple[str, str, str], dict[Cut, Caller]] = {}  # by key, operation and namespace
        self._is_leaving = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep_looking(), context=contextvars.Context())

    def end(self) -> None:
        """Send everybody away, and whoever comes from now on."""
        self._is_leaving = True
        if self._task is not None:
            self._task.cancel()
        for group in self._waiting.values():
            _send_away(group, _leaving())

    @contextmanager
    def waiting(self, caller: Caller) -> Iterator[Cut]:
        """What is yielded is done, with the reason, when the caller has to go."""
        cut: Cut = asyncio.get_running_loop().create_future()
        if self._is_leaving:
            cut.set_result(_leaving())
        group = self._waiting.setdefault((caller.key, caller.operation, caller.namespace), {})
        group[cut] = caller
        try:
            yield cut
        finally:
            group.pop(cut, None)
            if not group:
                self._waiting.pop((caller.key, caller.operation, caller.namespace), None)

    async def patiently(self, work: Awaitable[T], caller: Caller) -> T:
        """Something that waits, cut short when this server leaves or the caller is not welcome any more."""
        task = asyncio.ensure_future(work)
        task.add_done_callback(seen)  # the caller may go in the very moment in which it ends
        with self.waiting(caller) as cut:
            try:
                either: set[asyncio.Future[Any]] = {task, cut}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    return task.result()
                raise cut.result()
            finally:
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task})

    @contextmanager
    def sending(self, caller: Caller) -> Iterator[None]:
        """While the caller is sent something: whoever does not read it, and has to go, is cut off in the middle."""
        task = asyncio.current_task()
        assert task is not None
        timer: Timer | None = None
        is_sent = False

        def cut_off(_: Cut) -> None:
            nonlocal timer
            if not is_sent:
                timer = REAL_CLOCK.call_later(LAST_CHANCE_FOR, task.cancel)

        with self.waiting(caller) as cut:
            cut.add_done_callback(cut_off)
            try:
                yield
            finally:
                is_sent = True
                if timer is not None:
                    timer.cancel()

    async def _keep_looking(self) -> None:
        while True:
            await REAL_CLOCK.sleep(RECHECK_FOR)
            for group in tuple(self._waiting.values()):
                caller = next(iter(group.values()), None)
                if caller is not None and (why := await self._why_not(caller)) is not None:
                    _send_away(group, why)

    async def _why_not(self, caller: Caller) -> WindlassError | None:
        try:
            is_welcome = await self._admission.still_admitted(caller)
        except Unavailable as error:
            return error
        return None if is_welcome else NotAuthenticated(NO_MORE)


class Followers:
    """How many streams are open with each key: one that takes them all would slow down everybody else."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, key: str) -> Iterator[None]:
        if self._open[key] >= MOST_STREAMS:
            raise Busy(f"This key has {MOST_STREAMS} streams open at this server already: close one first.")
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


def _leaving() -> Unavailable:
    return Unavailable(LEAVING)


def _send_away(group: dict[Cut, Caller], why: WindlassError) -> None:
    for cut in tuple(group):
        if not cut.done():
            cut.set_result(why)
