"""Which runs may be tried again, and how much of what they have done is kept."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from windlass.errors import NotFound, WrongState
from windlass.model.run import Run, RunKind, RunStatus

RETRIED = frozenset({RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.PAUSED})
MOST_CLOSE = 3  # keys named to somebody who mistyped one


def check_retry(run: Run) -> None:
    """Raise WrongState for a run that goes on by itself, and for one that has done what it was for."""
    if run.kind.is_job:
        hint = f"Retry the graph, which does it again with all below it: windlass retry {run.parent} --from {run.job}"
        raise WrongState("Run", run.id, f"job {run.job!r} of a graph", wanted="a run of its own", hint=hint)
    if run.kind is RunKind.GRAPH and run.status is RunStatus.PAUSED:
        hint = "Resume it, or cancel it first."
        raise WrongState("Graph", run.id, run.status, wanted="one that failed or was cancelled", hint=hint)
    if run.status not in RETRIED:
        raise WrongState("Run", run.id, run.status, wanted="one that failed, was cancelled or is paused")


def kept_before(places: Mapping[str, int | None], from_step: str | None) -> int | None:
    """The place in the order of results from which on everything is done again; none: all that is done is kept.

    A step that never came to a result has no place: nothing came after it in the order, so nothing else is given up.
    """
    if from_step is None:
        return None
    if from_step not in places:
        raise NotFound("Step", from_step, close=difflib.get_close_matches(from_step, places, n=MOST_CLOSE))
    return places[from_step]
