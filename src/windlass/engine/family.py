"""Tell a run that its children have ended. Both are locked before the first write, in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windlass.engine.release import save_run
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import Instant
from windlass.rules import runs as rules
from windlass.store.base import Tx

Ended = tuple[RunId, RunId, RunStatus]  # child, parent, how it ended


async def wake_parents(tx: Tx, ended: Iterable[Ended], parents: Mapping[RunId, Run], *, now: Instant) -> list[Run]:
    """Let the parents that wait for these go on. Answers with those for whom there is news, as they stand now."""
    by_parent: dict[RunId, list[tuple[RunId, RunStatus]]] = {}
    for child, parent_of, status in ended:
        by_parent.setdefault(parent_of, []).append((child, status))
    told = []
    for parent_id in sorted(by_parent):
        parent = parents.get(parent_id)
        if parent is None or parent.status not in (RunStatus.WAITING, RunStatus.RUNNING):
            continue  # over, or it looks by itself when it goes on
        children = by_parent[parent_id]
        awaited = await tx.steps.awaited(parent.namespace, run_id=parent_id, children=[child for child, _ in children])
        ends = [status for child, status in children if child in awaited]
        if ends:
            told.append(await _tell(tx, parent, ends, now=now))
    return told


async def _tell(tx: Tx, parent: Run, ends: Sequence[RunStatus], *, now: Instant) -> Run:
    if parent.status is RunStatus.RUNNING:
        return parent  # its holder is told
    has_failed = any(status is not RunStatus.COMPLETED for status in ends)
    after = rules.after_children(parent, ended=len(ends), has_failed=has_failed, now=now)
    if after.status is not parent.status:
        return await save_run(tx, after, was=parent, cause="child")
    await tx.runs.save(after, was=parent)
    return after
