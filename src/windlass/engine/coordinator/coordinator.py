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

from windlass.engine.coordinator import count_minutes, expire_runs, expire_workers, fire_schedules
from windlass.engine.coordinator.fire_schedules import Looked
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.engine.coordinator.mend_graphs import MendGraphs
from windlass.engine.coordinator.prune import Prune
from windlass.engine.parts import Parts
from windlass.errors import WindlassError
from windlass.model.time import MILLISECOND, SECOND, Duration, Instant
from windlass.notify.local import Subscription, news_topic, schedules_topic, signals_topic
from windlass.runtime import SystemClock
from windlass.store.base import Tx

LOGGER = logging.getLogger("windlass.coordinator")

PACE = 2 * MILLISECOND  # between two looks, however many hints come


class CoordinatorSettings(Struct, frozen=True, kw_only=True):
    interval_for: Duration = Duration(5 * SECOND)  # the longest between two looks
    batch: int = 100  # the most that one pass of a duty takes
    stale_for: Duration = Duration(30 * SECOND)  # a worker silent for longer counts as gone
    keep_for: Duration | None = None  # ended runs are kept for ever unless this is set, or their workflow says so
    fires_signals: bool = True  # false: what has fired waits; nothing is lost


class Done(Struct, frozen=True):
    """What one pass of a duty has come to."""

    count: int = 0
    is_more: bool = False  # there is more to do at once


class Duty(Struct, frozen=True):
    name: str
    tick: Callable[[], Awaitable[Done]]


class Ahead(Struct, frozen=True):
    """What is next."""

    pause: int  # until then there is nothing to do, unless something happens
    due: Instant | None  # since when a schedule is due that is so still
    has_fired: bool  # a signal is to be worked now


class Coordinator:
    def __init__(self, parts: Parts, settings: CoordinatorSettings) -> None:
        self._parts, self._settings = parts, settings
        self._prune = Prune(parts, keep_for=settings.keep_for, batch=settings.batch)
        self._mend = MendGraphs(parts, batch=settings.batch)
        self._signals = FireSignals(parts, batch=settings.batch, is_enabled=settings.fires_signals)
        self._pace = SystemClock()  # hints come in real time, also in a test whose clock stands still
        self._fired: Looked | None = None  # the last look at schedules; none: it failed
        self._looked_at: int | None = None  # when workers were looked at last
        self._awake_since = 0  # it was away before that, or not there
        self._task: asyncio.Task[None] | None = None

    @property
    def duties(self) -> Sequence[Duty]:
        return (
            Duty("fire_schedules", self._fire_schedules),
            Duty("fire_signals", self._fire_signals),
            Duty("expire_workers", self._expire_workers),
            Duty("expire_runs", self._expire_runs),
            Duty("mend_graphs", self._mend_graphs),
            Duty("count_minutes", self._count_minutes),  # before prune, which removes what it counts
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
            is_more = (await self._do(duty)).is_more or is_more
        return is_more

    async def _do(self, duty: Duty) -> Done:
        """One pass of a duty; nothing is done by one that fails."""
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
        if self._parts.observer is not None:
            seconds = (self._parts.clock.monotonic() - begun_at) / SECOND
            self._parts.observer.duty(duty.name, seconds=seconds, count=done.count, failed=has_failed)
        return done

    async def _keep_going(self) -> None:
        while True:
            # Where something is watched, every change is a hint; whoever arms a signal asks for another round, because
            # that may be where nothing was watched before.
            watched, hub = self._signals.namespaces, self._parts.hub
            told = hub.subscribe(schedules_topic(), signals_topic(), *map(news_topic, watched))
            with hub.subscribe(schedules_topic(), signals_topic()) as asked, told:
                if await self.tick() or self._signals.namespaces != watched:
                    await asyncio.sleep(0)
                else:
                    await self._rest(asked, told)

    async def _rest(self, asked: Subscription, told: Subscription) -> None:
        """Until the next slot, or the interval, or until one is due that the round has not left.

        Meanwhile what signals have fired is worked as soon as somebody hints at it.
        """
        clock = self._parts.clock
        rested_at = clock.monotonic() + self._settings.interval_for
        ahead, is_stuck = await self._look_ahead(), False
        # A round that failed has left whatever is due.
        left = ahead.due if self._fired is None else self._fired.left
        while ahead.due is None or ahead.due == left:
            rest = min(ahead.pause, rested_at - clock.monotonic())
            if rest <= 0 or asked.is_named:
                return
            if ahead.has_fired and not is_stuck:
                done = await self._do(Duty("fire_signals", self._work_firings))
                is_stuck = done.count == 0  # others hold it, or the store cannot be asked: no use to try at once
            else:
                until = clock.monotonic() + rest
                await told.wait(clock, rest)
                if clock.monotonic() >= until:
                    return
                # Somebody has committed something, as others do all the time: only a schedule, or what a signal has
                # fired, would matter before the time.
                told.clear()
                is_stuck = False
                await self._pace.sleep(PACE)
            ahead = await self._look_ahead()
        await asyncio.sleep(0)

    async def _look_ahead(self) -> Ahead:
        """Until the next slot, or the interval, whichever is first; and since when one is due that is so still."""
        looked_at = self._parts.clock.monotonic()  # before the look: time may pass until its answer is here

        async def look(tx: Tx) -> tuple[Instant | None, Instant | None, Instant | None, Instant]:
            now = await tx.now()
            # What became due since they were looked at is due now. What was due before that was left, or was made so
            # by others since: `due` tells which, and is not to be waited for here.
            fired_at = now if self._fired is None else min(now, self._fired.at)
            next_at = await tx.schedules.next(after=fired_at)
            return next_at, await tx.schedules.next(after=Instant(0)), await self._signals.next(tx), now

        pause: int = self._settings.interval_for
        due: Instant | None = None
        has_fired = False
        try:
            next_at, first, signal_at, now = await self._parts.store.read("next_schedule", look)
        except WindlassError as error:
            LOGGER.warning("The next time of a schedule cannot be read: %s", error)
        except Exception:  # a bug of ours must not end the loop
            LOGGER.exception("The next time of a schedule cannot be read")
        else:
            pause = pause if next_at is None else min(pause, next_at - now)
            due = first if first is not None and first <= now else None
            has_fired = signal_at is not None and signal_at <= now
            if signal_at is not None and not has_fired:
                pause = min(pause, signal_at - now)
        return Ahead(looked_at + pause - self._parts.clock.monotonic(), due, has_fired)

    async def _fire_schedules(self) -> Done:
        # On time is what a coordinator that looks as often as it should finds at its second look at the latest.
        grace = Duration(2 * self._settings.interval_for)
        self._fired = None
        self._fired = looked = await fire_schedules.tick(self._parts, grace=grace, batch=self._settings.batch)
        return Done(looked.fired, looked.is_more)

    async def _fire_signals(self) -> Done:
        fired = await self._signals.tick()
        return Done(fired.count, fired.is_more)

    async def _work_firings(self) -> Done:
        fired = await self._signals.work()
        return Done(fired.count, fired.is_more)

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

    async def _count_minutes(self) -> Done:
        done = await count_minutes.tick(self._parts)
        return Done(done, is_more=done > 0)
