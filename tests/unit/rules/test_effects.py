"""What may the ledger say about an effect after what it said before, and when is `reconcile` asked?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.cli.pipeline_samples import an_effect
from tests.integration.cli.samples import at
from windlass.errors import WrongState
from windlass.model.effect import Effect, EffectStatus, Resolution, SubjectKind
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline_work import BeginEffect, BegunKind
from windlass.model.time import SECOND, Duration
from windlass.rules import effects as rules

NOW = at(0)
OPEN = [status for status in EffectStatus if status.is_open]
KNOWN = [status for status in EffectStatus if not status.is_open]
RESET = Failure(kind=FailureKind.TRANSIENT, type="OSError", message="reset")


def effect(status: EffectStatus = EffectStatus.IN_FLIGHT, **changes: Any) -> Effect:
    return an_effect(status, **{"has_reconcile": True, "reconcile_after": at(-1), "next_at": None, **changes})


def resolve(of: Effect, resolution: Resolution, **changes: Any) -> Effect:
    said: dict[str, Any] = {"result": None, "by": "ann", "note": "asked the bank", "now": NOW}
    return rules.resolved(of, resolution, **(said | changes))


def test_what_returned_has_happened_and_what_failed_has_not() -> None:
    applied = rules.applied(effect(next_at=at(9)), b"7", by=rules.BY_CALL, now=NOW)
    failed = rules.failed(effect(next_at=at(9)), by=rules.BY_CALL, now=NOW, failure=RESET)

    assert (applied.status, applied.result, applied.next_at) == (EffectStatus.APPLIED, b"7", None)
    assert (failed.status, failed.failure, failed.next_at) == (EffectStatus.FAILED, RESET, None)


@pytest.mark.spec("invariants:I-39", "pipelines:81", "pipelines:100")
def test_nobody_is_asked_while_whoever_called_it_may_still_be_inside() -> None:
    inside = rules.in_doubt(effect(reconcile_after=at(300)), failure=RESET, now=NOW, is_inside=True)
    outside = rules.in_doubt(effect(reconcile_after=at(300)), failure=RESET, now=NOW, is_inside=False)

    assert (inside.status, inside.next_at) == (EffectStatus.NEEDS_RECONCILE, at(300))
    assert (outside.status, outside.next_at) == (EffectStatus.NEEDS_RECONCILE, at(10))


@pytest.mark.parametrize("is_inside", [True, False])
def test_without_reconcile_only_a_person_can_say(is_inside: bool) -> None:
    found = rules.in_doubt(effect(has_reconcile=False), failure=RESET, now=NOW, is_inside=is_inside)

    assert (found.status, found.next_at, found.failure) == (EffectStatus.INDETERMINATE, None, RESET)


def test_reconcile_is_asked_five_times_in_growing_intervals_and_then_a_person() -> None:
    """The first time at once, inline, or after ten seconds: then 20, 40, 80, 160."""
    doubtful, waits = effect(EffectStatus.NEEDS_RECONCILE), []
    while doubtful.status is EffectStatus.NEEDS_RECONCILE:
        doubtful = rules.asked_in_vain(doubtful, failure=RESET, now=NOW)
        waits.append(None if doubtful.next_at is None else (doubtful.next_at - NOW) // SECOND)

    assert waits == [20, 40, 80, 160, None]
    assert (doubtful.status, doubtful.asked) == (EffectStatus.INDETERMINATE, 5)


def test_what_was_cut_short_is_asked_about_soon_and_only_believed_to_have_happened() -> None:
    cut = rules.in_doubt(effect(reconcile_after=at(300)), failure=RESET, now=NOW, is_inside=False, is_cut=True)
    assert (cut.status, cut.reconcile_after, cut.next_at) == (EffectStatus.NEEDS_RECONCILE, at(300), at(10))

    did_not = rules.answered(cut, result=None, did_not_happen=True, failure=None, now=at(10))
    unknown = rules.answered(cut, result=None, did_not_happen=False, failure=None, now=at(10))
    happened = rules.answered(cut, result=b"1", did_not_happen=False, failure=None, now=at(10))
    assert did_not == unknown
    assert (did_not.status, did_not.next_at, did_not.asked) == (EffectStatus.NEEDS_RECONCILE, at(300), 0)
    assert happened.status is EffectStatus.APPLIED
    later = rules.answered(did_not, result=None, did_not_happen=True, failure=None, now=at(300))
    assert later.status is EffectStatus.FAILED


@pytest.mark.parametrize("status", KNOWN)
@pytest.mark.parametrize("resolution", Resolution)
def test_what_is_known_is_for_good(status: EffectStatus, resolution: Resolution) -> None:
    with pytest.raises(WrongState, match=status.value):
        resolve(effect(status), resolution)


@pytest.mark.parametrize("status", OPEN)
@pytest.mark.parametrize("resolution", Resolution)
def test_nobody_says_anything_while_somebody_may_be_inside(status: EffectStatus, resolution: Resolution) -> None:
    """But that it happened, once whoever called it has let go of it: that stays true."""
    if resolution is Resolution.HAPPENED and status is not EffectStatus.IN_FLIGHT:
        assert resolve(effect(status, reconcile_after=at(300)), resolution).status is EffectStatus.APPLIED
        return
    with pytest.raises(WrongState, match="still be inside for 5 min"):
        resolve(effect(status, reconcile_after=at(300)), resolution)


@pytest.mark.parametrize("status", OPEN)
@pytest.mark.parametrize(
    ("resolution", "wanted"),
    [
        (Resolution.HAPPENED, EffectStatus.APPLIED),
        (Resolution.DID_NOT_HAPPEN, EffectStatus.FAILED),
        (Resolution.SKIP, EffectStatus.FAILED),
        (Resolution.TRY_AGAIN, EffectStatus.NEEDS_RECONCILE),
    ],
)
def test_a_person_may_say_what_became_of_it(status: EffectStatus, resolution: Resolution, wanted: EffectStatus) -> None:
    found = resolve(effect(status, asked=4), resolution)

    assert (found.status, found.resolution, found.note) == (wanted, resolution, "asked the bank")
    assert rules.is_skipped(found) is (resolution is Resolution.SKIP)
    if resolution is Resolution.TRY_AGAIN:
        assert (found.asked, found.next_at, found.resolved_by) == (0, NOW, None)
    else:
        assert (found.next_at, found.resolved_by) == (None, "ann")


def test_a_result_may_be_given_with_it() -> None:
    assert resolve(effect(), Resolution.HAPPENED, result=b'"r-7"').result == b'"r-7"'
    assert resolve(effect(), Resolution.HAPPENED).result == b"null"


def test_one_without_reconcile_cannot_be_asked_again() -> None:
    with pytest.raises(WrongState, match="--did-not-happen"):
        resolve(effect(EffectStatus.INDETERMINATE, has_reconcile=False), Resolution.TRY_AGAIN)


# Whoever is to call it


def test_nobody_asks_about_a_call_before_its_claim_and_its_timeout_are_over() -> None:
    command = BeginEffect(
        namespace="default",
        subject="payments",
        token=7,
        run_id="hrn_1",
        name="charge_card",
        params=b"{}",
        idempotency_key="payments:7",
        has_reconcile=True,
        timeout_for=Duration(20 * SECOND),
    )

    found = rules.new_effect(command, SubjectKind.PIPELINE, claim_ends=at(60), now=NOW)

    assert (found.status, found.attempt, found.asked) == (EffectStatus.IN_FLIGHT, 1, 0)
    assert (found.reconcile_after, found.next_at, found.created_at) == (at(80), None, NOW)


@pytest.mark.parametrize(
    ("known", "kind", "due_in"),
    [
        (effect(EffectStatus.APPLIED, result=b"7"), BegunKind.APPLIED, None),
        (effect(EffectStatus.FAILED, resolution=Resolution.SKIP), BegunKind.SKIPPED, None),
        (effect(token=8, reconcile_after=at(300)), BegunKind.ENTER, None),
        (effect(reconcile_after=at(300)), BegunKind.LATER, 300 * SECOND),
        (effect(), BegunKind.RECONCILE, None),
        (effect(EffectStatus.NEEDS_RECONCILE, next_at=at(20)), BegunKind.LATER, 20 * SECOND),
        (effect(EffectStatus.NEEDS_RECONCILE, next_at=at(0)), BegunKind.RECONCILE, None),
        (effect(has_reconcile=False, reconcile_after=at(300)), BegunKind.LATER, 300 * SECOND),
        (effect(has_reconcile=False), BegunKind.PERSON, None),
        (effect(EffectStatus.INDETERMINATE, reconcile_after=at(300)), BegunKind.PERSON, None),
    ],
)
def test_one_that_was_begun_before_is_called_again_only_under_the_same_claim(
    known: Effect, kind: BegunKind, due_in: int | None
) -> None:
    found = rules.begun(known, token=8, now=NOW)

    assert (found.kind, found.due_in, found.result) == (kind, due_in, known.result)
    assert (found.idempotency_key, found.attempt) == (known.idempotency_key, known.attempt)
