"""A run that is held for a person, or is about to be."""

from __future__ import annotations

from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import FailureKind
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.graph import over
from windlass.rules.explain.needs import graph_advice
from windlass.rules.explain.turn import time_out_of_turn, turn_beside
from windlass.rules.explain.words import Advice, ago, answer, by, capital, must_end, quoted, since, step_of
from windlass.rules.runs import is_expired


def paused(facts: Facts) -> Explanation:
    if facts.view.failure is not None:
        return _mismatched(facts)
    deed, _ = facts.pause
    return answer(
        facts,
        Situation.PAUSED,
        f"It has been paused{by(deed.by)} {since(facts.since, now=facts.now)}{quoted(deed.note)}.",
        _time_out(facts) if facts.turn is None else time_out_of_turn(facts),
        turn_beside(facts),
        _with_graph(facts),
        closed_gates(facts),
        advice=[*_resume(facts), *openings(facts)],
        since=facts.since,
        brief=f"paused{by(deed.by)}",
    )


def _with_graph(facts: Facts) -> str:
    """What a paused job is part of, and what a paused graph was at."""
    if facts.jobs is not None:
        return f"{capital(over(facts.jobs.graph))}; nothing more of it begins."
    graph = None if facts.needed is None else facts.needed.graph
    return "" if graph is None or not graph.is_paused else f"Its graph {graph.id} is paused as a whole."


def _resume(facts: Facts) -> list[Advice]:
    if facts.needed is not None and facts.needed.graph.is_paused:
        return graph_advice(facts.needed.graph)
    return [("let it go on", f"windlass resume {facts.run.id}")]


def _mismatched(facts: Facts) -> Explanation:
    """The failure says what is wrong, and often what to type once it is put right."""
    failure, command = facts.view.failure, f"windlass resume {facts.run.id}"
    reason = " ".join(failure.message.split()) if failure is not None else ""
    is_in_doubt = failure is not None and failure.kind is FailureKind.INDETERMINATE
    if is_in_doubt:
        command = f"windlass resolve {facts.run.id}"
    is_told = command in reason
    return answer(
        facts,
        Situation.INDETERMINATE if is_in_doubt else Situation.MISMATCH,
        f"It has been held for a person {since(facts.since, now=facts.now)}: {reason}",
        _time_out(facts),
        advice=[] if is_told else [("then", command)],
        since=facts.since,
        step=step_of(failure),
    )


def _time_out(facts: Facts) -> str:
    """While it is paused nobody ends it."""
    expires_at, now = facts.run.expires_at, facts.now
    if expires_at is None or not is_expired(facts.run, now=now):
        return must_end(facts)
    return f"Its time-out passed {ago(expires_at, now=now)}: let go on, it ends as failed."


def is_to_be_paused(facts: Facts, *, is_lost: bool = False) -> str:
    """What a person wants of a run that somebody has, or had until its claim ended (`is_lost`)."""
    deed, asked_at = facts.pause
    who = "Somebody" if deed.by is None else deed.by
    note = f" ({quoted(deed.note)[2:]})" if deed.note else ""
    when = "by the worker that takes it" if is_lost else "as soon as what is at work has ended"
    asked = f"{who} asked {ago(asked_at, now=facts.now)}, for it to be paused{note}"
    return f"{asked}: nothing new of it is begun, and it is paused {when}."


def takes_that_back(facts: Facts) -> Advice:
    return ("let it go on after all", f"windlass resume {facts.run.id}")
