"""A run that waits for something to come: an event, a person, another run, or several of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.rules.explain.awaited import Awaited, awaited
from windlass.rules.explain.due import due
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.graph import waits_for_jobs
from windlass.rules.explain.needs import is_waiting, waits_for_needs
from windlass.rules.explain.turn import waits_for_turn
from windlass.rules.explain.words import Advice, answer, at, count, joined, must_end, since
from windlass.rules.runs import is_expired

Explain = Callable[[Facts], Explanation]

NO_DEADLINE = "There is no deadline."


def waits(facts: Facts, *, explain: Explain) -> Explanation:
    """`explain` says what a child stands at."""

    def clause(other: Facts) -> str:
        return clause_about(other, explain(other))

    if facts.turn is not None:
        return waits_for_turn(facts, facts.turn, clause=clause)
    if facts.needed is not None and is_waiting(facts):
        return waits_for_needs(facts, facts.needed, clause=clause)
    if facts.jobs is not None:
        return waits_for_jobs(facts, facts.jobs, clause=clause)
    due_at, things = facts.run.available_at, awaited(facts)
    if due_at is not None and due_at <= facts.now:
        return due(facts, due_at, _in_vain(facts, things))
    if not things:
        text = (
            f"It has waited {since(facts.since, now=facts.now)} for what it needs, or for an event without a deadline."
        )
        return answer(facts, Situation.WAITING, text, must_end(facts), since=facts.since)
    told, code = (_one(facts, things[0], explain), things[0].code) if len(things) == 1 else _several(facts, things)
    return answer(
        facts,
        code,
        told,
        _unread(facts, things),
        must_end(facts, goes_on_at=things[0].until if len(things) == 1 else None),
        closed_gates(facts),
        advice=[*_advice(things), *openings(facts)],
        since=(things[0].since if len(things) == 1 else None) or facts.since,
        until=due_at,
        step=things[0].steps[0].key if len(things) == 1 else None,
        brief=", ".join(thing.brief for thing in things[:3]) + (", …" if len(things) > 3 else ""),
    )


def waits_beside(facts: Facts) -> str:
    """What other branches of a run at work wait for: nothing that time alone brings."""
    things = [thing.what for thing in awaited(facts) if thing.kind.is_wait]
    return f"Beside that it waits for {joined(things)}." if things else ""


def _in_vain(facts: Facts, things: Sequence[Awaited]) -> str:
    now, due_at = facts.now, facts.run.available_at or facts.now
    late = [thing for thing in things if thing.kind.is_wait and thing.until is not None and thing.until <= now]
    if is_expired(facts.run, now=now) or not late:
        return f"It has been due for {between(due_at, now)}."
    in_vain = joined([thing.what for thing in late])
    return f"It waited for {in_vain}, in vain, and has been due for {between(due_at, now)}."


# One thing


def _one(facts: Facts, thing: Awaited, explain: Explain) -> str:
    now = facts.now
    began = since(thing.since or facts.since, now=now)
    when = "" if thing.until is None else at(thing.until, now=now)
    if thing.kind is StepKind.EVENT:
        told = f"It has waited {began} for event {thing.name!r} and holds no worker."
        without = f"Without it the workflow goes on {when}: with the default of receive(), or with WaitTimeout."
        return f"{told} {_deadline(facts, without if when else '')}".rstrip()
    if thing.kind is StepKind.APPROVAL:
        told = f"It has waited {began} for a person to decide on {thing.name!r} and holds no worker."
        without = f"Undecided, the approval expires {when}, and the workflow goes on."
        return f"{told} {_deadline(facts, without if when else '')}".rstrip()
    if thing.kind is StepKind.CHILD:
        return f"It has waited {began} for {thing.what}{_of_child(facts, thing, explain)}"
    return f"It has waited {began} for {thing.what}."


def _deadline(facts: Facts, without: str) -> str:
    """What happens if it never comes. Where the whole run must end in time, that is a deadline too."""
    return without or (NO_DEADLINE if facts.run.expires_at is None else "")


def _of_child(facts: Facts, thing: Awaited, explain: Explain) -> str:
    """The first that has not ended, and what that one stands at."""
    child = facts.child
    is_looked_up = child is not None and child.run.id == thing.steps[0].awaits
    is_only = thing.what.startswith("its child ")
    first = "" if is_only else f"; the first of them, {thing.steps[0].awaits},"
    if child is None or not is_looked_up:
        return "." if is_only else f"{first.rstrip(',')}."
    clause = clause_about(child, explain(child))
    return f", which {clause}." if is_only else f"{first} {clause}."


def clause_about(facts: Facts, found: Explanation) -> str:
    """Where another run stands, in one clause that goes on after its name."""
    now, run = facts.now, facts.run
    when = "" if found.until is None else moment(found.until, now=now)
    if run.status is RunStatus.WAITING and found.code in IN_WAITING:
        things = awaited(facts)
        return f"waits for {joined([thing.what for thing in things])}" if things else "waits for what it needs"
    clauses = {
        Situation.SLEEPING: f"sleeps until {when}",
        Situation.BACKING_OFF: f"tries step {found.step!r} again at {when}",
        Situation.STARTS_LATER: f"starts at {when}",
        Situation.GIVEN_BACK: f"goes on at {when}",
        Situation.WORKERS_DYING: f"was taken from dead workers and goes on at {when}",
        Situation.WAITING_FOR_TURN: _turn(facts),
        Situation.WAITING_FOR_NEEDS: f"waits for {found.brief}",
        Situation.WAITING_FOR_JOBS: f"waits for its jobs ({found.brief})",
        Situation.CANCELLING: "was cancelled, and waits for jobs that clean up",
        Situation.PAUSED: f"is {found.brief or 'paused'}",
        Situation.PAUSING: f"is {found.brief}",
        Situation.MISMATCH: "is paused because the code changed under it",
        Situation.INDETERMINATE: "is paused because nobody knows whether its effect happened",
        Situation.HELD: f"is at work{'' if found.step is None else f' in step {found.step!r}'}",
        Situation.TASK_FAILED: "has a task that failed",
        Situation.LONG_STEP: f"is at work in step {found.step!r}, which takes long",
        Situation.HELD_SILENT: "is held by a worker that has gone silent",
        Situation.HELD_STOPPED: "is held by a worker that has stopped",
        Situation.CLAIM_ENDED: "waits for a worker to take it over",
        Situation.DUE: "waits for a worker",
        Situation.WORKERS_FULL: "waits for a worker with a free slot",
        Situation.NO_WORKER: "waits for a worker, and none that is alive runs it",
        Situation.OTHER_QUEUE: f"waits for a worker in queue {run.queue!r}, and there is none",
        Situation.OTHER_VERSION: f"waits for a worker of version {run.version!r}, and there is none",
        Situation.GATE_CLOSED: f"waits because {found.brief}",
        Situation.EXPIRED: "has passed its time-out and waits for a worker to end it",
        Situation.CANCELLED: "was cancelled",
        Situation.SKIPPED: "was skipped",
        Situation.COMPLETED: "has completed",
    }
    return clauses.get(found.code, "has failed")


def _turn(facts: Facts) -> str:
    needed = facts.needed
    if needed is not None:
        return f"waits for its turn in matrix {needed.job.state.matrix!r}"
    return f"waits for its turn in schedule {facts.run.schedule!r}"


IN_WAITING = frozenset(
    {
        Situation.WAITING,
        Situation.WAITING_FOR_EVENT,
        Situation.WAITING_FOR_CHILD,
        Situation.WAITING_FOR_APPROVAL,
        Situation.WAITING_FOR_SEVERAL,
        Situation.SLEEPING,
        Situation.BACKING_OFF,
    }
)


# Several things


def _several(facts: Facts, things: Sequence[Awaited]) -> tuple[str, Situation]:
    text = (
        f"It has waited {since(facts.since, now=facts.now)} for {joined([thing.what for thing in things])} at once and "
        "holds no worker; whichever comes first wakes it."
    )
    return text, Situation.WAITING_FOR_SEVERAL


def _advice(things: Sequence[Awaited]) -> list[Advice]:
    return [advice for thing in things[:3] for advice in thing.advice]


# What came under another name


def _unread(facts: Facts, things: Sequence[Awaited]) -> str:
    """Whoever sent an event of a name that nobody waits for may have meant one that somebody does."""
    wanted = [thing.name for thing in things if thing.kind is StepKind.EVENT]
    others = [message for message in facts.unread if message.name not in wanted]
    if not wanted or not others:
        return ""
    names = list(dict.fromkeys(message.name for message in others))
    told = count(len(others), "event of another name is unread", "events of other names are unread")
    shown = f"{told}: {joined([repr(name) for name in names])}"
    close = next((match for name in names for match in difflib.get_close_matches(name, wanted, n=1)), None)
    return f"{shown}." if close is None else f"{shown}; was {close!r} meant?"
