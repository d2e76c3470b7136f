"""Why a run is not running: what it waits for, since when, who holds it, and what it would take.

One function for every door, so that the command line, a handle and a page say the same. Names and messages of users go
into the text as they are; whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable

from windlass.model.explanation import Explanation
from windlass.model.run import RunStatus
from windlass.rules.explain.ended import ended
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.held import held
from windlass.rules.explain.later import rests
from windlass.rules.explain.paused import paused
from windlass.rules.explain.waiting import waits

__all__ = ["Facts", "explain"]


def explain(facts: Facts) -> Explanation:
    """Say where a run stands, in sentences that a person can act on."""
    return EXPLAINED[facts.run.status](facts)


EXPLAINED: dict[RunStatus, Callable[[Facts], Explanation]] = {
    RunStatus.WAITING: lambda facts: waits(facts, explain=explain),
    RunStatus.PENDING: rests,
    RunStatus.SLEEPING: rests,
    RunStatus.RUNNING: held,
    RunStatus.PAUSED: paused,
    RunStatus.COMPLETED: ended,
    RunStatus.FAILED: ended,
    RunStatus.CANCELLED: ended,
    RunStatus.SKIPPED: ended,
}
