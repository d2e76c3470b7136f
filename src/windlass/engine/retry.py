"""Try a run once more: a new run that begins with what the old one has done.

The old row stays as it is, or is cancelled first if it was paused; the new one says which run it tries again. A run is
retried once, and whoever asks again gets the same answer; what failed again is retried in its turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from windlass.engine.audit import Audit
from windlass.engine.cancel import Ended, cancel_tree, tell_of_end
from windlass.engine.graph.retry import Retried, TooFewIds, fill_graph
from windlass.engine.graph.settle import tell_of_settled
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import lock_schedules
from windlass.engine.schedule.trigger import open_runs
from windlass.engine.tree import Tree, lock_tree
from windlass.errors import WrongState
from windlass.model.commands import RetryRun, Started
from windlass.model.run import RETRIED_BY, Deed, Run, RunId, RunKind, RunStatus
from windlass.notify.local import queue_topic
from windlass.rules import retries_of_runs as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes

T = TypeVar("T")


async def retry_run(parts: Parts, command: RetryRun) -> Started:
    audit = Audit.of_caller("retry_run")
    new_id = RunId(parts.ids.run())  # outside: the transaction may be run again, and must then know its own work
    jobs: list[RunId] = []

    async def retry(tx: Tx) -> tuple[Started, Run, Ended, Retried]:
        tree = await _lock(tx, command)
        known = await tx.retries.of(command.namespace, run_id=command.run_id)
        if known is not None:
            return Started(run_id=known, is_repeat=known != new_id), tree.root, Ended(), Retried()
        rules.check_retry(tree.root)
        await _check_overlap(tx, tree)
        ended = await _cancel_if_paused(tx, tree, command, new_id)
        retried = await _create(tx, tree.root, command, new_id, jobs)
        was = tree.root.status
        await audit.note(tx, command.namespace, subject=command.run_id, before=was, after=f"retried as {new_id}")
        return Started(run_id=new_id, is_repeat=False), tree.root, ended, retried

    started, run, ended, retried = await _with_enough_ids(parts, retry, jobs)
    tell_of_end(parts, ended)
    tell_of_settled(parts, retried.settled)
    if not started.is_repeat:
        for queue in sorted({run.queue, *retried.queues}):
            parts.hub.publish(queue_topic(run.namespace, queue))
    return started


async def _with_enough_ids(parts: Parts, retry: Callable[[Tx], Awaitable[T]], ids: list[RunId]) -> T:
    """Jobs of the new graph, if it is one, need ids; these are made outside of the transaction, which may be run again.

    How many is known only inside: an open graph may grow. One that is over, and only that is tried again, does not.
    """
    while True:
        try:
            return await parts.run_tx("retry_run", retry)
        except TooFewIds as few:
            ids += [RunId(parts.ids.run()) for _ in range(few.count - len(ids))]


async def _lock(tx: Tx, command: RetryRun) -> Tree:
    """Also a run that is over, so that two who retry it come one after the other."""
    tree = await lock_tree(tx, command.namespace, command.run_id)
    if tree.root.status.is_terminal:
        schedules = await lock_schedules(tx, [(command.namespace, tree.root.schedule)])
        if await tx.runs.lock(command.namespace, id=command.run_id) is None:
            raise no_run(command.run_id)  # removed since it was seen
        return Tree(root=tree.root, schedules=tuple(schedules))
    return tree


async def _check_overlap(tx: Tx, tree: Tree) -> None:
    """The new run is one of the same schedule: it takes the place of the old one, and no other may be at work."""
    for schedule in tree.schedules:
        open = await open_runs(tx, schedule)
        other = next((run.id for run in open if not run.is_queued and run.id != tree.root.id), None)
        if other is not None:
            raise WrongState(
                "Run",
                tree.root.id,
                f"one of schedule {schedule.name!r}, which does not overlap, and {other} is not over",
                wanted="one whose schedule is idle",
                hint="Wait for the other, or cancel it.",
            )


async def _cancel_if_paused(tx: Tx, tree: Tree, command: RetryRun, new_id: RunId) -> Ended:
    if tree.root.status is not RunStatus.PAUSED:
        return Ended()
    return await cancel_tree(tx, tree, cause=RETRIED_BY, deed=Deed(by=command.by, run=new_id))


async def _create(tx: Tx, run: Run, command: RetryRun, new_id: RunId, jobs: Sequence[RunId]) -> Retried:
    await tx.retries.create(run.namespace, id=new_id, retry_of=run.id, at=await tx.now())
    await tx.log.append(
        [
            NewLogEntry(
                namespace=run.namespace,
                subject_kind="run",
                subject_id=new_id,
                from_status=None,
                to_status=RunStatus.PENDING,
                cause=RETRIED_BY,
                data=deed_to_bytes(Deed(by=command.by, run=run.id)),
            )
        ]
    )
    retried = Retried()
    if run.kind is RunKind.GRAPH:
        new = await tx.runs.load(run.namespace, id=new_id)
        assert new is not None
        retried = await fill_graph(tx, run, new, jobs, from_job=command.from_step)
    else:
        places = {} if command.from_step is None else await tx.retries.places(run.namespace, run_id=run.id)
        before = rules.kept_before(places, command.from_step)
        await tx.retries.fill(run.namespace, id=new_id, retry_of=run.id, before=before, from_step=command.from_step)
    await tx.effects.hand_over(run.namespace, former=run.id, to=new_id)
    await tx.retries.move_key(run.namespace, id=new_id, retry_of=run.id)  # runs are locked before keys
    if await tx.watch.move(run.namespace, id=new_id, retry_of=run.id):  # and before signals
        await tx.arming.arm(run.namespace, subject_kind="run", id=new_id)
    return retried
