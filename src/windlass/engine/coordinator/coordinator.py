"""The background part of a server, or of an app that executes runs: one loop whose duties are a list.

Any number of coordinators work side by side without a leader: what must happen once is unique in the database. Nothing
here wakes sleepers, recovers runs or retries steps: a claim does that.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from windlass.engine.coordinator import expire_runs, expire_workers, fire_schedules
from windlass.engine.coordinator.fire_schedules import Looked
from windlass.engine.coordinator.mend_graphs import MendGraphs
from windlass.engine.coordinator.prune import Prune
from windlass.engine.parts import Parts
from windlass.errors import WindlassError
from windlass.model.time import SECOND, Duration, Instant
from windlass.notify.local import Subscription, schedules_topic
from windlass.store.base import Tx

LOGGER = logging.getLogger("windlass.coordinator")


class CoordinatorSettings(Struct, frozen=True, kw_only=True):
    interval_for: Duration = Duration(5 * SECOND)  # the longest between two looks
    batch: int = 100  # the most that one pass of a duty takes
    stale_for: Duration = Duration(30 * SECOND)  # a worker silent for longer counts as gone
    keep_for: Duration | None = None  # ended runs are kept for ever unless this is set, or their workflow says so


class Done(Struct, frozen=True):
    """What one pass of a duty has come to."""

    count: int = 0
    is_more: bool = False  # there is more to do at once


class Duty(Struct, frozen=True):
    name: str
    tick: Callable[[], Awaitable[Done]]


class Coordinator:
    def __init__(self, parts: Parts, settings: CoordinatorSettings) -> None:
        self._parts, self._settings = parts, settings
        self._prune = Prune(parts, keep_for=settings.keep_for, batch=settings.batch)
        self._mend = MendGraphs(parts, batch=settings.batch)
        self._fired: Looked | None = None  # the last look at schedules; none: it failed
        self._looked_at: int | None = None  # when workers were looked at last
        self._awake_since = 0  # it was away before that, or not there
        self._task: asyncio.Task[None] | None = None

    @property
    def duties(self) -> Sequence[Duty]:
        return (
            Duty("fire_schedules", self._fire_schedules),
            Duty("expire_workers", self._expire_workers),
            Duty("expire_runs", self._expire_runs),
            Duty("mend_graphs", self._mend_graphs),
            Duty("prune", self._prune_ended),
        )

    def start(self) -> None:
        """Look after the database until `stop`."""
        # In an empty context: it is no part of any run.
        self._task = asyncio.get_running_loop().create_task(self._keep_going(), context=contextvars.Context())

    async def stop(self) -> None:
        task, self._task = self._task, None  # before the wait: it may be started again meanwhile
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def tick(self) -> bool:
        """Do every duty once; one that fails is said so and does not keep the others. True: there is more to do."""
        is_more = False
        for duty in self.duties:
            begun_at = self._parts.clock.monotonic()
            done, has_failed = Done(), False
            try:
                done = await duty.tick()
            except WindlassError as error:
                has_failed = True
                LOGGER.warning("%s: %s", duty.name, error, extra={"duty": duty.name})
            except Exception:  # a bug of ours must not end the others
                has_failed = True
                LOGGER.exception("%s failed", duty.name, extra={"duty": duty.name})
            is_more = is_more or done.is_more
            if self._parts.observer is not None:
                seconds = (self._parts.clock.monotonic() - begun_at) / SECOND
                self._parts.observer.duty(duty.name, seconds=seconds, count=done.count, failed=has_failed)
        return is_more

    async def _keep_going(self) -> None:
        with self._parts.hub.subscribe(schedules_topic()) as subscription:
            while True:
                subscription.clear()
                if await self.tick():
                    await asyncio.sleep(0)
                else:
                    await self._rest(subscription)

    async def _rest(self, subscription: Subscription) -> None:
        """Until the next slot, or the interval, or until one is due that the round has not left."""
        clock = self._parts.clock
        rested_at = clock.monotonic() + self._settings.interval_for
        pause, due = await self._look_ahead()
        left = due if self._fired is None else self._fired.left  # a round that failed has left whatever is due
        while (due is None or due == left) and (rest := min(pause, rested_at - clock.monotonic())) > 0:
            until = clock.monotonic() + rest
            await subscription.wait(clock, rest)
            if subscription.is_named or clock.monotonic() >= until:
                return
            # Somebody has committed something, as others do all the time: only a schedule would matter before the time.
            subscription.clear()
            pause, due = await self._look_ahead()
        await asyncio.sleep(0)

    async def _look_ahead(self) -> tuple[int, Instant | None]:
        """Until the next slot, or the interval, whichever is first; and since when one is due that is so still."""
        looked_at = self._parts.clock.monotonic()  # before the look: time may pass until its answer is here

        async def look(tx: Tx) -> tuple[Instant | None, Instant | None, Instant]:
            now = await tx.now()
            # What became due since they were looked at is due now. What was due before that was left, or was made so
            # by others since: `due` tells which, and is not to be waited for here.
            fired_at = now if self._fired is None else min(now, self._fired.at)
            return await tx.schedules.next(after=fired_at), await tx.schedules.next(after=Instant(0)), now

        pause: int = self._settings.interval_for
        due: Instant | None = None
        try:
            next_at, first, now = await self._parts.store.read("next_schedule", look)
        except WindlassError as error:
            LOGGER.warning("The next time of a schedule cannot be read: %s", error)
        except Exception:  # a bug of ours must not end the loop
            LOGGER.exception("The next time of a schedule cannot be read")
        else:
            pause = pause if next_at is None else min(pause, next_at - now)
            due = first if first is not None and first <= now else None
        return looked_at + pause - self._parts.clock.monotonic(), due

    async def _fire_schedules(self) -> Done:
        # On time is what a coordinator that looks as often as it should finds at its second look at the latest.
        grace = Duration(2 * self._settings.interval_for)
        self._fired = None
        self._fired = looked = await fire_schedules.tick(self._parts, grace=grace, batch=self._settings.batch)
        return Done(looked.fired, looked.is_more)

    async def _expire_workers(self) -> Done:
        # Whoever was itself away for a while, as on a laptop that slept, judges nobody: the others were away too.
        if not self._is_awake():
            return Done()
        count = await expire_workers.tick(self._parts, silent_for=self._settings.stale_for, batch=self._settings.batch)
        return Done(count, count == self._settings.batch)

    def _is_awake(self) -> bool:
        """Has it looked as often as it should for a while, long enough for live workers to be heard of?"""
        now, before = self._parts.clock.now(), self._looked_at
        self._looked_at, heard_in = now, self._settings.stale_for // 2
        # One that has just begun cannot know whether it is the machine that was away.
        if before is None or not 0 <= now - before <= self._settings.interval_for + heard_in:
            self._awake_since = now
        return now - self._awake_since >= heard_in

    async def _expire_runs(self) -> Done:
        count = await expire_runs.tick(self._parts, batch=self._settings.batch)
        return Done(count, count == self._settings.batch)

    async def _mend_graphs(self) -> Done:
        return Done(await self._mend.tick())

    async def _prune_ended(self) -> Done:
        before = self._prune.removed
        is_more = await self._prune.tick()
        return Done(self._prune.removed - before, is_more)
