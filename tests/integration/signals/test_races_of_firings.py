"""What if two causes, two coordinators, a pause or a declaration come at the same moment?

On PostgreSQL, where two transactions overlap.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.integration.conftest import PostgresDatabases
from tests.integration.signals.racing import (
    NAMESPACE,
    ORDER,
    Held,
    Racers,
    claim,
    failing,
    move,
    new_item,
    new_run,
    on,
    racing,
    steer,
)
from tests.scale import SCALE
from windlass.engine.signal.reconcile import reconcile
from windlass.engine.signal.work import work_firings
from windlass.model.commands import ClaimedRun
from windlass.model.feed import Place
from windlass.model.item import ItemStatus
from windlass.model.run import LogEntry
from windlass.model.signal import (
    FIRED,
    Action,
    DeclaredSignal,
    DeclareSignals,
    FiringStatus,
    ListSignals,
    Signal,
    SignalNews,
    SignalStatus,
    SignalVerb,
    Trigger,
    TriggerKind,
)
from windlass.store.base import Tx
from windlass.store.queries.feed import FeedQueries

TRIES = 15 * SCALE
RUNS = 60 * SCALE

READY, DOING, BLOCKED = ItemStatus.READY, ItemStatus.DOING, ItemStatus.BLOCKED


@pytest.fixture
async def racers(postgres_databases: PostgresDatabases) -> AsyncIterator[Racers]:
    url = postgres_databases.take()
    async with racing(url) as racers:
        yield racers
    postgres_databases.give_back(url)


# Two causes


@pytest.mark.spec("invariants:I-48", "signals:49")
async def test_of_two_causes_that_two_coordinators_work_at_once_one_wins(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
    for to in (BLOCKED, DOING, BLOCKED):
        await move(racers.first, item.id, to)
    held = Held(racers.first, "work_firings")
    working = asyncio.create_task(work_firings(racers.first.parts, worker="one", batch=1))
    await held.reached()

    others = asyncio.create_task(work_firings(racers.second.parts, worker="other", batch=1))
    await racers.until_one_waits()
    held.let_go()
    assert list(await asyncio.gather(working, others)) == [1, 1]

    firings = await racers.firings(view.signal)
    assert [firing.status for firing in firings] == [FiringStatus.DONE, FiringStatus.SUPERSEDED]
    assert await _announced(racers, view.signal) == [firings[0].id]
    signal = (await racers.first.signals.get_signal(NAMESPACE, view.signal.id)).signal
    assert (signal.status, signal.fired) == (SignalStatus.FIRED, 1)


@pytest.mark.spec("invariants:I-48")
async def test_a_pattern_that_fires_once_fires_once_for_each_subject_whoever_works_it(racers: Racers) -> None:
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, "*", "blocked"))
    items = [await new_item(racers.first, READY, DOING, BLOCKED, DOING, BLOCKED) for _ in range(TRIES)]

    async def work(place: int) -> None:
        engine = (racers.first, racers.second)[place]
        while await work_firings(engine.parts, worker=f"worker {place}", batch=3):
            pass

    await asyncio.gather(work(0), work(1))

    firings = await racers.firings(view.signal)
    done = Counter(firing.subject_id for firing in firings if firing.status is FiringStatus.DONE)
    late = Counter(firing.subject_id for firing in firings if firing.status is FiringStatus.SUPERSEDED)
    assert done == late == Counter(item.id for item in items)
    assert len(await _announced(racers, view.signal)) == TRIES


@pytest.mark.spec("invariants:I-46", "invariants:I-48")
async def test_a_cause_from_before_a_signal_was_armed_anew_does_not_fire_it(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
    for to in (BLOCKED, DOING, BLOCKED):
        await move(racers.first, item.id, to)
    await work_firings(racers.first.parts, worker="one", batch=1)

    await steer(racers.second, view.signal.id, SignalVerb.RESUME)
    await racers.work()

    signal = (await racers.first.signals.get_signal(NAMESPACE, view.signal.id)).signal
    assert (signal.status, signal.fired) == (SignalStatus.ARMED, 1)
    firings = await racers.firings(view.signal)
    assert [firing.status for firing in firings] == [FiringStatus.DONE, FiringStatus.SUPERSEDED]


@pytest.mark.spec("invariants:I-46", "invariants:I-48")
async def test_nor_does_one_that_a_coordinator_holds_when_it_is_armed_anew(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
    for to in (BLOCKED, DOING, BLOCKED):
        await move(racers.first, item.id, to)
    await work_firings(racers.first.parts, worker="one", batch=1)
    held = Held(racers.first, "claim_firings")
    working = asyncio.create_task(work_firings(racers.first.parts, worker="one", batch=1))
    await held.reached()

    resuming = asyncio.create_task(steer(racers.second, view.signal.id, SignalVerb.RESUME))
    await racers.until_one_waits()
    held.let_go()
    await asyncio.gather(resuming, working)
    await racers.work()

    signal = (await racers.first.signals.get_signal(NAMESPACE, view.signal.id)).signal
    assert (signal.status, signal.fired) == (SignalStatus.ARMED, 1)


# A pause


@pytest.mark.spec("invariants:I-49")
@pytest.mark.parametrize("subject", ["its item", "all items"])
async def test_pauses_that_race_with_moves_leave_nothing_behind(racers: Racers, subject: str) -> None:
    chance, moves = random.Random("pauses"), 0
    item = await new_item(racers.first, READY, DOING)
    watched = item.id if subject == "its item" else "*"
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, watched, "blocked", repeats=True))

    async def steering() -> None:
        for _ in range(TRIES):
            for verb in (SignalVerb.PAUSE, SignalVerb.RESUME):
                await steer(racers.second, view.signal.id, verb)
                await asyncio.sleep(chance.uniform(0, 0.002))

    async def moving(until: asyncio.Future[None]) -> None:
        nonlocal moves
        while not until.done():
            await move(racers.first, item.id, BLOCKED)
            await move(racers.first, item.id, DOING)
            moves += 1

    steered = asyncio.ensure_future(steering())
    await asyncio.gather(steered, moving(steered))
    await reconcile(racers.first.parts, NAMESPACE)
    waiting = [firing for firing in await racers.firings(view.signal) if not firing.status.is_over]
    await racers.work()

    assert [firing for firing in waiting if firing.available_at is None] == []
    firings = await racers.firings(view.signal)
    assert Counter(firing.status for firing in firings) == {FiringStatus.DONE: moves}
    assert sorted(await _announced(racers, view.signal)) == sorted(firing.id for firing in firings)


@pytest.mark.spec("invariants:I-49")
async def test_what_fired_while_its_signal_was_being_paused_waits_and_goes_on(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
    moving = Held(racers.first, "transition_item")
    moved = asyncio.create_task(move(racers.first, item.id, BLOCKED))
    await moving.reached()  # it has seen an armed signal
    await steer(racers.second, view.signal.id, SignalVerb.PAUSE)
    moving.let_go()
    await moved

    await racers.work()
    (firing,) = await racers.firings(view.signal)
    assert (firing.status, firing.available_at, firing.attempt) == (FiringStatus.QUEUED, None, 0)
    await steer(racers.second, view.signal.id, SignalVerb.RESUME)
    await racers.work()

    assert [firing.status for firing in await racers.firings(view.signal)] == [FiringStatus.DONE]


@pytest.mark.spec("invariants:I-49")
async def test_a_move_that_waited_for_the_resume_is_not_held_back(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    view = await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
    await steer(racers.first, view.signal.id, SignalVerb.PAUSE)
    held = Held(racers.second, "steer_signal")
    resuming = asyncio.create_task(steer(racers.second, view.signal.id, SignalVerb.RESUME))
    await held.reached()

    moving = asyncio.create_task(move(racers.first, item.id, BLOCKED))
    await racers.until_one_waits()
    held.let_go()
    await asyncio.gather(resuming, moving)

    (firing,) = await racers.firings(view.signal)
    assert firing.available_at is not None


# A declaration: there is no subject that both lock


@pytest.mark.spec("invariants:I-49")
async def test_ends_that_race_with_a_declaration_have_their_firings_once_the_log_was_examined(
    racers: Racers, figures: list[str]
) -> None:
    for _ in range(RUNS):
        await new_run(racers.first)
    runs = await claim(racers.first)
    chance = random.Random("declarations")

    async def ends(some: list[ClaimedRun]) -> None:
        for run in some:
            await racers.second.work.finish_run(failing(run))
            await asyncio.sleep(chance.uniform(0, 0.003))

    async def declarations() -> None:
        for count in range(1, TRIES + 1):
            await racers.first.signals.declare_signals(_declared(count))
            await asyncio.sleep(chance.uniform(0, 0.01))

    await asyncio.gather(declarations(), *(ends(runs[part::4]) for part in range(4)))
    created_at_once = len(await racers.firings())
    while (await reconcile(racers.first.parts, NAMESPACE)).is_more:
        pass

    entries = await _failed(racers)
    assert len(entries) == RUNS
    behind = 0
    page = await racers.first.signals.list_signals(ListSignals(namespace=NAMESPACE, limit=TRIES))
    assert len(page.signals) == TRIES
    for signal in page.signals:
        wanted = {str(entry.seq) for place, entry in entries if place > Place(signal.armed_xid, signal.armed_seq)}
        causes = [firing.cause for firing in await racers.firings(signal)]
        assert wanted <= set(causes) and len(causes) == len(set(causes))
        behind += len(wanted)
    found = len(await racers.firings()) - created_at_once
    figures.append(f"{RUNS} ends beside {TRIES} declarations: {behind} firings, {found} of them found in the log")


@pytest.mark.spec("invariants:I-49")
async def test_an_end_that_could_not_see_the_declaration_is_found_in_the_log(racers: Racers) -> None:
    await new_run(racers.first)
    (run,) = await claim(racers.first)
    lock = racers.watching.transaction()
    await lock.start()
    await racers.watching.execute("select 1 from windlass.runs where id = $1 for update", run.run_id)
    ending = asyncio.ensure_future(racers.second.work.finish_run(failing(run)))
    await racers.until_one_waits()  # its snapshot is taken, and it has no transaction id yet

    await racers.first.signals.declare_signals(_declared(1))
    await lock.rollback()
    await ending
    before = await racers.firings()
    await reconcile(racers.first.parts, NAMESPACE)

    assert before == []
    assert [(firing.subject_id, firing.to_status) for firing in await racers.firings()] == [(run.run_id, "failed")]


@pytest.mark.spec("invariants:I-49")
async def test_the_log_is_not_passed_while_an_end_may_still_come(racers: Racers) -> None:
    await racers.first.signals.declare_signals(_declared(1))
    for _ in range(2):
        await new_run(racers.first)
    early, late = await claim(racers.first)
    held = Held(racers.second, "finish_runs")
    ending = asyncio.ensure_future(racers.second.work.finish_run(failing(early)))
    await held.reached()
    await racers.first.work.finish_run(failing(late))

    await reconcile(racers.first.parts, NAMESPACE)
    held.let_go()
    await ending
    await reconcile(racers.first.parts, NAMESPACE)
    await racers.work()

    done = {firing.subject_id for firing in await racers.firings() if firing.status is FiringStatus.DONE}
    assert done == {early.run_id, late.run_id}


# What they stand on


def _declared(count: int) -> DeclareSignals:
    trigger = Trigger(kind=TriggerKind.WORKFLOW, subject=ORDER, to=("failed",))
    signals = tuple(
        DeclaredSignal(name=f"page-{number}", trigger=trigger, action=Action(), repeats=False)
        for number in range(count)
    )
    return DeclareSignals(namespace=NAMESPACE, program="shop", signals=signals)


async def _failed(racers: Racers) -> list[tuple[Place, LogEntry]]:
    """Every end of a run, in the order of the feed."""

    async def read(tx: Tx) -> list[tuple[Place, LogEntry]]:
        feed = FeedQueries(tx.connection)
        edge = await feed.edge(NAMESPACE)
        found = await feed.page(NAMESPACE, after=Place(0, 0), before=edge.horizon, limit=100_000)
        return [(Place(*item.place), item.entry) for item in found if item.entry.to_status == "failed"]

    return await racers.first.parts.store.read("failed", read)


async def _announced(racers: Racers, signal: Signal) -> list[str]:
    """The firings that the log tells of, oldest first."""
    entries = await racers.log_of("signal", signal.id)
    return [
        msgspec.json.decode(entry.data or b"{}", type=SignalNews).firing_id or ""
        for entry in entries
        if entry.cause == FIRED
    ]
