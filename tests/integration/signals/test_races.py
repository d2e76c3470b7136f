"""Whatever commits while a signal is being armed on the same subject: does it fire, or is it said to have been before?

On PostgreSQL, where two transactions overlap: each interleaving is made by letting one of them stand before its commit.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from typing import Any

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
)
from tests.lives.pipeline_hands import PIPELINE, Hands
from tests.scale import SCALE
from windlass.model.commands import ClaimedRun, SetGate
from windlass.model.gate import GateKind
from windlass.model.graph import EVERY_END, AddJobs, ListJobs, Need, NewJob
from windlass.model.item import ItemStatus
from windlass.model.run import RunId
from windlass.model.signal import SignalStatus, SignalView, TriggerKind, UpdateSignal

TRIES = 30 * SCALE

READY, DOING, BLOCKED = ItemStatus.READY, ItemStatus.DOING, ItemStatus.BLOCKED


@pytest.fixture
async def racers(postgres_databases: PostgresDatabases) -> AsyncIterator[Racers]:
    url = postgres_databases.take()
    async with racing(url) as racers:
        yield racers
    postgres_databases.give_back(url)


# The end of a run: one statement for many of them


@pytest.mark.spec("invariants:I-49")
async def test_an_end_that_waited_for_the_arming_is_sent_again_and_fires(racers: Racers) -> None:
    await new_run(racers.first)
    (run,) = await claim(racers.first)
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.RUN, run.run_id, "failed")))
    await arming.reached()

    ending = asyncio.ensure_future(_finish(racers, run))
    await racers.until_one_waits()
    arming.let_go()
    await ending
    view = await armed

    assert (view.already, view.state) == (False, "running")
    (firing,) = await racers.firings(view.signal)
    assert (firing.from_status, firing.to_status, firing.subject_id) == ("running", "failed", run.run_id)
    assert racers.counts[1].begun["finish_runs"] == 2  # the first one could not have seen who watches


@pytest.mark.spec("invariants:I-49")
async def test_an_end_that_was_first_is_said_to_have_been_before(racers: Racers) -> None:
    await new_run(racers.first)
    (run,) = await claim(racers.first)
    held = Held(racers.second, "finish_runs")
    ending = asyncio.ensure_future(_finish(racers, run))
    await held.reached()

    arming = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.RUN, run.run_id, "failed")))
    await racers.until_one_waits()
    held.let_go()
    await ending
    view = await arming

    assert (view.already, view.state, view.signal.status) == (True, "failed", SignalStatus.RESOLVED)
    assert await racers.firings() == []


@pytest.mark.spec("invariants:I-49")
async def test_an_end_that_waited_for_other_states_to_be_asked_for_goes_by_those(racers: Racers) -> None:
    await new_run(racers.first)
    (run,) = await claim(racers.first)
    view = await racers.first.signals.create_signal(on(TriggerKind.RUN, run.run_id, "completed"))
    held = Held(racers.first, "update_signal")
    command = UpdateSignal(namespace=NAMESPACE, signal_id=view.signal.id, to=("failed",))
    updating = asyncio.create_task(racers.first.signals.update_signal(command))
    await held.reached()

    ending = asyncio.ensure_future(_finish(racers, run))
    await racers.until_one_waits()
    held.let_go()
    await asyncio.gather(updating, ending)

    assert [firing.to_status for firing in await racers.firings()] == ["failed"]


@pytest.mark.spec("invariants:I-49")
async def test_a_batch_of_ends_is_not_kept_by_the_one_that_is_sent_again(racers: Racers) -> None:
    for _ in range(10):
        await new_run(racers.first)
    runs = await claim(racers.first)
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.RUN, runs[4].run_id, "failed")))
    await arming.reached()

    endings = asyncio.gather(*(_finish(racers, run) for run in runs))
    await racers.until_one_waits()
    arming.let_go()
    await asyncio.gather(armed, endings)

    assert [firing.subject_id for firing in await racers.firings()] == [runs[4].run_id]
    assert racers.counts[1].begun["finish_runs"] == 2
    for run in runs:
        entries = await racers.log_of("run", run.run_id)
        assert [entry.to_status for entry in entries] == ["pending", "running", "failed"]


# A claim: it waits for nobody, so it is made to begin before the arming commits, and to come to the run behind it


@pytest.mark.spec("invariants:I-49")
async def test_a_claim_that_began_before_the_arming_leaves_the_run_to_the_next_one(racers: Racers) -> None:
    is_open = SetGate(namespace=NAMESPACE, kind=GateKind.WORKFLOW, name=ORDER, is_paused=False)
    await racers.first.control.set_gate(is_open)
    id = await new_run(racers.first)
    gate = racers.watching.transaction()
    await gate.start()
    await racers.watching.execute("update windlass.gates set is_paused = is_paused where name = $1", ORDER)
    claiming = asyncio.create_task(claim(racers.second))
    await racers.until_one_waits()

    view = await racers.first.signals.create_signal(on(TriggerKind.RUN, id, "running"))
    await gate.rollback()
    claimed = [run.run_id for run in await claiming]
    while id not in claimed:
        claimed += [run.run_id for run in await claim(racers.second, poll=2)]

    assert not view.already
    assert [(firing.subject_id, firing.to_status) for firing in await racers.firings()] == [(id, "running")]


# The move of an item


@pytest.mark.spec("invariants:I-49", "signals:47")
async def test_a_move_that_waited_for_the_arming_fires(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked")))
    await arming.reached()

    moving = asyncio.create_task(move(racers.second, item.id, BLOCKED))
    await racers.until_one_waits()
    arming.let_go()
    view, _ = await asyncio.gather(armed, moving)

    assert (view.already, view.state) == (False, "doing")
    assert [firing.to_status for firing in await racers.firings(view.signal)] == ["blocked"]


@pytest.mark.spec("invariants:I-49")
async def test_a_move_that_was_first_is_said_to_have_been_before_and_the_next_one_fires(racers: Racers) -> None:
    item = await new_item(racers.first, READY, DOING)
    held = Held(racers.second, "transition_item")
    moving = asyncio.create_task(move(racers.second, item.id, BLOCKED))
    await held.reached()

    arming = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked")))
    await racers.until_one_waits()
    held.let_go()
    view, _ = await asyncio.gather(arming, moving)
    await move(racers.second, item.id, DOING)
    await move(racers.second, item.id, BLOCKED)

    assert (view.already, view.state) == (True, "blocked")
    last = (await racers.log_of("item", item.id))[-1]
    assert [firing.cause for firing in await racers.firings(view.signal)] == [str(last.seq)]


# A pipeline, and a job of a graph


@pytest.mark.spec("invariants:I-49")
async def test_a_pipeline_that_comes_to_rest_while_somebody_begins_to_watch_it_fires(racers: Racers) -> None:
    hands = await _pipeline_at_work(racers)
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.PIPELINE, PIPELINE, "idle")))
    await arming.reached()

    releasing = asyncio.create_task(hands.release())
    await racers.until_one_waits()
    arming.let_go()
    view, _ = await asyncio.gather(armed, releasing)

    assert (view.already, view.state) == (False, "running")
    assert [(firing.subject_id, firing.to_status) for firing in await racers.firings()] == [(PIPELINE, "idle")]


@pytest.mark.spec("invariants:I-49")
async def test_a_pipeline_that_came_to_rest_first_is_said_to_have_done_so_before(racers: Racers) -> None:
    hands = await _pipeline_at_work(racers)
    held = Held(racers.second, "release_pipeline")
    releasing = asyncio.create_task(hands.release())
    await held.reached()

    asked = on(TriggerKind.PIPELINE, PIPELINE, "idle")
    arming = asyncio.create_task(racers.first.signals.create_signal(asked))
    await racers.until_one_waits()
    held.let_go()
    view, _ = await asyncio.gather(arming, releasing)

    assert (view.already, view.state, view.signal.status) == (True, "idle", SignalStatus.ARMED)
    assert await racers.firings() == []


@pytest.mark.spec("invariants:I-49")
@pytest.mark.parametrize("to", ["skipped", "pending"])
async def test_what_becomes_of_a_job_while_somebody_begins_to_watch_it_fires(racers: Racers, to: str) -> None:
    graph = await _open_graph(racers, accepts_failure=to == "pending")
    (lint,) = await claim(racers.first, poll=2, names=("job",))
    below = await _job(racers, graph, "deploy")
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.JOB, below, to)))
    await arming.reached()

    ending = asyncio.ensure_future(_finish(racers, lint))
    await racers.until_one_waits()
    arming.let_go()
    await asyncio.gather(armed, ending)

    assert to in [entry.to_status for entry in await racers.log_of("run", below)]
    assert [(firing.subject_id, firing.to_status) for firing in await racers.firings()] == [(below, to)]


@pytest.mark.spec("invariants:I-49")
async def test_the_end_of_a_graph_while_somebody_begins_to_watch_it_fires(racers: Racers) -> None:
    graph = await _open_graph(racers, accepts_failure=False)
    (lint,) = await claim(racers.first, poll=2, names=("job",))
    arming = Held(racers.first, "create_signal")
    armed = asyncio.create_task(racers.first.signals.create_signal(on(TriggerKind.GRAPH, graph, "failed")))
    await arming.reached()

    ending = asyncio.ensure_future(_finish(racers, lint))
    await racers.until_one_waits()
    arming.let_go()
    await asyncio.gather(armed, ending)

    assert [(firing.subject_id, firing.to_status) for firing in await racers.firings()] == [(graph, "failed")]


# Many tries, without anybody's help


@pytest.mark.spec("invariants:I-49")
async def test_of_many_ends_that_race_with_their_signals_each_is_seen_or_said(
    racers: Racers, figures: list[str]
) -> None:
    for _ in range(TRIES):
        await new_run(racers.first)
    runs = await claim(racers.first)
    chance, seen = random.Random("ends"), 0

    for run in runs:
        arming = racers.first.signals.create_signal(on(TriggerKind.RUN, run.run_id, "failed"))
        view = await _together(arming, _finish(racers, run), chance)
        firings = await racers.firings(view.signal)
        assert len(firings) == (0 if view.already else 1)
        assert view.state == ("failed" if view.already else "running")
        seen += len(firings)

    again = racers.counts[1].begun["finish_runs"] - TRIES
    figures.append(f"signals armed while their run ended: {seen} of {TRIES} fired, {again} ends were sent again")


@pytest.mark.spec("invariants:I-49")
async def test_of_many_moves_that_race_with_their_signals_each_is_seen_or_said(
    racers: Racers, figures: list[str]
) -> None:
    chance, seen = random.Random("moves"), 0

    for _ in range(TRIES):
        item = await new_item(racers.first, READY, DOING)
        arming = racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))
        view = await _together(arming, move(racers.second, item.id, BLOCKED), chance)
        firings = await racers.firings(view.signal)
        assert len(firings) == (0 if view.already else 1)
        seen += len(firings)

    figures.append(f"signals armed while their item moved: {seen} of {TRIES} fired")


# What they stand on


async def _together(
    arming: Coroutine[Any, Any, SignalView], other: Coroutine[Any, Any, Any], chance: random.Random
) -> SignalView:
    """Both at once; chance says which of them is sent first."""
    if chance.random() < 0.5:
        armed, done = asyncio.create_task(arming), asyncio.create_task(other)
    else:
        done, armed = asyncio.create_task(other), asyncio.create_task(arming)
    await asyncio.gather(armed, done)
    return armed.result()


async def _finish(racers: Racers, run: ClaimedRun) -> None:
    await racers.second.work.finish_run(failing(run))


async def _pipeline_at_work(racers: Racers) -> Hands:
    hands = Hands(racers.second, "wrk_racer")
    await hands.declare()
    await hands.publish("order-1")
    assert await hands.claim() is not None
    return hands


async def _open_graph(racers: Racers, *, accepts_failure: bool) -> RunId:
    """A graph of two jobs, the second of which needs the first."""
    await new_run(racers.first, "release")
    (run,) = await claim(racers.first, names=("release",))
    need = Need(upstream="lint", accepts=EVERY_END) if accepts_failure else Need(upstream="lint")
    jobs = (NewJob(name="lint", workflow="job"), NewJob(name="deploy", workflow="job", needs=(need,)))
    await racers.first.work.add_jobs(AddJobs(namespace=NAMESPACE, run_id=run.run_id, token=run.token, jobs=jobs))
    return run.run_id


async def _job(racers: Racers, graph: RunId, name: str) -> RunId:
    found = await racers.first.graphs.list_jobs(ListJobs(namespace=NAMESPACE, graph=graph))
    return next(job.run.id for job in found.jobs if job.name == name)
