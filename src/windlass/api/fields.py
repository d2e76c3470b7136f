"""Single values that come from outside, where `rules.limits` has no word for them yet."""

from __future__ import annotations

from windlass.errors import InvalidInput
from windlass.model.duration import LAST_INSTANT, MAX_DURATION, shown
from windlass.model.time import Duration, Instant
from windlass.rules.limits import check_limit, check_note

HASH_BYTES = 16
LONGEST_STEP_KEY = 600  # a name, a key, a number, and what a child adds to them
LONGEST_VERSION = 200
LAST_TOKEN = 2**63 - 1


def refused(value: object, what: str, text: str, *, reason: str = "invalid_input") -> InvalidInput:
    return InvalidInput(f"Invalid {what} {shown(value)}: {text}.", reason=reason, path=what)


def check_hash(data: bytes, *, what: str) -> None:
    if len(data) != HASH_BYTES:
        raise InvalidInput(
            f"Invalid {what}: {HASH_BYTES} bytes were expected, not {len(data)}.", reason="invalid_hash", path=what
        )


def check_version(version: str, *, what: str = "version") -> str:
    """Of a workflow: any text, and "" where it pins none."""
    return check_note(version, what=what, longest=LONGEST_VERSION) or ""


def check_step(key: str, *, what: str = "step") -> None:
    """The key of a step, as a worker made it."""
    if not check_note(key, what=what, longest=LONGEST_STEP_KEY):
        raise refused(key, what, "it is empty", reason="invalid_key")


def check_token(token: int, *, what: str = "token") -> None:
    check_limit(token, what=what, low=1, high=LAST_TOKEN)


def check_duration(duration: Duration | None, *, what: str, low: int = 0) -> None:
    """In microseconds, at most ten years."""
    if duration is not None and not low <= duration <= MAX_DURATION:
        raise refused(duration, what, "longer than 0 and at most 10 years was expected", reason="invalid_duration")


def check_instant(instant: Instant | None, *, what: str) -> None:
    if instant is not None and not 0 <= instant <= LAST_INSTANT:
        raise refused(instant, what, "a time from 1970 to 9999 was expected", reason="invalid_time")
