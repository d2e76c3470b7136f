"""End runs whose time is over and whom nobody comes for: whoever claims such a run ends it, and here nobody does.

It may be paused, or wait behind a closed gate, or be of a workflow that no worker serves. Whoever holds a run ends it
itself, so this leaves a moment for that. The children of such a run go on, as when its worker ends it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.cancel import Ended, cancel_tree, tell_of_end
from windlass.engine.family import wake_parents
from windlass.engine.graph.lock import ancestors_of, lock_graphs
from windlass.engine.graph.settle import Settled, settle
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import lock_schedules, release_next
from windlass.engine.tree import lock_tree
from windlass.errors import NotFound
from windlass.model.graph import Graph
from windlass.model.run import EXPIRED, Deed, Run, RunId, RunKind, RunStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.expiry import LateRun
from windlass.store.queries.log import NewLogEntry

LOGGER = logging.getLogger("windlass.coordinator")

LATE_FOR = Duration(2 * SECOND)


async def tick(parts: Parts, *, batch: int) -> int:
    """End one batch, of every namespace, the latest first. Fewer than `batch`: there are no more to be ended here."""
    late = await until_answered(
        parts.clock,
        lambda: parts.store.read("late_runs", lambda tx: tx.expiry.late(late_for=LATE_FOR, limit=batch), single=True),
    )
    count = 0
    for namespace in sorted({run.namespace for run in late}):
        here = [run for run in late if run.namespace == namespace]
        count += await _expire(parts, namespace, [run for run in here if run.kind is not RunKind.GRAPH])
        for graph in here:
            count += await _expire_graph(parts, namespace, graph.id) if graph.kind is RunKind.GRAPH else 0
    if count:
        about = {"duty": "expire_runs", "count": count}
        LOGGER.warning("%s ended by a time-out; nobody had come for %s.", *_told(count), extra=about)
    return count


async def _expire(parts: Parts, namespace: str, late: Sequence[LateRun]) -> int:
    tries: list[Ended] = []

    async def expire(tx: Tx) -> None:
        graphs = await lock_graphs(
            tx, ((namespace, run.graph) for run in late)
        )  # before schedules, and those before runs
        of_graphs = ((namespace, graph.schedule) for graph in graphs.values())
        schedules = await lock_schedules(tx, [*((namespace, run.schedule) for run in late), *of_graphs])
        locked = await _lock(tx, namespace, late, list(graphs.values()))
        now = await tx.now()
        going = [locked[run.id] for run in late if run.id in locked and rules.is_abandoned(locked[run.id], now=now)]
        await _end(tx, going, now=now)
        ended = [(run.id, run.parent, RunStatus.FAILED) for run in going if run.parent is not None and run.job is None]
        over = {run.id for run in going}  # one of these waits for nobody any more
        waiting = {id: run for id, run in locked.items() if id not in over}
        woken = await wake_parents(tx, ended, waiting, now=now)
        waiting.update({run.id: run for run in woken})
        settled = Settled()
        for graph in graphs.values():
            jobs = {run.job: RunStatus.FAILED for run in going if run.graph == graph.id and run.job is not None}
            if jobs:
                settled.add(await settle(tx, graph, jobs, ancestors=waiting))
        released = await release_next(tx, schedules, now=now)
        ended_here = Ended(
            runs=tuple(going), status=RunStatus.FAILED, woken=tuple(woken), released=released, settled=settled
        )
        tries.append(ended_here)

    await parts.run_tx("expire_runs", expire)
    for ended in tries:  # a try whose answer was lost may be the one that ended them
        tell_of_end(parts, ended)
    return len({run.id for ended in tries for run in ended.runs})


async def _expire_graph(parts: Parts, namespace: str, id: RunId) -> int:
    """A graph whose time is over fails; its jobs are cancelled, and those that clean up still get their turn."""
    tries: list[Ended] = []

    async def expire(tx: Tx) -> None:
        tree = await lock_tree(tx, namespace, id)
        graph = tree.graph
        if graph is None or graph.ending is not None or not rules.is_abandoned(tree.root, now=await tx.now()):
            return
        ended = await cancel_tree(tx, tree, cause=EXPIRED, deed=Deed(), ending=RunStatus.FAILED)
        tries.append(replace(ended, released=await release_next(tx, tree.schedules, now=await tx.now())))

    try:
        await parts.run_tx("expire_graph", expire)
    except NotFound:
        return 0  # it ended, and was removed, since it was seen
    for ended in tries:
        tell_of_end(parts, ended)
    return min(1, len(tries))


async def _lock(tx: Tx, namespace: str, late: Sequence[LateRun], graphs: Sequence[Graph]) -> dict[RunId, Run]:
    """The runs and their parents, in the order of ids. A run whose parent was tried again belongs to the new one."""
    parents = [run.parent for run in late if run.parent is not None and run.graph is None]
    locked = await tx.runs.lock_all(namespace, ids=[*(run.id for run in late), *parents, *ancestors_of(graphs)])
    moved = {run.parent for run in locked.values() if run.parent is not None and run.job is None} - locked.keys()
    return {**locked, **await tx.runs.lock_all(namespace, ids=moved)}


async def _end(tx: Tx, runs: Iterable[Run], *, now: Instant) -> None:
    going = list(runs)
    await tx.children.end([rules.expire(run, now=now) for run in going])
    for run in going:
        await tx.runs.set_failure(run.namespace, id=run.id, failure=rules.expired())
    await tx.log.append(
        [
            NewLogEntry(
                namespace=run.namespace,
                subject_kind="run",
                subject_id=run.id,
                from_status=run.status,
                to_status=RunStatus.FAILED,
                cause=EXPIRED,
            )
            for run in going
        ]
    )


def _told(count: int) -> tuple[str, str]:
    return ("1 run is", "it") if count == 1 else (f"{count} runs are", "them")
