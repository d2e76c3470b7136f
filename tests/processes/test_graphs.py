"""Do two processes that end jobs of the same graphs at the same time agree on what becomes of the others?"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot
from tests.processes.children import PATIENCE, ROOT, environment
from tests.processes.database import Database
from tests.processes.finishing import DIED, engine_of, store_of
from tests.property.graph_hands import NAMESPACE, SERVED, start_of
from tests.property.graph_plans import GRAPH, JOB, end_of_graph, expected, make_plan
from tests.scale import SCALE
from windlass.engine.engine import Engine
from windlass.model.commands import ClaimedRun, ClaimRuns, StartRun
from windlass.model.graph import AddJobs, Need, NewJob
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import MINUTE, Duration

GRAPHS = 20 * SCALE
SHARE = 2 * GRAPHS  # jobs: more than a tenth and much less than the half of all
FIRST = 5  # jobs that the living one ends before the others are dead
DEATHS = 3
HOOKS = 100  # within which a process dies that is to die
ROUNDS = 100 * SCALE
EVERY = 12_000_000  # nanoseconds
CHECKED = ("I-09", "I-10", "I-15", "I-17", *(f"I-{number}" for number in range(26, 32)), "graphs", "I-65")


class Program:
    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.finishing", *arguments],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def end(self) -> tuple[int, str]:
        """Its exit code, and the last that it said."""
        said, complaints = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode in (0, DIED), complaints
        return self._process.returncode, said.strip()

    def remove(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def programs(*arguments: tuple[str, ...]) -> Iterator[list[Program]]:
    started = [Program(*each) for each in arguments]
    try:
        for program in started:
            program.wait_until_ready()
        yield started
    finally:
        for program in started:
            program.remove()


def complaints(snapshot: Snapshot) -> list[str]:
    evidence = Evidence(snapshots=(snapshot,))
    return [text for number in CHECKED for text in CHECKERS[number](evidence)]


# Random graphs


async def start_graphs(url: str, numbers: range) -> dict[int, str]:
    store = store_of(url)
    await store.open()
    engine = engine_of(store, "starting")
    plans = {number: make_plan(number, random.Random(number)) for number in numbers}
    started = {number: (await engine.runs.start_run(start_of(plan))).run_id for number, plan in plans.items()}
    await store.close()
    return {number: str(id) for number, id in started.items()}


def check_all(database: Database, graphs: dict[int, str]) -> None:
    last = database.look()
    for number, graph in graphs.items():
        wanted = expected(make_plan(number, random.Random(number)))
        assert {name: job.run.status for name, job in last.jobs[graph].items()} == wanted, f"plan {number}"
        assert last.runs[graph].status == end_of_graph(wanted), f"plan {number}"
    assert complaints(last) == []


@pytest.fixture
def on_a_server(postgres_url: str) -> Iterator[Database]:
    with Database("postgresql", postgres_url) as database:
        yield database


@pytest.mark.spec("invariants:I-26", "invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-31")
def test_two_processes_work_through_random_graphs_as_one_would(on_a_server: Database, figures: list[str]) -> None:
    url, numbers = on_a_server.url, range(GRAPHS)
    graphs = asyncio.run(start_graphs(url, numbers))

    # Whoever is first with its share waits for the other: else one of them might do it all before the other begins.
    with programs(*(("work", url, name, str(GRAPHS), "0", str(SHARE)) for name in ("a", "b"))) as both:
        for program in both:
            program.say("go")
        for program in both:
            program.wait_until_ready()
        for program in both:
            program.say("go on")
        answers = [program.end() for program in both]

    check_all(on_a_server, graphs)
    assert [code for code, _ in answers] == [0, 0]
    shares = [int(said) for _, said in answers]
    figures.append(f"{GRAPHS} graphs by two processes: {shares[0]} and {shares[1]} jobs")
    assert min(shares) >= sum(shares) // 10, "one of them has done it alone"


@pytest.mark.spec("invariants:I-26", "invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-31")
def test_processes_that_die_on_the_way_change_nothing(on_a_server: Database) -> None:
    url, numbers, chance = on_a_server.url, range(GRAPHS), random.Random("deaths")
    graphs = asyncio.run(start_graphs(url, numbers))

    dying = [("work", url, f"dying-{each}", str(GRAPHS), str(chance.randint(5, HOOKS)), "0") for each in range(DEATHS)]
    # The living one waits for their deaths: else it might be done before they come to them.
    with programs(*dying, ("work", url, "living", str(GRAPHS), "0", str(FIRST))) as all:
        for program in all:
            program.say("go")
        codes = [program.end()[0] for program in all[:-1]]
        all[-1].wait_until_ready()
        all[-1].say("go on")
        codes.append(all[-1].end()[0])

    assert codes == [DIED] * DEATHS + [0]
    check_all(on_a_server, graphs)


# The same instant

JOIN = tuple(
    NewJob(name=name, workflow=JOB, needs=tuple(Need(upstream=need) for need in needs))
    for name, needs in {"left": (), "right": (), "join": ("left", "right")}.items()
)


async def claim(engine: Engine, poll: int, *, limit: int) -> list[ClaimedRun]:
    command = ClaimRuns(
        namespace=NAMESPACE,
        worker=WorkerId("wrk_parent"),
        poll=poll,
        served=SERVED,
        limit=limit,
        visibility_for=Duration(MINUTE),
        wait_for=Duration(0),
    )
    return await engine.work.claim_runs(command)


async def open_joins(url: str) -> list[ClaimedRun]:
    """Graphs of two jobs that a third one needs: those two, claimed."""
    store = store_of(url)
    await store.open()
    engine = engine_of(store, "opening")
    for number in range(ROUNDS):
        start = StartRun(
            namespace=NAMESPACE,
            name=GRAPH,
            version="",
            queue="default",
            priority=0,
            input=b"[]",
            input_hash=b"",
            key=f"join-{number}",
        )
        await engine.runs.start_run(start)
    for run in await claim(engine, 1, limit=ROUNDS):
        await engine.work.add_jobs(AddJobs(namespace=NAMESPACE, run_id=run.run_id, token=run.token, jobs=JOIN))
    claimed = await claim(engine, 2, limit=3 * ROUNDS)
    await store.close()
    return claimed


async def claim_joins(url: str) -> list[ClaimedRun]:
    store = store_of(url)
    await store.open()
    claimed = await claim(engine_of(store, "claiming"), 3, limit=3 * ROUNDS)
    await store.close()
    return claimed


@pytest.mark.spec("invariants:I-27", "invariants:I-29")
def test_of_two_upstreams_that_end_at_the_same_instant_in_two_processes_one_releases_the_join(
    database: Database, figures: list[str]
) -> None:
    held = asyncio.run(open_joins(database.url))
    assert sorted(run.job or "" for run in held) == ["left"] * ROUNDS + ["right"] * ROUNDS
    graphs = sorted({str(run.parent) for run in held})

    with programs(("together", database.url), ("together", database.url)) as both:
        begin = time.monotonic_ns() + 50_000_000
        times = {graph: begin + number * EVERY for number, graph in enumerate(graphs)}
        for program, side in zip(both, ("left", "right"), strict=True):
            own = [(times[str(run.parent)], run.run_id, run.token, run.parent, side) for run in held if run.job == side]
            program.say(json.dumps(sorted(own)))
        assert [program.end()[0] for program in both] == [0, 0]

    last = database.look()
    assert complaints(last) == []
    joins = [last.jobs[graph]["join"].run for graph in graphs]
    assert {(run.status, run.unmet) for run in joins} == {(RunStatus.PENDING, 0)}
    assert [[entry.cause for entry in last.histories[run.id]] for run in joins] == [["start", "needs"]] * ROUNDS
    assert sorted(run.run_id for run in asyncio.run(claim_joins(database.url))) == sorted(run.id for run in joins)
    apart = sorted(abs(ended(last, graph, "left") - ended(last, graph, "right")) for graph in graphs)
    figures.append(f"{database.name:10}  two ends of {ROUNDS} joins: half of them within {apart[ROUNDS // 2]} µs")


def ended(snapshot: Snapshot, graph: str, job: str) -> int:
    return snapshot.jobs[graph][job].run.finished_at or 0
