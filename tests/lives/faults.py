"""Where a process may die, and how a test makes it die there.

    Faults()                    notes the hook points of a story: before begin, before commit, after commit
    Faults(crash_at=point)      at that one the store plays dead: no commit, no clean-up, no answer, now or later

A crash of this kind runs none of our own code: what was claimed stays claimed, what was promised stays unpromised.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from windlass.engine.engine import Engine


class Moment(StrEnum):
    BEFORE_BEGIN = "before begin"
    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"


class Point(NamedTuple):
    """One place where a process may die. Named, not numbered: on several connections places change their order."""

    transaction: str
    moment: Moment
    time: int  # from 1: the how manieth time this moment of this transaction is reached

    def __str__(self) -> str:
        return f"{self.moment} of {self.transaction} {self.time}"


class Killable(Protocol):
    def kill(self) -> None: ...


class Faults:
    """Hooks that note every point and, at the one asked for, kill the store they are armed with.

    Points are counted from `arm` on. `on_crash` is called at the moment of death, on whichever thread it happens,
    before the store goes down: it is for what stands outside the process that dies, such as the test itself.
    """

    def __init__(self, *, crash_at: Point | None = None, on_crash: Callable[[Point], None] | None = None) -> None:
        self.points: list[Point] = []
        self.crashed: Point | None = None
        self._crash_at, self._on_crash = crash_at, on_crash
        self._store: Killable | None = None
        self._times: Counter[tuple[str, Moment]] = Counter()
        self._lock = threading.Lock()  # SQLite calls from its writer thread

    def arm(self, store: Killable) -> None:
        self._store = store

    def before_begin(self, name: str) -> None:
        self._reach(name, Moment.BEFORE_BEGIN)

    def before_commit(self, name: str) -> None:
        self._reach(name, Moment.BEFORE_COMMIT)

    def after_commit(self, name: str) -> None:
        self._reach(name, Moment.AFTER_COMMIT)

    def _reach(self, name: str, moment: Moment) -> None:
        store = self._store
        if store is None:
            return
        with self._lock:
            if self.crashed is not None:  # the dead reach nothing
                return
            self._times[name, moment] += 1
            point = Point(name, moment, self._times[name, moment])
            self.points.append(point)
            if point != self._crash_at:
                return
            self.crashed = point
        if self._on_crash is not None:
            self._on_crash(point)
        store.kill()


class Traffic:
    """How many calls of a store are not answered yet: with none, and an idle loop, nothing can happen any more."""

    def __init__(self, store: Any) -> None:
        self.in_flight = 0
        for part, names in ((store, ("run_tx", "read")), (store.locks, ("take", "seize", "release"))):
            for name in names:
                setattr(part, name, self._counted(getattr(part, name)))

    def _counted(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*args: Any, **options: Any) -> Any:
            self.in_flight += 1
            try:
                return await call(*args, **options)
            finally:
                self.in_flight -= 1

        return counted


def suppress_wakeups(engine: Engine) -> None:
    """Lose every hint from now on: all work must still be done, if later."""
    engine.parts.hub.is_suppressed = True


async def hear_no_others(engine: Engine) -> None:
    """Stop listening to other processes. Their hints arrive in real time, and a test that counts steps wants none."""
    hub = engine.parts.hub
    await hub.close()
    hub._elsewhere = None
