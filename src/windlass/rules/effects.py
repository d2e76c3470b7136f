"""What the ledger says about an effect, what that means to whoever is to call it, and when `reconcile` is asked."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.errors import AlreadyExists, WrongState
from windlass.model.duration import describe
from windlass.model.effect import RECONCILE_RETRY, Effect, EffectStatus, Resolution, SubjectKind
from windlass.model.failure import Failure
from windlass.model.pipeline_work import BeginEffect, Begun, BegunKind
from windlass.model.time import Duration, Instant
from windlass.rules.retries import backoff

BY_CALL, BY_RECONCILE = "call", "reconcile"
CONFLICT = "effect_conflict"  # the reason of a refusal


def source(*, is_found: bool) -> str:
    """Who knows what became of it, where no person said so: `reconcile` found it, or the call itself told."""
    return BY_RECONCILE if is_found else BY_CALL


def new_effect(command: BeginEffect, kind: SubjectKind, *, claim_ends: int, now: Instant, attempt: int = 1) -> Effect:
    """A row of the ledger, before the call. Whoever makes it is out of it when its claim and its time-out are over."""
    return Effect(
        namespace=command.namespace,
        subject_kind=kind,
        subject=command.subject,
        owner=command.run_id,
        step_key=command.step_key,
        attempt=attempt,
        name=command.name,
        params=command.params,
        idempotency_key=command.idempotency_key,
        status=EffectStatus.IN_FLIGHT,
        result=None,
        failure=None,
        token=command.token,
        asked=0,
        has_reconcile=command.has_reconcile,
        reconcile_after=Instant(claim_ends + command.timeout_for),
        next_at=None,
        title=command.title,
        resolved_by=None,
        resolution=None,
        note=None,
        created_at=now,
        updated_at=now,
    )


def begun(effect: Effect, *, token: int, now: Instant) -> Begun:
    """What there is to do about one that was begun before."""
    key, attempt = effect.idempotency_key, effect.attempt
    if effect.status is EffectStatus.APPLIED:
        return Begun(kind=BegunKind.APPLIED, idempotency_key=key, attempt=attempt, result=effect.result)
    if effect.status is EffectStatus.FAILED:
        return Begun(kind=BegunKind.SKIPPED, idempotency_key=key, attempt=attempt)
    if effect.status is EffectStatus.IN_FLIGHT and effect.token == token:
        # Under one claim it is asked for once, so this is the same call, whose answer was lost: nobody has called yet.
        return Begun(kind=BegunKind.ENTER, idempotency_key=key, attempt=attempt)
    if effect.status is EffectStatus.INDETERMINATE or not effect.has_reconcile:
        due = effect.reconcile_after
        if due > now and effect.status is EffectStatus.IN_FLIGHT:
            return Begun(kind=BegunKind.LATER, idempotency_key=key, attempt=attempt, due_in=Duration(due - now))
        return Begun(kind=BegunKind.PERSON, idempotency_key=key, attempt=attempt, asked=effect.asked)
    due = effect.reconcile_after if effect.next_at is None else effect.next_at
    if due > now:
        due_in = Duration(due - now)
        return Begun(kind=BegunKind.LATER, idempotency_key=key, attempt=attempt, due_in=due_in, asked=effect.asked)
    return Begun(kind=BegunKind.RECONCILE, idempotency_key=key, attempt=attempt, asked=effect.asked)


def check_begin(effect: Effect, command: BeginEffect) -> None:
    """Raise AlreadyExists if this asks to begin another call than the one on the ledger: then it is not a repeat.

    A worker that took the answer for its own call would make one call while the ledger shows another.
    """
    asked = (command.name, command.params, command.idempotency_key)
    if asked != (effect.name, effect.params, effect.idempotency_key):
        text = (
            f"{effect.owner} has begun effect {effect.name!r} under this claim, and this is another call: its name, "
            "parameters or key differ. One attempt makes one call; send the same request to repeat it."
        )
        raise AlreadyExists(text, reason=CONFLICT, owner=effect.owner)


def check_result(effect: Effect, result: bytes) -> None:
    """Raise AlreadyExists if an effect that is known to have happened is said to have returned something else."""
    if result != effect.result:
        text = (
            f"Effect {effect.name!r} of {effect.owner} has another result on record. The first result counts: send the "
            "same one to repeat the call, and go on with it."
        )
        raise AlreadyExists(text, reason=CONFLICT, owner=effect.owner)


def is_overtaken(effect: Effect, *, attempt: int) -> bool:
    """Is what is said about a call an old word? Its result is known by now, or it was made again."""
    return effect.status is EffectStatus.APPLIED or effect.attempt != attempt


def applied(effect: Effect, result: bytes, *, by: str, now: Instant) -> Effect:
    return replace(effect, status=EffectStatus.APPLIED, result=result, next_at=None, resolved_by=by, updated_at=now)


def failed(effect: Effect, *, by: str, now: Instant, failure: Failure | None = None) -> Effect:
    """It did not happen, for certain."""
    return replace(
        effect,
        status=EffectStatus.FAILED,
        failure=failure or effect.failure,
        next_at=None,
        resolved_by=by,
        updated_at=now,
    )


def in_doubt(effect: Effect, *, failure: Failure | None, now: Instant, is_inside: bool, is_cut: bool = False) -> Effect:
    """Nobody knows whether it happened. `is_inside`: whoever called it may still be at it, and nobody asks before.

    `is_cut`: it was cut short. A request is out for all that, or a thread at work: before that must be over, only that
    it happened can be known.
    """
    over_at = effect.reconcile_after if is_inside or is_cut else min(effect.reconcile_after, now)
    known = replace(effect, failure=failure or effect.failure, reconcile_after=over_at, updated_at=now)
    if not effect.has_reconcile:
        return replace(known, status=EffectStatus.INDETERMINATE, next_at=None)
    due = over_at if is_inside else now + backoff(RECONCILE_RETRY, failures=1, jitter=0.0)
    return replace(known, status=EffectStatus.NEEDS_RECONCILE, next_at=Instant(due))


def answered(
    effect: Effect, *, result: bytes | None, did_not_happen: bool, failure: Failure | None, now: Instant
) -> Effect:
    """What `reconcile` says. That it did not happen counts once nobody can be inside any more: it may happen yet."""
    if result is not None:
        return applied(effect, result, by=BY_RECONCILE, now=now)
    if effect.reconcile_after > now and effect.has_reconcile:  # else there is nobody to ask once more: a person is told
        return replace(effect, failure=failure or effect.failure, next_at=effect.reconcile_after, updated_at=now)
    if did_not_happen and effect.reconcile_after <= now:
        return failed(effect, by=BY_RECONCILE, now=now)
    return asked_in_vain(effect, failure=failure, now=now)


def asked_in_vain(effect: Effect, *, failure: Failure | None, now: Instant) -> Effect:
    """`reconcile` does not know either, and is asked again after a while; after five times, or with none, a person."""
    asked = effect.asked + 1
    known = replace(effect, asked=asked, failure=failure or effect.failure, updated_at=now)
    if asked >= RECONCILE_RETRY.max_attempts - 1 or not effect.has_reconcile:
        return replace(known, status=EffectStatus.INDETERMINATE, next_at=None)
    due = now + backoff(RECONCILE_RETRY, failures=asked + 1, jitter=0.0)
    return replace(known, status=EffectStatus.NEEDS_RECONCILE, next_at=Instant(due))


def resolved(
    effect: Effect, resolution: Resolution, *, result: bytes | None, by: str, note: str | None, now: Instant
) -> Effect:
    """What a person says about it. Raises WrongState where that cannot be said, or not yet."""
    if not effect.status.is_open:
        wanted = "one of which nobody knows whether it happened"
        raise WrongState("Effect", repr(effect.name), effect.status.value, wanted=wanted)
    is_over = effect.reconcile_after <= now
    if not is_over and (resolution is not Resolution.HAPPENED or effect.status is EffectStatus.IN_FLIGHT):
        left = describe(Duration(effect.reconcile_after - now))
        raise WrongState(
            "Effect",
            repr(effect.name),
            "in flight",
            wanted="one that nobody is at any more",
            hint=f"Whoever called it may still be inside for {left}; say it then.",
        )
    said = replace(effect, resolution=resolution, note=note, updated_at=now)
    match resolution:
        case Resolution.HAPPENED:
            return applied(said, result or b"null", by=by, now=now)
        case Resolution.TRY_AGAIN:
            if not effect.has_reconcile:
                raise WrongState(
                    "Effect",
                    repr(effect.name),
                    "without reconcile=",
                    wanted="one that can be asked",
                    hint="Say whether it happened: --happened, --did-not-happen or --skip.",
                )
            return replace(said, status=EffectStatus.NEEDS_RECONCILE, asked=0, next_at=now, resolved_by=None)
    return failed(said, by=by, now=now)


def corrects(effect: Effect, resolution: Resolution, result: bytes | None) -> bool:
    """Does a person say something else about what it returned? What it returned was somebody's word, not its own."""
    is_word = effect.status is EffectStatus.APPLIED and effect.resolution is Resolution.HAPPENED
    return is_word and resolution is Resolution.HAPPENED and effect.result != (result or b"null")


def corrected(effect: Effect, *, result: bytes | None, by: str, note: str | None, now: Instant) -> Effect:
    """It stays known that it happened."""
    return replace(effect, result=result or b"null", resolved_by=by, note=note, updated_at=now)


def is_skipped(effect: Effect) -> bool:
    return effect.resolution is Resolution.SKIP and effect.status is EffectStatus.FAILED
