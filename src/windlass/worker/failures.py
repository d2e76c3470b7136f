"""From an exception to a failure that can be stored, and back: the same error at every replay."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from windlass.codec import Codec, safe_text
from windlass.define.workflow import StepDefinition
from windlass.errors import InvalidInput, StepError, StepFailed
from windlass.model.commands import ClaimedRun
from windlass.model.duration import to_duration
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.worker.calls import Body

LOGGER = logging.getLogger("windlass.worker")

Classify = Callable[[BaseException], str | None]

# Trying again cannot help: the code itself is wrong.
PROGRAMMING_ERRORS = (
    TypeError,
    NameError,
    AttributeError,
    ImportError,
    SyntaxError,
    NotImplementedError,
    AssertionError,
    RecursionError,
)
REASONS = frozenset(FailureReason)
_PACKAGE = str(Path(__file__).resolve().parent.parent)
LONGEST_TRACEBACK = 16_384  # characters
DEEPEST_TRACEBACK = 40  # frames


def of_step(
    error: BaseException, definition: StepDefinition, *, codec: Codec, classify: Classify | None, key: str
) -> Failure:
    """Classify by type or by the user's hook, never by the message."""
    if isinstance(error, definition.raises):
        declared = _declared(error, codec=codec, key=key)
        if declared is not None:
            return declared
    kind, data, retry_after = _kind_of(error, classify), None, None
    if isinstance(error, StepError):
        data = encoded_data(error.data, codec)
        if error.retry_after is not None and kind is not FailureKind.INDETERMINATE:  # which only an effect can be
            retry_after = to_duration(error.retry_after, what="retry_after")
    never = definition.retry.never if definition.retry is not None else ()
    return Failure(
        kind=kind,
        type=_type_name(error),
        message=safe_text(error),
        traceback=traceback_text(error),
        data=data,
        retry_after=retry_after,
        is_final=isinstance(error, never),
        step=key,
    )


def of_workflow(error: BaseException, *, codec: Codec) -> Failure:
    """The run failed because its code let this exception out."""
    failure = in_short(error)
    if isinstance(error, StepFailed):
        told, data = error.traceback or traceback_text(error), encoded_data(error.data, codec)
        return replace(failure, traceback=told, data=data)
    return replace(failure, traceback=traceback_text(error))


def in_short(error: BaseException) -> Failure:
    """The same without what takes room, or has to be encoded."""
    if isinstance(error, StepFailed):
        return Failure(
            kind=FailureKind(error.kind),
            type=error.type,
            message=error.message,
            step=error.step,
            reason=FailureReason(error.reason) if error.reason in REASONS else None,
        )
    return Failure(kind=FailureKind.LOGIC, type=_type_name(error), message=safe_text(error))


def tell_step(claimed: ClaimedRun, body: Body, failure: Failure) -> None:
    """Log that a step failed: of which type, and where. The text may quote a payload, and is in the database."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    key, attempt = body.call.key, body.call.attempt
    about = {"run": claimed.run_id, "workflow": claimed.name, "step": key}
    told = "Step %r of run %s failed at attempt %d: %s%s"
    LOGGER.info(told, key, claimed.run_id, attempt, failure.type, _place(body), extra=about)


def tell_run(claimed: ClaimedRun, failure: Failure) -> None:
    """Log that a run has failed: of which type, and in which step."""
    about = {"run": claimed.run_id, "workflow": claimed.name, "step": failure.step}
    where = f" in step {failure.step!r}" if failure.step else ""
    name = repr(claimed.name) if claimed.job is None else f"{claimed.name!r}, job {claimed.job!r} of {claimed.parent}"
    LOGGER.warning("Run %s (%s) failed: %s%s", claimed.run_id, name, failure.type, where, extra=about)


def _place(body: Body) -> str:
    """The line that raised, if there is one: a step that passed its time-out has none."""
    error = body.error
    if body.is_timed_out or error is None or error.__traceback__ is None:
        return ""
    frame = traceback.extract_tb(error.__traceback__, limit=-1)[0]
    return f" at {Path(frame.filename).name}:{frame.lineno}"


def at_line(error: BaseException) -> str:
    """ " at order.py:17", the line of the user's code that let it out, if there is one."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [(file, line) for file, line in frames if not file.startswith(_PACKAGE)]
    return f" at {Path(users[-1][0]).name}:{users[-1][1]}" if users else ""


