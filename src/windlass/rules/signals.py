"""What becomes of signals and their firings: who counts, who fires, who is too late, and when to try again."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from windlass.errors import Rejected, WrongState
from windlass.model.feed import Place
from windlass.model.item import TERMINAL_ITEMS, ItemStatus
from windlass.model.retry import RetryPolicy
from windlass.model.run import TERMINAL, LogEntry, RunStatus
from windlass.model.signal import (
    ANY,
    CLAIM_FOR,
    DEEPEST_CHAIN,
    FIRST_DELAY,
    LONGEST_DELAY,
    MOST_ATTEMPTS,
    FiringRow,
    FiringStatus,
    Signal,
    SignalStatus,
    Trigger,
    TriggerKind,
)
from windlass.model.time import Instant
from windlass.rules.retries import backoff

RETRY = RetryPolicy(max_attempts=MOST_ATTEMPTS, initial_for=FIRST_DELAY, max_for=LONGEST_DELAY)
MAX_ERROR = 2_000
CUT = f"a chain of {DEEPEST_CHAIN} signals, each causing the next, was cut here"

MOVES: Mapping[SignalStatus, frozenset[SignalStatus]] = {
    SignalStatus.ARMED: frozenset(
        {SignalStatus.PAUSED, SignalStatus.FIRED, SignalStatus.RESOLVED, SignalStatus.CANCELLED}
    ),
    SignalStatus.PAUSED: frozenset({SignalStatus.ARMED, SignalStatus.RESOLVED, SignalStatus.CANCELLED}),
    SignalStatus.FIRED: frozenset({SignalStatus.ARMED}),
    SignalStatus.RESOLVED: frozenset(),
    SignalStatus.CANCELLED: frozenset(),
}


def is_pattern(trigger: Trigger) -> bool:
    """Does it watch more than one subject?"""
    return trigger.kind is TriggerKind.WORKFLOW or (trigger.kind is TriggerKind.ITEM and trigger.subject == ANY)


def is_over_for_good(kind: TriggerKind, status: str) -> bool:
    """Is that a state which its subject never leaves?"""
    if kind is TriggerKind.PIPELINE:
        return False
    return ItemStatus(status) in TERMINAL_ITEMS if kind is TriggerKind.ITEM else RunStatus(status) in TERMINAL


def matches(signal: Signal, entry: LogEntry, place: Place, *, name: str | None = None) -> bool:
    """Is this entry of the log a cause for the signal to fire? `name`: the workflow of the run it is about."""
    if not signal.status.is_live or place <= Place(signal.armed_xid, signal.armed_seq):
        return False
    return is_meant(signal.trigger, entry, name=name)


def is_meant(trigger: Trigger, entry: LogEntry, *, name: str | None = None) -> bool:
    """The same, whenever it happened."""
    if entry.to_status not in trigger.to:
        return False
    if trigger.kind is TriggerKind.WORKFLOW:
        return entry.subject_kind == "run" and name == trigger.subject
    return entry.subject_kind == trigger.kind.subject_kind and trigger.subject in (entry.subject_id, ANY)


def first_time(trigger: Trigger, *, now: Instant) -> Instant | None:
    """When a signal that is armed now fires by itself."""
    if trigger.every is not None:
        return Instant(now + trigger.every)
    return trigger.at


def next_time(signal: Signal, *, now: Instant) -> Instant | None:
    """When it fires again behind the time that has come: what passed while nobody looked is one firing, not many."""
    trigger, due = signal.trigger, signal.available_at
    if trigger.every is None or due is None or not signal.repeats:
        return None
    return Instant(due + max(1, (now - due) // trigger.every + 1) * trigger.every)


# What people do


def paused(signal: Signal, *, now: Instant, by: str | None, reason: str | None) -> Signal:
    """Raises WrongState."""
    if signal.status is SignalStatus.PAUSED:
        return signal
    moved = _moved(signal, SignalStatus.PAUSED, now=now, by=by)
    return replace(moved, reason=reason, available_at=None)


def armed(signal: Signal, *, now: Instant, by: str | None) -> Signal:
    """Armed anew: after a pause as if there had been none, after it has fired from now on. Raises WrongState."""
    if signal.status is SignalStatus.ARMED:
        return signal
    moved = _moved(signal, SignalStatus.ARMED, now=now, by=by)
    if signal.trigger.at is not None and signal.fired:
        hint = "A point in time comes once: create another one."
        raise WrongState("Signal", signal.id, signal.status, wanted="one whose time has not come", hint=hint)
    return replace(moved, reason=None, available_at=first_time(signal.trigger, now=now))


def cancelled(signal: Signal, *, now: Instant, by: str | None, reason: str | None) -> Signal:
    """Raises WrongState."""
    if signal.status is SignalStatus.CANCELLED:
        return signal
    return replace(_moved(signal, SignalStatus.CANCELLED, now=now, by=by), reason=reason, available_at=None)


def resolved(signal: Signal, *, now: Instant, reason: str) -> Signal:
    """What it watched is gone. It comes behind whatever it fired before: see `_is_spent`."""
    moved = _moved(signal, SignalStatus.RESOLVED, now=max(now, Instant((signal.last_fired_at or 0) + 1)), by=None)
    return replace(moved, reason=reason, available_at=None)


def _is_spent(signal: Signal) -> bool:
    """Has it fired since what it watched is gone? What it fired before it was armed anew is another matter."""
    at = signal.last_fired_at
    return signal.status is SignalStatus.RESOLVED and at is not None and at >= signal.changed_at


def _moved(signal: Signal, to: SignalStatus, *, now: Instant, by: str | None) -> Signal:
    if to not in MOVES[signal.status]:
        sources = [status.value for status, moves in MOVES.items() if to in moves]
        wanted = f"one that is {' or '.join(sources)}"
        raise WrongState("Signal", signal.id, signal.status, wanted=wanted, hint=_advice(signal))
    return replace(signal, status=to, changed_at=now, changed_by=by)


def _advice(signal: Signal) -> str:
    over = {SignalStatus.RESOLVED, SignalStatus.CANCELLED}
    return "That is for good: create another one." if signal.status in over else ""


# What becomes of a firing


class Verdict(Struct, frozen=True, kw_only=True):
    """What is to be done about a firing under the locks of its signal: the action, or not."""

    acts: bool
    firing: FiringRow
    signal: Signal | None = None  # as it is from then on


def claimed(firing: FiringRow, *, worker: str, now: Instant) -> FiringRow:
    """Held by a coordinator for a while. Each claim is counted, whatever becomes of it."""
    return replace(
        firing,
        status=FiringStatus.RUNNING,
        token=firing.token + 1,
        attempt=firing.attempt + 1,
        worker=worker,
        available_at=Instant(now + CLAIM_FOR),
    )


def judged(firing: FiringRow, signal: Signal | None, *, has_fired: bool, depth: int, now: Instant) -> Verdict:
    """What is due for a claimed firing. `has_fired`: a signal that fires once has fired for this very subject.

    What happened before the subject was removed, and its signal resolved, still counts.
    """
    if signal is None:
        return superseded(firing, "its signal was deleted", now=now)
    if signal.status is SignalStatus.PAUSED:
        held = replace(firing, status=FiringStatus.QUEUED, available_at=None, worker=None, attempt=firing.attempt - 1)
        return Verdict(acts=False, firing=held)
    if signal.status not in (SignalStatus.ARMED, SignalStatus.RESOLVED):
        return superseded(firing, f"its signal is {signal.status}", now=now)
    if (has_fired or _is_spent(signal)) and not signal.repeats:
        return superseded(firing, "its signal has fired for this subject", now=now)
    if firing.attempt > MOST_ATTEMPTS:
        error = f"gave up after {MOST_ATTEMPTS} attempts: whoever worked it was gone before the end"
        return _given_up(firing, signal, error, now=now)
    if depth >= DEEPEST_CHAIN and firing.error != CUT:
        return _given_up(firing, signal, CUT, now=now)
    if depth >= DEEPEST_CHAIN:
        depth = 0  # somebody has seen that it was cut, and resumed it: a new chain
    done = _ended(firing, FiringStatus.DONE, now=now, error=None)
    return Verdict(acts=True, firing=replace(done, depth=depth), signal=fired(signal, now=now))


def fired(signal: Signal, *, now: Instant) -> Signal:
    """What an armed signal is when it has fired once more."""
    is_over = signal.status is SignalStatus.ARMED and not signal.repeats and not is_pattern(signal.trigger)
    status, available_at = (SignalStatus.FIRED, None) if is_over else (signal.status, signal.available_at)
    fired = signal.fired + 1
    return replace(signal, status=status, fired=fired, available_at=available_at, last_fired_at=now, changed_at=now)


def gave_up(signal: Signal, error: str, *, now: Instant) -> Signal:
    """One of its firings failed for good: nothing more is tried until somebody has had a look."""
    if signal.status is not SignalStatus.ARMED:
        return signal
    return replace(signal, status=SignalStatus.PAUSED, reason=error, available_at=None, changed_at=now, changed_by=None)


def failed(firing: FiringRow, error: Exception, *, now: Instant, jitter: float) -> FiringRow:
    """Tried again after a while, counted from now; or over, if its attempts are used up or trying cannot help."""
    text = (str(error) or type(error).__name__)[:MAX_ERROR]
    if isinstance(error, Rejected) or firing.attempt >= MOST_ATTEMPTS:
        return _ended(firing, FiringStatus.FAILED, now=now, error=text)
    delay = backoff(RETRY, failures=firing.attempt, jitter=jitter)
    return replace(firing, status=FiringStatus.QUEUED, available_at=Instant(now + delay), worker=None, error=text)


def _given_up(firing: FiringRow, signal: Signal, error: str, *, now: Instant) -> Verdict:
    failed = _ended(firing, FiringStatus.FAILED, now=now, error=error)
    return Verdict(acts=False, firing=failed, signal=gave_up(signal, error, now=now))


def superseded(firing: FiringRow, reason: str, *, now: Instant) -> Verdict:
    """There is nothing to be done about it any more, and nothing to be said."""
    return Verdict(acts=False, firing=_ended(firing, FiringStatus.SUPERSEDED, now=now, error=reason))


def _ended(firing: FiringRow, status: FiringStatus, *, now: Instant, error: str | None) -> FiringRow:
    return replace(firing, status=status, available_at=None, worker=None, ended_at=now, error=error)
