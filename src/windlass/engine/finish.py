"""End runs: the last write of a claim, in batches. Terminal is absorbing, and whoever waits for a run goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from windlass.engine.batch import Again
from windlass.engine.family import wake_parents
from windlass.engine.graph.dispatch import Dispatch
from windlass.engine.graph.lock import ancestors_of
from windlass.engine.graph.settle import Settled, difference, settle, tell_of_settled
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, lock_schedules, release_next, tell_of_release
from windlass.engine.send import tell_of_news
from windlass.errors import ClaimLost
from windlass.model.commands import FinishRun
from windlass.model.graph import Graph
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import Instant
from windlass.notify.local import ended_topic, run_topic
from windlass.store.base import Tx
from windlass.store.queries.run_reads import Ending, Relatives


class FinishRuns:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._told: list[Run] = []  # parents for whom there is news, by the one batch of these that is being written
        self._released = Released()  # and runs of schedules that waited for one of these
        self._settled = Settled()  # and what became of the graphs that jobs among these belong to
        self._dispatch: Dispatch | None = None  # slots of waiting workers, for jobs that these release

    order = attrgetter("namespace", "run_id")

    def prepare(self, items: Sequence[FinishRun]) -> None:
        self._drop_slots()  # of a batch that was refused, and comes again in halves
        namespaces = {item.namespace for item in items if item.job is not None}
        if namespaces and self._parts.offers.are_open:
            slots = self._parts.offers.set_aside(namespaces)
            store, asked_at = self._parts.store, self._parts.clock.monotonic()
            self._dispatch = Dispatch(slots, asked_at=asked_at, is_gated_by_store=store.creates_behind_gates)

    def is_single(self, items: Sequence[FinishRun]) -> bool:
        return all(item.parent is None and item.schedule is None and item.knows_family for item in items)

    async def write(self, tx: Tx, items: Sequence[FinishRun]) -> Sequence[Any]:
        self._told, self._released, self._settled = [], Released(), Settled()
        if self._dispatch is not None:
            self._dispatch.begin()
        items = await _with_families(tx, items)
        graphs = await _lock_graphs(tx, items)
        of_graphs = ((namespace, graph.schedule) for (namespace, _), graph in graphs.items())
        schedules = await lock_schedules(tx, [*((item.namespace, item.schedule) for item in items), *of_graphs])
        parents = await self._lock_families(tx, items, list(graphs.values()))
        done = await tx.runs.finish(items)
        if parents:
            await self._tell_parents(tx, items, done, parents)
        for (namespace, id), graph in graphs.items():
            own = [(ordinal, item) for ordinal, item in enumerate(items) if _graph_of(item) == (namespace, id)]
            ended = {item.job or "": item.status for ordinal, item in own if ordinal in done}
            ahead, ancestors = [item.status for _, item in own], parents.get(namespace, {})
            self._settled.add(await settle(tx, graph, ended, ancestors=ancestors, dispatch=self._dispatch, ahead=ahead))
        if schedules and done:
            self._released = await release_next(tx, schedules, now=await tx.now())
        if len(done) == len(items):
            return [done[ordinal] for ordinal in range(len(items))]
        if self._dispatch is not None:
            await self._dispatch.confirm(tx)
        return await self._outcomes(tx, items, done)

    async def _outcomes(self, tx: Tx, items: Sequence[FinishRun], done: Mapping[int, Instant]) -> list[Any]:
        """Of a batch of which not every row was written: a repeat, or a claim that is lost."""
        now = await tx.now()
        outcomes: list[Any] = []
        for ordinal, item in enumerate(items):
            if ordinal in done:
                outcomes.append(done[ordinal])
                continue
            ending = (await tx.runs.endings(item.namespace, ids=[item.run_id])).get(item.run_id)
            same = ending is not None and (ending.status, ending.token, ending.result_hash) == (
                item.status,
                item.token,
                item.result_hash,
            )
            outcomes.append(now if same else _refused(item, ending))
        return outcomes

    async def _lock_families(
        self, tx: Tx, items: Sequence[FinishRun], graphs: Sequence[Graph]
    ) -> dict[str, dict[RunId, Run]]:
        """Every run this batch ends and every parent of one, in the order of ids: no two batches wait in a ring.

        The parent of a job is its graph, which is locked already: its run matters only to those who wait for it.
        """
        ancestors = ancestors_of(graphs)
        if not ancestors and all(item.parent is None or item.job is not None for item in items):
            return {}
        locked = {}
        for namespace in sorted({item.namespace for item in items}):
            own = [item for item in items if item.namespace == namespace]
            ids = [*(item.run_id for item in own), *ancestors_of([it for it in graphs if it.namespace == namespace])]
            ids += [item.parent for item in own if item.parent is not None and item.job is None]
            found = await tx.runs.lock_all(namespace, ids=ids)
            # A child whose parent was tried again belongs to the new one, which its holder cannot know.
            moved = {run.parent for run in found.values() if run.parent is not None and run.job is None} - found.keys()
            locked[namespace] = {**found, **await tx.runs.lock_all(namespace, ids=moved)}
        return locked

    async def _tell_parents(
        self, tx: Tx, items: Sequence[FinishRun], done: Mapping[int, Instant], parents: dict[str, dict[RunId, Run]]
    ) -> None:
        now = await tx.now()
        for namespace, locked in parents.items():
            ended = [
                (item.run_id, parent, item.status)
                for ordinal, item in enumerate(items)
                if ordinal in done and item.namespace == namespace and item.job is None and item.run_id in locked
                if (parent := locked[item.run_id].parent) is not None
            ]
            # A parent that ended in this very batch waits for nobody any more.
            over = {item.run_id for ordinal, item in enumerate(items) if ordinal in done}
            waiting = {id: run for id, run in locked.items() if id not in over}
            told = await wake_parents(tx, ended, waiting, now=now)
            locked.update({run.id: run for run in told})  # graphs of the same parent count on from here
            self._told.extend(told)

    def after_commit(self, items: Sequence[FinishRun], outcomes: Sequence[Any]) -> None:
        hub, endings, namespaces = self._parts.hub, self._parts.endings, set()
        for item, outcome in zip(items, outcomes, strict=True):
            if not isinstance(outcome, Exception):
                endings.tell(item)
                hub.publish_here(run_topic(item.namespace, item.run_id))
                namespaces.add(item.namespace)
        for namespace in namespaces:
            hub.publish_elsewhere(ended_topic(namespace))
        told, self._told = self._told, []
        for parent in told:
            tell_of_news(self._parts, parent)
        released, self._released = self._released, Released()
        tell_of_release(self._parts, released)
        settled, self._settled = self._settled, Settled()
        tell_of_settled(self._parts, settled)
        dispatch, self._dispatch = self._dispatch, None
        if dispatch is not None:
            dispatch.deliver()

    def after_failure(self, items: Sequence[FinishRun]) -> None:
        self._drop_slots()

    def _drop_slots(self) -> None:
        dispatch, self._dispatch = self._dispatch, None
        if dispatch is not None:
            dispatch.drop()


def _refused(item: FinishRun, ending: Ending | None) -> Exception:
    if ending is not None and (ending.status, ending.token) == (RunStatus.RUNNING, item.token):
        return Again()  # somebody began to watch it while the statement was on its way
    return ClaimLost(item.run_id, token=item.token)


def _graph_of(item: FinishRun) -> tuple[str, RunId] | None:
    return None if item.job is None or item.parent is None else (item.namespace, item.parent)


async def _lock_graphs(tx: Tx, items: Sequence[FinishRun]) -> dict[tuple[str, RunId], Graph]:
    """The graphs of jobs among these, before anything else, in one order for everybody; each by counting their ends."""
    by_graph: dict[tuple[str, RunId], list[RunStatus]] = {}
    for item in items:
        graph = _graph_of(item)
        if graph is not None:
            by_graph.setdefault(graph, []).append(item.status)
    locked = {}
    for namespace, id in sorted(by_graph):
        found = await tx.graphs.lock_counted(namespace, id, difference(by_graph[namespace, id]))
        if found is not None:
            locked[namespace, id] = found
    return locked


async def _with_families(tx: Tx, items: Sequence[FinishRun]) -> Sequence[FinishRun]:
    """The same, with what somebody from afar may not know, or not say."""
    unknown = [item for item in items if not item.knows_family]
    if not unknown:
        return items
    found: dict[tuple[str, RunId], Relatives] = {}
    for namespace in {item.namespace for item in unknown}:
        ids = [item.run_id for item in unknown if item.namespace == namespace]
        relatives = await tx.runs.relatives(namespace, ids=ids)
        found.update({(namespace, run_id): family for run_id, family in relatives.items()})
    completed = []
    for item in items:
        family = None if item.knows_family else found.get((item.namespace, item.run_id))
        if family is not None:
            item = replace(item, parent=family.parent, schedule=family.schedule, job=family.job)
        completed.append(item)
    return completed
