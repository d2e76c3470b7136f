"""Is every slot of a schedule fired once, whoever looks, however late, and whatever the clock does?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, engine_on, poll, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import path
from tests.invariants.walker import walk
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.engine import Engine
from windlass.errors import Unavailable
from windlass.model.run import Run, RunStatus
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus, Timing
from windlass.model.schedule_commands import PauseSchedule, PutSchedule, ResumeSchedule
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.rules.schedules import MOST_AT_ONCE, MOST_COUNTED, start_at
from windlass.store.base import Store, Tx
from windlass.store.queries.checks import CheckQueries
from windlass.testing.clock import FakeClock

T = TypeVar("T")

INTERVAL = Duration(5 * SECOND)  # of the coordinator: what is looked at within twice that time is on time
TEN_YEARS = 3_652 * DAY
FAST = 5.0  # real seconds for what takes a fraction of one, and would take minutes if it were counted out


# The calls


def putting(name: str = "nightly", **fields: Any) -> PutSchedule:
    """A schedule, hourly unless the fields say otherwise: `cron` or `every`, `tz`, and whatever a command takes."""
    timing = {key: fields.pop(key) for key in ("cron", "every", "tz") if key in fields}
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "name": name,
        "workflow": "invoice",
        "version": "",
        "queue": "billing",
        "input": b"[1]",
        "input_hash": b"hash of 1",
        "timeout_for": None,
        "timing": Timing(**(timing or {"every": HOUR})),
        "catch_up": CatchUp.LATEST,
        "max_catch_up": 100,
        "overlap": Overlap.ALLOW,
        "jitter": Duration(0),
    }
    return PutSchedule(**(values | fields))


async def put(engine: Engine, name: str = "nightly", **fields: Any) -> Schedule:
    return (await engine.schedules.put_schedule(putting(name, **fields))).schedule


async def coordinate(engine: Engine, **settings: Any) -> None:
    """What a coordinator does until it has nothing more to do."""
    coordinator = Coordinator(engine.parts, CoordinatorSettings(**({"interval_for": INTERVAL} | settings)))
    while await coordinator.tick():
        pass


async def go_on(engine: Engine, clock: FakeClock, span: int) -> None:
    """Let time pass, and a coordinator look at the end of it."""
    clock.advance(span)
    await coordinate(engine)


async def seen(engine: Engine, name: str = "nightly") -> Schedule:
    return (await engine.schedules.get_schedule(NAMESPACE, name)).schedule


async def runs_of(engine: Engine, name: str = "nightly", namespace: str = NAMESPACE) -> list[Run]:
    """In the order they were created."""
    rows = await engine.parts.store.read("runs", lambda tx: CheckQueries(tx.connection).runs())
    return [row.run for row in rows if (row.run.namespace, row.run.schedule) == (namespace, name)]


async def slots_of(engine: Engine, name: str = "nightly") -> list[int | None]:
    return [run.slot for run in await runs_of(engine, name)]


async def counts(engine: Engine, name: str = "nightly") -> tuple[int, int, int]:
    schedule = await seen(engine, name)
    return schedule.fired, schedule.skipped, schedule.dropped


async def spoil(engine: Engine, name: str, **fields: Any) -> None:
    """Write into a row what no command would."""

    async def write(tx: Tx) -> None:
        was = await tx.schedules.lock(NAMESPACE, name)
        assert was is not None
        assert await tx.schedules.save(replace(was, **fields), was=was)

    await engine.parts.store.run_tx("spoil", write)


class Together:
    """A store whose readers of due schedules wait for each other: all of them have seen the same before one acts."""

    def __init__(self, store: Store, barrier: asyncio.Barrier) -> None:
        self._store, self._barrier = store, barrier

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        found = await self._store.read(name, fn, single=single)
        if name == "due_schedules":
            await self._barrier.wait()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class TestSchedules(EngineConformance):
    @pytest.mark.spec("invariants:I-50", "invariants:I-51")
    async def test_a_slot_is_one_run_however_often_somebody_looks(self, engine: Engine, clock: FakeClock) -> None:
        created_at = clock.now()
        schedule = await put(engine, every=HOUR, timeout_for=MINUTE)
        assert (schedule.available_at, schedule.anchor) == (created_at + HOUR, created_at)
        await go_on(engine, clock, HOUR - 1)
        assert await runs_of(engine) == []

        await go_on(engine, clock, 1)
        await coordinate(engine)

        (run,) = await runs_of(engine)
        assert (run.status, run.name, run.queue, run.available_at) == ("pending", "invoice", "billing", clock.now())
        assert (run.slot, run.scheduled_at, run.expires_at) == (clock.now(), clock.now(), clock.now() + MINUTE)
        assert await path(engine, run.id) == [(None, "pending", "schedule")]
        (claimed,) = await engine.work.claim_runs(poll())
        assert (claimed.run_id, claimed.input, claimed.schedule) == (run.id, b"[1]", "nightly")
        assert claimed.scheduled_at == run.slot
        view = await engine.schedules.get_schedule(NAMESPACE, "nightly")
        assert (view.schedule.last_slot, view.schedule.available_at) == (run.slot, clock.now() + HOUR)
        assert view.next == tuple(clock.now() + place * HOUR for place in (1, 2, 3))
        assert (view.active, view.queued, view.last_run) == ((run.id,), (), run.id)
        assert await counts(engine) == (1, 0, 0)

    @pytest.mark.spec("invariants:I-51")
    @pytest.mark.parametrize(
        ("policy", "most", "fired"), [("none", 9, 0), ("latest", 9, 1), ("all", 4, 4), ("all", 7, 7), ("all", 9, 7)]
    )
    async def test_what_was_missed_is_caught_up_with_as_the_policy_says(
        self, engine: Engine, clock: FakeClock, policy: str, most: int, fired: int
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, catch_up=CatchUp(policy), max_catch_up=most)

        await go_on(engine, clock, 7 * HOUR + MINUTE)

        expected = [created_at + place * HOUR for place in range(1, 8)][7 - fired :]
        assert await slots_of(engine) == expected  # the oldest first
        assert {run.available_at for run in await runs_of(engine)} == ({clock.now()} if fired else set())
        assert await counts(engine) == (fired, 0, 7 - fired)
        await go_on(engine, clock, 59 * MINUTE)
        assert await slots_of(engine) == [*expected, clock.now()]
        assert await counts(engine) == (fired + 1, 0, 7 - fired)

    @pytest.mark.spec("invariants:I-51", "security:61")
    @pytest.mark.parametrize(("timing", "step"), [({"every": SECOND}, SECOND), ({"cron": "* * * * *"}, MINUTE)])
    @pytest.mark.parametrize(("policy", "fired"), [("none", 0), ("latest", 1), ("all", 2 * MOST_AT_ONCE)])
    async def test_ten_years_without_a_coordinator_cost_no_more_than_what_is_fired(
        self,
        engine: Engine,
        clock: FakeClock,
        caplog: pytest.LogCaptureFixture,
        timing: dict[str, Any],
        step: int,
        policy: str,
        fired: int,
    ) -> None:
        await put(engine, **timing, catch_up=CatchUp(policy), max_catch_up=2 * MOST_AT_ONCE)
        clock.advance(TEN_YEARS)
        last = clock.now()
        clock.advance(SECOND * 3 // 4)
        transactions = record(engine.parts.store)

        async with asyncio.timeout(FAST):
            with caplog.at_level(logging.WARNING, logger="windlass.coordinator"):
                await coordinate(engine, interval_for=SECOND // 4)

        assert await slots_of(engine) == [last - place * step for place in reversed(range(fired))]
        assert transactions.count("before_begin") < 10
        # An interval is counted by a division; an expression would have to be walked.
        many, dropped = ("", TEN_YEARS // step - fired) if "every" in timing else ("at least ", MOST_COUNTED)
        assert await counts(engine) == (fired, 0, dropped)
        assert f"{many}{dropped} times are dropped (catch_up='{policy}')" in caplog.text

    @pytest.mark.spec("invariants:I-51")
    @pytest.mark.parametrize("interval", [5, 300])
    async def test_slots_denser_than_the_looks_are_all_fired(
        self, engine: Engine, clock: FakeClock, interval: int
    ) -> None:
        created_at = clock.now()
        await put(engine, every=SECOND, catch_up=CatchUp.NONE)

        for _ in range(3):
            clock.advance(interval * SECOND)
            await coordinate(engine, interval_for=interval * SECOND)

        assert await slots_of(engine) == [created_at + place * SECOND for place in range(1, 3 * interval + 1)]
        assert await counts(engine) == (3 * interval, 0, 0)

    @pytest.mark.spec("invariants:I-52")
    async def test_slots_are_those_of_the_definition_on_the_clocks_of_the_zone(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        """Across the change of clocks in spring, in a zone and by elapsed time, looked at now and then."""
        clock.advance(85 * DAY)
        schedules = [
            await put(engine, "daily", cron="30 2 * * *", tz="Europe/Rome"),
            await put(engine, "rhythm", cron="*/30 * * * *", tz="Europe/Rome"),
            await put(engine, "elapsed", every=7 * HOUR, tz="Europe/Rome"),
        ]
        begun_at = Instant(clock.now())

        for _ in range(32):
            await go_on(engine, clock, 5 * HOUR // 2)

        for schedule in schedules:
            until = Instant(clock.now())
            expected = walk(schedule.timing, schedule.anchor, after=begun_at, until=until)
            slots = [slot for slot in await slots_of(engine, schedule.name) if slot is not None]
            assert slots == sorted(slots)
            assert set(slots) <= set(expected)
            fired, skipped, dropped = await counts(engine, schedule.name)
            assert (len(slots), fired + dropped, skipped) == (fired, len(expected), 0)

    @pytest.mark.spec("invariants:I-50")
    async def test_two_coordinators_that_see_the_same_slot_fire_it_once(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        barrier = asyncio.Barrier(2)
        one, other = (engine_on(cast("Store", Together(each, barrier)), clock) for each in (store, second_store))
        created_at = clock.now()
        for name in ("a", "b", "c"):
            await put(one, name, every=HOUR, catch_up=CatchUp.ALL)

        clock.advance(3 * HOUR)
        ticks = [Coordinator(each.parts, CoordinatorSettings(interval_for=INTERVAL)).tick() for each in (one, other)]
        await asyncio.gather(*ticks)
        await coordinate(engine_on(store, clock))

        for name in ("a", "b", "c"):
            assert await slots_of(one, name) == [created_at + place * HOUR for place in (1, 2, 3)]
            assert await counts(one, name) == (3, 0, 0)

    @pytest.mark.spec("invariants:I-50")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_slot_whose_answer_was_lost_is_fired_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        await put(engine)
        clock.advance(HOUR)
        slot = clock.now()
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, coordinate(engine))

        assert await slots_of(engine) == [slot]
        assert await counts(engine) == (1, 0, 0)

    @pytest.mark.spec("invariants:I-50", "invariants:I-55")
    @pytest.mark.parametrize("is_resumed", [False, True])
    async def test_a_clock_that_is_put_back_fires_no_slot_twice(
        self, engine: Engine, clock: FakeClock, is_resumed: bool
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, catch_up=CatchUp.ALL)
        await go_on(engine, clock, 3 * HOUR)

        clock.jump(-(2 * HOUR) - MINUTE)
        await coordinate(engine)
        if is_resumed:  # it begins anew, before slots that were fired
            await engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))
            await engine.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="nightly"))
        for _ in range(4):
            await go_on(engine, clock, HOUR)

        assert await slots_of(engine) == [created_at + place * HOUR for place in range(1, 5)]
        assert (await counts(engine))[0] == 4

    @pytest.mark.spec("invariants:I-55")
    @pytest.mark.parametrize("policy", list(CatchUp))
    async def test_slots_in_a_jump_of_the_clock_are_missed_ones(
        self, engine: Engine, clock: FakeClock, policy: CatchUp
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, catch_up=policy)

        clock.jump(3 * HOUR + MINUTE)
        await coordinate(engine)

        expected = {CatchUp.NONE: [], CatchUp.LATEST: [3], CatchUp.ALL: [1, 2, 3]}[policy]
        assert await slots_of(engine) == [created_at + place * HOUR for place in expected]
        assert (await seen(engine)).available_at == created_at + 4 * HOUR

    async def test_runs_are_spread_the_same_way_whoever_fires_them(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        schedule = await put(engines[0], every=HOUR, jitter=Duration(30 * MINUTE), timeout_for=DAY)

        for place in range(6):
            await go_on(engines[place % 2], clock, HOUR)

        runs = await runs_of(engines[0])
        starts = [run.available_at or 0 for run in runs]
        assert starts == [start_at(schedule, run.slot or Instant(0), now=Instant(0)) for run in runs]
        offsets = [start - (run.slot or 0) for start, run in zip(starts, runs, strict=True)]
        assert len(set(offsets)) == 6
        assert all(0 <= offset < 30 * MINUTE for offset in offsets)
        assert [run.expires_at for run in runs] == [start + DAY for start in starts]
        assert [run.starts_at for run in runs] == starts

    @pytest.mark.parametrize(
        "spoilt",
        [
            {"timing": Timing(cron="every day at noon")},
            {"timing": Timing(cron="0 0 30 2 *")},
            {"timing": Timing(cron="0 9 * * *", tz="Mars/Phobos")},
            {"timing": Timing(every=Duration(-5))},
            {"timing": Timing(every=Duration(0))},
            {"timeout_for": Duration(2**63 - 1)},
        ],
        ids=str,
    )
    async def test_one_that_cannot_be_fired_is_put_aside_and_the_others_go_on(
        self, engine: Engine, clock: FakeClock, spoilt: dict[str, Any]
    ) -> None:
        for name in ("good", "bad", "late"):
            await put(engine, name, every=HOUR)
        await spoil(engine, "bad", **spoilt, available_at=Instant(clock.now()))

        await go_on(engine, clock, HOUR)
        await coordinate(engine, batch=1)  # the bad one is not in the way of the others

        assert await slots_of(engine, "good") == await slots_of(engine, "late") == [clock.now()]
        bad = await engine.schedules.get_schedule(NAMESPACE, "bad")
        assert (bad.schedule.available_at, bad.next, bad.active) == (None, (), ())
        assert bad.schedule.error
        assert len(await engine.schedules.list_schedules(NAMESPACE)) == 3
        await engine.schedules.put_schedule(putting("bad", every=HOUR, may_replace=True))
        await go_on(engine, clock, HOUR)
        assert (await seen(engine, "bad")).status is ScheduleStatus.ACTIVE
        assert (await slots_of(engine, "bad"))[-1] == clock.now()
        assert {run.status for run in await runs_of(engine, "bad")} == {RunStatus.PENDING}

    async def test_schedules_of_one_name_in_two_namespaces_are_two(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR)
        await engine.schedules.put_schedule(replace(putting(every=2 * HOUR), namespace="elsewhere"))

        await go_on(engine, clock, 2 * HOUR)

        assert len(await runs_of(engine)) == len(await runs_of(engine, namespace="elsewhere")) == 1
        assert [view.schedule.timing.every for view in await engine.schedules.list_schedules("elsewhere")] == [2 * HOUR]
