"""How a graph ends, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import Graph, JobState
from windlass.model.run import RunStatus
from windlass.model.time import MINUTE, Duration
from windlass.rules.runs import expired

CLEANUP_FOR = Duration(10 * MINUTE)  # what the cleanup jobs of a graph that was cancelled may take, each
TOLD = 3  # failed jobs that are named


def how_it_ends(graph: Graph) -> RunStatus:
    """Once its last job is over: what was decided before that; else one failure is enough, and a skip is none."""
    if graph.ending is not None:
        return graph.ending
    if graph.failed:
        return RunStatus.FAILED
    return RunStatus.CANCELLED if graph.cancelled else RunStatus.COMPLETED


def failure_of(graph: Graph, failed: Sequence[tuple[str, Failure | None]]) -> Failure:
    """Why a graph failed: the first of its jobs that did, or its time-out."""
    if graph.ending is RunStatus.FAILED:
        return expired()
    count = f"1 of {graph.jobs} jobs" if graph.failed == 1 else f"{graph.failed} of {graph.jobs} jobs"
    named = "; ".join(f"{name} ({_brief(failure)})" for name, failure in failed)
    more = "" if graph.failed <= len(failed) else f"; and {graph.failed - len(failed)} more"
    skipped = f" {graph.skipped} skipped." if graph.skipped else ""
    first = failed[0][1] if failed else None
    return Failure(
        kind=FailureKind.LOGIC if first is None else first.kind,
        type="JobsFailed",
        message=f"{count} failed: {named}{more}.{skipped}",
    )


def drifted(workflow: str, version: str) -> Failure:
    """How a job ends whose code no worker has any more."""
    which = f"{workflow!r} (version {version!r})" if version else repr(workflow)
    text = f"Live workers know the graph, and none of them the code of {which}: it was stored by an earlier program."
    return Failure(kind=FailureKind.DRIFT, type="Drift", message=text)


def _brief(failure: Failure | None) -> str:
    if failure is None:
        return "unknown"
    first = failure.message.split("\n", 1)[0]
    return f"{failure.type}: {first[:200]}" if first else failure.type


def time_left(job: JobState, graph: Graph) -> Duration | None:
    """The time-out of a job whose needs are met now."""
    return job.timeout_for if graph.ending is None else cleanup_time(job.timeout_for)


def cleanup_time(timeout_for: Duration | None) -> Duration:
    """What cleans up behind a graph that ends has a bound, also if it has no time-out."""
    return CLEANUP_FOR if timeout_for is None else min(timeout_for, CLEANUP_FOR)
