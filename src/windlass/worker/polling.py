"""Ask for claims of one kind, again and again: runs and pipelines are asked for at once, and share a worker's slots.

plenty of slots         each asks for its own part, and waits
fewer                   each asks for all of them: in turns without waiting, and then both wait
                        what one is given the other asks for no more; what both are given at once is given back
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from windlass.errors import NotFound, WindlassError
from windlass.model.run import WorkerId
from windlass.model.time import MILLISECOND, SECOND, Duration
from windlass.runtime import Clock
from windlass.worker.host import Host

LOGGER = logging.getLogger("windlass.worker")

FIRST_PAUSE, LONGEST_PAUSE = 100 * MILLISECOND, 5 * SECOND  # between tries while the store does not answer
NO_WAIT = Duration(0)
GIVE_WAY_FOR = Duration(10 * MILLISECOND)  # to the other kind, by one that has found nothing
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Slots:
    """What both kinds have to know of each other."""

    free: Callable[[], int]
    are_short: Callable[[], bool]  # is there less than both would ask for?
    pace: Clock
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    behind: int = 0  # how many wait for their turn
    pollings: list[Polling[Any]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Polling(Generic[T]):
    what: str  # as the log calls it
    host: Host
    id: WorkerId
    slots: Slots
    wait_for: Duration
    ready: Callable[[], Awaitable[None]]  # wait until there is something to ask for, and a slot
    wanted: Callable[[], int]  # how many of the free slots it would fill
    claim: Callable[[int, Duration], Coroutine[Any, Any, list[T]]]  # as many at most, and how long to wait for them
    begin: Callable[[list[T]], None]
    give_back: Callable[[T], Awaitable[None]]
    come_back: Callable[[], Awaitable[None]]  # called when a server does not know this worker any more
    spawn: Callable[[Any], None]
    claiming: asyncio.Task[list[T]] | None = None
    _limit: int = 0  # of what is on its way
    _is_anew: bool = False

    def __post_init__(self) -> None:
        self.slots.pollings.append(self)

    def ask_anew(self) -> None:
        """What is asked for has changed."""
        self._is_anew = True
        if self.claiming is not None:
            self.claiming.cancel()

    async def run(self) -> None:
        pause: int = FIRST_PAUSE
        while True:
            self.claiming = None
            try:
                await self.ready()
                await self._ask_in_turn()
            except asyncio.CancelledError:
                self._give_unstarted_back()
                if _is_cancelled() or not self._is_anew:
                    raise
                continue
            except Exception as error:  # the store does not answer, or we have a bug: either way, go on
                if self.host.lose_store(error):
                    return
                is_bug = not isinstance(error, WindlassError)
                LOGGER.warning("Worker %s cannot claim %s: %s", self.id, self.what, error, exc_info=is_bug)
                if isinstance(error, NotFound):  # a server does not know it any more: it was silent for too long
                    await self.come_back()
                await self.host.clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE

    async def _ask_in_turn(self) -> None:
        slots = self.slots
        if slots.are_short():
            slots.behind += 1
            try:
                await slots.turn.acquire()
            finally:
                slots.behind -= 1
            try:
                is_given = await self._ask(NO_WAIT)
            finally:
                slots.turn.release()
            if is_given:
                await asyncio.sleep(0)  # whoever was behind is the first to wait for the next slot
                return
            if slots.behind:  # who has something to do is not to wait for the next look, too
                await slots.pace.sleep(GIVE_WAY_FOR)
                return
        await self._ask(self.wait_for)

    async def _ask(self, wait_for: Duration) -> bool:
        self._limit = min(self.wanted(), self.slots.free())
        if self._limit <= 0:
            return False  # others have them by now
        self._is_anew = False
        loop = asyncio.get_running_loop()
        self.claiming = loop.create_task(self.claim(self._limit, wait_for), context=self.host.context)
        claimed = await self.claiming
        self.claiming = None
        free = max(0, self.slots.free())
        for item in claimed[free:]:
            self.spawn(self.give_back(item))
        self.begin(claimed[:free])
        for polling in self.slots.pollings:
            polling._keep_within(self.slots.free())
        return bool(claimed)

    def _keep_within(self, free: int) -> None:
        if self.claiming is not None and self._limit > free:
            self.ask_anew()

    def _give_unstarted_back(self) -> None:
        """A claim may have come in just as the poll was cancelled; nobody else knows of it."""
        claiming = self.claiming
        if claiming is not None and claiming.done() and not claiming.cancelled() and claiming.exception() is None:
            for item in claiming.result():
                self.spawn(self.give_back(item))


def _is_cancelled() -> bool:
    """Was this very task cancelled, and not only the claim it awaits?"""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