def to_exception(failure: Failure, definition: StepDefinition, *, codec: Codec, key: str) -> Exception:
    """What the code awaiting the step gets."""
    if failure.is_declared:
        error = _restored(failure, definition.raises, codec)
        if error is not None:
            return error
    data = codec.decode(failure.data) if failure.data is not None and not failure.is_declared else None
    return StepFailed(
        failure.type,
        failure.message,
        data=data,
        traceback=failure.traceback,
        kind=failure.kind.value,
        subject=f"Step {key!r}",
        step=key,
        reason=failure.reason,
    )


def _kind_of(error: BaseException, classify: Classify | None) -> FailureKind:
    if classify is not None:
        chosen = classify(error)
        if chosen is not None:
            return FailureKind(chosen)
    if isinstance(error, StepError):
        return FailureKind(error.kind)
    return FailureKind.LOGIC if isinstance(error, PROGRAMMING_ERRORS) else FailureKind.TRANSIENT


def _declared(error: BaseException, *, codec: Codec, key: str) -> Failure | None:
    """A declared exception with all it carries; None if that cannot be stored, and it then comes back as StepFailed."""
    try:
        carried = {"args": list(error.args), "state": dict(vars(error)), "module": type(error).__module__}
        data = codec.encode(carried)
    except InvalidInput:
        return None
    return Failure(
        kind=FailureKind.LOGIC,
        type=_type_name(error),
        message=safe_text(error),
        traceback=traceback_text(error),
        data=data,
        is_final=True,
        is_declared=True,
        step=key,
    )


def _restored(failure: Failure, raises: Iterable[type[BaseException]], codec: Codec) -> Exception | None:
    named = [kind for kind in _with_subclasses(raises) if kind.__qualname__ == failure.type]
    named = [kind for kind in named if issubclass(kind, Exception)]
    if not named:
        return None
    carried: Any = codec.decode(failure.data or b"{}")
    # By its name, never imported; of several the one of the same module, else the newest, as a notebook defines it.
    kind = max(enumerate(named), key=lambda item: (item[1].__module__ == carried["module"], item[0]))[1]
    error = kind.__new__(kind, *carried["args"])
    error.args = tuple(carried["args"])
    vars(error).update(carried["state"])
    assert isinstance(error, Exception)
    return error


def _with_subclasses(kinds: Iterable[type[BaseException]]) -> Iterable[type[BaseException]]:
    for kind in kinds:
        yield kind
        yield from _with_subclasses(kind.__subclasses__())


def _type_name(error: BaseException) -> str:
    return type(error).__qualname__


def encoded_data(data: Any, codec: Codec) -> bytes | None:
    if data is None:
        return None
    try:
        return codec.encode(data)
    except InvalidInput as refused:
        return codec.encode(f"(could not be stored: {refused})")


def _users_part(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame that is not ours."""
    part = error.__traceback__
    while part is not None and part.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        part = part.tb_next
    return part or error.__traceback__


def traceback_text(error: BaseException) -> str:
    try:
        told = traceback.TracebackException(
            type(error), error, _users_part(error), limit=DEEPEST_TRACEBACK, compact=True
        )
        text = "".join(told.format())
    except Exception as broken:  # a __str__ or __repr__ of user code may do anything
        text = f"(no traceback: {type(broken).__name__})"
    if len(text) > LONGEST_TRACEBACK:
        half = LONGEST_TRACEBACK // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
