"""Do graphs go on once, whoever ends their jobs, and at the same time as whom?

    finish, cancel, expire    lock the graph ──► end jobs ──► read the edges below ──► skip · count · release · close

Both ends of a join hold the same lock. So the second sees what the first has made of it, and releases what waits.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    engine_on,
    poll,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling
from windlass.engine.engine import Engine
from windlass.engine.finish import FinishRuns
from windlass.errors import ClaimLost, Unavailable
from windlass.model.commands import ClaimedRun, FinishRun
from windlass.model.graph import EVERY_END, Added, AddJobs, JobState, Need, NewJob
from windlass.model.run import RunId, RunStatus
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

WAITING, PENDING = RunStatus.WAITING, RunStatus.PENDING
COMPLETED, FAILED = RunStatus.COMPLETED, RunStatus.FAILED


def job(name: str, *needs: str | Need, **fields: Any) -> NewJob:
    """A job in the lane that `poll` asks for."""
    edges = tuple(Need(upstream=need) if isinstance(need, str) else need for need in needs)
    values: dict[str, Any] = {"name": name, "workflow": "invoice", "queue": "billing", "needs": edges}
    return NewJob(**(values | fields))


def always(upstream: str) -> Need:
    return Need(upstream=upstream, accepts=EVERY_END)


def group(name: str, *needs: str | Need) -> NewJob:
    return job(name, *needs, is_group=True)


def of_group(name: str) -> Need:
    return Need(upstream=name, is_group=True)


def children(count: int, **fields: Any) -> list[NewJob]:
    return [job(f"test[{number}]", matrix="test", **fields) for number in range(1, count + 1)]


JOIN = (job("left"), job("right"), job("join", "left", "right"))


# What a worker does, without code


async def open_graph(engine: Engine, *jobs: NewJob, number: int = 1) -> RunId:
    started = await engine.runs.start_run(start(number))
    (claimed,) = await engine.work.claim_runs(poll(100 + number, limit=1))
    assert claimed.run_id == started.run_id
    assert (await add(engine, claimed, *jobs)).status is WAITING
    return started.run_id


async def add(engine: Engine, claimed: ClaimedRun, *jobs: NewJob, **fields: Any) -> Added:
    return await engine.work.add_jobs(
        AddJobs(namespace=NAMESPACE, run_id=claimed.run_id, token=claimed.token, jobs=jobs, output=b"[]", **fields)
    )


async def claim_jobs(engine: Engine, number: int = 1) -> dict[str, ClaimedRun]:
    return {run.job or "": run for run in await engine.work.claim_runs(poll(number))}


def ended(claimed: ClaimedRun, status: RunStatus = COMPLETED) -> FinishRun:
    return FinishRun(
        namespace=NAMESPACE,
        run_id=claimed.run_id,
        token=claimed.token,
        status=status,
        output=b"42" if status is COMPLETED else None,
        failure=None if status is COMPLETED else FAILURE,
        result_hash=b"hash",
        parent=claimed.parent,
        job=claimed.job,
    )


async def end(engine: Engine, *claimed: ClaimedRun, status: RunStatus = COMPLETED) -> None:
    await asyncio.gather(*(engine.work.finish_run(ended(run, status)) for run in claimed))


# What stands there


async def statuses(engine: Engine, graph: RunId) -> dict[str, str]:
    store = engine.parts.store
    found = await store.read("ends", lambda tx: tx.jobs.ends(NAMESPACE, graph))
    return {name: status.value for name, status in found.items()}


async def state_of(store: Store, graph: RunId, name: str) -> JobState:
    (view,) = await store.read("views", lambda tx: tx.jobs.views(NAMESPACE, graph, names=[name]))
    return view.state


async def causes_of(store: Store, run_id: RunId) -> list[str]:
    entries = await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="run", id=run_id))
    return [entry.cause for entry in entries]


async def status_of(engine: Engine, run_id: RunId) -> str:
    return (await engine.runs.get_run(NAMESPACE, run_id)).run.status.value


class TestGraphs(EngineConformance):
    # One transaction

    @pytest.mark.spec("invariants:I-27", "invariants:I-30")
    async def test_a_run_becomes_a_graph_with_all_jobs_in_one_commit(self, engine: Engine, store: Store) -> None:
        await engine.runs.start_run(start())
        (claimed,) = await engine.work.claim_runs(poll())
        recorder = record(store)

        await add(engine, claimed, *JOIN, group("parts", "left"), job("last", of_group("parts")))

        assert recorder.commits == 1
        assert await statuses(engine, claimed.run_id) == {
            "left": "pending",
            "right": "pending",
            "join": "waiting",
            "parts": "waiting",
            "last": "waiting",
        }
        edges = await store.read("edges", lambda tx: tx.edges.of_graph(NAMESPACE, claimed.run_id))
        found = sorted((edge.job, edge.upstream, edge.is_group, edge.is_resolved) for edge in edges)
        assert found == [
            ("join", "left", False, False),
            ("join", "right", False, False),
            ("last", "parts", True, False),
            ("parts", "left", False, False),
        ]
        assert (await state_of(store, claimed.run_id, "join")).run.unmet == 2

    @pytest.mark.spec("invariants:I-27")
    async def test_a_graph_whose_answer_was_lost_is_opened_once(
        self, engine: Engine, store: Store, clock: FakeClock
    ) -> None:
        await engine.runs.start_run(start())
        (claimed,) = await engine.work.claim_runs(poll())
        record(store).at["after_commit"] = raising(Unavailable("gone"), times=1)

        added = await while_time_passes(clock, add(engine, claimed, *JOIN))
        again = await add(engine, claimed, *JOIN, is_again=True)

        assert (added.status, again.status) == (WAITING, WAITING)
        graph = await store.read("graph", lambda tx: tx.graphs.load(NAMESPACE, claimed.run_id))
        assert graph is not None
        assert (graph.jobs, graph.open) == (3, 3)
        with pytest.raises(ClaimLost):
            await add(engine, claimed, *JOIN)

    @pytest.mark.spec("invariants:I-27", "invariants:I-31")
    async def test_a_generator_ends_together_with_its_members(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, group("parts"), job("last", of_group("parts")))
        claimed = await claim_jobs(engine)
        recorder = record(store)

        added = await add(engine, claimed["parts"], job("one"), job("two", "one"))

        assert (added.status, recorder.commits) == (COMPLETED, 1)
        found = {"parts": "completed", "last": "waiting", "one": "pending", "two": "waiting"}
        assert await statuses(engine, graph) == found
        assert (await state_of(store, graph, "last")).run.unmet == 2
        assert (await state_of(store, graph, "one")).group == "parts"

    @pytest.mark.spec("invariants:I-31")
    async def test_an_empty_group_is_met_by_its_generator(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, group("parts"), job("last", of_group("parts")))
        claimed = await claim_jobs(engine)

        await add(engine, claimed["parts"])

        assert await statuses(engine, graph) == {"parts": "completed", "last": "pending"}

    @pytest.mark.spec("invariants:I-30")
    @pytest.mark.parametrize("bad", [job("one", "nobody"), job("one", "last"), job("last"), job("one", "one")])
    async def test_a_bad_expansion_ends_its_generator_and_nothing_else(
        self, engine: Engine, store: Store, bad: NewJob
    ) -> None:
        graph = await open_graph(engine, group("parts"), job("last", of_group("parts")), job("other"))
        claimed = await claim_jobs(engine)

        added = await add(engine, claimed["parts"], job("good"), bad)

        assert added.status is FAILED
        assert await statuses(engine, graph) == {"parts": "failed", "last": "skipped", "other": "running"}
        await end(engine, claimed["other"])
        assert await status_of(engine, graph) == "failed"

    # Who releases

    @pytest.mark.spec("invariants:I-27")
    async def test_two_ends_in_one_batch_release_once(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN)
        claimed = await claim_jobs(engine)
        recorder = record(store)

        await end(engine, claimed["left"], claimed["right"])

        assert recorder.commits == 1
        join = await state_of(store, graph, "join")
        assert (join.run.status, join.run.unmet) == (PENDING, 0)
        assert await causes_of(store, join.run.id) == ["start", "needs"]

    @pytest.mark.spec("invariants:I-27", "invariants:I-29")
    async def test_of_two_ends_in_two_processes_the_second_waits_and_releases(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        graph = await open_graph(engine, *JOIN)
        claimed = await claim_jobs(engine)

        async def end_left(tx: Tx) -> None:
            await FinishRuns(other.parts).write(tx, [ended(claimed["left"])])

        await meanwhile(second_store, end_left, lambda: end(engine, claimed["right"]), until_blocked)

        join = await state_of(store, graph, "join")
        assert (join.run.status, join.run.unmet) == (PENDING, 0)
        assert await causes_of(store, join.run.id) == ["start", "needs"]

    @pytest.mark.spec("invariants:I-28")
    async def test_a_job_that_one_end_skips_is_not_released_by_the_other(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        graph = await open_graph(engine, *JOIN, job("after", always("join")))
        claimed = await claim_jobs(engine)

        async def fail_left(tx: Tx) -> None:
            await FinishRuns(other.parts).write(tx, [ended(claimed["left"], FAILED)])

        await meanwhile(second_store, fail_left, lambda: end(engine, claimed["right"]), until_blocked)

        found = {"left": "failed", "right": "completed", "join": "skipped", "after": "pending"}
        assert await statuses(engine, graph) == found
        assert (await state_of(store, graph, "join")).decided_by == "left"

    @pytest.mark.spec("invariants:I-13", "invariants:I-27")
    async def test_a_cancel_of_the_graph_and_an_end_of_its_job_come_one_after_the_other(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        graph = await open_graph(engine, job("first"), job("second", "first"))
        claimed = await claim_jobs(engine)

        async def end_first(tx: Tx) -> None:
            await FinishRuns(other.parts).write(tx, [ended(claimed["first"])])

        await meanwhile(second_store, end_first, lambda: engine.control.cancel_run(cancelling(graph)), until_blocked)

        assert await statuses(engine, graph) == {"first": "completed", "second": "cancelled"}
        assert await status_of(engine, graph) == "cancelled"

    @pytest.mark.spec("invariants:I-28")
    async def test_a_chain_is_skipped_to_its_end_in_one_commit(self, engine: Engine, store: Store) -> None:
        chain = [job(f"job-{number}", f"job-{number - 1}") for number in range(1, 60)]
        graph = await open_graph(engine, job("job-0"), *chain, job("last", always("job-59")))
        claimed = await claim_jobs(engine)
        recorder = record(store)

        await end(engine, claimed["job-0"], status=FAILED)

        assert recorder.commits == 1
        found = await statuses(engine, graph)
        assert [found[f"job-{number}"] for number in range(1, 60)] == ["skipped"] * 59
        assert found["last"] == "pending"

    # A window

    async def test_a_window_lets_one_begin_for_each_that_ends(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *children(4, max_parallel=2))
        held = await store.read("held", lambda tx: tx.jobs.held(NAMESPACE, graph, matrices=["test", "none"]))
        assert held == {"test": ["test[3]", "test[4]"]}

        claimed = await claim_jobs(engine)
        assert sorted(claimed) == ["test[1]", "test[2]"]
        await end(engine, claimed["test[2]"])

        assert sorted(await claim_jobs(engine, 2)) == ["test[3]"]
        assert (await state_of(store, graph, "test[4]")).run.unmet == 1

    async def test_two_that_end_at_once_give_their_turns_to_two(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *children(5, max_parallel=2))
        claimed = await claim_jobs(engine)

        await end(engine, *claimed.values())

        found = await statuses(engine, graph)
        assert [found[f"test[{number}]"] for number in range(1, 6)] == [
            *("completed", "completed", "pending", "pending", "waiting"),
        ]
