"""Why a run is not running: what it waits for, since when, who holds it, and what it would take.

One function for every door, so that the command line, a handle and a page say the same. Names and messages of users go
into the text as they are; whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import Failure, FailureKind, in_one_line
from windlass.model.run import DEATH, GONE, LogEntry, Run, RunStatus, RunView
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served, Worker
from windlass.rules.steps import next_wait
from windlass.rules.workers import can_take, is_live

DEFAULT_QUEUE = "default"
LONGEST_FAILURE = 300  # characters of a message; `show` has all of it
LONG_DUE_FOR = Duration(60 * SECOND)  # a worker with a free slot claims within a poll, which is 5 s


class Facts(Struct, frozen=True, kw_only=True):
    """What the store knows about a run, as of one moment."""

    view: RunView
    steps: tuple[Step, ...]  # the latest attempt of each
    log: tuple[LogEntry, ...]  # of this run, oldest first
    workers: tuple[Worker, ...]  # that have not stopped
    now: Instant

    @property
    def run(self) -> Run:
        return self.view.run

    @property
    def since(self) -> Instant:
        """When the run came into its status."""
        return self.log[-1].at if self.log else self.run.created_at

    @property
    def cause(self) -> str:
        return self.log[-1].cause if self.log else ""


def explain(facts: Facts) -> Explanation:
    """Say where a run stands, in sentences that a person can act on."""
    return EXPLAINED[facts.run.status](facts)


def _answer(facts: Facts, code: Situation, text: str, **more: Any) -> Explanation:
    run = facts.run
    return Explanation(run_id=run.id, name=run.name, status=run.status, code=code, text=text, at=facts.now, **more)


def _since(instant: Instant, *, now: Instant) -> str:
    return f"since {moment(instant, now=now)} ({between(instant, now)})"


def _until(instant: Instant, *, now: Instant) -> str:
    return f"at {moment(instant, now=now)}, in {between(now, instant)}"


def _ago(instant: Instant, *, now: Instant) -> str:
    return f"at {moment(instant, now=now)}, {between(instant, now)} ago"


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


# Later: a time is set, and nothing but time is needed.


def _parked(facts: Facts) -> Explanation:
    """Pending or sleeping: it is due, or says until when it rests."""
    now, due_at = facts.now, facts.run.available_at
    if due_at is None:
        return _waits(facts)
    if due_at <= now:
        return _due(facts, due_at, f"It has been due for {between(due_at, now)}.")
    wait = _what_wakes(facts)
    if wait is None:
        return _rests(facts, due_at)
    when = _until(due_at, now=now)
    if wait.kind is StepKind.SLEEP:
        slept = _since(wait.started_at or facts.since, now=now)
        text = f"It has slept {slept} and holds no worker; it goes on {when}."
        began = wait.started_at or facts.since
        return _answer(facts, Situation.SLEEPING, text, since=began, until=due_at, step=wait.key)
    return _answer(
        facts,
        Situation.BACKING_OFF,
        f"Step {wait.key!r} failed{_in_attempt(wait)}{_with(wait.failure)} It holds no worker; "
        f"the step is tried again {when}.",
        since=wait.finished_at or facts.since,
        until=due_at,
        step=wait.key,
    )


def _rests(facts: Facts, due_at: Instant) -> Explanation:
    """Until a time that no step has named."""
    now, when = facts.now, _until(due_at, now=facts.now)
    if facts.cause in GONE:
        code = Situation.WORKERS_DYING
        text = f"{_died(facts)} It may be what kills them, so it waits longer each time; it goes on {when}."
    elif facts.run.attempts:
        code = Situation.GIVEN_BACK
        text = f"A worker gave it back {_ago(facts.since, now=now)}; it goes on {when}."
    else:
        code = Situation.STARTS_LATER
        text = f"It was started to begin later: {when}. No worker is needed before."
    return _answer(facts, code, text, since=facts.since, until=due_at)


def _died(facts: Facts) -> str:
    noticed, times = _ago(facts.since, now=facts.now), facts.run.recoveries
    died = "died" if facts.cause == DEATH else "died, or lost their session,"
    if times > 1:
        return f"Its workers {died} {times} times in a row; the last time was noticed {noticed}."
    died = "died" if facts.cause == DEATH else "died, or lost its session"
    return f"Its worker {died}; that was noticed {noticed}."


def _what_wakes(facts: Facts) -> Step | None:
    """The wait this run was parked for. One whose branch was given up may be due earlier and wakes nobody."""
    if facts.cause in GONE | {"start", "release"}:
        return None
    waits = [step for step in facts.steps if step.due_at is not None and step.status is not StepStatus.COMPLETED]
    meant = [step for step in waits if step.due_at == facts.run.available_at]
    return next_wait(meant or waits)


def _in_attempt(step: Step) -> str:
    return f" in attempt {step.attempt}"


def _with(failure: Failure | None) -> str:
    if failure is None:
        return "."
    what = in_one_line(failure)
    what = what if len(what) <= LONGEST_FAILURE else what[:LONGEST_FAILURE] + "…"
    return f" with {what}" if what.endswith((".", "!", "?", "…")) else f" with {what}."


def _waits(facts: Facts) -> Explanation:
    text = f"It has waited {_since(facts.since, now=facts.now)} for what it needs, or for an event without a deadline."
    return _answer(facts, Situation.WAITING, text, since=facts.since)


def _paused(facts: Facts) -> Explanation:
    run, failure = facts.run, facts.view.failure
    advice = f"windlass resume {run.id}"
    text = f"It has been held for a person {_since(facts.since, now=facts.now)}"
    if failure is None:
        text += f". Let it go on: {advice}"
    else:
        reason = " ".join(failure.message.split())
        text += f": {reason}" if advice in reason else f": {reason} Then: {advice}"
    return _answer(facts, Situation.PAUSED, text, since=facts.since, step=_step_of(failure))


# Held: somebody has it.


def _held(facts: Facts) -> Explanation:
    run, now, ends_at = facts.run, facts.now, facts.run.available_at
    holder = next((worker for worker in facts.workers if worker.id == run.worker), None)
    who = f"worker {run.worker}" if holder is None else f"worker {run.worker} on {holder.host} (pid {holder.pid})"
    if ends_at is None or ends_at <= now:
        ended = now if ends_at is None else ends_at
        told = f"{_capital(who)} held it; its claim ended {_ago(ended, now=now)}, and it has not given the run back."
        return _due(facts, ended, told, is_claim=True)
    claim = f"its claim lasts until {moment(ends_at, now=now)} ({between(now, ends_at)} left)"
    since = _since(facts.since, now=now)
    code, told = Situation.HELD, f"It is at work: {who} has held it {since}; {claim}. {_work(facts)}"
    if holder is None:
        code = Situation.HELD_STOPPED
        told = (
            f"{_capital(who)}, which has stopped, has held it {since}; {claim}, and then another worker takes it over."
        )
    elif not is_live(holder, now=now):
        code = Situation.HELD_SILENT
        silence = f"has been silent for {between(holder.seen_at, now)}"
        told = f"{_capital(who)} has held it {since} and {silence}. {_after_silence(facts, holder, claim)}"
    step = _longest_at_work(facts)
    return _answer(
        facts,
        code,
        told + _crashes(run),
        since=facts.since,
        until=ends_at,
        worker=run.worker,
        step=None if step is None else step.key,
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _work(facts: Facts) -> str:
    at_work = _at_work(facts)
    first = _longest_at_work(facts)
    if first is None:
        return "No step has been at work for longer than a moment."
    began = first.started_at or facts.since
    what = f"step {first.key!r} (attempt {first.attempt}) has been at work for {between(began, facts.now)}"
    return f"{_capital(what)}." if len(at_work) == 1 else f"{len(at_work)} steps are at work; {what}."


def _at_work(facts: Facts) -> list[Step]:
    """Bodies seen to have been entered under this very claim."""
    return [step for step in facts.steps if step.status is StepStatus.RUNNING and step.token == facts.run.token]


def _longest_at_work(facts: Facts) -> Step | None:
    return min(_at_work(facts), key=lambda step: step.started_at or 0, default=None)


def _after_silence(facts: Facts, holder: Worker, claim: str) -> str:
    rest = f"{_capital(claim)}, and then another worker takes it over."
    if holder.lock is None:
        return f"Nothing but its silence tells whether it is dead. {rest}"
    if _able(facts):
        return (
            "A dead one would normally be noticed within a second or two by its free lock, so it is probably stopped "
            f"or stuck. {rest}"
        )
    return (
        f"If it is dead, the next worker that serves {facts.run.name!r} notices it by its free lock, but none is "
        f"alive. {_start_one(facts.run)} Else: {claim}."
    )


def _crashes(run: Run) -> str:
    if not run.recoveries:
        return ""
    times = "once" if run.recoveries == 1 else f"{run.recoveries} times in a row"
    return f" Before that its worker died, or its claim ran out, {times}."


# Due: it waits for a worker and for nothing else.


def _due(facts: Facts, due_at: Instant, told: str, *, is_claim: bool = False) -> Explanation:
    run = facts.run
    if facts.cause in GONE:
        told = f"{_died(facts)} {told}"
    able = _able(facts)
    if not able:
        code, more = _unserved(facts)
    else:
        active, slots = sum(worker.active for worker in able), sum(worker.slots for worker in able)
        serve = _count(len(able), "live worker serves it", "live workers serve it")
        code = Situation.CLAIM_ENDED if is_claim else Situation.DUE
        more = f"{serve}, with {active:,} of {slots:,} slots taken; one of them should take it at any moment."
        if active >= slots:
            code = Situation.WORKERS_FULL
            more = f"{serve}, and all {slots:,} slots are taken: it waits for one, or for another worker."
        elif facts.now - due_at > LONG_DUE_FOR:
            more = f"{serve}, with {active:,} of {slots:,} slots taken, yet none has taken it: see the workers' logs."
    return _answer(facts, code, f"{told} {more}", since=due_at, worker=run.worker)


def _able(facts: Facts) -> list[Worker]:
    wanted = _wanted(facts.run)
    return [worker for worker in facts.workers if can_take(worker, wanted, now=facts.now)]


def _wanted(run: Run) -> Served:
    return Served(run.queue, run.name, run.version)


def _unserved(facts: Facts) -> tuple[Situation, str]:
    """Nobody can take it. Closest first: whoever runs it elsewhere is more likely a slip than an absence."""
    run = facts.run
    live = [worker for worker in facts.workers if is_live(worker, now=facts.now)]
    served = {item for worker in live for item in worker.served if item.name == run.name}
    queues = sorted({item.queue for item in served if item.version == run.version})
    versions = sorted({item.version for item in served})
    if queues:
        where = _listed("queue", "queues", queues)
        told = f"Live workers run {run.name!r} in {where}, but none in queue {run.queue!r}, where this run waits."
        return Situation.OTHER_QUEUE, f"{told} {_start_one(run)}"
    if versions:
        others = _listed("version", "versions", [version for version in versions if version]) or "no version"
        wanted = f"version {run.version!r}" if run.version else "a workflow without a version"
        told = f"Live workers run {run.name!r} with {others}, but this run wants {wanted}."
        return Situation.OTHER_VERSION, f"{told} {_start_one(run)}"
    return Situation.NO_WORKER, f"No live worker runs {run.name!r}. {_start_one(run)}"


def _listed(one: str, many: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{one if len(names) == 1 else many} {shown}{', …' if len(names) > 5 else ''}"


def _start_one(run: Run) -> str:
    version = f", of code that declares version {run.version!r}" if run.version else ""
    option, argument = "", ""
    if run.queue != DEFAULT_QUEUE:
        option, argument = f" --queue {run.queue}", f"queues=[{run.queue!r}]"
    return f'Start one{version}: windlass worker MODULE:APP{option}, or "async with app.worker({argument}):".'


# Over.


def _ended(facts: Facts) -> Explanation:
    run, failure, now = facts.run, facts.view.failure, facts.now
    ended = run.finished_at or facts.since
    when = _ago(ended, now=now)
    took = "" if run.started_at is None else f", {between(run.started_at, ended)} after it first began"
    claims = f", in {_count(run.attempts, 'claim', 'claims')}" if run.attempts else ""
    code = Situation(run.status.value)
    text = f"It ended {when}."
    if run.status is RunStatus.COMPLETED:
        text = f"It completed {when}{took}{claims}."
    elif run.status is RunStatus.FAILED and failure is not None:
        if failure.kind is FailureKind.CRASH_LOOP:
            code, text = Situation.CRASH_LOOP, f"It failed {when}, as a crash loop. {failure.message}"
        else:
            text = f"It failed {when}{_where(facts, failure)}{_with(failure)}"
        text += f" All of it: windlass show {run.id}"
    return _answer(facts, code, text, since=ended, step=_step_of(failure))


def _where(facts: Facts, failure: Failure) -> str:
    if not failure.step:
        return ", in the workflow itself,"
    tries = max((step.attempt for step in facts.steps if step.key == failure.step), default=1)
    return f", in step {failure.step!r} after {_count(tries, 'attempt', 'attempts')},"


def _step_of(failure: Failure | None) -> str | None:
    return None if failure is None else failure.step or None


EXPLAINED: dict[RunStatus, Callable[[Facts], Explanation]] = {
    RunStatus.WAITING: _waits,
    RunStatus.PENDING: _parked,
    RunStatus.SLEEPING: _parked,
    RunStatus.RUNNING: _held,
    RunStatus.PAUSED: _paused,
    RunStatus.COMPLETED: _ended,
    RunStatus.FAILED: _ended,
    RunStatus.CANCELLED: _ended,
    RunStatus.SKIPPED: _ended,
}
