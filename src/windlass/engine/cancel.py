"""End a run before its time, together with the children that follow it.

One transaction: the whole tree (engine/tree.py) is locked before the first write, with all who may be waiting for it.
What is cancelled keeps its token, so whoever executes it learns at its next write, or by a hint, that it is over.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.family import wake_parents
from windlass.engine.graph.settle import Settled, settle, tell_of_settled
from windlass.engine.graph.steer import begin_to_end, note
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, release_next, tell_of_release
from windlass.engine.send import Guard, tell_of_news
from windlass.engine.tree import Tree, lock_tree
from windlass.model.commands import Cancelled, CancelRun
from windlass.model.graph import Graph
from windlass.model.run import CANCELLED_BY, Deed, Run, RunKind, RunStatus
from windlass.notify.local import ended_topic, run_topic, worker_topic
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


class Ended(Struct, frozen=True, kw_only=True):
    """What was ended, as it stood before, and whom that concerns."""

    runs: tuple[Run, ...] = ()
    status: RunStatus = RunStatus.CANCELLED  # what has become of them
    woken: tuple[Run, ...] = ()
    released: Released = Released()  # runs of the same schedule that waited for the root
    settled: Settled = field(default_factory=Settled)  # what became of graphs


async def cancel_run(parts: Parts, command: CancelRun, *, guard: Guard | None = None) -> Cancelled:
    audit = Audit.of_caller("cancel_run")
    first: tuple[Cancelled, Ended] | None = None  # what a try decided whose answer may be lost

    async def cancel(tx: Tx) -> tuple[Cancelled, Ended]:
        nonlocal first
        if guard is not None:
            await guard(tx)
        tree = await lock_tree(tx, command.namespace, command.run_id)
        status = tree.root.status
        # A graph whose cleanup jobs are at work is cancelled, and not over.
        is_cancelled = RunStatus.CANCELLED in (status, None if tree.graph is None else tree.graph.ending)
        if first is not None and is_cancelled:
            return first
        if status.is_terminal or (command.is_again and is_cancelled):
            is_ours = command.is_again and is_cancelled  # by the call whose answer was lost
            return Cancelled(status=status, is_done=is_ours), Ended()
        ended = await cancel_tree(tx, tree, cause=CANCELLED_BY, deed=Deed(by=command.by, note=command.note))
        ended = replace(ended, released=await release_next(tx, tree.schedules, now=await tx.now()))
        await audit.note(tx, command.namespace, subject=command.run_id, before=status, after=RunStatus.CANCELLED)
        is_over = tree.graph is None or any(run.id == tree.root.id for run, _ in ended.settled.closed)
        first = _answer(tree, RunStatus.CANCELLED if is_over else RunStatus.WAITING), ended
        return first

    cancelled, ended = await parts.run_tx("cancel_run", cancel)
    tell_of_end(parts, ended)
    return cancelled


def _answer(tree: Tree, status: RunStatus) -> Cancelled:
    return Cancelled(status=status, is_done=True, children=tuple(child.id for child in tree.children))


async def cancel_tree(tx: Tx, tree: Tree, *, cause: str, deed: Deed, ending: RunStatus = RunStatus.CANCELLED) -> Ended:
    """End every run of a tree whose root is not over, and let whoever waits for the root go on.

    A graph among them ends once its cleanup jobs are over too, as `ending` says.
    """
    now, root = await tx.now(), tree.root
    runs = tuple(run for run in (root, *tree.children) if run.kind is not RunKind.GRAPH)
    for run in runs:
        if run.status is RunStatus.PAUSED:  # why it was held is no reason for its end
            await tx.runs.set_failure(run.namespace, id=run.id, failure=None)
    await tx.children.end([rules.cancel(run, now=now) for run in runs])
    first = (cause, deed)
    noted = [_noted(run, *(first if run.id == root.id else _because(run, deed))) for run in runs]
    await tx.log.append(noted)
    settled = Settled()
    over = {run.id for run in runs}  # those wait for nobody any more
    around = {id: run for id, run in tree.around.items() if id not in over}
    for graph in tree.graphs:
        settled.add(await _settle(tx, graph, replace(tree, around=around), runs, *first, ending=ending))
    if tree.parent is None or root.kind is RunKind.GRAPH:
        return Ended(runs=runs, settled=settled)
    ended = [(root.id, tree.parent.id, RunStatus.CANCELLED)]
    woken = await wake_parents(tx, ended, {tree.parent.id: around.get(tree.parent.id, tree.parent)}, now=now)
    return Ended(runs=runs, woken=tuple(woken), settled=settled)


def _because(run: Run, deed: Deed) -> tuple[str, Deed]:
    return CANCELLED_BY, Deed(by=deed.by, run=run.parent)


async def _settle(
    tx: Tx, graph: Graph, tree: Tree, runs: Sequence[Run], cause: str, deed: Deed, *, ending: RunStatus
) -> Settled:
    """What the end of these runs means for one graph: it is to end itself, or only lost a job."""
    ended = {run.job: RunStatus.CANCELLED for run in runs if run.graph == graph.id and run.job is not None}
    is_root = graph.id == tree.root.id
    if is_root or any(child.id == graph.id for child in tree.children):
        noted = (cause, deed) if is_root else (CANCELLED_BY, Deed(by=deed.by, run=tree.root.id))
        run = tree.around[graph.id]
        graph, going = await begin_to_end(tx, graph, run, deed, ending=ending)
        settled = await settle(tx, graph, ended, ancestors=tree.around, closing=noted)
        settled.released += going
        if not settled.closed:
            await note(tx, run, RunStatus.WAITING, *noted)
        return settled
    return await settle(tx, graph, ended, ancestors=tree.around)


def _noted(run: Run, cause: str, deed: Deed) -> NewLogEntry:
    rules.check_transition(run.status, RunStatus.CANCELLED)
    return NewLogEntry(
        namespace=run.namespace,
        subject_kind="run",
        subject_id=run.id,
        from_status=run.status,
        to_status=RunStatus.CANCELLED,
        cause=cause,
        data=deed_to_bytes(deed),
    )


def tell_of_end(parts: Parts, ended: Ended) -> None:
    """After the commit: those who wait for these runs, those who execute them, and the parent that goes on."""
    for run in ended.runs:
        parts.hub.publish_here(run_topic(run.namespace, run.id))
    for namespace in {run.namespace for run in ended.runs}:
        parts.hub.publish_elsewhere(ended_topic(namespace))
    for namespace, worker in holders(ended.runs):
        parts.hub.publish(worker_topic(namespace, worker))
    for parent in ended.woken:
        tell_of_news(parts, parent)
    tell_of_release(parts, ended.released)
    tell_of_settled(parts, ended.settled)
    if parts.observer is not None:
        for run in ended.runs:
            parts.observer.run_ended(namespace=run.namespace, workflow=run.name, status=ended.status)


def holders(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The workers that execute these, each once."""
    return sorted({(run.namespace, run.worker) for run in runs if run.worker is not None})
