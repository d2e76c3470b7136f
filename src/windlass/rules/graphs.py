"""Which graphs are accepted: names, edges, limits, and no job that waits for itself.

Whoever brings jobs is checked by the same function: the code that declares a graph, the wire, and the engine before it
inserts what a generator returned. What comes out says every edge by the name of a job:

    needs "test", a matrix          ─► test[3.11], test[3.12]         each with the same accepted ends
    needs "shards", not resolved    ─► shards (is_group)              its members are not known yet
    needs "shards", resolved        ─► shards (is_group), s-1, s-2    an empty group has no more than the first

What was expanded may be checked again, and stays as it is.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.errors import InvalidInput
from windlass.model.duration import shown
from windlass.model.graph import EVERY_END, Accepted, Edge, Need, NewJob, accepted
from windlass.model.run import RunStatus
from windlass.rules.limits import MAX_NAME, check_name
from windlass.rules.matrix import MOST_COMBINATIONS

MOST_JOBS = 10_000  # of one graph, generated ones included
MOST_EDGES = 100_000
MOST_CLOSE = 3  # names told to somebody who mistyped one
MOST_COMPARED = 1_000  # names that are looked at for them: comparing is slow
MOST_SHOWN = 10  # jobs of a cycle that are written out


class Known(Struct, frozen=True, kw_only=True):
    """What is in a graph already, when more jobs are brought to it."""

    jobs: frozenset[str] = frozenset()  # generators among them
    matrices: Mapping[str, tuple[str, ...]] = {}  # their children
    groups: Mapping[str, tuple[str, ...] | None] = {}  # of a generator, its members; None: it has not said yet
    edges: Sequence[Edge] = ()


NOTHING = Known()


def check_job_name(name: str, *, what: str = "job name") -> str:
    """A name in a graph, composed: that of a job, or that of a matrix with the label of one child, `test[3.11]`."""
    if not _has_label(name):
        return check_name(name, what=what)
    base, _, rest = name.partition("[")
    label = rest[:-1]
    if not rest.endswith("]") or not label or label.isspace() or "[" in label or "]" in label:
        raise _invalid_name(name, what, "a label stands in one pair of brackets at its end, such as test[3.11]")
    if not label.isprintable():
        raise _invalid_name(name, what, "its label must be printable")
    if len(name) > MAX_NAME:
        raise _invalid_name(name, what, f"max {MAX_NAME} characters")
    return f"{check_name(base, what=what)}[{unicodedata.normalize('NFC', label)}]"


def _has_label(name: object) -> bool:
    return isinstance(name, str) and "[" in name


def _invalid_name(name: str, what: str, text: str) -> InvalidInput:
    return InvalidInput(f"Invalid {what} {shown(name)}: {text}.", reason="invalid_name", path=what)


def check_graph(jobs: Sequence[NewJob], *, known: Known | None = None, group: str | None = None) -> tuple[NewJob, ...]:
    """The jobs with every need expanded, in the order given; or InvalidInput, and nothing of them may be kept.

    `known` is the graph they join. `group` is the generator that brings them: whoever needs it will need them.
    """
    if known is None and not jobs:
        raise InvalidInput("The graph has no jobs; declare at least one.", reason="invalid_graph", path="jobs")
    before = known or NOTHING
    _check_number(len(before.jobs) + len(jobs), MOST_JOBS, "jobs")
    named = tuple(_check_job(job, group=group) for job in jobs)
    names = _Names(named, before)
    checked = _expand(named, names, _edges_after(named, before, group))
    _check_cycles(checked, before, group)
    return checked


def _check_number(found: int, most: int, what: str) -> None:
    if found > most:
        text = f"The graph has {found:,} {what}; at most {most:,} are accepted. Split it into several graphs."
        raise InvalidInput(text, reason="too_many", path=what)


def _check_job(job: NewJob, *, group: str | None) -> NewJob:
    """What can be seen from one job alone."""
    name = check_job_name(job.name)
    if group is not None and job.is_group:
        text = (
            f"Generator {shown(group)} brings another generator, {shown(name)}; declare that one in the graph itself."
        )
        raise InvalidInput(text, reason="invalid_graph", path=name)
    if job.matrix is not None:
        _check_child(job, name)
    elif job.max_parallel is not None or job.fail_fast:
        text = f"Job {shown(name)} has no matrix, so max_parallel and fail_fast have no meaning for it; leave them out."
        raise InvalidInput(text, reason="invalid_matrix", path=name)
    return job if name == job.name else replace(job, name=name)


def _check_child(job: NewJob, name: str) -> None:
    if job.is_group:
        text = f"Generator {shown(name)} has a matrix; return the jobs of every combination from one generator instead."
        raise InvalidInput(text, reason="invalid_matrix", path=name)
    if not name.startswith(f"{job.matrix}["):
        text = f"Job {shown(name)} is no child of matrix {shown(job.matrix)}; a name such as test[3.11] was expected."
        raise InvalidInput(text, reason="invalid_matrix", path=name)
    if job.fail_fast and job.max_parallel is None:
        text = (
            f"Matrix {shown(job.matrix)} has fail_fast, which skips those that wait for a turn; give max_parallel too."
        )
        raise InvalidInput(text, reason="invalid_matrix", path="fail_fast")
    if job.max_parallel is not None and job.max_parallel < 1:
        text = f"Invalid max_parallel {job.max_parallel} of matrix {shown(job.matrix)}: at least 1 was expected."
        raise InvalidInput(text, reason="invalid_matrix", path="max_parallel")


class _Names:
    """What may be needed, and which jobs each name stands for: one table for every kind of edge."""

    def __init__(self, jobs: Sequence[NewJob], known: Known) -> None:
        self._groups = dict(known.groups)
        self._matrices = dict(known.matrices)
        self._jobs = set(known.jobs)
        for job in jobs:
            self._add(job)
        for matrix, children in _children(jobs).items():
            self._add_matrix(matrix, children)

    def _add(self, job: NewJob) -> None:
        if job.name in self._jobs or job.name in self._matrices:
            raise _duplicate(job.name)
        self._jobs.add(job.name)
        if job.is_group:
            self._groups[job.name] = None

    def _add_matrix(self, matrix: str, children: Sequence[NewJob]) -> None:
        if matrix in self._jobs or matrix in self._matrices:
            raise _duplicate(matrix)
        if len(children) > MOST_COMBINATIONS:
            text = f"Matrix {shown(matrix)} has {len(children):,} jobs; at most {MOST_COMBINATIONS} are accepted."
            raise InvalidInput(text, reason="too_many", path=matrix)
        # One that has a turn and needs another that waits for one would wait for ever.
        if len({(child.max_parallel, child.fail_fast, frozenset(child.needs)) for child in children}) > 1:
            text = f"The jobs of matrix {shown(matrix)} differ in needs, max_parallel or fail_fast; give all the same."
            raise InvalidInput(text, reason="invalid_matrix", path=matrix)
        self._matrices[matrix] = tuple(child.name for child in children)

    def find(self, need: Need, *, job: str) -> str:
        """The name that is meant, as it is written here."""
        name = need.upstream
        if not self._has(name) and len(name) <= 4 * MAX_NAME:  # to compose a text takes time that grows with its square
            name = unicodedata.normalize("NFC", name)
        if not self._has(name):
            raise self._unknown(need.upstream, job)
        if need.is_group and name not in self._groups:
            text = f"Job {shown(job)} needs {shown(name)} as a group, but that is none; name it as a job."
            raise InvalidInput(text, reason="invalid_needs", path=f"{job}.needs")
        return name

    def _has(self, name: str) -> bool:
        return name in self._jobs or name in self._matrices

    def _unknown(self, name: str, job: str) -> InvalidInput:
        candidates = sorted((*self._matrices, *self._jobs))[:MOST_COMPARED]
        close = difflib.get_close_matches(name[:MAX_NAME], candidates, n=MOST_CLOSE)
        hint = " Did you mean " + " or ".join(map(shown, close)) + "?" if close else ""
        text = f"Job {shown(job)} needs {shown(name)}, which is not in the graph.{hint}"
        return InvalidInput(text, reason="unknown_job", path=f"{job}.needs")

    def expand(self, name: str) -> Iterator[tuple[str, bool]]:
        """The upstreams behind a name, and whether each is a group."""
        if name in self._matrices:
            for child in self._matrices[name]:
                yield child, False
            return
        yield name, name in self._groups
        for member in self._groups.get(name) or ():
            yield member, False


def _children(jobs: Sequence[NewJob]) -> dict[str, list[NewJob]]:
    found: dict[str, list[NewJob]] = {}
    for job in jobs:
        if job.matrix is not None:
            found.setdefault(job.matrix, []).append(job)
    return found


def _duplicate(name: str) -> InvalidInput:
    text = f"The name {shown(name)} is given twice in the graph; jobs, matrices and groups need names of their own."
    return InvalidInput(text, reason="duplicate_job", path=name)


def _edges_after(jobs: Sequence[NewJob], known: Known, group: str | None) -> int:
    """How many edges there are before the needs of the new jobs are counted: one to each of them from who needs all."""
    dependents = sum(1 for edge in known.edges if edge.is_group and edge.upstream == group)
    return len(known.edges) + dependents * len(jobs)


def _expand(jobs: Sequence[NewJob], names: _Names, edges: int) -> tuple[NewJob, ...]:
    """Counted while it grows, so that a small text cannot become a large graph before it is refused."""
    found: list[NewJob] = []
    _check_number(edges, MOST_EDGES, "edges")
    for job in jobs:
        needs = _needs_of(job, names)
        edges += len(needs)
        _check_number(edges, MOST_EDGES, "edges")
        found.append(job if needs == job.needs else replace(job, needs=needs))
    return tuple(found)


def _needs_of(job: NewJob, names: _Names) -> tuple[Need, ...]:
    written: dict[str, Accepted] = {}
    for need in job.needs:
        name, accepts = names.find(need, job=job.name), _check_accepts(need, job.name)
        if written.setdefault(name, accepts) != accepts:
            raise _conflict(job.name, name, written[name], accepts)
    found: dict[str, Need] = {}
    for name, accepts in written.items():
        for upstream, is_group in names.expand(name):
            other = found.get(upstream)
            common = accepts if other is None else accepted(set(accepts).intersection(other.accepts))
            if other is not None and not common:
                raise _conflict(job.name, upstream, other.accepts, accepts)
            found[upstream] = Need(upstream=upstream, accepts=common, is_group=is_group)
    return tuple(found.values())


def _check_accepts(need: Need, job: str) -> Accepted:
    where = f"Job {shown(job)} needs {shown(need.upstream)}"
    if not need.accepts:
        text = f"{where}, but accepts none of its ends; say at least one of {', '.join(EVERY_END)}."
        raise InvalidInput(text, reason="invalid_needs", path=f"{job}.needs")
    for status in need.accepts:
        if status not in EVERY_END:
            text = f"{where} to end as {shown(status)}; a job ends as one of {', '.join(EVERY_END)}."
            raise InvalidInput(text, reason="invalid_needs", path=f"{job}.needs")
    return need.accepts if len(need.accepts) == 1 else accepted(map(RunStatus, need.accepts))


def _conflict(job: str, upstream: str, one: Accepted, other: Accepted) -> InvalidInput:
    ends = f"once {' or '.join(one)}, once {' or '.join(other)}"
    text = f"Job {shown(job)} needs {shown(upstream)} twice, {ends}; say it once, with all ends that are accepted."
    return InvalidInput(text, reason="conflicting_edge", path=f"{job}.needs")


def _check_cycles(jobs: Sequence[NewJob], known: Known, group: str | None) -> None:
    """A group is one node, its generator's, that needs its members: who needs the group needs them all."""
    needs: dict[str, list[str]] = {job.name: [need.upstream for need in job.needs] for job in jobs}
    for edge in known.edges:
        needs.setdefault(edge.job, []).append(edge.upstream)
    for generator, members in known.groups.items():
        needs.setdefault(generator, []).extend(members or ())
    if group is not None:
        needs.setdefault(group, []).extend(job.name for job in jobs)
    cycle = find_cycle(needs)
    if cycle is not None:
        text = f"Jobs of the graph wait for each other, so none could begin: {_path(cycle)} (each needs the next)."
        if len(cycle) == 2:
            text = f"A job of the graph needs itself, so it could never begin: {_path(cycle)}."
        raise InvalidInput(text, reason="cycle", path=f"{cycle[0]}.needs")


