"""A graph as a picture: its layout in pixels, every job or folded group a box, every need a curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windlass.dashboard.words import SIGNS
from windlass.model.graph import JobView
from windlass.model.run import RunStatus
from windlass.rules.layout import Node, layout

NODE_WIDTH, NODE_HEIGHT = 184, 46
GAP_X, GAP_Y, MARGIN = 64, 16, 20
FOLD_FROM = 40  # jobs: larger graphs are shown with their groups and matrices folded
LONGEST_LABEL = 22
MOST_BOXES, MOST_CURVES = 2_000, 10_000  # what a browser still moves about
# How a folded group stands: the first of these that one of its jobs is in.
RANKS = (
    RunStatus.FAILED, RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING,
    RunStatus.CANCELLED, RunStatus.COMPLETED, RunStatus.SKIPPED,
)  # fmt: skip


def folds(jobs: Sequence[JobView]) -> dict[str, str]:
    """Under which name a job is shown: its matrix, or the group that made it."""
    return {job.name: found for job in jobs if (found := job.state.matrix or job.state.group)}


def draw(
    jobs: Sequence[JobView], *, fold: Mapping[str, str], link: Callable[[str], str], unfold: Callable[[str], str]
) -> dict[str, Any]:
    """`fold` says under which name a job is shown. A job leads to `link` of its run, what is folded to `unfold`."""
    needs = {job.name: [need.upstream for need in job.needs] for job in jobs}
    by_name = {job.name: job for job in jobs}
    plan = layout(needs, fold=fold)
    shown = plan.nodes[:MOST_BOXES]
    tallest = max(Counter(node.layer for node in shown).values(), default=1)
    places = _places(shown, tallest=tallest)
    wide = max((node.layer for node in shown), default=0) + 1
    edges = [(start, end) for start, end in plan.edges if start in places and end in places]
    return {
        "width": 2 * MARGIN + wide * NODE_WIDTH + (wide - 1) * GAP_X,
        "height": 2 * MARGIN + tallest * NODE_HEIGHT + (tallest - 1) * GAP_Y,
        "node_width": NODE_WIDTH,
        "node_height": NODE_HEIGHT,
        "nodes": [_node(node, places[node.name], by_name, link=link, unfold=unfold) for node in shown],
        "edges": [_curve(places[start], places[end]) for start, end in edges[:MOST_CURVES]],
        "hidden": len(plan.nodes) - len(shown),
    }


def _places(nodes: Sequence[Node], *, tallest: int) -> dict[str, tuple[float, float]]:
    """Every layer stands in the middle of the picture's height."""
    heights = Counter(node.layer for node in nodes)
    pitch = NODE_HEIGHT + GAP_Y
    return {
        node.name: (
            MARGIN + node.layer * (NODE_WIDTH + GAP_X),
            MARGIN + (tallest - heights[node.layer]) * pitch / 2 + node.row * pitch,
        )
        for node in nodes
    }


def _node(
    node: Node,
    place: tuple[float, float],
    jobs: Mapping[str, JobView],
    *,
    link: Callable[[str], str],
    unfold: Callable[[str], str],
) -> dict[str, Any]:
    own = jobs.get(node.name)
    members = [jobs[name] for name in node.members]
    status = _together([job.status for job in (*members, *([own] if own else []))])
    note = status.value
    if members:
        counts = Counter(job.status for job in members)
        note = f"{len(members)} jobs · " + ", ".join(f"{counts[item]} {item.value}" for item in RANKS if counts[item])
    return {
        "x": place[0],
        "y": place[1],
        "status": status.value,
        "sign": SIGNS.get(status.value, "•"),
        "label": _cut(node.name, LONGEST_LABEL),
        "note": _cut(note, LONGEST_LABEL + 6),
        "title": f"{node.name}: {note}",
        "url": unfold(node.name) if own is None or members else link(own.run.id),
    }


def _together(statuses: Sequence[RunStatus]) -> RunStatus:
    return next((status for status in RANKS if status in statuses), RunStatus.WAITING)


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1 = start[0] + NODE_WIDTH, start[1] + NODE_HEIGHT / 2
    x2, y2 = end[0], end[1] + NODE_HEIGHT / 2
    bend = max(GAP_X / 2, (x2 - x1) / 2)
    return f"M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
