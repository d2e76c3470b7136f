"""How an attempt of a handler ends that did not go well, and how the next one begins.

    stopped at                              the effect          events      the next attempt
    executing, preparing, prepared          not called          released    from the start
    mutating                                failed for certain  released    from the start
    mutating, and the host was refused      failed for certain  kept        calls the effect again
    mutating                                nobody knows        kept        none, until somebody knows
    mutated, emitting                       known               kept        goes on at emitting, with what was found

Whether anybody knows is asked first: an effect that may have happened is never called again on a guess.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from windlass.model.duration import describe
from windlass.model.effect import Effect, EffectStatus
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.model.pipeline import (
    CONSUMER_PHASES,
    MOST_FIXES,
    EffectOutcome,
    HandlerKind,
    HandlerRun,
    HandlerStatus,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
)
from windlass.model.pipeline_work import Verdict
from windlass.model.time import Duration, Instant
from windlass.rules.pipelines import is_outdated

STATUS_OF = {
    FailureKind.TRANSIENT: HandlerStatus.PAUSED_TRANSIENT,
    FailureKind.TIMEOUT: HandlerStatus.PAUSED_TRANSIENT,
    FailureKind.LOGIC: HandlerStatus.FAILED_LOGIC,
    FailureKind.DRIFT: HandlerStatus.FAILED_LOGIC,
    FailureKind.AUTH: HandlerStatus.PAUSED_APPROVAL,
    FailureKind.PERMISSION: HandlerStatus.PAUSED_APPROVAL,
    FailureKind.INDETERMINATE: HandlerStatus.PAUSED_RECONCILIATION,
    FailureKind.INTERNAL: HandlerStatus.FAILED_INTERNAL,
    FailureKind.CRASH_LOOP: HandlerStatus.FAILED_INTERNAL,
}
CUT_OFF = "Crashed"  # the type of the failure of an attempt whose worker is gone
REFUSED = frozenset({FailureKind.AUTH, FailureKind.PERMISSION})
KNOWN = frozenset({EffectOutcome.SUCCESS, EffectOutcome.SKIPPED, EffectOutcome.NONE})
_ORDER = {phase: place for place, phase in enumerate(CONSUMER_PHASES)}


class Beginning(StrEnum):
    """How the next attempt begins."""

    FRESH = "fresh"
    AGAIN = "again"  # no new attempt: a person approved this very one
    REMUTATE = "remutate"  # with what was prepared: the effect is called again
    EMIT = "emit"  # behind the effect, with what was found
    RECONCILE = "reconcile"  # not before somebody knows whether the effect happened


class Stop(Struct, frozen=True, kw_only=True):
    """What becomes of an attempt, of its pipeline, and of the events it has reserved."""

    run: HandlerRun
    pipeline: Pipeline
    keeps_events: bool
    is_unknown: bool = False  # the ledger is to say that nobody knows
    is_failed: bool = False  # the ledger is to say that it did not happen


def reaches(phase: Phase, other: Phase) -> bool:
    """Is a consumer in this phase as far as the other, or beyond it?"""
    return phase in _ORDER and other in _ORDER and _ORDER[phase] >= _ORDER[other]


def is_settled(run: HandlerRun) -> bool:
    """Is it known what became of its effect, so that the attempt can only go on?"""
    return run.outcome in KNOWN


def stop(
    run: HandlerRun, pipeline: Pipeline, *, phase: Phase, failure: Failure, verdict: Verdict | None, now: Instant
) -> Stop:
    """An attempt has failed at a phase. `verdict`: what is known about its effect, if that was called."""
    pipeline = replace(pipeline, recoveries=0)  # whoever held it is there to say so
    if run.phase is Phase.MUTATING and verdict is not Verdict.FAILED:  # asked first: nothing else may decide
        stopped = _stopped(run, HandlerStatus.PAUSED_RECONCILIATION, failure, now=now)
        return Stop(run=stopped, pipeline=pipeline, keeps_events=True, is_unknown=True)
    status = STATUS_OF[failure.kind]
    if status is HandlerStatus.PAUSED_RECONCILIATION:  # said of something that is no effect: nothing is in doubt
        status = HandlerStatus.FAILED_LOGIC
    stopped = _stopped(run, status, failure, now=now)
    is_failed = run.phase is Phase.MUTATING
    if is_failed:
        stopped = replace(stopped, outcome=EffectOutcome.FAILURE)
    elif phase is Phase.EMITTING and reaches(run.phase, Phase.PREPARED) and run.phase is not Phase.COMMITTED:
        # Behind the effect, or there was none: what it has got is kept.
        stopped = replace(stopped, phase=Phase.EMITTING, outcome=run.outcome or EffectOutcome.NONE)
    keeps = is_settled(stopped) or (is_failed and failure.kind in REFUSED)
    return Stop(
        run=stopped,
        pipeline=_hold(pipeline, status, failure, now=now),
        keeps_events=keeps,
        is_failed=is_failed,
    )


def _stopped(run: HandlerRun, status: HandlerStatus, failure: Failure, *, now: Instant) -> HandlerRun:
    return replace(run, status=status, failure=failure, updated_at=now, ended_at=now)


def _hold(pipeline: Pipeline, status: HandlerStatus, failure: Failure, *, now: Instant) -> Pipeline:
    """Where the pipeline stands while one of its handlers is stopped: nothing else of it begins."""
    match status:
        case HandlerStatus.PAUSED_TRANSIENT:
            failures = pipeline.failures + 1
            if failures >= pipeline.retry.max_attempts:
                return attention(replace(pipeline, failures=failures), Issue.EXHAUSTED, now=now)
            return replace(pipeline, status=PipelineStatus.BACKOFF, issue=None, failures=failures, changed_at=now)
        case HandlerStatus.FAILED_LOGIC if is_outdated(pipeline):  # there is other code by now: that is tried first
            return replace(pipeline, status=PipelineStatus.IDLE, issue=None, fixes=0, changed_at=now)
        case HandlerStatus.FAILED_LOGIC if pipeline.has_fixer and pipeline.fixes < MOST_FIXES:
            return replace(pipeline, status=PipelineStatus.FIXING, issue=None, changed_at=now)
        case HandlerStatus.FAILED_LOGIC:
            return attention(replace(pipeline, fixes=0), Issue.LOGIC, now=now)
        case HandlerStatus.PAUSED_APPROVAL:
            issue = Issue.AUTH if failure.kind is FailureKind.AUTH else Issue.PERMISSION
            return attention(pipeline, issue, now=now)
    return attention(pipeline, Issue.INTERNAL, now=now)


def attention(pipeline: Pipeline, issue: Issue, *, now: Instant) -> Pipeline:
    """A person is needed."""
    return replace(
        pipeline, status=PipelineStatus.ATTENTION, issue=issue, available_at=None, worker=None, changed_at=now
    )


def freed(pipeline: Pipeline, *, now: Instant) -> Pipeline:
    """What it was held for is put right: the attempt that stopped is tried again as soon as somebody claims it."""
    return replace(pipeline, status=PipelineStatus.IDLE, issue=None, failures=0, recoveries=0, changed_at=now)


def is_unfixed(pipeline: Pipeline, run: HandlerRun, *, before: PipelineStatus) -> bool:
    """Is `on_logic_error` still to be asked? Also if whoever was to ask it is gone."""
    is_asked_for = before in (PipelineStatus.FIXING, PipelineStatus.RUNNING)
    return run.status is HandlerStatus.FAILED_LOGIC and pipeline.has_fixer and is_asked_for


def unfixed(pipeline: Pipeline, run: HandlerRun, *, before: PipelineStatus) -> Pipeline:
    """One that is given back while `on_logic_error` is still to be asked: nothing but other code is tried before."""
    if is_outdated(pipeline) or not is_unfixed(pipeline, run, before=before):
        return pipeline
    return replace(pipeline, status=PipelineStatus.FIXING)


def stood(was: Pipeline) -> PipelineStatus:
    """How one stood that is claimed now. If its holder is gone, and had other code, this one is tried first."""
    is_overtaken = was.status is PipelineStatus.RUNNING and is_outdated(was)
    return PipelineStatus.IDLE if is_overtaken else was.status


def fix(pipeline: Pipeline, *, is_fixed: bool, now: Instant) -> Pipeline:
    """What `on_logic_error` has come to: the attempt is tried again, or a person is needed."""
    pipeline = replace(pipeline, recoveries=0)  # whoever asked it is there to say so
    if is_fixed or is_outdated(pipeline):  # there is other code by now, wherever it comes from
        return replace(pipeline, status=PipelineStatus.IDLE, fixes=pipeline.fixes + 1, changed_at=now)
    return attention(replace(pipeline, fixes=0), Issue.LOGIC, now=now)


def is_approved(run: HandlerRun) -> bool:
    """Has a person agreed to what it has prepared?"""
    return run.phase is Phase.PREPARED and run.decided_by is not None and run.outcome is None


def unbegun(run: HandlerRun, *, now: Instant) -> HandlerRun:
    """It was given back before its effect was called. What a person has agreed to is not asked for again."""
    return replace(run, status=HandlerStatus.PAUSED_APPROVAL, updated_at=now, ended_at=now)


def was_cut_off(run: HandlerRun) -> bool:
    """Was whoever executed it lost? Recoveries are counted for themselves, and are no failures."""
    return run.failure is not None and run.failure.type == CUT_OFF


def crash(run: HandlerRun, *, now: Instant, is_release: bool) -> HandlerRun:
    """Whoever executed it is gone, or has given it back unfinished: its phase says how far it came."""
    what = "The worker gave it back before it was over." if is_release else "The worker that executed it is gone."
    failure = Failure(kind=FailureKind.TRANSIENT, type=CUT_OFF, message=what)
    return replace(run, status=HandlerStatus.CRASHED, failure=failure, updated_at=now, ended_at=now)


def crash_loop(
    run: HandlerRun | None,
    pipeline: Pipeline,
    *,
    recoveries: int,
    now: Instant,
    silent_for: Duration | None = None,
) -> tuple[HandlerRun | None, Pipeline]:
    """It was claimed too often without an end: its attempt, if it has one, says so, and a person is needed.

    `silent_for`: the length of its claim, where the worker lived and only its claim ran out.
    """
    held = attention(pipeline, Issue.CRASH_LOOP, now=now)
    if run is None:
        return None, held
    where = f"in handler {run.handler!r}, at {run.phase.value}"
    if silent_for is None:
        message = f"Workers were lost {recoveries} times in a row {where}."
        kind, type, reason = FailureKind.CRASH_LOOP, "CrashLoop", FailureReason.WORKER_LOST
    else:
        silence = f"its worker lived, but gave no sign of life for {describe(silent_for)}"
        message = f"Its claim ran out {recoveries} times in a row {where}: {silence}."
        kind, type, reason = FailureKind.TIMEOUT, "ClaimRanOut", FailureReason.CLAIM_RAN_OUT
    return replace(run, failure=Failure(kind=kind, type=type, message=message, reason=reason), updated_at=now), held


def beginning(run: HandlerRun, effect: Effect | None) -> Beginning:
    """How an attempt that stopped is followed."""
    if run.kind is HandlerKind.PRODUCER:
        return Beginning.FRESH
    if effect is not None and effect.status.is_open:
        return Beginning.RECONCILE
    if is_settled(run) or (effect is not None and effect.status is EffectStatus.APPLIED):
        return Beginning.EMIT
    if run.status is HandlerStatus.PAUSED_APPROVAL:
        if run.failure is None:
            return Beginning.AGAIN
        if run.outcome is EffectOutcome.FAILURE:
            return Beginning.REMUTATE
    return Beginning.FRESH


def keeps_events(run: HandlerRun, effect: Effect | None) -> bool:
    """Does an attempt that was cut off keep what it has reserved for the one that follows it?"""
    return beginning(run, effect) is not Beginning.FRESH


def holds_events(run: HandlerRun, effect: Effect | None) -> bool:
    """Has it events, or did they go back when it stopped?"""
    return bool(run.reserved) and (run.status is HandlerStatus.ACTIVE or keeps_events(run, effect))


def happened(run: HandlerRun, *, now: Instant, by: str | None = None, note: str | None = None) -> HandlerRun:
    """It is known now that its effect happened. Its status stays: another attempt goes on from here."""
    return replace(run, phase=Phase.MUTATED, outcome=EffectOutcome.SUCCESS, updated_at=now, decided_by=by, note=note)


def did_not_happen(run: HandlerRun, *, now: Instant, by: str | None = None, note: str | None = None) -> HandlerRun:
    return replace(run, outcome=EffectOutcome.FAILURE, updated_at=now, decided_by=by, note=note)


def did_not_happen_after_all(
    run: HandlerRun, pipeline: Pipeline, *, failure: Failure | None, now: Instant
) -> tuple[HandlerRun, Pipeline]:
    """`reconcile` found out later: the attempt counts as one that failed for a while, as if it had known at once."""
    known = replace(did_not_happen(run, now=now), status=HandlerStatus.PAUSED_TRANSIENT, ended_at=now)
    reason = failure or run.failure or Failure(kind=FailureKind.TRANSIENT, type="DidNotHappen", message="")
    known = replace(known, failure=replace(reason, kind=FailureKind.TRANSIENT, retry_after=None))
    held = _hold(replace(pipeline, recoveries=0), HandlerStatus.PAUSED_TRANSIENT, reason, now=now)
    return known, held


def skipped(run: HandlerRun, *, now: Instant, by: str | None, note: str | None) -> HandlerRun:
    """A person decided to go on without the effect: its events are skipped when the attempt behind it is committed."""
    return replace(run, phase=Phase.MUTATED, outcome=EffectOutcome.SKIPPED, updated_at=now, decided_by=by, note=note)


def plain_title(run: HandlerRun, *, published: int) -> str:
    """What people read about an attempt that did something and has no title of its own."""
    if run.kind is HandlerKind.PRODUCER:
        return "" if not published else f"Found {_counted(published)}"
    return "" if not run.reserved else f"Handled {_counted(len(run.reserved))}"


def _counted(events: int) -> str:
    return "1 event" if events == 1 else f"{events:,} events"
