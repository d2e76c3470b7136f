"""Where the jobs of a graph stand in a picture of it: in layers, so that every job stands behind all it needs.

layer 0     1        2
      lint ─ build ─┬ test        Inside a layer jobs stand near what they are joined with, which keeps
                    └ docs        the lines that cross few. The same graph is always drawn the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

SWEEPS = 4  # down and up in turn; more change little
DIGITS = re.compile(r"(\d+)")

Joined = Mapping[str, Sequence[str]]


class Node(Struct, frozen=True, kw_only=True):
    name: str  # of a job, or of the matrix or group that is shown as one
    layer: int
    row: int  # inside its layer
    members: tuple[str, ...] = ()  # the jobs that are shown under this name; none: it is a job by itself


class Layout(Struct, frozen=True, kw_only=True):
    nodes: tuple[Node, ...]  # by layer, then by row
    edges: tuple[tuple[str, str], ...]  # from the one that is needed to the one that needs it


def layers(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The jobs by layer, each one behind its latest upstream. Upstreams that are no keys are left out."""
    upstreams = {job: sorted({name for name in needs[job] if name in needs and name != job}) for job in needs}
    downstreams = _reversed(upstreams)
    found: list[list[str]] = []
    for job, layer in _depths(upstreams, downstreams).items():
        if layer == len(found):
            found.append([])
        found[layer].append(job)
    for row in found:
        row.sort(key=_by_name)
    _untangle(found, upstreams, downstreams)
    return found


def layout(needs: Mapping[str, Sequence[str]], *, fold: Mapping[str, str] | None = None) -> Layout:
    """`fold` says under which name a job is shown: its matrix or its group. Edges inside of one are not shown."""
    shown = fold or {}
    members: dict[str, list[str]] = {}
    joined: dict[str, dict[str, None]] = {}
    for job in needs:
        name = shown.get(job, job)
        joined.setdefault(name, {})
        if name != job:  # a generator stands for its group, and is not one of its members
            members.setdefault(name, []).append(job)
    for job, upstreams in needs.items():
        name = shown.get(job, job)
        joined[name].update((shown.get(upstream, upstream), None) for upstream in upstreams if upstream in needs)
        joined[name].pop(name, None)
    folded = {name: tuple(upstreams) for name, upstreams in joined.items()}
    nodes = tuple(
        Node(name=name, layer=layer, row=row, members=tuple(sorted(members.get(name, ()), key=_by_name)))
        for layer, names in enumerate(layers(folded))
        for row, name in enumerate(names)
    )
    edges = tuple((upstream, node.name) for node in nodes for upstream in sorted(folded[node.name], key=_by_name))
    return Layout(nodes=nodes, edges=edges)


def _by_name(name: str) -> tuple[tuple[str | int, ...], str]:
    """As people count: shard-2 before shard-10."""
    parts = DIGITS.split(name)
    return tuple(int(part) if position % 2 else part for position, part in enumerate(parts)), name


def _reversed(upstreams: Joined) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {job: [] for job in upstreams}
    for job in sorted(upstreams):
        for upstream in upstreams[job]:
            found[upstream].append(job)
    return found


def _depths(upstreams: Joined, downstreams: Joined) -> dict[str, int]:
    """The layer of every job, the lower layers first.

    What is folded may stand in a circle: a group, a job behind one of its members, and another member behind that job.
    Then the first by name is placed as if it waited no more.
    """
    waits_for = {job: len(names) for job, names in upstreams.items()}
    ready = [job for job, count in waits_for.items() if not count]
    in_doubt = iter(sorted(upstreams, key=_by_name))
    depths: dict[str, int] = {}
    while len(depths) < len(upstreams):
        job = ready.pop() if ready else next(name for name in in_doubt if name not in depths)
        depths[job] = max((depths[name] + 1 for name in upstreams[job] if name in depths), default=0)
        for below in downstreams[job]:
            waits_for[below] -= 1
            if waits_for[below] == 0 and below not in depths:
                ready.append(below)
    return dict(sorted(depths.items(), key=lambda item: item[1]))


def _untangle(found: list[list[str]], upstreams: Joined, downstreams: Joined) -> None:
    """Move every job to the middle of its neighbours, going down with what it needs and up with what needs it."""
    heights: dict[str, float] = {}
    for row in found:
        _measure(row, heights)
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        neighbours = upstreams if is_down else downstreams
        for row in found if is_down else reversed(found):
            middles = {job: _middle(neighbours[job], heights, job) for job in row}
            row.sort(key=middles.__getitem__)  # stable: those with one middle stay in their order
            _measure(row, heights)


def _measure(row: Sequence[str], heights: dict[str, float]) -> None:
    """How high each stands, as a part of its layer: layers of different length are comparable."""
    for place, job in enumerate(row):
        heights[job] = (place + 0.5) / len(row)


def _middle(neighbours: Sequence[str], heights: Mapping[str, float], job: str) -> float:
    if not neighbours:
        return heights[job]
    return sum([heights[name] for name in neighbours]) / len(neighbours)
