"""When a job may begin, and when it never will.

*Dispatch* needs every upstream over and accepted; *skip* needs one that is over and not accepted. What ends is worked
through as a list, because a job that is skipped is over too:

    ended ─► every edge below ─┬─ accepts this end: one need less; with none left, released
                               └─ does not: skipped ─► its edges below …

The same list that decides answers what *would* happen: give it an end that has not come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from windlass.model.graph import Edge, JobState
from windlass.model.run import RunStatus


class Below(Struct, frozen=True):
    """What is known of a graph below the jobs that have ended: their edges, those jobs, and who waits for a turn."""

    edges: Sequence[Edge]
    jobs: Mapping[str, JobState]
    held: Mapping[str, Sequence[str]] = {}  # by matrix: jobs that wait for a sibling to end, in their order


class Decided(Struct, frozen=True, kw_only=True):
    skipped: Mapping[str, str]  # job: the one because of which
    met: Mapping[str, int]  # job: how many of its needs are met by this, and it is not skipped
    released: Sequence[str]  # those of them that have no need left
    turns: Sequence[str]  # jobs that wait for no sibling any more


def accepts(edge: Edge, status: RunStatus) -> bool:
    """May the job go on when its upstream ended so? A group that completed without members keeps nobody."""
    return status in edge.accepts or (edge.is_group and status is RunStatus.COMPLETED)


def may_wait(job: JobState) -> bool:
    """Is it still up to its needs what becomes of it?"""
    return job.run.unmet > 0 and job.run.attempts == 0 and not job.run.status.is_terminal


def is_stranded(job: JobState) -> bool:
    """Does it wait for nothing without being due? Then no claim finds it, nor does the end of another job."""
    return job.run.status is RunStatus.WAITING and job.run.unmet == 0 and job.run.attempts == 0


def decide(
    ended: Mapping[str, RunStatus],
    below: Below,
    *,
    matrices: Mapping[str, JobState] | None = None,
    skips: Mapping[str, str] | None = None,
) -> Decided:
    """What follows from the end of these jobs. `below` must know the edges of whatever is skipped, too.

    `matrices`: those of the ended jobs that belong to a matrix with a window; others free no turn. `skips`: jobs that
    are skipped to begin with, and because of which.
    """
    worklist = _Worklist(below, matrices or {})
    for name in sorted(ended):
        worklist.add(name, ended[name])
    for name, because in (skips or {}).items():
        worklist.skip(name, because)
    worklist.work()
    return worklist.decided()


class _Worklist:
    def __init__(self, below: Below, matrices: Mapping[str, JobState]) -> None:
        self._jobs, self._matrices = below.jobs, matrices
        self._edges: dict[str, list[Edge]] = {}
        for edge in below.edges:
            self._edges.setdefault(edge.upstream, []).append(edge)
        self._held = {matrix: list(names) for matrix, names in below.held.items()}
        self._queue: deque[tuple[str, RunStatus]] = deque()
        self._skipped: dict[str, str] = {}
        self._met: dict[str, int] = {}
        self._turns: list[str] = []

    def add(self, name: str, status: RunStatus) -> None:
        self._queue.append((name, status))

    def work(self) -> None:
        while self._queue:
            name, status = self._queue.popleft()
            for edge in self._edges.get(name, ()):
                if edge.is_resolved:
                    continue  # its members have edges of their own
                if accepts(edge, status):
                    self._meet(edge.job)
                else:
                    self.skip(edge.job, name)
            self._free_turn(name, status)

    def _meet(self, job: str) -> None:
        if job in self._jobs and may_wait(self._jobs[job]):
            self._met[job] = self._met.get(job, 0) + 1

    def skip(self, job: str, because: str) -> None:
        if job in self._skipped or job not in self._jobs or not may_wait(self._jobs[job]):
            return
        self._skipped[job] = because
        self._queue.append((job, RunStatus.SKIPPED))

    def _free_turn(self, name: str, status: RunStatus) -> None:
        job = self._matrices.get(name) or self._jobs.get(name)
        if job is None or job.matrix is None:
            return
        waiting = self._held.get(job.matrix, [])
        if name in waiting:
            waiting.remove(name)  # it never had a turn
        elif job.is_held and name not in self._turns:
            return  # nor had this one
        elif job.fail_fast and status is not RunStatus.COMPLETED:
            for sibling in tuple(waiting):
                self.skip(sibling, name)
        elif waiting:
            self._turns.append(waiting.pop(0))
            self._meet(self._turns[-1])

    def decided(self) -> Decided:
        met = {job: count for job, count in self._met.items() if job not in self._skipped}
        released = [job for job in sorted(met) if self._jobs[job].run.unmet <= met[job]]
        turns = [job for job in self._turns if job not in self._skipped]
        return Decided(skipped=self._skipped, met=met, released=released, turns=turns)


class Child(Protocol):
    """A job to begin with, as far as its matrix decides about it."""

    @property
    def name(self) -> str: ...

    @property
    def matrix(self) -> str | None: ...

    @property
    def max_parallel(self) -> int | None: ...


def held_back(jobs: Iterable[Child]) -> set[str]:
    """Children of a matrix behind those that may be at work at a time, in the order they were written."""
    seen: dict[str, int] = {}
    held = set()
    for job in jobs:
        if job.matrix is None or job.max_parallel is None:
            continue
        seen[job.matrix] = seen.get(job.matrix, 0) + 1
        if seen[job.matrix] > job.max_parallel:
            held.add(job.name)
    return held


def is_doubtful(*, unmet: int, open: int, refused: int, held: int) -> bool:
    """Does what a waiting job counts differ from what its edges come to? Then somebody should look behind a lock."""
    return refused > 0 or unmet != open + held


def is_drifted(*, graph: tuple[str, str], job: tuple[str, str], served: Iterable[tuple[str, str]]) -> bool:
    """Do workers know a graph, and none of them the code of a job that it has stored? All by name and version.

    Served is what live workers serve in any queue: a worker knows all jobs of its graphs, also those that it does not
    take from the queues it asks.
    """
    known = set(served)
    return graph in known and job not in known


def judge(edges: Iterable[Edge], ends: Mapping[str, RunStatus]) -> tuple[int, str | None]:
    """From all edges of one job and how their upstreams ended: how many needs are open, and who makes it skipped.

    What the counters must come to, whatever order things happened in: used to create jobs, to mend and to check them.
    """
    open = 0
    decided_by: str | None = None
    for edge in edges:
        if edge.is_resolved:
            continue
        status = ends.get(edge.upstream)
        if status is None or not status.is_terminal:
            open += 1
        elif not accepts(edge, status) and (decided_by is None or edge.upstream < decided_by):
            decided_by = edge.upstream
    return open, decided_by
