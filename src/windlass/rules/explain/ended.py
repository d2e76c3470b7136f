"""A run that is over: when, how, by whom, and whether it is tried again."""

from __future__ import annotations

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import CANCELLED_BY, EXPIRED, RETRIED_BY, RunKind, RunStatus
from windlass.model.time import Instant
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.graph import ended_jobs
from windlass.rules.explain.needs import skipped
from windlass.rules.explain.words import (
    Advice,
    ago,
    answer,
    by,
    capital,
    count,
    quoted,
    sentence,
    step_of,
    with_failure,
)
from windlass.rules.runs import expired

JOBS_FAILED = "JobsFailed"  # the type of the failure that rules/graph_ends.py makes of those of jobs


def ended(facts: Facts) -> Explanation:
    run, failure = facts.run, facts.view.failure
    at = run.finished_at or facts.since
    code, advice = Situation(run.status.value), list[Advice]()
    text = f"It ended {ago(at, now=facts.now)}."
    if run.status is RunStatus.COMPLETED:
        text = _completed(facts, at)
    elif run.status is RunStatus.CANCELLED:
        text = _cancelled(facts, at)
    elif run.status is RunStatus.SKIPPED and facts.needed is not None:
        text = skipped(facts, facts.needed)
    elif run.status is RunStatus.FAILED and failure is not None:
        code, text = _failed(facts, failure, at)
        advice.append(("all of it", f"windlass show {run.id}"))
        if run.kind is RunKind.GRAPH and facts.retry is None:
            advice.append(("do the rest again", f"windlass retry {run.id}"))
    again = "" if facts.retry is None else f"It is tried again as {facts.retry}."
    jobs = "" if _is_of_jobs(facts) else ended_jobs(facts.jobs)
    return answer(facts, code, text, jobs, again, advice=advice, since=at, step=step_of(failure))


def _completed(facts: Facts, at: Instant) -> str:
    run = facts.run
    took = "" if run.started_at is None else f", {between(run.started_at, at)} after it first began"
    claims = f", in {count(run.attempts, 'claim', 'claims')}" if run.attempts else ""
    return f"It completed {ago(at, now=facts.now)}{took}{claims}."


def _cancelled(facts: Facts, at: Instant) -> str:
    deed = facts.end
    whose = "parent" if facts.run.graph is None else "graph"
    parent = f", with its {whose} {deed.run}" if deed.run is not None and facts.cause == CANCELLED_BY else ""
    told = f"It was cancelled{by(deed.by)} {ago(at, now=facts.now)}{parent}"
    # A paused run that is tried again is ended first.
    return f"{told}, to be tried again." if facts.cause == RETRIED_BY else f"{told}{quoted(deed.note)}."


def _failed(facts: Facts, failure: Failure, at: Instant) -> tuple[Situation, str]:
    told = f"It failed {ago(at, now=facts.now)}"
    if _is_of_jobs(facts):  # its kind is that of the first of them
        return Situation.FAILED, f"{told}: {capital(sentence(' '.join(failure.message.split())))}"
    if failure.kind is FailureKind.CRASH_LOOP:
        return Situation.CRASH_LOOP, f"{told}, as a crash loop. {failure.message}"
    if _is_time_out(facts, failure):
        limit = moment(facts.run.expires_at or at, now=facts.now)
        nobody = " Nobody had come for it." if facts.cause == EXPIRED else ""
        return Situation.TIMED_OUT, f"{told}: it had not ended by {limit}, its time-out.{nobody}"
    if failure.kind is FailureKind.DRIFT:
        return (
            Situation.DRIFT,
            f"{told}, because its code is gone. {capital(sentence(' '.join(failure.message.split())))}",
        )
    return Situation.FAILED, f"{told}{_where(facts, failure)}{with_failure(failure)}"


def _is_of_jobs(facts: Facts) -> bool:
    """A graph that failed because jobs did: its failure counts and names them."""
    failure = facts.view.failure
    return facts.run.kind is RunKind.GRAPH and failure is not None and failure.type == JOBS_FAILED


def _is_time_out(facts: Facts, failure: Failure) -> bool:
    """Of the whole run: a step that took too long has its own name in the failure."""
    limit = expired()
    is_of_run = (failure.kind, failure.type, failure.step) == (limit.kind, limit.type, limit.step)
    return is_of_run and facts.run.expires_at is not None


def _where(facts: Facts, failure: Failure) -> str:
    if facts.run.kind is RunKind.GRAPH:
        return ","
    if not failure.step:
        return f", in the {'workflow' if facts.run.graph is None else 'job'} itself,"
    tries = max((step.attempt for step in facts.steps if step.key == failure.step), default=1)
    return f", in step {failure.step!r} after {count(tries, 'attempt', 'attempts')},"
