"""What an effect is: one call to the outside world, on a ledger before it is made.

    in_flight ─┬─► applied            it happened, with this result
               ├─► failed             it did not happen, for certain
               ├─► needs_reconcile    nobody knows yet: `reconcile` is asked, again after a while
               └─► indeterminate      nobody knows, and nobody is left to ask but a person

Applied and failed are for good. The ledger of a pipeline's run and of a run's step is the same table.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.retry import RetryPolicy
from windlass.model.time import MINUTE, SECOND, Duration, Instant

RECONCILE_RETRY = RetryPolicy(max_attempts=6, initial_for=Duration(10 * SECOND), max_for=Duration(10 * MINUTE))
INLINE_FOR = Duration(30 * SECOND)  # the most that `reconcile` may take


class EffectStatus(StrEnum):
    IN_FLIGHT = "in_flight"
    APPLIED = "applied"
    FAILED = "failed"
    NEEDS_RECONCILE = "needs_reconcile"
    INDETERMINATE = "indeterminate"

    @property
    def is_open(self) -> bool:
        """Nobody knows whether it happened."""
        return self not in (EffectStatus.APPLIED, EffectStatus.FAILED)


class SubjectKind(StrEnum):
    RUN = "run"
    PIPELINE = "pipeline"


class Resolution(StrEnum):
    """What a person says about an effect of which nobody knows."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIP = "skip"  # go on without it
    TRY_AGAIN = "try_again"  # ask `reconcile` once more


class Effect(Struct, frozen=True, kw_only=True):
    """A row of `effects`: known by its owner, the step of it, and the attempt."""

    namespace: str
    subject_kind: SubjectKind
    subject: str  # the id of a run, or the name of a pipeline
    owner: str  # the run, or the attempt of a handler, that may write about it now
    step_key: str  # of a run; "" in a pipeline
    attempt: int  # of the call, from 1
    name: str
    params: bytes
    idempotency_key: str
    status: EffectStatus
    result: bytes | None
    failure: Failure | None
    token: int  # of the claim under which it was begun
    asked: int  # how often `reconcile` was asked in vain
    has_reconcile: bool
    reconcile_after: Instant  # nobody asks before: until then whoever began it may still be inside
    next_at: Instant | None  # when to ask next
    title: str
    resolved_by: str | None  # "call", "reconcile", or who decided
    resolution: Resolution | None
    note: str | None
    created_at: Instant
    updated_at: Instant
