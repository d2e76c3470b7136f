"""End a run before its time, together with the children that follow it.

One transaction: the whole tree is locked before the first write, with the parent of its root, which may be waiting.
What is cancelled keeps its token, so whoever executes it learns at its next write, or by a hint, that it is over.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.family import wake_parents
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, lock_schedules, release_next, tell_of_release
from windlass.engine.send import Guard, tell_of_news
from windlass.model.commands import Cancelled, CancelRun
from windlass.model.run import CANCELLED_BY, Deed, Run, RunId, RunStatus
from windlass.model.schedule import Schedule
from windlass.notify.local import ended_topic, run_topic, worker_topic
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


class Tree(Struct, frozen=True, kw_only=True):
    """A run with the children that follow it, at every depth; all of them locked."""

    root: Run
    children: tuple[Run, ...] = ()  # that are not over, in the order of ids
    parent: Run | None = None  # of the root
    schedules: tuple[Schedule, ...] = ()  # the one that started the root, if there is one


class Ended(Struct, frozen=True, kw_only=True):
    """What was ended, as it stood before, and whom that concerns."""

    runs: tuple[Run, ...] = ()
    status: RunStatus = RunStatus.CANCELLED  # what has become of them
    woken: tuple[Run, ...] = ()
    released: Released = Released()  # runs of the same schedule that waited for the root


async def cancel_run(parts: Parts, command: CancelRun, *, guard: Guard | None = None) -> Cancelled:
    audit = Audit.of_caller("cancel_run")
    first: tuple[Cancelled, Ended] | None = None  # what a try decided whose answer may be lost

    async def cancel(tx: Tx) -> tuple[Cancelled, Ended]:
        nonlocal first
        if guard is not None:
            await guard(tx)
        tree = await lock_tree(tx, command.namespace, command.run_id)
        status = tree.root.status
        if status.is_terminal:
            if first is not None and status is RunStatus.CANCELLED:
                return first
            is_ours = command.is_again and status is RunStatus.CANCELLED  # by the call whose answer was lost
            return Cancelled(status=status, is_done=is_ours), Ended()
        ended = await cancel_tree(tx, tree, cause=CANCELLED_BY, deed=Deed(by=command.by, note=command.note))
        ended = replace(ended, released=await release_next(tx, tree.schedules, now=await tx.now()))
        await audit.note(tx, command.namespace, subject=command.run_id, before=status, after=RunStatus.CANCELLED)
        children = tuple(child.id for child in tree.children)
        first = Cancelled(status=RunStatus.CANCELLED, is_done=True, children=children), ended
        return first

    cancelled, ended = await parts.run_tx("cancel_run", cancel)
    tell_of_end(parts, ended)
    return cancelled


async def lock_tree(tx: Tx, namespace: str, run_id: RunId) -> Tree:
    """Lock a run and whatever is cancelled with it. Raises NotFound.

    A child may be created until its parent is locked, so the tree is looked at again behind the locks, until nothing in
    it is new. A child that is over, or that was started to outlive its parent, is where the tree ends.
    """
    seen = await tx.runs.load(namespace, id=run_id)
    if seen is None:
        raise no_run(run_id)
    if seen.status.is_terminal:
        return Tree(root=seen)  # for ever, and nothing is done about it
    schedules = await lock_schedules(tx, [(namespace, seen.schedule)])  # before any run
    root, locked = seen, dict[RunId, Run]()
    members = await _following(tx, namespace, run_id)
    while missing := {run_id, *members, *({root.parent} if root.parent is not None else ())} - locked.keys():
        found = await tx.runs.lock_all(namespace, ids=missing)
        if not found:
            break
        locked.update(found)
        root = locked.get(run_id, root)  # its parent may have been tried again since it was seen
        members = await _following(tx, namespace, run_id)
    if run_id not in locked:
        raise no_run(run_id)  # it ended, and was removed, while this waited
    children = tuple(locked[id] for id in sorted(members) if id in locked)
    parent = None if root.parent is None else locked.get(root.parent)
    return Tree(root=root, children=children, parent=parent, schedules=tuple(schedules))


async def _following(tx: Tx, namespace: str, root: RunId) -> set[RunId]:
    members: set[RunId] = set()
    level: set[RunId] = {root}
    while level:
        level = await tx.children.following(namespace, parents=sorted(level)) - members
        members |= level
    return members


async def cancel_tree(tx: Tx, tree: Tree, *, cause: str, deed: Deed) -> Ended:
    """End every run of a tree whose root is not over, and let the parent that waits for the root go on."""
    now, root = await tx.now(), tree.root
    runs = (root, *tree.children)
    for run in runs:
        if run.status is RunStatus.PAUSED:  # why it was held is no reason for its end
            await tx.runs.set_failure(run.namespace, id=run.id, failure=None)
    await tx.children.end([rules.cancel(run, now=now) for run in runs])
    await tx.log.append(
        [
            _noted(root, cause, deed),
            *(_noted(child, CANCELLED_BY, Deed(by=deed.by, run=child.parent)) for child in tree.children),
        ]
    )
    if tree.parent is None:
        return Ended(runs=runs)
    ended = [(root.id, tree.parent.id, RunStatus.CANCELLED)]
    return Ended(runs=runs, woken=tuple(await wake_parents(tx, ended, {tree.parent.id: tree.parent}, now=now)))


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
    if parts.observer is not None:
        for run in ended.runs:
            parts.observer.run_ended(namespace=run.namespace, workflow=run.name, status=ended.status)


def holders(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The workers that execute these, each once."""
    return sorted({(run.namespace, run.worker) for run in runs if run.worker is not None})
