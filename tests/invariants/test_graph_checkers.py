"""Do the checkers of graphs complain about the one thing each is there for?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.crash.places import sqlite_places
from tests.crash.stories_of_graphs import declare_release, graph_of_every_shape
from tests.invariants.checkers import CHECKERS, judge
from tests.invariants.evidence import Evidence, Snapshot
from tests.lives.crashes import Scenario, play
from tests.lives.journal import Event, Line
from windlass.model.graph import COMPLETED_ONLY, Edge
from windlass.model.run import LogEntry, RunStatus
from windlass.store.queries.graph_checks import EdgeRow, JobRow

Spoil = Callable[[Evidence], Evidence]


@cache
def healthy() -> Evidence:
    """A graph with a matrix, a group and jobs that were skipped, worked through to its end."""
    with tempfile.TemporaryDirectory() as folder, sqlite_places(Path(folder)) as places:
        scenario = Scenario(name="shapes", declare=declare_release, drive=graph_of_every_shape)
        return play(scenario, places.fresh()).evidence


def with_last(change: Callable[[Snapshot], Snapshot]) -> Spoil:
    return lambda evidence: replace(evidence, snapshots=(*evidence.snapshots[:-1], change(evidence.last)))


def id_of(last: Snapshot, job: str) -> str:
    return next(row.job.run.id for row in last.job_rows if row.job.name == job)


def with_job(name: str, **fields: Any) -> Spoil:
    """Another state of one job, and of its run where the field belongs to that."""

    def changed(row: JobRow) -> JobRow:
        if row.job.name != name:
            return row
        own = {field: value for field, value in fields.items() if field in JOB_FIELDS}
        of_run = {field: value for field, value in fields.items() if field not in JOB_FIELDS}
        return replace(row, job=replace(row.job, run=replace(row.job.run, **of_run), **own))

    def change(last: Snapshot) -> Snapshot:
        return replace(last, job_rows=tuple(changed(row) for row in last.job_rows))

    return with_last(change)


JOB_FIELDS = frozenset({"name", "group", "decided_by", "position", "is_held", "fail_fast"})


def with_edges(change: Callable[[list[Edge]], list[Edge]]) -> Spoil:
    def changed(last: Snapshot) -> Snapshot:
        (graph,) = {row.graph for row in last.edge_rows}
        edges = change([row.edge for row in last.edge_rows])
        return replace(last, edge_rows=tuple(EdgeRow(graph=graph, edge=edge) for edge in edges))

    return with_last(changed)


def with_log(job: str, change: Callable[[list[LogEntry]], list[LogEntry]]) -> Spoil:
    """Another history of one job."""

    def changed(last: Snapshot) -> Snapshot:
        id = id_of(last, job)
        own = [entry for entry in last.log if entry.subject_id == id]
        others = [entry for entry in last.log if entry.subject_id != id]
        return replace(last, log=tuple(sorted([*others, *change(own)], key=lambda entry: entry.seq)))

    return with_last(changed)


def with_graph(**fields: Any) -> Spoil:
    """Another end of the graph's run."""

    def changed(last: Snapshot) -> Snapshot:
        (graph,) = last.graphs
        own = [row for row in last.rows if row.run.id == graph.id]
        others = [row for row in last.rows if row.run.id != graph.id]
        return replace(last, rows=(*others, *(replace(row, run=replace(row.run, **fields)) for row in own)))

    return with_last(changed)


def with_lines(change: Callable[[Line], list[Line]]) -> Spoil:
    return lambda evidence: replace(evidence, lines=tuple(line for one in evidence.lines for line in change(one)))


def earlier(entries: list[LogEntry]) -> list[LogEntry]:
    """The same, before anything else happened."""
    return [replace(entry, seq=entry.seq - 10_000) for entry in entries]


def twice(cause: str) -> Callable[[list[LogEntry]], list[LogEntry]]:
    return lambda entries: [same for entry in entries for same in ([entry, entry] if entry.cause == cause else [entry])]