def _path(cycle: Sequence[str]) -> str:
    if len(cycle) > MOST_SHOWN + 1:
        left_out = len(cycle) - MOST_SHOWN
        cycle = [*cycle[: MOST_SHOWN - 2], f"… {left_out:,} more …", *cycle[-2:]]
    return " → ".join(cycle)


def find_cycle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """One circle of jobs, from the least of its names back to it; none of those that only wait for it.

    Deep chains are common, so the way down is kept in a list and not on the stack.
    """
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        path: dict[str, None] = {start: None}  # in order, and quick to ask
        ahead: list[Iterator[str]] = [iter(needs[start])]
        while ahead:
            upstream = next((name for name in ahead[-1] if name not in done), None)
            if upstream is None:
                ahead.pop()
                done.add(path.popitem()[0])
            elif upstream in path:
                return _circle(list(path), upstream)
            else:
                path[upstream] = None
                ahead.append(iter(needs.get(upstream, ())))
    return None


def _circle(path: Sequence[str], again: str) -> tuple[str, ...]:
    circle = path[path.index(again) :]
    first = circle.index(min(circle))
    return (*circle[first:], *circle[: first + 1])


def member_edges(group_edges: Iterable[Edge], members: Sequence[str]) -> list[Edge]:
    """What takes the place of unresolved edges to a group once its members are known: one to each, as accepting."""
    return [
        Edge(job=edge.job, upstream=member, accepts=edge.accepts)
        for edge in group_edges
        if edge.is_group and not edge.is_resolved
        for member in members
    ]
