"""Why a signal has not fired, or what became of it."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.duration import describe, from_instant
from windlass.model.explanation import Explanation, Situation
from windlass.model.run import RunId, RunStatus
from windlass.model.signal import FiringRow, FiringStatus, Signal, SignalStatus, TriggerKind
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.signal_words import any_of, in_words, subject
from windlass.rules.signals import is_over_for_good, is_pattern


class SignalFacts(Struct, frozen=True, kw_only=True):
    """What is known about a signal."""

    signal: Signal
    now: Instant
    state: str | None = None  # of its subject; none: it has none, or that is gone
    retried_as: RunId | None = None  # its subject was tried again
    queued: int = 0
    failed: int = 0
    last: FiringRow | None = None  # the newest of its firings
    due: FiringRow | None = None  # the newest that is not over


LATE_FOR = Duration(30 * SECOND)  # a coordinator looks every few seconds

# How a signal stands, as the nearest that is said of a run.
STATUSES = {
    SignalStatus.ARMED: RunStatus.WAITING,
    SignalStatus.PAUSED: RunStatus.PAUSED,
    SignalStatus.FIRED: RunStatus.COMPLETED,
    SignalStatus.RESOLVED: RunStatus.SKIPPED,
    SignalStatus.CANCELLED: RunStatus.CANCELLED,
}


def explain_signal(facts: SignalFacts) -> Explanation:
    signal = facts.signal
    code, text = _story(facts)
    return Explanation(
        run_id=RunId(""),
        signal=signal.id,
        name=in_words(signal),
        status=STATUSES[signal.status],
        code=code,
        text=text,
        at=facts.now,
        since=signal.changed_at,
        until=signal.available_at,
        brief=signal.status,
    )


def _story(facts: SignalFacts) -> tuple[Situation, str]:
    match facts.signal.status:
        case SignalStatus.ARMED:
            return _armed(facts)
        case SignalStatus.PAUSED:
            return _paused(facts)
        case SignalStatus.FIRED:
            again = "" if _is_of_the_past(facts.signal) else f" To wait for it once more: {_resume(facts)}"
            return Situation.FIRED, f"{_does(facts.signal)} {_fired(facts)}{again}"
        case SignalStatus.RESOLVED:
            reason = facts.signal.reason or "what it watched is gone"
            return (
                Situation.NEVER,
                f"{_does(facts.signal)} It ended {_ago(facts)}: {_plain(reason)}.{_before(facts)}{_lost(facts)}",
            )
        case SignalStatus.CANCELLED:
            by = f" by {facts.signal.changed_by}" if facts.signal.changed_by else ""
            why = f": {facts.signal.reason}" if facts.signal.reason else ""
            return (
                Situation.CANCELLED,
                f"{_does(facts.signal)} It was cancelled {_ago(facts)}{by}{why}.{_before(facts)}",
            )


def _armed(facts: SignalFacts) -> tuple[Situation, str]:
    signal = facts.signal
    if facts.due is not None:
        return Situation.FIRING, f"{_does(signal)} {_waiting(facts)}"
    if signal.trigger.kind is TriggerKind.TIME:
        left = "" if signal.available_at is None else f" It comes in {describe(_until(facts, signal.available_at))}."
        return Situation.ARMED, f"{_does(signal)}{left}{_before(facts)}"
    if is_pattern(signal.trigger):
        return Situation.ARMED, f"{_does(signal)} It watches since {_at(signal.created_at)}.{_before(facts)}"
    if facts.state is not None and is_over_for_good(signal.trigger.kind, facts.state):
        text = f"It will never fire: {subject(signal.trigger)} is {facts.state}, for good."
        if facts.retried_as is not None:
            text += f" It was tried again as {facts.retried_as}: watch that."
        return Situation.NEVER, f"{_does(signal)} {text}"
    state = "gone" if facts.state is None else facts.state
    waits = f"{_capital(subject(signal.trigger))} is {state}, and has not entered {any_of(signal.trigger.to)} since."
    return Situation.ARMED, f"{_does(signal)} {waits}{_before(facts)}"


def _paused(facts: SignalFacts) -> tuple[Situation, str]:
    signal = facts.signal
    is_gone = signal.declared_in is not None and not signal.is_declared
    how = f"{signal.declared_in} declares it again" if is_gone else f"it is resumed: {_resume(facts)}"
    kept = f" {_count(facts.queued)} until {how}{'.' if is_gone else ''}"
    if facts.failed:
        text = f"It was paused {_ago(facts)} because a firing failed for good: {_plain(signal.reason or '')}."
        return Situation.GAVE_UP, f"{_does(signal)} {text} Put that right, then: {_resume(facts)}"
    by = f" by {signal.changed_by}" if signal.changed_by else ""
    why = f": {_plain(signal.reason)}" if signal.reason else ""
    return Situation.PAUSED, f"{_does(signal)} It was paused {_ago(facts)}{by}{why}.{kept}"


def _waiting(facts: SignalFacts) -> str:
    """What has happened, and is not done yet."""
    due = facts.due
    assert due is not None
    what = f"It has fired because of {due.subject_id} ({due.to_status}), and that is not done yet."
    if due.error is not None:
        when = "" if due.available_at is None else f" It is tried again in {describe(_until(facts, due.available_at))}."
        return f"{what} Attempt {due.attempt} failed: {_plain(due.error)}.{when}"
    waited_for = _since(facts, due.available_at or due.created_at)
    if due.status is FiringStatus.QUEUED and waited_for > LATE_FOR:
        advice = "start a worker or a server, and see WINDLASS_SIGNALS_ENABLED"
        return f"{what} Nobody has taken it up for {describe(waited_for)}: {advice}."
    return f"{what} A coordinator takes it up within seconds."


def _fired(facts: SignalFacts) -> str:
    signal, last = facts.signal, facts.last
    when = "" if signal.last_fired_at is None else f", last {describe(_since(facts, signal.last_fired_at))} ago"
    times = "once" if signal.fired == 1 else f"{signal.fired} times"
    did = ""
    if last is not None and last.run_id is not None:
        did = f" It led to {last.run_id}."
    elif last is not None and last.task_id is not None:
        did = f" It added {last.task_id}."
    return f"It has fired {times}{when}.{did}"


def _lost(facts: SignalFacts) -> str:
    many = "A firing" if facts.failed == 1 else f"{facts.failed} firings"
    return f" {many} of it failed: windlass firings {facts.signal.id}" if facts.failed else ""


def _before(facts: SignalFacts) -> str:
    return f" {_fired(facts)}" if facts.signal.fired else ""


def _is_of_the_past(signal: Signal) -> bool:
    """A point in time comes once; what no code declares any more is armed by declaring it."""
    return signal.trigger.at is not None or (signal.declared_in is not None and not signal.is_declared)


def _does(signal: Signal) -> str:
    return f"{_capital(in_words(signal))}."


def _resume(facts: SignalFacts) -> str:
    return f"windlass signals resume {facts.signal.id}"


def _count(number: int) -> str:
    return "No firing waits" if not number else "1 firing waits" if number == 1 else f"{number} firings wait"


def _ago(facts: SignalFacts) -> str:
    return f"{describe(_since(facts, facts.signal.changed_at))} ago"


def _since(facts: SignalFacts, at: Instant) -> Duration:
    return Duration(max(0, facts.now - at))


def _until(facts: SignalFacts, at: Instant) -> Duration:
    return Duration(max(0, at - facts.now))


def _at(instant: Instant) -> str:
    return f"{from_instant(instant):%Y-%m-%d %H:%M:%S} UTC"


def _plain(reason: str) -> str:
    """A reason, to be followed by a full stop of ours."""
    return reason.rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