def waiting(name: str, **fields: Any) -> Spoil:
    return with_job(name, status=RunStatus.WAITING, attempts=0, **fields)


def turned(edges: list[Edge]) -> list[Edge]:
    """Lint needs what needs it."""
    return [*edges, Edge(job="lint", upstream="shard-two")]


def of_another_attempt(line: Line) -> list[Line]:
    if line.event is not Event.GIVEN or line.what != "tidy":
        return [line]
    return [replace(line, value=[[name, status, "null"] for name, status, _ in line.value])]


def without_one(line: Line) -> list[Line]:
    return [replace(line, value=line.value[1:]) if line.event is Event.GIVEN else line]


SPOILT: dict[str, tuple[str, Spoil]] = {
    "a job that began before its upstream was over": ("I-26", with_log("tidy", earlier)),
    "a job that began though its upstream failed": (
        "I-26",
        with_edges(lambda edges: [*edges, Edge(job="tidy", upstream="audit", accepts=COMPLETED_ONLY)]),
    ),
    "a job whose upstream never ended": ("I-26", with_log("lint", lambda entries: entries[:-1])),
    "a gate that opened twice": ("I-27", with_log("tidy", twice("needs"))),
    "a gate that opened at no time": ("I-27", with_job("tidy", ready_at=None)),
    "a claim that two workers were given": (
        "I-27",
        with_lines(lambda line: [line, line] if line.event is Event.CLAIMED else [line]),
    ),
    "a job that was skipped twice": ("I-28", with_log("publish", twice("skip"))),
    "a job that was skipped for no reason": ("I-28", with_job("publish", decided_by="lint")),
    "a job that should have been skipped": ("I-28", with_job("publish", status=RunStatus.COMPLETED)),
    "a job that waits for nothing": ("I-29", waiting("tidy", unmet=0)),
    "a job that counts what is over": ("I-29", waiting("tidy", unmet=2)),
    "a job that waits for its turn and does not say so": ("I-29", waiting("tidy", is_held=True, unmet=0)),
    "a cycle": ("I-30", with_edges(turned)),
    "an edge to nobody": ("I-30", with_edges(lambda edges: [*edges, Edge(job="lint", upstream="nobody")])),
    "two jobs in one place": ("I-30", with_job("tidy", position=0)),
    "members of a generator that failed": ("I-30", with_job("shards", status=RunStatus.FAILED)),
    "a group whose members nobody waits for": (
        "I-31",
        with_edges(lambda edges: [edge for edge in edges if edge.upstream != "shard-two"]),
    ),
    "a group that is taken for an empty one": (
        "I-31",
        with_edges(lambda edges: [replace(edge, is_resolved=False) for edge in edges]),
    ),
    "a job that began before the group was known": ("I-31", with_log("tidy", earlier)),
    "outputs of another attempt": ("I-32", with_lines(of_another_attempt)),
    "an upstream that the job was not told of": ("I-32", with_lines(without_one)),
    "a graph that is over before its jobs": ("graphs", with_job("tidy", status=RunStatus.RUNNING)),
    "a graph that is not over with its last job": ("graphs", with_graph(status=RunStatus.WAITING)),
    "a graph that ended otherwise than its jobs": ("graphs", with_graph(status=RunStatus.COMPLETED)),
}


def test_a_story_without_fault_meets_no_complaint() -> None:
    evidence = healthy()

    assert judge(evidence) == []
    assert [line.what for line in evidence.of(Event.GIVEN)] != []
    assert len(evidence.last.job_rows) == 10


@pytest.mark.spec("invariants:I-26", "invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-30")
@pytest.mark.spec("invariants:I-31", "invariants:I-32")
@pytest.mark.parametrize(("number", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, spoil: Spoil) -> None:
    assert CHECKERS[number](spoil(healthy())) != []
