"""Is a schedule what it was last said to be, from the commit on, and does nothing of what it was before still fire?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, engine_on, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import deed
from tests.conformance.test_schedules import (
    coordinate,
    counts,
    go_on,
    put,
    putting,
    runs_of,
    seen,
    slots_of,
    spoil,
)
from windlass.engine.engine import Engine
from windlass.engine.schedule.noting import BACKFILLED
from windlass.engine.schedule.put import new_schedule
from windlass.errors import AlreadyExists, NotFound, Unavailable, WrongState
from windlass.model.run import Deed, LogEntry
from windlass.model.schedule import CatchUp, ScheduleStatus, Timing
from windlass.model.schedule_commands import Declare, PauseSchedule, PutSchedule, ResumeSchedule
from windlass.model.time import HOUR, MINUTE, Instant
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

PROGRAM = "shop.app"


def declaring(*schedules: PutSchedule, program: str = PROGRAM) -> Declare:
    return Declare(namespace=NAMESPACE, program=program, schedules=schedules, kept={})


def pausing(**fields: Any) -> PauseSchedule:
    return PauseSchedule(namespace=NAMESPACE, name="nightly", **fields)


def resuming(**fields: Any) -> ResumeSchedule:
    return ResumeSchedule(namespace=NAMESPACE, name="nightly", **fields)


async def log_of(engine: Engine, name: str = "nightly") -> list[LogEntry]:
    return await engine.parts.store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="schedule", id=name))


async def told(engine: Engine) -> list[tuple[str | None, str, str]]:
    return [(entry.from_status, entry.to_status, entry.cause) for entry in await log_of(engine)]


class TestDeclarations(EngineConformance):
    @pytest.mark.spec("invariants:I-53")
    @pytest.mark.parametrize("policy", list(CatchUp))
    @pytest.mark.parametrize("backfill", [False, True])
    async def test_what_passes_during_a_pause_is_over_unless_it_is_asked_for(
        self, engine: Engine, clock: FakeClock, policy: CatchUp, backfill: bool
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, catch_up=policy)
        await go_on(engine, clock, HOUR)
        view = await engine.schedules.pause_schedule(pausing(by="ann", note="stocktaking"))
        assert (view.schedule.status, view.schedule.available_at, view.next) == ("paused", None, ())
        assert (view.schedule.paused_by, view.schedule.note, view.schedule.paused_at) == (
            "ann",
            "stocktaking",
            clock.now(),
        )
        await go_on(engine, clock, 3 * HOUR + MINUTE)
        assert await slots_of(engine) == [created_at + HOUR]

        view = await engine.schedules.resume_schedule(resuming(by="bob", backfill=backfill))
        await coordinate(engine)

        caught_up = {CatchUp.NONE: [], CatchUp.LATEST: [4], CatchUp.ALL: [2, 3, 4]}[policy] if backfill else []
        assert await slots_of(engine) == [created_at + place * HOUR for place in (1, *caught_up)]
        assert (view.schedule.status, view.schedule.paused_by, view.schedule.paused_at) == ("active", None, None)
        await go_on(engine, clock, 59 * MINUTE)
        assert (await slots_of(engine))[-1] == clock.now()
        assert (await counts(engine))[2] == (3 - len(caught_up) if backfill else 0)
        assert await told(engine) == [
            (None, "active", "create"),
            ("active", "paused", "pause"),
            ("paused", "active", "resume"),
        ]
        _, paused, resumed = await log_of(engine)
        assert deed(paused) == Deed(by="ann", note="stocktaking")
        assert deed(resumed) == Deed(by="bob", note=BACKFILLED if backfill else None)

    async def test_pausing_or_resuming_twice_changes_nothing(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR)
        await engine.schedules.pause_schedule(pausing(by="ann"))
        once = await seen(engine)
        clock.advance(HOUR)

        await engine.schedules.pause_schedule(pausing(by="bob"))
        assert await seen(engine) == once
        await engine.schedules.resume_schedule(resuming())
        once = await seen(engine)
        clock.advance(MINUTE)
        await engine.schedules.resume_schedule(resuming(backfill=True))

        assert await seen(engine) == once
        assert [cause for _, _, cause in await told(engine)] == ["create", "pause", "resume"]
        with pytest.raises(NotFound, match="nightly"):
            await engine.schedules.pause_schedule(replace(pausing(), name="nighty"))

    @pytest.mark.spec("invariants:I-53")
    async def test_a_look_that_was_before_a_pause_fires_nothing_after_it(
        self, store: Store, second_store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        """The pause is committed between the look of a coordinator and what it does about it."""
        await put(engine, every=HOUR)
        clock.advance(HOUR)

        async def pause(tx: Tx) -> None:
            schedule = await tx.schedules.lock(NAMESPACE, "nightly")
            assert schedule is not None
            paused = replace(schedule, status=ScheduleStatus.PAUSED, available_at=None, paused_at=Instant(clock.now()))
            assert await tx.schedules.save(paused, was=schedule)

        await meanwhile(second_store, pause, lambda: coordinate(engine), None)
        await coordinate(engine)

        assert await runs_of(engine) == []

    @pytest.mark.spec("invariants:I-53")
    async def test_with_other_times_nothing_of_the_old_ones_is_fired(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR, catch_up=CatchUp.ALL)
        await go_on(engine, clock, HOUR)
        clock.advance(3 * HOUR + MINUTE)  # slots that nobody looked at

        changed = await put(engine, every=7 * MINUTE, catch_up=CatchUp.ALL, may_replace=True)
        await coordinate(engine)

        assert (changed.revision, changed.anchor, changed.last_slot) == (2, clock.now(), clock.now())
        assert len(await runs_of(engine)) == 1
        await go_on(engine, clock, 7 * MINUTE)
        assert (await slots_of(engine))[1:] == [clock.now()]
        assert await told(engine) == [(None, "active", "create"), ("active", "active", "change")]

    @pytest.mark.spec("invariants:I-53")
    @pytest.mark.parametrize(
        "change",
        [
            {"input": b"[2]", "input_hash": b"hash of 2"},
            {"queue": "slow"},
            {"workflow": "receipt"},
            {"timeout_for": HOUR},
            {"jitter": MINUTE},
            {"max_catch_up": 7},
        ],
        ids=str,
    )
    async def test_with_anything_else_changed_it_keeps_its_place(
        self, engine: Engine, clock: FakeClock, change: dict[str, Any]
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, catch_up=CatchUp.ALL)
        await go_on(engine, clock, HOUR)
        clock.advance(HOUR + MINUTE)

        await put(engine, every=HOUR, may_replace=True, **({"catch_up": CatchUp.ALL} | change))
        await coordinate(engine)

        assert await slots_of(engine) == [created_at + HOUR, created_at + 2 * HOUR]
        before, after = await runs_of(engine)
        wanted = {key: value for key, value in change.items() if key in ("queue",)}
        assert {key: getattr(after, key) for key in wanted} == wanted
        assert (after.name, before.name) == (change.get("workflow", "invoice"), "invoice")
        view = await engine.runs.get_run(NAMESPACE, after.id)
        assert view.input == change.get("input", b"[1]")

    async def test_the_same_definition_again_changes_nothing(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR)
        clock.advance(90 * MINUTE)
        was = await seen(engine)

        await put(engine, every=HOUR)
        await put(engine, every=HOUR, input=b"[1] encrypted anew", may_replace=True)
        with pytest.raises(AlreadyExists, match="another definition"):
            await put(engine, every=2 * HOUR)

        assert await seen(engine) == was

    async def test_a_change_leaves_a_persons_pause_as_it_is(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR)
        await engine.schedules.pause_schedule(pausing(by="ann"))

        changed = await put(engine, every=MINUTE, may_replace=True)
        await go_on(engine, clock, HOUR)

        assert (changed.status, changed.paused_by, await runs_of(engine)) == ("paused", "ann", [])
        resumed = (await engine.schedules.resume_schedule(resuming())).schedule
        assert resumed.available_at == clock.now() + MINUTE

    @pytest.mark.spec("invariants:I-53")
    async def test_what_a_program_says_no_more_is_paused_until_it_says_it_again(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        nightly, hourly = putting(every=HOUR, catch_up=CatchUp.ALL), putting("hourly", every=HOUR)
        await engine.schedules.declare(declaring(nightly, hourly))
        await go_on(engine, clock, HOUR)

        await engine.schedules.declare(declaring(hourly))
        await engine.schedules.declare(declaring(program="another.app"))
        await go_on(engine, clock, 2 * HOUR)

        gone = await seen(engine)
        assert (gone.status, gone.is_declared, gone.available_at, gone.declared_in) == ("paused", False, None, PROGRAM)
        assert (len(await runs_of(engine)), len(await runs_of(engine, "hourly"))) == (1, 2)
        with pytest.raises(WrongState, match="no longer declared in"):
            await engine.schedules.resume_schedule(resuming())
        await engine.schedules.declare(declaring(hourly, nightly))
        await coordinate(engine)
        back = await seen(engine)
        assert (back.status, back.is_declared, back.last_slot) == ("active", True, clock.now())
        assert len(await runs_of(engine)) == 1  # what passed meanwhile is over
        await go_on(engine, clock, HOUR)
        assert (await slots_of(engine))[1:] == [clock.now()]
        assert [cause for _, _, cause in await told(engine)] == ["create", "undeclared", "change"]

    async def test_a_persons_pause_outlasts_what_a_program_says(self, engine: Engine, clock: FakeClock) -> None:
        nightly = putting(every=HOUR)
        await engine.schedules.declare(declaring(nightly))
        await engine.schedules.pause_schedule(pausing(by="ann"))
        for said in ((), (nightly,), (putting(every=MINUTE),)):
            await engine.schedules.declare(declaring(*said))

        schedule = await seen(engine)

        assert (schedule.status, schedule.paused_by, schedule.is_declared) == ("paused", "ann", True)
        await go_on(engine, clock, HOUR)
        assert await runs_of(engine) == []

    async def test_a_name_belongs_to_the_code_or_to_people(self, engine: Engine) -> None:
        await put(engine, "by-hand", every=HOUR)
        await engine.schedules.declare(declaring(putting(every=HOUR)))

        with pytest.raises(AlreadyExists, match=r"declared in 'shop\.app'"):
            await put(engine, every=2 * HOUR, may_replace=True)
        with pytest.raises(AlreadyExists):
            await engine.schedules.declare(declaring(putting(every=HOUR), putting("by-hand", every=2 * HOUR)))

        assert (await seen(engine)).timing == (await seen(engine, "by-hand")).timing == Timing(every=HOUR)

    @pytest.mark.parametrize("given", ["another", "the same"])
    @pytest.mark.parametrize("is_declared", [False, True])
    async def test_two_who_make_a_schedule_at_once_make_one(
        self,
        store: Store,
        second_store: Store,
        clock: FakeClock,
        until_blocked: Blocked,
        given: str,
        is_declared: bool,
    ) -> None:
        engine = engine_on(store, clock)
        first = putting(every=HOUR)
        second = putting(every=HOUR if given == "the same" else 2 * HOUR)

        async def insert(tx: Tx) -> None:
            assert await tx.schedules.insert(new_schedule(first, now=await tx.now()))

        def ask() -> Any:
            if is_declared:
                return engine.schedules.declare(declaring(second))
            return engine.schedules.put_schedule(second)

        outcome = await meanwhile(second_store, insert, ask, until_blocked)

        is_refused = is_declared or given == "another"
        assert isinstance(outcome, AlreadyExists) is is_refused, outcome
        schedule = await seen(engine)
        assert (schedule.timing, schedule.revision, schedule.declared_in) == (Timing(every=HOUR), 1, None)

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_what_got_no_answer_is_done_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        for ask in (
            lambda: engine.schedules.declare(declaring(putting("coded"))),
            lambda: engine.schedules.put_schedule(putting()),
            lambda: engine.schedules.pause_schedule(pausing()),
            lambda: engine.schedules.resume_schedule(resuming()),
            lambda: engine.schedules.put_schedule(putting(every=MINUTE, may_replace=True)),
        ):
            record(store).at[point] = raising(Unavailable("cut"), times=1)
            await while_time_passes(clock, ask())

        assert [cause for _, _, cause in await told(engine)] == ["create", "pause", "resume", "change"]
        assert ((await seen(engine)).revision, (await seen(engine, "coded")).revision) == (2, 1)

    @pytest.mark.parametrize("way", ["resume", "backfill", "put", "declare"])
    async def test_one_that_could_not_be_read_goes_on_once_it_can(
        self, engine: Engine, clock: FakeClock, way: str
    ) -> None:
        """As after an update of the zones: its definition is what it was, and can be read again."""
        created_at = clock.now()
        command = putting(every=HOUR, catch_up=CatchUp.ALL)
        if way == "declare":
            await engine.schedules.declare(declaring(command))
        else:
            await engine.schedules.put_schedule(command)
        await spoil(engine, "nightly", timing=Timing(cron="0 9 * * *", tz="Mars/Phobos"))
        await go_on(engine, clock, HOUR)
        assert (await seen(engine)).error
        await spoil(engine, "nightly", timing=command.timing)
        await go_on(engine, clock, HOUR + MINUTE)
        assert await runs_of(engine) == []

        match way:
            case "put":
                await engine.schedules.put_schedule(command)
            case "declare":
                await engine.schedules.declare(declaring(command))
            case _:
                await engine.schedules.resume_schedule(resuming(backfill=way == "backfill"))
        await coordinate(engine)

        schedule = await seen(engine)
        assert (schedule.error, schedule.available_at) == (None, created_at + 3 * HOUR)
        expected = [] if way == "resume" else [created_at + HOUR, created_at + 2 * HOUR]
        assert await slots_of(engine) == expected
