"""End, pause and resume a graph as a whole: what is done to its jobs, under its lock."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.release import save_run
from windlass.model.graph import Graph
from windlass.model.run import Deed, Run, RunStatus
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


async def begin_to_end(tx: Tx, graph: Graph, run: Run, *, ending: RunStatus) -> Graph:
    """The graph is to end once its cleanup jobs are over. It is paused no more, so that they can run."""
    changed = replace(graph, ending=graph.ending or ending, is_paused=False)
    if changed != graph:
        await tx.graphs.steer(changed)
    if run.status is RunStatus.PAUSED:  # why it was held is no reason for its end
        await tx.runs.set_failure(run.namespace, id=run.id, failure=None)
    return changed


async def note(tx: Tx, run: Run, status: RunStatus, cause: str, deed: Deed) -> None:
    """Something was done to a graph that changes its run, or leaves it as it is."""
    if status is not run.status:
        await save_run(tx, replace(run, status=status), was=run, cause=cause, deed=deed)
        return
    entry = NewLogEntry(
        namespace=run.namespace,
        subject_kind="run",
        subject_id=run.id,
        from_status=run.status,
        to_status=status,
        cause=cause,
        data=deed_to_bytes(deed),
    )
    await tx.log.append([entry])
