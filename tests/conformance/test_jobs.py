"""Does every write about a job of a graph say whether it was the one that changed it, and is what is asked found?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, OTHER_WORKER
from tests.conformance.sound import EngineConformance
from tests.conformance.test_graphs import JOIN, always, job, open_graph, state_of
from windlass.engine.engine import Engine
from windlass.model.graph import COMPLETED_ONLY, JobState
from windlass.model.run import RunId, RunStatus
from windlass.model.time import HOUR, SECOND, Duration
from windlass.store.base import Store, Tx
from windlass.store.queries.jobs import DispatchedJob, MetNeeds, ReleasedJob, SkippedJob

WAITING, PENDING = RunStatus.WAITING, RunStatus.PENDING


class TestJobs(EngineConformance):
    # Every row says whether it was written

    async def test_a_skip_changes_what_it_was_decided_on_and_nothing_else(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN, job("last", "join"))
        join, last = await state_of(store, graph, "join"), await state_of(store, graph, "last")
        rows = [_skipped(graph, join), _skipped(graph, replace(last, run=replace(last.run, status=PENDING)))]

        async def skip(tx: Tx) -> tuple[set[int], dict[str, Any], list[str]]:
            done = set(await tx.needs.skip(rows))
            found = await tx.jobs.lock(NAMESPACE, graph, names=["join", "last"])
            states = {name: (state.run.status.value, state.decided_by) for name, state in found.items()}
            entries = await tx.log.of_subject(NAMESPACE, kind="run", id=last.run.id)
            return done, states, [entry.cause for entry in entries]

        done, states, causes = await _undone(store, skip)
        assert done == {0}
        assert states == {"join": ("skipped", "left"), "last": ("waiting", None)}
        assert causes == ["start"]

    async def test_a_release_changes_what_waits_and_nothing_else(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN)
        left, join = await state_of(store, graph, "left"), await state_of(store, graph, "join")
        rows = [_released(replace(left, run=replace(left.run, status=WAITING))), _released(join, timeout_for=HOUR)]

        async def release(tx: Tx) -> tuple[set[int], JobState]:
            done = set(await tx.needs.release(rows))
            return done, (await tx.jobs.lock(NAMESPACE, graph, names=["join"]))["join"]

        done, found = await _undone(store, release)
        now = await store.read("now", lambda tx: tx.now())
        assert done == {1}
        assert (found.run.status, found.run.unmet, found.run.ready_at) == (PENDING, 0, now)
        assert (found.run.available_at, found.run.expires_at) == (now, now + HOUR)

    async def test_a_dispatch_is_a_claim(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN)
        left, join = await state_of(store, graph, "left"), await state_of(store, graph, "join")
        rows = [_dispatched(replace(left, run=replace(left.run, status=WAITING))), _dispatched(join)]

        async def dispatch(tx: Tx) -> tuple[set[int], JobState]:
            done = set(await tx.needs.dispatch(rows))
            return done, (await tx.jobs.lock(NAMESPACE, graph, names=["join"]))["join"]

        done, found = await _undone(store, dispatch)
        now = await store.read("now", lambda tx: tx.now())
        assert done == {1}
        run = found.run
        assert (run.status, run.token, run.attempts, run.worker) == (RunStatus.RUNNING, 1, 1, OTHER_WORKER)
        assert (run.poll, run.available_at, run.started_at, run.ready_at) == (7, now + SECOND, now, now)

    async def test_what_is_met_never_releases_by_itself(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN)
        join = await state_of(store, graph, "join")

        async def meet(tx: Tx) -> list[int]:
            found: list[int] = []
            for rows in ([_met(join, met=1)], [_met(join, met=1)], [_met(join, more=3)]):
                await (tx.needs.add(rows) if rows[0].more else tx.needs.meet(rows))
                found.append((await tx.jobs.lock(NAMESPACE, graph, names=["join"]))["join"].run.unmet)
            return found

        assert await _undone(store, meet) == [1, 1, 4]

    # What is found

    async def test_the_edges_below_a_skip_go_on_to_whoever_accepts_it(self, engine: Engine, store: Store) -> None:
        jobs = (job("a"), job("b", "a"), job("c", "b"), job("d", always("c")), job("e", "d"))
        graph = await open_graph(engine, *jobs)

        below = await store.run_tx("below", lambda tx: tx.jobs.below(NAMESPACE, graph, names=["a", "c"]))
        to_the_end = await store.read("skip", lambda tx: tx.edges.below_skipped(NAMESPACE, graph, names=["a"]))

        assert sorted((edge.job, edge.upstream) for edge in below.edges) == [("b", "a"), ("d", "c")]
        assert {edge.job: edge.accepts for edge in below.edges}["b"] == COMPLETED_ONLY
        assert {name: (state.name, below.inputs[name]) for name, state in below.jobs.items()} == {
            "b": ("b", b"[]"),
            "d": ("d", b"[]"),
        }
        assert sorted((edge.job, edge.upstream) for edge in to_the_end) == [("b", "a"), ("c", "b"), ("d", "c")]

    async def test_another_namespace_finds_nothing_of_a_graph(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, *JOIN)

        async def look(tx: Tx) -> list[object]:
            other = "other"
            return [
                await tx.graphs.load(other, graph),
                await tx.graphs.lock(other, ids=[graph]),
                await tx.jobs.all(other, graph),
                await tx.jobs.ends(other, graph),
                await tx.jobs.lock(other, graph, names=["left"]),
                await tx.jobs.lock_open(other, graph),
                await tx.edges.of_graph(other, graph),
                (await tx.jobs.below(other, graph, names=["left"])).edges,
                await tx.edges.below_skipped(other, graph, names=["left"]),
            ]

        found = await store.run_tx("look", look)
        assert [bool(each) for each in found] == [False] * len(found)


class _Undo(Exception):
    pass


async def _undone(store: Store, fn: Any) -> Any:
    """What a transaction came to that leaves nothing behind: half of a change would be found at the end of the test."""
    found: list[Any] = []

    async def write(tx: Tx) -> None:
        found.append(await fn(tx))
        raise _Undo

    with pytest.raises(_Undo):
        await store.run_tx("undone", write)
    return found[-1]


def _skipped(graph: RunId, state: JobState) -> SkippedJob:
    run = state.run
    return SkippedJob(
        namespace=NAMESPACE, graph=graph, id=run.id, name=state.name, was=run.status, because="left", data=None
    )


def _released(state: JobState, *, timeout_for: int | None = None) -> ReleasedJob:
    return ReleasedJob(
        namespace=NAMESPACE,
        id=state.run.id,
        was=state.run.status,
        status=PENDING,
        timeout_for=None if timeout_for is None else Duration(timeout_for),
        cause="needs",
    )


def _dispatched(state: JobState) -> DispatchedJob:
    return DispatchedJob(
        namespace=NAMESPACE,
        id=state.run.id,
        queue=state.run.queue,
        workflow=state.run.name,
        was=state.run.status,
        worker=OTHER_WORKER,
        poll=7,
        claim_for=Duration(SECOND),
        timeout_for=None,
    )


def _met(state: JobState, *, met: int = 0, more: int = 0) -> MetNeeds:
    return MetNeeds(namespace=NAMESPACE, id=state.run.id, met=met, more=more)
