"""Does what becomes of a graph depend on how its jobs end, and on nothing else: no order, no crash?"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.conformance.given import engine_on
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot, take_snapshot
from tests.lives.faults import Faults, Point
from tests.memory import folder_in_memory
from tests.property.graph_hands import NAMESPACE, VISIBLE_FOR, Hands, WaitingHands, start_of
from tests.property.graph_plans import Brings, Plan, end_of_graph, expected, make_plan
from tests.scale import SCALE
from windlass.model.commands import CancelRun, PauseRun, ResumeRun, RetryRun
from windlass.model.graph import JobState
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.store.queries.checks import CheckQueries
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

EXAMPLES = 40 * SCALE
CRASHES = 15 * SCALE
WAITING = 15 * SCALE
DISTURBED = 10 * SCALE
OFTEN = 0.3
CHECKED = ("I-09", "I-10", "I-15", "I-17", *(f"I-{number}" for number in range(26, 32)), "graphs", "I-65")
SMALL = (42, 56, 62)  # plans of these numbers have groups with members, a window, and jobs that are skipped

numbers = some.integers(0, 1_000_000)


def ends_in(snapshot: Snapshot, graph: RunId) -> dict[str, RunStatus]:
    return {name: job.run.status for name, job in snapshot.jobs[graph].items()}


def check(plan: Plan, snapshot: Snapshot, graph: RunId) -> None:
    """Everything ended as planned, and no invariant was broken on the way."""
    wanted = expected(plan)
    assert ends_in(snapshot, graph) == wanted
    assert snapshot.runs[graph].status == end_of_graph(wanted)
    assert complaints(snapshot) == []


def complaints(snapshot: Snapshot) -> list[str]:
    evidence = Evidence(snapshots=(snapshot,))
    return [text for number in CHECKED for text in CHECKERS[number](evidence)]


class Site:
    """An empty database, and an engine on it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = SqliteStore(":memory:", clock=self.clock)
        self.engine = engine_on(self.store, self.clock)

    async def __aenter__(self) -> Self:
        await self.store.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def look(self) -> Snapshot:
        return await take_snapshot(self.store, at=self.clock.now(), life=1)

    async def contradictions(self) -> list[str]:
        found = await self.store.read("look", lambda tx: CheckQueries(tx.connection).inconsistencies())
        return [f"{item.rule}: {item.subject}" for item in found]


# In any order


@pytest.mark.spec("invariants:I-26", "invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-31")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=numbers, most=some.integers(5, 30), order=numbers)
def test_how_jobs_end_decides_what_becomes_of_the_others_in_any_order(number: int, most: int, order: int) -> None:
    plan = make_plan(1, random.Random(number), most=most)

    asyncio.run(in_some_order(plan, random.Random(order)))


async def in_some_order(plan: Plan, chance: random.Random) -> None:
    async with Site() as site:
        graph = (await site.engine.runs.start_run(start_of(plan))).run_id
        hands = Hands(site.engine, [plan], chance, worker=WorkerId("wrk_1"))
        while await hands.turn():
            assert await site.contradictions() == []
        check(plan, await site.look(), graph)


@pytest.mark.spec("invariants:I-26", "invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-31")
async def test_workers_that_wait_are_given_what_others_release_once(figures: list[str]) -> None:
    given = 0
    for number in range(WAITING):
        snapshot = await by_two_that_wait(random.Random(f"waiting {number}"))
        given += sum(entry.cause == "dispatch" and entry.from_status is not None for entry in snapshot.log)

    figures.append(f"{WAITING} graphs: {given} jobs given to workers that waited")
    assert given >= WAITING


