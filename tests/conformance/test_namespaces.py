"""Does a disabled namespace stand still, does a deleted one leave nothing, and do neighbours notice neither?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    create,
    engine_on,
    new_run,
    outcomes_of,
    poll,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance, only
from tests.conformance.test_access import creating
from tests.conformance.test_schedules import coordinate, go_on, putting, runs_of
from tests.conformance.test_workers import registering
from windlass.engine.coordinator import fire_schedules
from windlass.engine.engine import Engine
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable, WrongState
from windlass.model.access import EVERY_NAMESPACE
from windlass.model.commands import SetGate
from windlass.model.gate import Gate, GateKind
from windlass.model.namespace import CreateNamespace, Namespace
from windlass.model.page import ListRuns
from windlass.model.run import RunStatus
from windlass.model.schedule import CatchUp
from windlass.model.schedule_commands import DeleteSchedule
from windlass.model.time import HOUR, MINUTE, Instant
from windlass.store.base import Store, Tx
from windlass.store.queries.gates import NewGate
from windlass.store.queries.namespaces import NamespaceQueries
from windlass.testing.clock import FakeClock

ACME = "acme"


def making(name: str = ACME, **fields: Any) -> CreateNamespace:
    return CreateNamespace(name=name, **fields)


def turning(*, is_paused: bool, name: str = NAMESPACE) -> SetGate:
    return SetGate(namespace=name, kind=GateKind.NAMESPACE, name=name, is_paused=is_paused)


async def disable(engine: Engine, name: str = NAMESPACE) -> Namespace:
    return await engine.namespaces.set_enabled(name, is_enabled=False)


async def enable(engine: Engine, name: str = NAMESPACE) -> Namespace:
    return await engine.namespaces.set_enabled(name, is_enabled=True)


async def listed(engine: Engine) -> list[str]:
    """All but the one that is always there."""
    page = await engine.namespaces.list_namespaces(limit=500)
    return [item.name for item in page.namespaces if item.name != NAMESPACE]


async def story(store: Store, name: str = NAMESPACE) -> list[tuple[str | None, str]]:
    entries = await store.read("log", lambda tx: tx.log.of_subject(name, kind="namespace", id=name))
    return [(entry.from_status, entry.to_status) for entry in entries]


class TestNamespaces(EngineConformance):
    # There is one

    async def test_one_that_is_made_is_there_and_made_again_stays_as_it_is(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        made = await engine.namespaces.create_namespace(making(note="of Acme Ltd"))
        clock.advance(HOUR)
        again = await engine.namespaces.create_namespace(making(note="of Acme Ltd"))

        assert made == again == await engine.namespaces.get_namespace(ACME)
        assert made == Namespace(name=ACME, note="of Acme Ltd", created_at=Instant(clock.now() - HOUR))
        assert await story(store, ACME) == [(None, "enabled")]
        with pytest.raises(AlreadyExists, match="another note"):
            await engine.namespaces.create_namespace(making(note="of others"))

    @pytest.mark.parametrize("name", ["", "*", "a b", "../x", "x" * 201, "a\nb"])
    async def test_a_name_that_none_can_have_is_refused(self, engine: Engine, name: str) -> None:
        for call in (
            engine.namespaces.create_namespace(making(name)),
            engine.namespaces.get_namespace(name),
            disable(engine, name),
            engine.namespaces.delete_namespace(name),
        ):
            with pytest.raises(InvalidInput):
                await call

    async def test_one_that_nobody_made_and_nobody_uses_is_not_there(self, engine: Engine) -> None:
        for call in (engine.namespaces.get_namespace(ACME), disable(engine, ACME), enable(engine, ACME)):
            with pytest.raises(NotFound, match="acme"):
                await call
        with pytest.raises(NotFound):
            await engine.namespaces.delete_namespace(ACME)

    @pytest.mark.parametrize("use", ["run", "worker", "schedule", "gate"])
    async def test_one_that_is_used_is_there_without_being_made(self, engine: Engine, use: str) -> None:
        match use:
            case "run":
                await engine.runs.start_run(start(namespace=ACME))
            case "worker":
                await engine.work.register_worker(registering(namespace=ACME))
            case "schedule":
                await engine.schedules.put_schedule(putting(namespace=ACME))
            case "gate":
                await engine.control.set_gate(turning(is_paused=True, name=ACME))

        assert await engine.namespaces.get_namespace(ACME) == Namespace(name=ACME)
        assert await listed(engine) == [ACME]
        assert (await engine.namespaces.create_namespace(making(note="found"))).note == "found"
        assert await listed(engine) == [ACME]

    @pytest.mark.spec("invariants:I-59")
    async def test_pages_show_each_once_by_name_whether_it_was_made_or_used(self, engine: Engine) -> None:
        for name in ("b", "d", "f"):
            await engine.namespaces.create_namespace(making(name))
        for name in ("a", "c", "d", "e"):
            await engine.runs.start_run(start(namespace=name))
        await engine.work.register_worker(registering(namespace="c"))

        found: list[str] = []
        after: str | None = None
        while True:
            page = await engine.namespaces.list_namespaces(after, limit=2)
            assert 0 < len(page.namespaces) <= 2
            found += [item.name for item in page.namespaces if item.name != NAMESPACE]
            if page.next is None:
                break
            after = page.next

        assert found == list("abcdef")

    # It stands still

    @pytest.mark.spec("invariants:I-24")
    async def test_nothing_is_claimed_in_a_disabled_one_and_nothing_is_lost(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        first = (await engine.runs.start_run(start(1))).run_id
        disabled = await disable(engine)
        second = (await engine.runs.start_run(start(2))).run_id
        clock.advance(VISIBLE_FOR)

        assert (disabled.is_enabled, disabled.disabled_at) == (False, clock.now() - VISIBLE_FOR)
        assert await engine.work.claim_runs(poll(1)) == []
        assert await enable(engine) == Namespace(name=NAMESPACE, created_at=disabled.created_at)
        assert [run.run_id for run in await engine.work.claim_runs(poll(2))] == [first, second]
        assert await story(store) == [("enabled", "disabled"), ("disabled", "enabled")]

    @pytest.mark.spec("invariants:I-58")
    async def test_the_neighbours_of_a_disabled_one_go_on(self, engine: Engine) -> None:
        await engine.runs.start_run(start(namespace=ACME))
        await disable(engine)

        (claimed,) = await engine.work.claim_runs(poll(namespace=ACME))

        assert (await engine.runs.get_run(ACME, claimed.run_id)).run.status is RunStatus.RUNNING
        assert await engine.control.list_gates(ACME) == ()

    @pytest.mark.spec("invariants:I-24")
    async def test_to_disable_waits_for_the_claims_in_flight_and_lets_no_other_through(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering(served=SERVED))
        await create(store, new_run(1), new_run(2))

        async def claim(tx: Tx) -> None:
            rows = await tx.runs.claim(
                namespace=NAMESPACE, served=SERVED, limit=1, worker=WORKER, poll=1, claim_for=lambda name: VISIBLE_FOR
            )
            assert len(rows) == 1

        disabled = await meanwhile(second_store, claim, lambda: disable(engine), until_blocked)

        assert not disabled.is_enabled
        assert await engine.work.claim_runs(poll(2)) == []

    async def test_a_pause_of_before_outlives_being_disabled(self, engine: Engine) -> None:
        paused = await engine.control.set_gate(turning(is_paused=True))

        await disable(engine)
        await enable(engine)

        assert await engine.control.list_gates(NAMESPACE) == (paused,)
        await engine.control.set_gate(turning(is_paused=False))
        await disable(engine)
        await enable(engine)
        assert await engine.control.list_gates(NAMESPACE) == ()

    @pytest.mark.parametrize("is_paused", [True, False])
    async def test_the_gate_of_a_disabled_one_is_not_turned_by_hand(self, engine: Engine, is_paused: bool) -> None:
        await disable(engine)

        with pytest.raises(WrongState, match="namespaces enable default"):
            await engine.control.set_gate(turning(is_paused=is_paused))

        assert len(await engine.control.list_gates(NAMESPACE)) == 1

    async def test_said_twice_it_is_done_once(self, store: Store, engine: Engine, clock: FakeClock) -> None:
        first = await disable(engine)
        clock.advance(MINUTE)

        assert await disable(engine) == first
        assert await story(store) == [("enabled", "disabled")]

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_an_answer_that_was_lost_is_given_by_the_next_try(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        await engine.namespaces.create_namespace(making())
        hooks = record(store)
        hooks.at[point] = raising(Unavailable("cut"), times=1)
        await while_time_passes(clock, disable(engine, ACME))
        hooks.at[point] = raising(Unavailable("cut"), times=1)
        await while_time_passes(clock, engine.namespaces.delete_namespace(ACME))

        assert await story(store, ACME) == [(None, "enabled"), ("enabled", "disabled"), ("disabled", "deleted")]

    # Its schedules

    @pytest.mark.parametrize(("catch_up", "fired"), [(CatchUp.NONE, 0), (CatchUp.LATEST, 1), (CatchUp.ALL, 3)])
    async def test_no_slot_is_fired_in_a_disabled_one_and_then_its_policy_decides(
        self, engine: Engine, clock: FakeClock, catch_up: CatchUp, fired: int
    ) -> None:
        await engine.schedules.put_schedule(putting(catch_up=catch_up))
        await engine.schedules.put_schedule(putting(namespace=ACME))
        await disable(engine)
        for _ in range(3):
            await go_on(engine, clock, HOUR)
        clock.advance(MINUTE)  # later than a time may be and count as met

        assert await runs_of(engine) == []
        assert len(await runs_of(engine, namespace=ACME)) == 3
        await enable(engine)
        await coordinate(engine)
        assert len(await runs_of(engine)) == fired

    async def test_the_next_time_of_a_disabled_one_keeps_nobody_awake(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        await engine.schedules.put_schedule(putting())
        await disable(engine)
        clock.advance(HOUR)

        assert await store.read("next", lambda tx: tx.schedules.next(after=Instant(0))) is None
        assert await store.read("due", lambda tx: tx.schedules.due(limit=10)) == []

    async def test_what_was_seen_due_is_not_fired_by_whoever_waits_for_it_to_be_disabled(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        """The look of a coordinator is one read, and firing another transaction: in between somebody disables."""
        engine = engine_on(store, clock)
        await engine.schedules.put_schedule(putting())
        clock.advance(HOUR)
        (due,) = await store.read("due", lambda tx: tx.schedules.due(limit=10))

        async def disable_it(tx: Tx) -> None:
            await tx.gates.lock()
            await tx.gates.enter([NewGate(NAMESPACE, GateKind.NAMESPACE, NAMESPACE)])
            await tx.gates.set(Gate(namespace=NAMESPACE, kind=GateKind.NAMESPACE, name=NAMESPACE, is_paused=True))
            await tx.namespaces.enter(NAMESPACE)
            await tx.namespaces.set(NAMESPACE, is_enabled=False, closes_gate=True)

        def fire() -> Awaitable[fire_schedules.Fired]:
            return fire_schedules._fire_one(engine.parts, due, now=Instant(clock.now()), grace=MINUTE)

        done = await meanwhile(second_store, disable_it, fire, until_blocked)

        assert (done.runs, done.has_moved) == ((), False)
        assert await runs_of(engine) == []

    # It goes

    async def test_one_that_is_empty_goes_with_all_that_was_about_it(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        await engine.namespaces.create_namespace(making())
        await engine.work.register_worker(registering(namespace=ACME))
        await engine.work.deregister_worker(ACME, WORKER)
        await engine.control.move_cursor(ACME, "reader", 1)
        key = await engine.access.create_key(creating(namespace=ACME))
        await disable(engine, ACME)

        await engine.namespaces.delete_namespace(ACME)

        assert await listed(engine) == []
        use = await store.read("use", lambda tx: tx.namespaces.use(ACME, limit=10))
        assert not use.is_any
        assert await store.read("cursor", lambda tx: tx.cursors.slowest(ACME)) is None
        found = await engine.access.find_key(key.id)
        assert found is not None
        assert found.revoked_at == clock.now()
        with pytest.raises(NotFound):
            await engine.namespaces.delete_namespace(ACME)
        assert (await engine.namespaces.create_namespace(making())).is_enabled

    async def test_only_what_is_disabled_goes_and_never_the_default(self, engine: Engine) -> None:
        await engine.namespaces.create_namespace(making())

        with pytest.raises(WrongState, match="windlass namespaces disable acme"):
            await engine.namespaces.delete_namespace(ACME)
        await disable(engine)
        with pytest.raises(WrongState, match="where no other is named"):
            await engine.namespaces.delete_namespace(NAMESPACE)

    async def test_one_that_holds_something_stays_and_says_what(self, store: Store, engine: Engine) -> None:
        await engine.runs.start_run(start(namespace=ACME, key="once"))
        await engine.schedules.put_schedule(putting(namespace=ACME))
        await engine.work.register_worker(registering(namespace=ACME))
        await disable(engine, ACME)

        with pytest.raises(WrongState, match="1 run, 1 schedule, 1 worker"):
            await engine.namespaces.delete_namespace(ACME)

        assert (await engine.runs.find_run(ACME, "once")).key == "once"  # nothing of it is gone
        assert len(await engine.control.list_gates(ACME)) == 1
        await engine.schedules.delete_schedule(DeleteSchedule(namespace=ACME, name="nightly"))
        await engine.work.deregister_worker(ACME, WORKER)
        with pytest.raises(WrongState, match="it holds 1 run;"):
            await engine.namespaces.delete_namespace(ACME)

    @pytest.mark.spec("invariants:I-58")
    async def test_nothing_of_another_goes_with_it(self, engine: Engine) -> None:
        for name in (ACME, NAMESPACE):
            await engine.work.register_worker(registering(namespace=name))
            await engine.control.move_cursor(name, "reader", 1)
        started = await engine.runs.start_run(start(key="once"))
        mine = await engine.access.create_key(creating(number=1))
        everyones = await engine.access.create_key(creating(number=2, namespace=EVERY_NAMESPACE))
        await engine.work.deregister_worker(ACME, WORKER)
        await disable(engine, ACME)

        await engine.namespaces.delete_namespace(ACME)

        assert (await engine.runs.find_run(NAMESPACE, "once")).run.id == started.run_id
        assert len(await engine.runs.list_workers(NAMESPACE)) == 1
        assert await engine.control.drop_cursor(NAMESPACE, "reader")
        assert {key.id for key in await engine.access.list_keys() if key.revoked_at is None} == {mine.id, everyones.id}

    async def test_a_start_and_a_delete_at_once_lose_neither_the_run_nor_its_key(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        """Code in this process starts runs wherever it likes: then the namespace is there again, and so is the run."""
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        for turn in range(10):
            name = f"{ACME}{turn}"
            await engine.namespaces.create_namespace(making(name))
            await disable(engine, name)

            async def begin(name: str = name) -> str:
                return (await other.runs.start_run(start(namespace=name, key="once"))).run_id

            started, deleted = await outcomes_of([begin(), engine.namespaces.delete_namespace(name)])

            assert deleted in (None, WrongState)
            assert (await engine.runs.find_run(name, "once")).run.id == started
            again = await other.runs.start_run(start(namespace=name, key="once"))
            assert (again.run_id, again.is_repeat) == (started, True)
            assert len((await engine.runs.list_runs(ListRuns(namespace=name, limit=10))).runs) == 1

    async def test_two_who_make_disable_or_delete_one_at_once_do_it_once(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = engine_on(store, clock), engine_on(second_store, clock)

        await asyncio.gather(*(engine.namespaces.create_namespace(making()) for engine in engines))
        await asyncio.gather(*(disable(engine, ACME) for engine in engines))
        gone = await outcomes_of([engine.namespaces.delete_namespace(ACME) for engine in engines])

        assert sorted(gone, key=str) == [NotFound, None]
        assert await story(store, ACME) == [(None, "enabled"), ("enabled", "disabled"), ("disabled", "deleted")]

    @only("postgres")  # SQLite has one writer: nothing comes in between
    async def test_a_run_that_comes_while_its_namespace_is_deleted_keeps_its_key(
        self, store: Store, second_store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Runs are looked for behind the removal of keys: else one that comes in between would lose its own."""
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        await engine.namespaces.create_namespace(CreateNamespace(name="acme"))
        await engine.namespaces.set_enabled("acme", is_enabled=False)
        remove = NamespaceQueries.remove_leavings

        async def start_and_remove(queries: NamespaceQueries, name: str) -> None:
            await other.runs.start_run(start(namespace="acme", key="once"))
            await remove(queries, name)

        monkeypatch.setattr(NamespaceQueries, "remove_leavings", start_and_remove)

        with pytest.raises(WrongState, match="1 run"):
            await engine.namespaces.delete_namespace("acme")

        assert (await engine.runs.find_run("acme", "once")).key == "once"
