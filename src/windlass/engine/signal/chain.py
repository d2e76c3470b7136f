"""How many firings have led to something, one after the other: what a signal starts may cause what it watches."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.model.run import RunId
from windlass.store.base import Tx

MOST_GENERATIONS = 20  # of parents that are looked at: what is further down is no loop that anybody wrote


async def depths(tx: Tx, namespace: str, runs: Iterable[RunId]) -> dict[RunId, int]:
    """For each of these runs, how many firings led to it: to itself, or to the run that started it, and so on."""
    lines = {run: {run} for run in runs}
    frontier = {run: run for run in lines}  # the last of the line of each
    for _ in range(MOST_GENERATIONS):
        found = await tx.runs.relatives(namespace, ids=sorted(frontier.values())) if frontier else {}
        frontier = {
            run: family.parent
            for run, last in frontier.items()
            if (family := found.get(last)) is not None and family.parent is not None
        }
        for run, parent in frontier.items():
            lines[run].add(parent)
    known = await tx.firings.depths(namespace, runs={run for line in lines.values() for run in line}) if lines else {}
    return {run: max(known.get(other, -1) for other in line) + 1 for run, line in lines.items()}
