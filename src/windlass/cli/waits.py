"""What a run waits for, in a few words for a table and in one line for a person who asks why it is not running."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.cli.terminal import escape
from windlass.model.duration import describe, from_instant
from windlass.model.failure import Failure
from windlass.model.run import Run, RunStatus, RunView
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import DAY, SECOND, Duration, Instant
from windlass.model.worker import Served, Worker
from windlass.rules import steps as step_rules
from windlass.rules.workers import can_take, is_live


def between(earlier: int, later: int) -> str:
    """A span for people, to whole seconds from ten seconds on: nobody reads the rest of a countdown."""
    span = max(0, later - earlier)
    return describe(Duration(span if span < 10 * SECOND else span // SECOND * SECOND))


def moment(instant: Instant, *, now: Instant) -> str:
    """A time in UTC, without its date if that is close enough to be clear."""
    form = "%H:%M:%S" if abs(instant - now) < DAY // 2 else "%Y-%m-%d %H:%M:%S"
    return from_instant(instant).strftime(form) + " UTC"


def summary(failure: Failure) -> str:
    """A failure in one line: its type without its module, and its message."""
    kind, message = failure.type.rpartition(".")[2], " ".join(failure.message.split())
    return escape(f"{kind}: {message}" if message else kind)


def in_short(run: Run, *, failure: Failure | None, now: Instant) -> str:
    """What a run waits for, or how it failed, as a cell of a table."""
    due_at = run.available_at
    if due_at is not None and due_at <= now and run.status is not RunStatus.RUNNING:
        return f"for a worker, {between(due_at, now)}"
    match run.status:
        case RunStatus.SLEEPING if due_at is not None:
            return f"sleeps, {between(now, due_at)} left"
        case RunStatus.PENDING if due_at is not None:
            return f"{'retry' if run.attempts else 'starts'} in {between(now, due_at)}"
        case RunStatus.RUNNING if due_at is not None and run.worker is not None:
            if due_at <= now:
                return f"claim ran out {between(due_at, now)} ago"
            return f"by wrk_…{run.worker[-4:]} until {from_instant(due_at):%H:%M}"
        case RunStatus.WAITING:
            return "for its needs or an event"
        case RunStatus.PAUSED | RunStatus.FAILED if failure is not None:
            return summary(failure)
        case RunStatus.PAUSED:
            return "for a person"
    return ""


def why_not_running(view: RunView, *, steps: Sequence[Step], workers: Sequence[Worker], now: Instant) -> str:
    """One line for a run that is not over: what it waits for, and what it would take. Empty for one that is."""
    run, due_at = view.run, view.run.available_at
    if run.status.is_terminal:
        return ""
    if run.status is RunStatus.PAUSED:
        return _paused(view)
    if run.status is RunStatus.WAITING or due_at is None:
        return "It waits for what it needs, or for an event without a deadline."
    if run.status is RunStatus.RUNNING:
        return _held(run, workers, due_at=due_at, now=now)
    if due_at <= now:
        return _unclaimed(run, workers, due_at=due_at, now=now)
    when = f"at {moment(due_at, now=now)}, in {between(now, due_at)}"
    wait = next_wait(steps)
    if wait is None:
        return f"It starts {when}." if not run.attempts else f"It goes on {when}."
    if wait.kind is StepKind.SLEEP:
        return f"It sleeps and holds no worker; it goes on {when}."
    cause = f" after {summary(wait.failure)}" if wait.failure is not None else ""
    return f"Step {escape(wait.key)} is tried again {when}{cause}".rstrip(".") + "."


def next_wait(steps: Sequence[Step]) -> Step | None:
    """What wakes the run next: the open wait, or failed attempt to be repeated, that is due first."""
    latest = {step.key: step for step in sorted(steps, key=lambda step: step.attempt)}
    waits = [step for step in latest.values() if step.due_at is not None and step.status is not StepStatus.COMPLETED]
    return step_rules.next_wait(waits)


def _paused(view: RunView) -> str:
    advice = f"windlass resume {view.run.id}"
    if view.failure is None:
        return f"It is paused. Let it go on: {advice}"
    reason = escape(" ".join(view.failure.message.split()))
    return reason if advice in reason else f"It is held for a person: {reason} Then: {advice}"


def _held(run: Run, workers: Sequence[Worker], *, due_at: Instant, now: Instant) -> str:
    holder = next((worker for worker in workers if worker.id == run.worker), None)
    who = f"{run.worker} on {escape(holder.host)} (pid {holder.pid})" if holder else f"{run.worker}"
    if due_at <= now:
        return f"The claim of {who} ran out {between(due_at, now)} ago; the next worker that serves it takes it over."
    until = f"until {moment(due_at, now=now)} ({between(now, due_at)} left)"
    if holder is None:
        return f"It is held {until} by {who}, which has stopped; then another worker takes it over."
    if not is_live(holder, now=now):
        silence = between(holder.seen_at, now)
        return f"It is held {until} by {who}, silent for {silence}; then another worker takes it over."
    return f"It is at work: held {until} by {who}."


def _unclaimed(run: Run, workers: Sequence[Worker], *, due_at: Instant, now: Instant) -> str:
    wanted = Served(run.queue, run.name, run.version)
    able = [worker for worker in workers if can_take(worker, wanted, now=now)]
    since = f"It has been due for {between(due_at, now)}"
    if able:
        active, slots = sum(worker.active for worker in able), sum(worker.slots for worker in able)
        count = "1 live worker serves" if len(able) == 1 else f"{len(able)} live workers serve"
        return f"{since}; {count} it, with {active} of {slots} slots taken."
    queue = "" if run.queue == "default" else f" --queue {escape(run.queue)}"
    version = f" version {escape(run.version)}" if run.version else ""
    return f"{since}, but no live worker runs {escape(run.name)}{version}. Start one: windlass worker MODULE:APP{queue}"
