"""A run for which a time is set, and that needs nothing but time."""

from __future__ import annotations

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.run import GONE
from windlass.model.step import Step, StepKind
from windlass.model.time import Instant
from windlass.rules.explain.due import died, due
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.words import ago, answer, at, must_end, since, with_failure
from windlass.rules.steps import next_wait


def rests(facts: Facts) -> Explanation:
    """Pending or sleeping: it is due, or says until when it rests."""
    due_at = facts.run.available_at or facts.now
    if due_at <= facts.now:
        return due(facts, due_at, f"It has been due for {between(due_at, facts.now)}.")
    wait = _what_wakes(facts)
    if wait is None:
        return _until_told(facts, due_at)
    # A time-out of the whole run may come before what it waits for.
    goes_on_at = Instant(max(due_at, wait.due_at or due_at))
    return _sleeps(facts, wait, goes_on_at) if wait.kind is StepKind.SLEEP else _tries_again(facts, wait, goes_on_at)


def _what_wakes(facts: Facts) -> Step | None:
    """The wait this run was parked for. One whose branch was given up may be due earlier and wakes nobody."""
    if facts.cause in GONE | {"start", "release"}:
        return None
    waits = [step for step in facts.waits if step.due_at is not None]
    meant = [step for step in waits if step.due_at == facts.run.available_at]
    return next_wait(meant or waits)


def _sleeps(facts: Facts, wait: Step, goes_on_at: Instant) -> Explanation:
    now, began = facts.now, wait.started_at or facts.since
    return answer(
        facts,
        Situation.SLEEPING,
        f"It has slept {since(began, now=now)} and holds no worker; it goes on {at(goes_on_at, now=now)}.",
        must_end(facts, goes_on_at=goes_on_at),
        closed_gates(facts),
        advice=openings(facts),
        since=began,
        until=facts.run.available_at,
        step=wait.key,
    )


def _tries_again(facts: Facts, wait: Step, goes_on_at: Instant) -> Explanation:
    return answer(
        facts,
        Situation.BACKING_OFF,
        f"Step {wait.key!r} failed in attempt {wait.attempt}{with_failure(wait.failure)} It holds no worker; "
        f"the step is tried again {at(goes_on_at, now=facts.now)}.",
        must_end(facts, goes_on_at=goes_on_at),
        closed_gates(facts),
        advice=openings(facts),
        since=wait.finished_at or facts.since,
        until=facts.run.available_at,
        step=wait.key,
    )


def _begins(facts: Facts, when: str) -> str:
    run = facts.run
    if run.schedule is None or run.slot is None:
        return f"It was started to begin later: {when}."
    slot = moment(run.slot, now=facts.now)
    return f"It is the run of schedule {run.schedule!r} for {slot}. It begins {when}: spread by the schedule's jitter."


def _until_told(facts: Facts, due_at: Instant) -> Explanation:
    """Until a time that no step has named."""
    now, when = facts.now, at(due_at, now=facts.now)
    if facts.cause in GONE:
        code = Situation.WORKERS_DYING
        text = f"{died(facts)} It may be what kills them, so it waits longer each time; it goes on {when}."
    elif facts.run.attempts:
        code = Situation.GIVEN_BACK
        text = f"A worker gave it back {ago(facts.since, now=now)}; it goes on {when}."
    else:
        code = Situation.STARTS_LATER
        text = f"{_begins(facts, when)} No worker is needed before."
    return answer(
        facts,
        code,
        text,
        must_end(facts),
        closed_gates(facts),
        advice=openings(facts),
        since=facts.since,
        until=due_at,
    )