async def by_two_that_wait(chance: random.Random) -> Snapshot:
    """Each has a claim that waits while it ends jobs."""
    plan = make_plan(1, chance)
    async with Site() as site:
        graph = (await site.engine.runs.start_run(start_of(plan))).run_id
        both = [WaitingHands(site.engine, [plan], chance, worker=WorkerId(f"wrk_{name}")) for name in "ab"]
        while sum([await hands.turn() for hands in both]):
            assert await site.contradictions() == []
        for hands in both:
            await hands.leave()
        snapshot = await site.look()
    check(plan, snapshot, graph)
    return snapshot


# With people who interfere


@pytest.mark.parametrize("number", range(DISTURBED))
async def test_pauses_change_nothing(number: int) -> None:
    chance = random.Random(f"paused {number}")
    plan = make_plan(1, chance)
    async with Site() as site:
        graph = (await site.engine.runs.start_run(start_of(plan))).run_id
        hands = Hands(site.engine, [plan], chance, worker=WorkerId("wrk_1"))
        await hands.turn()
        is_paused = False
        while await hands.turn() or is_paused:
            assert await site.contradictions() == []
            if await hands.is_over(graph):
                break
            if is_paused:
                await site.engine.control.resume_run(ResumeRun(namespace=NAMESPACE, run_id=graph))
            elif is_paused := chance.random() < OFTEN:
                await site.engine.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=graph))
                continue
            is_paused = False
        check(plan, await site.look(), graph)


@pytest.mark.spec("invariants:I-13", "invariants:I-27", "invariants:I-28")
@pytest.mark.parametrize("number", range(DISTURBED))
async def test_a_cancelled_graph_ends_as_a_whole(number: int) -> None:
    chance = random.Random(f"cancelled {number}")
    plan = make_plan(1, chance)
    async with Site() as site:
        graph = (await site.engine.runs.start_run(start_of(plan))).run_id
        hands = Hands(site.engine, [plan], chance, worker=WorkerId("wrk_1"))
        for _ in range(chance.randint(1, 8)):
            await hands.turn()
        before = await site.look()
        await site.engine.control.cancel_run(CancelRun(namespace=NAMESPACE, run_id=graph))
        while await hands.turn():
            assert await site.contradictions() == []
        after = await site.look()

    was_over = before.runs[graph].status.is_terminal
    assert after.runs[graph].status == (end_of_graph(expected(plan)) if was_over else RunStatus.CANCELLED)
    for name, job in after.jobs[graph].items():
        assert job.run.status in may_end_as(plan, job, before.jobs[graph].get(name)), name
    assert complaints(after) == []


def may_end_as(plan: Plan, job: JobState, before: JobState | None) -> set[RunStatus]:
    """Of a graph that was cancelled: what was over stays so, and only what cleans up still runs."""
    if before is not None and before.run.status.is_terminal:
        return {before.run.status}
    return {plan.ends()[job.name], RunStatus.SKIPPED} if job.is_cleanup else {RunStatus.CANCELLED}


@pytest.mark.parametrize("is_better", [False, True])
@pytest.mark.parametrize("number", range(DISTURBED))
async def test_a_graph_that_is_tried_again_ends_as_one_that_is_begun_anew(number: int, is_better: bool) -> None:
    """What had completed is kept, unless something before it is done again: so nobody can tell the difference."""
    chance = random.Random(f"again {number}")
    plan = make_plan(1, chance)
    async with Site() as site:
        graph = (await site.engine.runs.start_run(start_of(plan))).run_id
        hands = Hands(site.engine, [plan], chance, worker=WorkerId("wrk_1"))
        while await hands.turn():
            pass
        if end_of_graph(expected(plan)) is RunStatus.COMPLETED:
            return
        plan = plan.improved() if is_better else plan
        again = await site.engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=graph))
        assert await site.contradictions() == []
        hands = Hands(site.engine, [plan], chance, worker=WorkerId("wrk_2"))
        while await hands.turn():
            assert await site.contradictions() == []
        snapshot = await site.look()

    check(plan, snapshot, again.run_id)


