"""A run that has not begun because another run of its schedule is not over."""

from __future__ import annotations

from collections.abc import Callable

from windlass.model.duration import describe
from windlass.model.explanation import Explanation, Situation
from windlass.model.schedule import Overlap
from windlass.model.time import Duration
from windlass.rules.explain.facts import Facts, Turn
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.words import answer, since

Clause = Callable[[Facts], str]  # where another run stands, going on after its name


def waits_for_turn(facts: Facts, turn: Turn, *, clause: Clause) -> Explanation:
    first = turn.ahead[0] if turn.ahead else None
    return answer(
        facts,
        Situation.WAITING_FOR_TURN,
        f"It has waited {since(facts.since, now=facts.now)} for {_what(facts, turn, clause)}. It holds no worker.",
        time_out_of_turn(facts),
        closed_gates(facts),
        advice=[*([] if first is None else [("more about that one", f"windlass explain {first}")]), *openings(facts)],
        since=facts.since,
        brief="its turn" if first is None else f"{first}, before it",
    )


def turn_beside(facts: Facts) -> str:
    """What a paused one waits for as well."""
    if facts.turn is None:
        return ""
    ahead = facts.turn.ahead
    what = f"the end of {ahead[0]}" if ahead else "its turn"
    return f"Let go on, it waits for {what}: runs of schedule {facts.run.schedule!r} do not overlap."


def time_out_of_turn(facts: Facts) -> str:
    """A time-out counts from when a run is due, which this one is not."""
    run = facts.run
    if run.expires_at is None:
        return ""
    lasts = Duration(run.expires_at - (run.starts_at or run.created_at))
    return f"Its time-out of {describe(lasts)} begins with its turn."


def _what(facts: Facts, turn: Turn, clause: Clause) -> str:
    schedule, policy = f"schedule {facts.run.schedule!r}", _policy(turn)
    if not turn.ahead:
        return f"its turn in {schedule}{policy}"
    first = turn.ahead[0]
    stands = "" if turn.first is None else clause(turn.first)
    if len(turn.ahead) == 1:
        return f"{first}, the run before it of {schedule}{policy}{f', which {stands}' if stands else ''}"
    told = f"{len(turn.ahead):,} runs of {schedule} that are not over{policy}; the first of them, {first}"
    return f"{told}, {stands}" if stands else told


def _policy(turn: Turn) -> str:
    if turn.overlap is Overlap.QUEUE:
        return " (overlap: queue)"
    return " (caught up with one after another)" if turn.overlap is Overlap.SKIP else ""
