"""A run that somebody has: who, until when, and what is at work."""

from __future__ import annotations

from windlass.model.duration import between, describe, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.run import Run
from windlass.model.time import Duration, Instant
from windlass.model.worker import Worker
from windlass.rules.explain.due import due, start_one
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.paused import is_to_be_paused, takes_that_back
from windlass.rules.explain.waiting import waits_beside
from windlass.rules.explain.words import Advice, ago, answer, by, capital, must_end, since
from windlass.rules.workers import is_live, said_goodbye


def held(facts: Facts) -> Explanation:
    run, now, ends_at = facts.run, facts.now, facts.run.available_at
    holder = next((worker for worker in facts.workers if worker.id == run.worker), None)
    who = f"worker {run.worker}" if holder is None else f"worker {run.worker} on {holder.host} (pid {holder.pid})"
    if ends_at is None or ends_at <= now:
        return _ended(facts, who, now if ends_at is None else ends_at)
    code, told = _holds(facts, holder, who, ends_at)
    longest = facts.at_work[0].key if facts.at_work else None
    return answer(
        facts,
        Situation.PAUSING if run.is_held else code,
        told + _crashes(run),
        waits_beside(facts) if code in (Situation.HELD, Situation.LONG_STEP) else "",
        must_end(facts),
        is_to_be_paused(facts) if run.is_held else "",
        advice=_advice(facts, code),
        since=facts.since,
        until=ends_at,
        worker=run.worker,
        step=longest,
        brief=f"to be paused{by(facts.pause[0].by)}" if run.is_held else "",
    )


def _ended(facts: Facts, who: str, ended_at: Instant) -> Explanation:
    ended = ago(ended_at, now=facts.now)
    told = f"{capital(who)} held it; its claim ended {ended}, and it has not given the run back."
    if facts.run.is_held:
        told = f"{told} {is_to_be_paused(facts, is_lost=True)}"
    return due(facts, ended_at, told, is_claim=True)


def _holds(facts: Facts, holder: Worker | None, who: str, ends_at: Instant) -> tuple[Situation, str]:
    now, began = facts.now, since(facts.since, now=facts.now)
    claim = f"its claim lasts until {moment(ends_at, now=now)} ({between(now, ends_at)} left)"
    if holder is None or said_goodbye(holder):
        told = (
            f"{capital(who)}, which has stopped, has held it {began}; {claim}, and then another worker takes it over."
        )
        return Situation.HELD_STOPPED, told
    if not is_live(holder, now=now):
        silence = f"has been silent for {between(holder.seen_at, now)}"
        told = f"{capital(who)} has held it {began} and {silence}. {_after_silence(facts, holder, claim)}"
        return Situation.HELD_SILENT, told
    told = f"It is at work: {who} has held it {began}; {claim}. {_work(facts)}"
    if facts.long_step is None:
        return Situation.HELD, told
    return Situation.LONG_STEP, f"{told} {takes_long(facts.long_step.typical_for)}"


def takes_long(typical_for: Duration | None) -> str:
    """Why a body that is at work is worth a look."""
    if typical_for is None:
        return "No earlier attempt of it is known to have ended."
    return f"Half of its last attempts ended within {describe(typical_for)}."


def _advice(facts: Facts, code: Situation) -> list[Advice]:
    if facts.run.is_held:
        return [takes_that_back(facts)]
    return [("if it hangs, end it", f"windlass cancel {facts.run.id}")] if code is Situation.LONG_STEP else []


def _work(facts: Facts) -> str:
    at_work = facts.at_work
    if not at_work:
        return "No step has been at work for longer than a moment."
    began = at_work[0].started_at or facts.since
    what = f"step {at_work[0].key!r} (attempt {at_work[0].attempt}) has been at work for {between(began, facts.now)}"
    return f"{capital(what)}." if len(at_work) == 1 else f"{len(at_work)} steps are at work; {what}."


def _after_silence(facts: Facts, holder: Worker, claim: str) -> str:
    rest = f"{capital(claim)}, and then another worker takes it over."
    if holder.lock is None:
        return f"Nothing but its silence tells whether it is dead. {rest}"
    if facts.able:
        return (
            "A dead one would normally be noticed within a second or two by its free lock, so it is probably stopped "
            f"or stuck. {rest}"
        )
    return (
        f"If it is dead, the next worker that serves {facts.run.name!r} notices it by its free lock, but none is "
        f"alive. {start_one(facts.run)} Else: {claim}."
    )


def _crashes(run: Run) -> str:
    if not run.recoveries:
        return ""
    times = "once" if run.recoveries == 1 else f"{run.recoveries} times in a row"
    return f" Before that its worker died, or its claim ran out, {times}."
