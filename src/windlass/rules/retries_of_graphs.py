"""Which jobs of a graph are kept when it is tried again.

A completed job is kept if all it needed is kept: what it has seen then stands in the new graph too. Everything below a
job that is done again is done again from its beginning, also what completed because of a failure, such as a report. A
job that failed, and finds all that it needed as it was, goes on with the steps it has done.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from windlass.errors import NotFound
from windlass.model.graph import Edge
from windlass.model.run import RunStatus


class Kept(Struct, frozen=True):
    jobs: frozenset[str]  # that are over in the new graph already
    dropped: frozenset[str]  # members of groups whose generator is done again: it may bring others
    resumed: frozenset[str] = frozenset()  # done again, with the steps they have done: they find all as they did before


def kept_jobs(
    ends: Mapping[str, RunStatus],
    edges: Iterable[Edge],
    groups: Mapping[str, str],
    *,
    from_job: str | None = None,
) -> Kept:
    """`groups`: the generator of each member. `from_job` is done again whatever became of it, and all below it."""
    if from_job is not None and from_job not in ends:
        raise NotFound("Job", from_job, close=difflib.get_close_matches(from_job, ends, n=3))
    listed = list(edges)
    below: dict[str, list[str]] = {}
    for edge in listed:
        below.setdefault(edge.upstream, []).append(edge.job)
    for member, generator in groups.items():
        below.setdefault(generator, []).append(member)
    by_name = _needed_by_name(listed, groups)
    left = [job for job, status in ends.items() if status is not RunStatus.COMPLETED or job == from_job]
    again = set(left)
    while left:
        job = left.pop()
        found = [*below.get(job, ()), *by_name.get(job, ())]
        left += [other for other in dict.fromkeys(found) if other not in again]
        again.update(found)
    dropped = frozenset(member for member, generator in groups.items() if generator in again)
    changed = {edge.job for edge in listed if edge.upstream in again} | dropped | {from_job}
    # One that completed is done again because of what changed; its steps would answer for what was before.
    resumed = frozenset(job for job in again - changed if ends[job] is not RunStatus.COMPLETED)
    return Kept(frozenset(ends.keys() - again), dropped, resumed)


def _needed_by_name(edges: Sequence[Edge], groups: Mapping[str, str]) -> dict[str, list[str]]:
    """By generator: those of which a member needs one of its members by name, and may not find it any more."""
    needed = {(edge.job, edge.upstream) for edge in edges if edge.is_group}
    found: dict[str, list[str]] = {}
    for edge in edges:
        generator = groups.get(edge.upstream)
        if generator is not None and edge.job in groups and (edge.job, generator) not in needed:
            found.setdefault(generator, []).append(groups[edge.job])
    return found
