"""Whether jobs began, were skipped and ended as the graph says: I-26…I-32, and I1…I8 of the specification of graphs.

    I1 I-27   I2 I-26   I4 "graphs"   I6 I-28   I7 I-29   I8 I-32   (I3 is I-09; I5 is what crash stories compare)

Each function takes evidence and answers with complaints, none if all is well. None of them asks rules/needs.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.invariants.evidence import Evidence, Snapshot, is_claim
from tests.lives.journal import Event
from windlass.model.graph import COPIED, RELEASED, Edge, Graph, JobState
from windlass.model.run import LogEntry, RunStatus

MOST_JOBS, MOST_EDGES = 10_000, 100_000


def jobs_begin_when_their_needs_are_over(evidence: Evidence) -> list[str]:
    """I-26, I2: a job is claimed after every upstream is over, and each edge accepts how it ended."""
    return _of_jobs(evidence, _begun_early)


def jobs_are_dispatched_once(evidence: Evidence) -> list[str]:
    """I-27, I1: the gate of a job opens once, and each of its claims reaches one worker once."""
    jobs = {row.job.run.id for row in evidence.last.job_rows}
    reached = Counter(
        (str(run_id), int(token)) for line in evidence.of(Event.CLAIMED) for run_id, token in line.value or ()
    )
    return _of_jobs(evidence, _released_twice) + [
        f"{run_id}: claim {token} reached a worker {times} times"
        for (run_id, token), times in reached.items()
        if times > 1 and run_id in jobs
    ]


def skips_follow_from_the_ends_of_others(evidence: Evidence) -> list[str]:
    """I-28, I6: who is skipped is a function of how the others ended; each once, because of somebody who is over."""
    return _of_jobs(evidence, _skipped_wrongly)


def no_job_is_stuck(evidence: Evidence) -> list[str]:
    """I-29, I7: whoever waits has an open need, and counts those it has."""
    return _of_jobs(evidence, _stuck)


def accepted_graphs_can_be_worked_through(evidence: Evidence) -> list[str]:
    """I-30: no cycle, no unknown or double name, within the limits; a generator that failed has no members."""
    return [
        f"{graph.id}: {complaint}"
        for snapshot in evidence.snapshots
        for graph in snapshot.graphs
        for complaint in _unsound(snapshot, graph)
    ]


def unresolved_groups_are_not_empty_ones(evidence: Evidence) -> list[str]:
    """I-31: whoever needs a group begins after its generator is over, and waits for each member; for none if empty."""
    return _of_jobs(evidence, _group_ignored)


def jobs_are_given_what_their_upstreams_left(evidence: Evidence) -> list[str]:
    """I-32, I8: every execution of a job sees the ends and outputs that stand in the database, all of them."""
    last = evidence.last
    jobs = {str(row.job.run.id): (row.graph, row.job) for row in last.job_rows}
    found: list[str] = []
    for line in evidence.of(Event.GIVEN):
        if line.run_id not in jobs:
            continue
        graph, job = jobs[line.run_id]
        expected = {edge.upstream: _left(last, last.jobs[graph][edge.upstream]) for edge in last.needs[graph][job.name]}
        given = {name: (status, output) for name, status, output in line.value or ()}
        found += [
            f"{graph} {job.name}: was given {given.get(name)} of {name!r}, and there is {expected.get(name)}"
            for name in sorted(given.keys() | expected.keys())
            if given.get(name) != expected.get(name)
        ]
    return found


def graphs_end_with_their_last_job(evidence: Evidence) -> list[str]:
    """I4: every job of a graph that is over is over, and how it ended follows from how they did."""
    return [
        f"life {snapshot.life}: {graph.id}: {complaint}"
        for snapshot in evidence.snapshots
        for graph in snapshot.graphs
        for complaint in _ended_wrongly(snapshot, graph)
    ]


class _Job:
    """One job in one snapshot, with all that the complaints are about."""

    def __init__(self, snapshot: Snapshot, graph: Graph, job: JobState) -> None:
        self.graph, self.state, self.run, self.name = graph, job, job.run, job.name
        self.jobs = snapshot.jobs[graph.id]
        self.needs: Sequence[Edge] = snapshot.needs[graph.id][job.name]
        self.open_edges = [edge for edge in self.needs if not edge.is_resolved]
        self.history: Sequence[LogEntry] = snapshot.histories.get(job.run.id, [])
        self._histories = snapshot.histories

    @property
    def first_claim(self) -> int | None:
        """Its place in the log."""
        return next((entry.seq for entry in self.history if is_claim(entry)), None)

    def end_of(self, name: str) -> tuple[int, str] | None:
        """Where in the log a job of this graph ended, and how."""
        job = self.jobs.get(name)
        entries = [] if job is None else self._histories.get(job.run.id, [])
        ends = [(entry.seq, str(entry.to_status)) for entry in entries if RunStatus(entry.to_status).is_terminal]
        return ends[0] if ends else None

    def status_of(self, name: str) -> RunStatus:
        return self.jobs[name].run.status


Complain = Callable[[_Job], Iterator[str]]


def _of_jobs(evidence: Evidence, complain: Complain) -> list[str]:
    return [
        f"life {snapshot.life}: {graph.id} {name}: {text}"
        for snapshot in evidence.snapshots
        for graph in snapshot.graphs
        for name, state in snapshot.jobs[graph.id].items()
        for text in complain(_Job(snapshot, graph, state))
    ]


def _begun_early(job: _Job) -> Iterator[str]:
    begun = job.first_claim
    if begun is None:
        return
    for edge in job.open_edges:
        end = job.end_of(edge.upstream)
        if end is None or end[0] > begun:
            yield f"was claimed before {edge.upstream!r} was over"
        elif not _accepts(edge, RunStatus(end[1])):
            yield f"was claimed although {edge.upstream!r} ended as {end[1]}"


def _released_twice(job: _Job) -> Iterator[str]:
    begun = job.first_claim
    gates = [entry for entry in job.history if entry.from_status == RunStatus.WAITING and _opens(entry, begun)]
    if len(gates) > 1:
        yield f"its gate opened {len(gates)} times"
    if gates and job.run.ready_at is None:
        yield "its gate has opened, and it does not know when"


def _opens(entry: LogEntry, begun: int | None) -> bool:
    """Of entries before anybody worked on it, and of the first claim itself."""
    if begun is not None and entry.seq > begun:
        return False
    return entry.cause == RELEASED or is_claim(entry)


def _skipped_wrongly(job: _Job) -> Iterator[str]:
    times = sum(entry.to_status == RunStatus.SKIPPED for entry in job.history)
    is_skipped = job.run.status is RunStatus.SKIPPED
    if times != is_skipped:
        yield f"was skipped {times} times, and is {job.run.status}"
    refused = {edge.upstream for edge in job.open_edges if _refuses(job, edge)}
    if is_skipped and job.state.decided_by not in refused | _rivals(job):
        yield f"is skipped because of {job.state.decided_by!r}, which is no reason"
    if refused and job.run.status not in (RunStatus.SKIPPED, RunStatus.CANCELLED) and not _is_copied(job):
        yield f"is {job.run.status}, and does not accept how {', '.join(sorted(refused))} ended"


def _refuses(job: _Job, edge: Edge) -> bool:
    status = job.status_of(edge.upstream)
    return status.is_terminal and not _accepts(edge, status)


def _accepts(edge: Edge, status: RunStatus) -> bool:
    """A group that is over and has no members holds nobody up."""
    return status in edge.accepts or (edge.is_group and status is RunStatus.COMPLETED)


def _rivals(job: _Job) -> set[str]:
    """Siblings whose end takes its turn away."""
    if not job.state.fail_fast:
        return set()
    return {
        name
        for name, other in job.jobs.items()
        if other.matrix == job.state.matrix and other.run.status.is_terminal and other.run.status != RunStatus.COMPLETED
    }


def _is_copied(job: _Job) -> bool:
    """Did it complete in the graph that this one tries again?"""
    return any((entry.cause, entry.to_status) == (COPIED, RunStatus.COMPLETED) for entry in job.history[:1])


def _stuck(job: _Job) -> Iterator[str]:
    if job.run.status.is_terminal or job.run.attempts:
        return
    open = sum(not job.status_of(edge.upstream).is_terminal for edge in job.open_edges)
    if job.run.unmet != open + job.state.is_held:
        yield f"counts {job.run.unmet} needs, and {open} are open{' and its turn' if job.state.is_held else ''}"
    if job.run.status is RunStatus.WAITING and not open and not job.state.is_held:
        yield "waits, and all that it needs is over"


def _unsound(snapshot: Snapshot, graph: Graph) -> Iterator[str]:
    jobs, needs = snapshot.jobs[graph.id], snapshot.needs[graph.id]
    edges = [edge for some in needs.values() for edge in some]
    if len(jobs) > MOST_JOBS or len(edges) > MOST_EDGES:
        yield f"has {len(jobs)} jobs and {len(edges)} edges"
    unknown = {name for edge in edges for name in (edge.job, edge.upstream)} - jobs.keys()
    if unknown:
        yield f"edges name {sorted(unknown)}, which do not exist"
    names = Counter(row.job.name for row in snapshot.job_rows if row.graph == graph.id)
    positions = Counter(job.position for job in jobs.values())
    if max([*names.values(), *positions.values()], default=1) > 1:
        yield "two of its jobs have one name or one place"
    for job in jobs.values():
        generator = None if job.group is None else jobs.get(job.group)
        if job.group is not None and (generator is None or generator.run.status is not RunStatus.COMPLETED):
            yield f"{job.name!r} was brought by {job.group!r}, which has not completed"
    # A member comes after the generator that brings it.
    stuck = _in_cycles(
        {name: {*(edge.upstream for edge in needs[name]), job.group or ""} & jobs.keys() for name, job in jobs.items()}
    )
    if stuck:
        yield f"{sorted(stuck)} wait for each other"


def _in_cycles(needs: Mapping[str, set[str]]) -> set[str]:
    """Who is left when everybody goes whose needs are gone."""
    left = {name: set(upstreams) for name, upstreams in needs.items()}
    while free := {name for name, upstreams in left.items() if not upstreams & left.keys()}:
        for name in free:
            del left[name]
    return set(left)


def _group_ignored(job: _Job) -> Iterator[str]:
    for edge in job.needs:
        if not edge.is_group:
            continue
        members = {name for name, other in job.jobs.items() if other.group == edge.upstream}
        missing = members - {other.upstream for other in job.needs}
        if missing:
            yield f"needs group {edge.upstream!r}, and not its members {sorted(missing)}"
        if edge.is_resolved != bool(members):
            yield f"its need of group {edge.upstream!r}, which has {len(members)} members, is taken for the other case"
        end, begun = job.end_of(edge.upstream), job.first_claim
        if begun is not None and (end is None or end[0] > begun):
            yield f"was claimed before group {edge.upstream!r} was resolved"


def _left(snapshot: Snapshot, job: JobState) -> tuple[str, str | None]:
    """How a job ended, and what it returned, in the words of the journal."""
    output = snapshot.payloads[job.run.id].output if job.run.status is RunStatus.COMPLETED else None
    return job.run.status.value, None if output is None else output.decode("latin-1")


def _ended_wrongly(snapshot: Snapshot, graph: Graph) -> Iterator[str]:
    run, ends = snapshot.runs[graph.id], [job.run.status for job in snapshot.jobs[graph.id].values()]
    if not run.status.is_terminal:
        if ends and all(status.is_terminal for status in ends):
            yield "all its jobs are over, and it is not"
        return
    left = [status for status in ends if not status.is_terminal]
    if left:
        yield f"is over, and {len(left)} of its jobs are not"
    kinds = set(ends)
    expected = next((kind for kind in (RunStatus.FAILED, RunStatus.CANCELLED) if kind in kinds), RunStatus.COMPLETED)
    if run.status is not (graph.ending or expected):
        yield f"ended as {run.status}, and its jobs as {sorted(kinds)}"
