"""How something failed: one closed list of kinds."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.time import Duration


class FailureKind(StrEnum):
    TRANSIENT = "transient"
    LOGIC = "logic"
    AUTH = "auth"
    PERMISSION = "permission"
    INDETERMINATE = "indeterminate"
    TIMEOUT = "timeout"
    DRIFT = "drift"
    CRASH_LOOP = "crash_loop"
    INTERNAL = "internal"


class FailureReason(StrEnum):
    """What ended it, where the kind leaves that open."""

    WORKER_LOST = "worker_lost"  # of a crash loop: workers died, or were cut off
    CLAIM_RAN_OUT = "claim_ran_out"  # the worker was there, and gave no sign of life for the length of its claim
    TOO_LONG = "too_long"  # it did not end within its time-out


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: FailureKind
    type: str  # the exception's qualified name, as text: it is never imported
    message: str
    traceback: str = ""
    data: bytes | None = None  # encoded by the codec: what the user attached, or a declared exception's state
    retry_after: Duration | None = None
    is_final: bool = False  # never retried, whatever the kind: `never=`, `raises=`
    is_declared: bool = False  # of a class the step lists in `raises=`: it comes back as itself
    step: str = ""  # the step it came from, if it came from one
    reason: FailureReason | None = None


class Unretrieved(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first error with which a task of a run ended and that no task has retrieved; none: what was said is over."""

    token: int  # of the claim under which this is so: whoever executes the run anew finds it anew
    failure: Failure | None = None
    place: str = ""  # " at order.py:17"


def in_one_line(failure: Failure) -> str:
    """A failure by its type, without the module, and its message."""
    kind, message = failure.type.rpartition(".")[2], " ".join(failure.message.split())
    return f"{kind}: {message}" if message else kind
