"""From an exception of a handler or an effect to a failure: of which kind, and did the effect happen?

a handler    the app's `classify`, else the kind of a StepError; anything else is logic
an effect    the same kinds; logic, permission and auth say for certain that nothing happened,
             any other kind, and any other exception, does not. `StepError.did_not_happen` has the last word.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from windlass.codec import Codec, safe_text
from windlass.errors import InvalidInput, StepError, Unavailable, WindlassError
from windlass.model.duration import describe, to_duration
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.model.pipeline import Phase
from windlass.model.pipeline_work import Verdict
from windlass.model.time import Duration
from windlass.worker.failures import Classify, encoded_data, traceback_text

LOGGER = logging.getLogger("windlass.worker")

DEFINITE = frozenset({FailureKind.LOGIC, FailureKind.PERMISSION, FailureKind.AUTH})


class Stop(Exception):
    """A handler ends here, and did not go well."""

    def __init__(
        self,
        failure: Failure,
        *,
        phase: Phase,
        verdict: Verdict | None = None,
        is_inside: bool = False,
        is_found: bool = False,
        is_cut: bool = False,
    ) -> None:
        super().__init__(failure.message)
        self.failure, self.phase, self.verdict = failure, phase, verdict
        self.is_inside = is_inside  # may the effect be at work still?
        self.is_found = is_found  # is the verdict that of `reconcile`?
        self.is_cut = is_cut  # was it cut short, so that what it has begun may go on?


def of_handler(error: BaseException, *, codec: Codec, classify: Classify | None) -> Failure:
    """What user code of a phase let out. Never decided by its text."""
    kind, failure = _chosen(error, classify)
    return failure or _failure(error, kind or FailureKind.LOGIC, codec=codec)


def of_effect(error: BaseException, *, codec: Codec, classify: Classify | None) -> tuple[Failure, Verdict]:
    """What an effect let out, and what is known about it then."""
    kind, failure = _chosen(error, classify)
    if failure is not None:
        return replace(failure, kind=FailureKind.INDETERMINATE), Verdict.UNKNOWN
    said = getattr(error, "did_not_happen", None) if isinstance(error, StepError) else None
    is_definite = kind in DEFINITE if said is None else bool(said)
    if is_definite:
        return _failure(error, kind or FailureKind.TRANSIENT, codec=codec), Verdict.FAILED
    return _failure(error, FailureKind.INDETERMINATE, codec=codec), Verdict.UNKNOWN


def logic(message: str, *, type: str = "InvalidInput") -> Failure:
    """The code does not do what it should, and no exception says so."""
    return Failure(kind=FailureKind.LOGIC, type=type, message=message)


def gone(handler: str) -> Failure:
    """An attempt of it is to go on, and there is no code for that any more."""
    text = f"Handler {handler!r} is no longer in the code, and an attempt of it is not over: declare it again."
    return logic(text, type="HandlerGone")


def refused(error: InvalidInput) -> Failure:
    return logic(str(error))


def unknown(message: str, *, type: str = "InvalidInput") -> Failure:
    """Nobody knows whether the effect happened."""
    return Failure(kind=FailureKind.INDETERMINATE, type=type, message=message)


def stopped() -> Failure:
    """Whoever called the effect has ended it, and went."""
    return unknown("The worker stopped before it returned.", type="Stopped")


def not_called() -> Failure:
    """The ledger has the effect, and nothing happened."""
    return Failure(kind=FailureKind.TRANSIENT, type="Stopped", message="The worker stopped before it was called.")


def unreadable(error: Exception) -> Failure:
    """An effect returned, and what it returned cannot be kept, as when the codec's hook does not answer."""
    return replace(internal(error), kind=FailureKind.INDETERMINATE)


def did_not_happen(failure: Failure) -> Failure:
    """The same, now that it is known that nothing happened: it may be tried again."""
    return replace(failure, kind=FailureKind.TRANSIENT)


def timed_out(what: str, limit: Duration, *, kind: FailureKind = FailureKind.TIMEOUT) -> Failure:
    message = f"{what} did not end within {describe(limit)}."
    return Failure(kind=kind, type="TimeoutError", message=message, reason=FailureReason.TOO_LONG)


def internal(error: BaseException) -> Failure:
    """A fault of ours."""
    return Failure(
        kind=FailureKind.INTERNAL,
        type=type(error).__qualname__,
        message=safe_text(error),
        traceback=traceback_text(error),
    )


def tell(about: dict[str, str], failure: Failure, *, phase: Phase, error: BaseException | None = None) -> None:
    """Log that a handler failed: of which type, and where. The text may quote a payload, and is in the database."""
    place = ""
    if error is not None and error.__traceback__ is not None:
        frame = traceback.extract_tb(error.__traceback__, limit=-1)[0]
        place = f" at {Path(frame.filename).name}:{frame.lineno}"
    told = "Handler %r of pipeline %r failed in phase %s: %s%s"
    LOGGER.info(told, about["handler"], about["pipeline"], phase.value, failure.type, place, extra=about)


def _chosen(error: BaseException, classify: Classify | None) -> tuple[FailureKind | None, Failure | None]:
    """The kind that somebody has chosen; or what is wrong with that choice."""
    try:
        chosen = None if classify is None else classify(error)
        if chosen is None and isinstance(error, StepError):
            chosen = error.kind
        if chosen is None and isinstance(error, Unavailable):  # of a store that the code asked itself
            chosen = FailureKind.TRANSIENT
        return (None if chosen is None else FailureKind(chosen)), None
    except Exception as broken:  # the user's hook, or a kind that does not exist
        kinds = "" if not isinstance(broken, ValueError) else f". Kinds are {', '.join(FailureKind)}"
        message = f"{type(error).__qualname__} could not be classified: {broken}{kinds}"
        return None, logic(message, type=type(broken).__qualname__)


def _failure(error: BaseException, kind: FailureKind, *, codec: Codec) -> Failure:
    data: Any = None
    retry_after: Duration | None = None
    message = safe_text(error)
    if isinstance(error, StepError):
        data = encoded_data(error.data, codec)
        try:
            retry_after = None if error.retry_after is None else to_duration(error.retry_after, what="retry_after")
        except WindlassError as wrong:
            message = f"{message} ({wrong})"
    elif isinstance(error, asyncio.CancelledError) and not message:
        message = "The code cancelled itself."
    return Failure(
        kind=kind,
        type=type(error).__qualname__,
        message=message,
        traceback=traceback_text(error),
        data=data,
        retry_after=retry_after,
    )
