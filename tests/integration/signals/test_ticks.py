"""What does one tick do, what does it leave, and what if there is none for a while?"""

from __future__ import annotations

import pytest

from tests.conformance.given import NAMESPACE, engine_on, start
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    coordinator,
    fire,
    firings,
    on_workflow,
    seen,
    standing,
    steer,
    watch,
)
from tests.conformance.hooks import record
from tests.integration.conftest import OpenHarness
from tests.integration.signals.conftest import blocked, opened_on
from tests.invariants.checkers import stores_agree
from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.embedded import in_process
from windlass.engine.engine import Engine
from windlass.engine.signal.work import claim_firings
from windlass.model.signal import (
    CLAIM_FOR,
    Action,
    DeleteSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.settings import Settings, load_settings
from windlass.store.queries.checks import CheckQueries, SchemaObject
from windlass.testing.clock import FakeClock

# A tick


@pytest.mark.spec("signals:16", "signals:17", "signals:20")
async def test_a_firing_is_there_with_its_transition_and_a_lost_hint_costs_one_tick(
    engine: Engine, clock: FakeClock
) -> None:
    deaf = engine_on(engine.parts.store, clock)  # it hears of nothing that the other does

    signal = await blocked(engine)
    assert await standing(engine, signal) == ["queued"]
    await coordinator(deaf).tick()

    assert await standing(engine, signal) == ["done"]


@pytest.mark.spec("signals:18")
async def test_the_work_of_a_tick_does_not_grow_with_what_is_there(engine: Engine) -> None:
    for _ in range(12):
        await blocked(engine)
    recorder = record(engine.parts.store)

    at_work, commits, done = coordinator(engine, batch=5), [], []
    for _ in range(3):
        recorder.seen.clear()
        await at_work.tick()
        commits.append(recorder.commits)
        done.append(sum(row.status.value == "done" for row in await firings(engine)))

    assert done == [5, 10, 12]
    assert max(commits) <= 6


async def story(clock: FakeClock) -> Snapshot:
    opened = await opened_on("sqlite:///:memory:", clock)
    engine = opened.engine
    for action in (FOLLOW_UP, STARTS, Action()):
        await blocked(engine, action)
        clock.advance(SECOND)
    await watch(engine, Trigger(kind=TriggerKind.TIME, every=Duration(MINUTE)), STARTS, repeats=True)
    for _ in range(3):
        clock.advance(MINUTE)
        await coordinator(engine, batch=2).tick()
    last = await take_snapshot(engine.parts.store, at=clock.now(), life=1)
    await opened.close()
    return last


@pytest.mark.spec("signals:19")
async def test_a_tick_is_called_by_hand_and_does_the_same_every_time() -> None:
    one, other = await story(FakeClock()), await story(FakeClock())

    assert stores_agree(one, other) == []
    assert sum(row.status.value == "done" for row in one.watched.firing_rows) == 6


async def test_a_tick_that_finds_nothing_changes_nothing(engine: Engine, clock: FakeClock) -> None:
    await blocked(engine)
    await fire(engine)
    before = await take_snapshot(engine.parts.store, at=0, life=0)

    await coordinator(engine).tick()

    assert await take_snapshot(engine.parts.store, at=0, life=0) == before


# Away, and back


@pytest.mark.spec("signals:1", "signals:9", "signals:20")
@pytest.mark.parametrize("was_claimed", [False, True])
async def test_a_firing_survives_a_restart(shared_url: str, clock: FakeClock, was_claimed: bool) -> None:
    first = await opened_on(shared_url, clock, "first")
    signal = await blocked(first.engine, STARTS)
    if was_claimed:
        assert len(await claim_firings(first.engine.parts, worker="wrk_1", batch=9)) == 1
    await first.close()
    clock.advance(CLAIM_FOR)

    second = await opened_on(shared_url, clock, "second")
    for _ in range(2):
        await fire(second.engine)

    (row,) = await firings(second.engine, signal)
    assert (row.status, row.attempt) == ("done", 1 + was_claimed)
    assert (await seen(second.engine, signal)).fired == 1
    await second.close()


@pytest.mark.spec("signals:25")
async def test_the_table_is_called_firings(engine: Engine) -> None:
    tables = await engine.parts.store.read("schema", lambda tx: CheckQueries(tx.connection).schema_objects())

    assert SchemaObject("table", "firings") in tables


# Switched off


def test_the_switch_is_a_setting() -> None:
    assert not load_settings(environ={"WINDLASS_SIGNALS_ENABLED": "false"}).signals_enabled
    assert load_settings(environ={}).signals_enabled


@pytest.mark.spec("signals:51", "signals:52")
async def test_switched_off_nothing_is_worked_and_nothing_is_lost(engine: Engine, clock: FakeClock) -> None:
    off = coordinator(engine, fires_signals=False)
    early = await blocked(engine, repeats=True)
    hourly = await watch(engine, Trigger(kind=TriggerKind.TIME, every=Duration(HOUR)), STARTS)
    every_run = await watch(engine, on_workflow("invoice", "pending"), STARTS)
    clock.advance(DAY)
    await engine.runs.start_run(start())
    late = await blocked(engine)

    for _ in range(3):
        await off.tick()

    assert (
        await standing(engine, early) == await standing(engine, late) == await standing(engine, every_run) == ["queued"]
    )
    # Create, read, update and delete go on as ever.
    changing = UpdateSignal(namespace=NAMESPACE, signal_id=early.id, payload=b"7")
    assert (await engine.signals.update_signal(changing)).has_changed
    assert (await steer(engine, early, "pause")).signal.status == "paused"
    assert (await steer(engine, early, "resume")).signal.status == "armed"
    gone = await blocked(engine)
    await engine.signals.delete_signal(DeleteSignal(namespace=NAMESPACE, signal_id=gone.id))
    await fire(engine)
    for signal in (early, late, every_run, hourly):
        assert await standing(engine, signal) == ["done"]


async def test_an_app_whose_signals_are_switched_off_leaves_them_to_others(open_shared: OpenHarness) -> None:
    off = await open_shared(settings=Settings(signals_enabled=False))
    engine = in_process(off.opened).engine
    signal = await blocked(engine, STARTS)
    await off.advance("1m")
    assert await standing(engine, signal) == ["queued"]

    on = await open_shared()
    await on.advance("1m")

    assert await standing(engine, signal) == ["done"]
