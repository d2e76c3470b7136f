"""How rows of graphs, jobs and edges become values."""

from __future__ import annotations

import functools

from windlass.errors import StoreRefused
from windlass.model.graph import Accepted, Edge, Graph, JobState, Met
from windlass.model.run import RunStatus
from windlass.store.rows import RUN_STATUS, Row, failure_from_bytes, run_from_row

GRAPH_COLUMNS = 15  # the fragment {graph}
EDGE_COLUMNS = 5  # the fragment {edge}
JOB_COLUMNS = 11  # the fragment {job}; that of its run follows


@functools.cache
def accepts_from_text(text: str) -> Accepted:
    accepts = tuple(RUN_STATUS[part] for part in text.split(","))
    if any(not status.is_terminal for status in accepts):
        raise StoreRefused(f"The database holds {text!r:.60} where ends of a job should be. See: windlass doctor")
    return accepts


def accepts_to_text(accepts: Accepted) -> str:
    return ",".join(accepts)


def graph_from_row(row: Row) -> Graph:
    return Graph(
        namespace=row[0],
        id=row[1],
        name=row[2],
        jobs=row[3],
        open=row[4],
        completed=row[5],
        failed=row[6],
        cancelled=row[7],
        skipped=row[8],
        held=row[9],
        is_paused=bool(row[10]),
        ending=None if row[11] is None else RUN_STATUS[row[11]],
        parent=row[12],
        schedule=row[13],
        created_at=row[14],
    )


def job_from_row(row: Row) -> JobState:
    return JobState(
        name=row[0],
        is_group=bool(row[1]),
        is_cleanup=bool(row[2]),
        group=row[3],
        matrix=row[4],
        position=row[5],
        max_parallel=row[6],
        fail_fast=bool(row[7]),
        is_held=bool(row[8]),
        timeout_for=row[9],
        decided_by=row[10],
        run=run_from_row(row[JOB_COLUMNS:]),
    )


def edge_from_row(row: Row) -> Edge:
    return Edge(
        job=row[0],
        upstream=row[1],
        accepts=accepts_from_text(row[2]),
        is_group=bool(row[3]),
        is_resolved=bool(row[4]),
    )


def met_from_row(row: Row) -> Met:
    status: RunStatus = RUN_STATUS[row[3]]
    return Met(
        job=row[0],
        workflow=row[1],
        version=row[2],
        status=status,
        is_group=bool(row[4]),
        group=row[5],
        matrix=row[6],
        output=row[7] if status is RunStatus.COMPLETED else None,
        failure=failure_from_bytes(row[8]) if status is RunStatus.FAILED else None,
    )