def test_the_plans_have_every_shape() -> None:
    """Else the others would prove little."""
    plans = [make_plan(number, random.Random(number)) for number in range(EXAMPLES)]
    units = [unit for plan in plans for unit in plan.units]
    ends = [status for plan in plans for status in expected(plan).values()]

    assert {unit.brings for unit in units} == {None, *Brings}
    assert {unit.max_parallel for unit in units if unit.is_matrix} == {None, 1, 2}
    assert any(unit.fail_fast for unit in units)
    assert set(ends) == {status for status in RunStatus if status.is_terminal}
    assert max(len(expected(plan)) for plan in plans) >= 20


# With a crash


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with folder_in_memory("graphs") as folder:
        yield folder


@pytest.mark.spec("invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-30", "invariants:I-31")
@pytest.mark.parametrize("number", SMALL)
def test_a_crash_at_every_hook_changes_nothing(number: int, folder: Path) -> None:
    plan = make_plan(1, random.Random(number), most=12)
    points = lives(plan, folder, 1, crash_at=None)

    crashed = [point for point in points if lives(plan, folder, 1, crash_at=point) != []]

    assert any(unit.members for unit in plan.units) and any(unit.max_parallel for unit in plan.units)
    assert len(crashed) == len(points) >= 30


@pytest.mark.spec("invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-30", "invariants:I-31")
@pytest.mark.parametrize("number", range(CRASHES))
def test_a_crash_in_any_graph_changes_nothing(number: int, folder: Path) -> None:
    chance = random.Random(f"crash {number}")
    plan = make_plan(1, chance)
    points = lives(plan, folder, number, crash_at=None)

    lives(plan, folder, number, crash_at=chance.choice(points))


def lives(plan: Plan, folder: Path, order: int, *, crash_at: Point | None) -> list[Point]:
    """Work a graph through, dying once at that point, and check it. Answers with the points of the first life."""
    path, clock = folder / "windlass.db", FakeClock()
    for file in folder.iterdir():
        file.unlink()
    faults = asyncio.run(one_life(str(path), plan, clock, random.Random(order), crash_at=crash_at))
    assert faults.crashed == crash_at, "it was never there"
    if crash_at is not None:
        clock.advance(VISIBLE_FOR)  # what the dead one held comes back
        asyncio.run(one_life(str(path), plan, clock, random.Random(order)))
    snapshot, graph = asyncio.run(look(str(path), clock))
    check(plan, snapshot, graph)
    return faults.points


async def one_life(
    path: str, plan: Plan, clock: FakeClock, chance: random.Random, *, crash_at: Point | None = None
) -> Faults:
    """A process that starts the graph and works until nothing is left, or until it dies: then nobody answers it."""
    loop, dead = asyncio.get_running_loop(), asyncio.Event()

    def on_crash(point: Point) -> None:
        loop.call_soon_threadsafe(dead.set)

    faults = Faults(crash_at=crash_at, on_crash=on_crash)
    store = SqliteStore(path, clock=clock, hooks=faults)
    await store.open()
    faults.arm(store)
    engine = engine_on(store, clock)

    async def work() -> None:
        await engine.runs.start_run(start_of(plan))
        hands = Hands(engine, [plan], chance, worker=WorkerId(f"wrk_{clock.now()}"))
        while await hands.turn():
            pass
        await store.close()

    working, dying = asyncio.create_task(work()), asyncio.create_task(dead.wait())
    await asyncio.wait([working, dying], return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        await working
    await take_away()
    return faults


async def take_away() -> None:
    """Nothing of a dead process goes on."""
    while living := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in living:
            task.cancel()
        await asyncio.sleep(0)


async def look(path: str, clock: FakeClock) -> tuple[Snapshot, RunId]:
    store = SqliteStore(path, clock=clock)
    await store.open()
    snapshot = await take_snapshot(store, at=clock.now(), life=1)
    await store.close()
    (graph,) = snapshot.graphs
    return snapshot, graph.id
