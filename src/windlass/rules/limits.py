"""Which names, keys, ids and numbers are accepted.

Every refusal says what was found and what is allowed, and carries a stable reason.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import TypeGuard

from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION, describe, shown
from windlass.model.run import HIGHEST_PRIORITY, LOWEST_PRIORITY
from windlass.model.time import HOUR, SECOND, Duration

MAX_NAME, MAX_KEY, MAX_STEP_KEY = 200, 255, 200
MAX_NOTE, MAX_TITLE = 2_000, 200
MAX_STORED = 3 * 1024 * 1024  # a payload of 2 MiB, and what a codec of the user adds when it seals it
MOST_EVENTS = 10_000  # sent to one run
MAX_ATTEMPTS = 1_000_000
MOST_ITEMS = 10_000  # of one map: the history of a run is capped
SHORTEST_VISIBILITY, LONGEST_VISIBILITY = SECOND, Duration(24 * HOUR)
ALLOWED = (
    'allowed characters are letters, digits, "_", "-", "." and ":"; '
    'it begins with a letter, a digit or "_" and has no ".."'
)

PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
RUN_ID = re.compile("run_[0-9A-HJKMNP-TV-Z]{26}")
WORKER_ID = re.compile("wrk_[0-9A-HJKMNP-TV-Z]{26}")
KEY_ID = re.compile("key_[0-9A-HJKMNP-TV-Z]{26}")
HANDLER_RUN_ID = re.compile("hrn_[0-9A-HJKMNP-TV-Z]{26}")
ITEM_ID = re.compile("itm_[0-9A-HJKMNP-TV-Z]{26}")
TASK_ID = re.compile("tsk_[0-9A-HJKMNP-TV-Z]{26}")
SIGNAL_ID = re.compile("sig_[0-9A-HJKMNP-TV-Z]{26}")
INPUT_ID = re.compile("inp_[0-9A-HJKMNP-TV-Z]{26}")
NAME_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn", "Mc"})
# Letters and marks that show nothing: variation selectors, fillers, joiners.
INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
# Scripts whose letters are drawn alike; a name may use one of them, not several.
LOOKALIKES = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


def check_name(name: str, *, what: str = "name") -> str:
    """The name in Unicode's composed form, so that two spellings of it are one name."""
    _check_text(name, what=what, longest=MAX_NAME, reason="invalid_name")
    composed = name if name.isascii() else unicodedata.normalize("NFC", name)
    if not composed.strip():
        raise _refuse(name, what, "it is empty", reason="invalid_name")
    if len(composed) > MAX_NAME:
        raise _refuse(name, what, f"max {MAX_NAME} characters", reason="invalid_name")
    is_plain = PLAIN_NAME.fullmatch(composed) is not None
    if ".." in composed or not (is_plain or (not composed.isascii() and _is_readable(composed))):
        raise _refuse(name, what, ALLOWED, reason="invalid_name")
    return composed


def check_pipeline_name(name: str, *, what: str = "pipeline name") -> str:
    """A name that cannot be taken for the id of a run: both have effects, and people speak of both."""
    checked = check_name(name, what=what)
    if is_run_id(checked):
        raise _refuse(name, what, "it is the id of a run", reason="invalid_name")
    return checked


def check_queue(queue: str, *, what: str = "queue") -> str:
    return check_name(queue, what=what)


def check_queues(queues: Iterable[str]) -> tuple[str, ...]:
    """The queues that a worker was given by name, sorted."""
    if isinstance(queues, str):
        raise InvalidInput(
            f"queues takes a list of names: queues=[{queues!r}].", reason="invalid_option", path="queues"
        )
    names = tuple(sorted({check_queue(queue) for queue in queues}))
    if not names:
        raise InvalidInput("queues is empty, so this worker would do nothing.", reason="invalid_option", path="queues")
    return names


def check_namespace(namespace: str, *, what: str = "namespace") -> str:
    return check_name(namespace, what=what)


def _is_readable(name: str) -> bool:
    """Whether a name in other letters than ours shows what it is: nothing invisible, nothing in disguise."""
    if INVISIBLE.search(name) or not unicodedata.is_normalized("NFKC", name):
        return False
    if unicodedata.category(name[0])[0] == "M" or name[0] in "-.:":
        return False
    scripts = set()
    for character in name:
        if character in "_-.:":
            continue
        if unicodedata.category(character) not in NAME_CATEGORIES:
            return False
        scripts.add(unicodedata.name(character, "").split(" ")[0])
    return len(scripts.intersection(LOOKALIKES)) <= 1


def check_key(key: str, *, what: str = "key") -> str:
    """A start key: any text of 1 to 255 characters, as it is."""
    return _check_key(key, what=what, longest=MAX_KEY)


def check_step_key(key: str | int, *, what: str = "step key") -> str:
    """A step key as text. "#" is ours: it numbers repeats."""
    if isinstance(key, int) and not isinstance(key, bool) and key.bit_length() < 4 * MAX_STEP_KEY:
        key = int.__repr__(key)
    checked = _check_key(key, what=what, longest=MAX_STEP_KEY)
    if "#" in checked:
        raise _refuse(key, what, '"#" is not allowed in it', reason="invalid_key")
    return checked


def check_step_reference(key: str, *, what: str = "step") -> str:
    """The key of a step on record, as a person names it: with its number or path, such as "pack#2"."""
    return _check_key(key, what=what, longest=2 * MAX_STEP_KEY)


def check_person(by: str | None) -> str | None:
    """Who did something, as they call themselves."""
    return None if by is None else _check_key(by, what="by", longest=MAX_KEY)


def check_note(note: str | None, *, what: str = "note", longest: int = MAX_NOTE) -> str | None:
    """What somebody says about it: any text, also of several lines."""
    if note is None:
        return None
    text = _check_text(note, what=what, longest=longest, reason="invalid_text")
    if len(text) > longest:
        raise _refuse(note, what, f"max {longest} characters", reason="invalid_text")
    if "\0" in text:
        raise _refuse(note, what, "no NUL characters", reason="invalid_text")
    return text


def _check_key(key: object, *, what: str, longest: int) -> str:
    text = _check_text(key, what=what, longest=longest, reason="invalid_key")
    if not text.strip():
        raise _refuse(key, what, "it is empty", reason="invalid_key")
    if len(text) > longest:
        raise _refuse(key, what, f"max {longest} characters", reason="invalid_key")
    if text != text.strip():
        raise _refuse(key, what, "no spaces at its beginning or end", reason="invalid_key")
    if not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise _refuse(key, what, "no control characters", reason="invalid_key")
    return text


def _check_text(value: object, *, what: str, longest: int, reason: str) -> str:
    if not isinstance(value, str):
        raise _refuse(value, what, "text was expected", reason=reason)
    if len(value) > 4 * longest:  # before any work that grows with its length; composing can only shorten it so far
        raise _refuse(value, what, f"max {longest} characters", reason=reason)
    for position, character in enumerate(value):
        if "\ud800" <= character <= "\udfff" or character == "\ufffe":
            text = f"not valid Unicode: U+{ord(character):04X} at position {position}"
            raise _refuse(value, what, text, reason="invalid_text")
    return value


def check_run_id(run_id: str, *, what: str = "run id") -> str:
    return _check_id(run_id, RUN_ID, what=what, prefix="run_")


def is_run_id(text: str) -> bool:
    return RUN_ID.fullmatch(text) is not None


def check_worker_id(worker_id: str, *, what: str = "worker id") -> str:
    return _check_id(worker_id, WORKER_ID, what=what, prefix="wrk_")


def check_key_id(key_id: str, *, what: str = "key id") -> str:
    return _check_id(key_id, KEY_ID, what=what, prefix="key_")


def check_handler_run_id(run_id: str, *, what: str = "handler run id") -> str:
    return _check_id(run_id, HANDLER_RUN_ID, what=what, prefix="hrn_")


def check_input_id(input_id: str, *, what: str = "input id") -> str:
    return _check_id(input_id, INPUT_ID, what=what, prefix="inp_")


def check_item_id(item_id: str, *, what: str = "item id") -> str:
    return _check_id(item_id, ITEM_ID, what=what, prefix="itm_")


def check_task_id(task_id: str, *, what: str = "task id") -> str:
    return _check_id(task_id, TASK_ID, what=what, prefix="tsk_")


def check_signal_id(signal_id: str, *, what: str = "signal id") -> str:
    return _check_id(signal_id, SIGNAL_ID, what=what, prefix="sig_")


def _check_id(id: object, pattern: re.Pattern[str], *, what: str, prefix: str) -> str:
    if not isinstance(id, str) or pattern.fullmatch(id) is None:
        text = f'"{prefix}" and 26 digits and capital letters were expected'
        raise _refuse(id, what, text, reason="invalid_id")
    return id


def check_priority(priority: int, *, what: str = "priority") -> int:
    return _check_integer(priority, what=what, low=LOWEST_PRIORITY, high=HIGHEST_PRIORITY, reason="invalid_priority")


def check_payload(data: bytes | None, *, what: str) -> None:
    """How long it is. What is in it only the codec of the program can tell: it may be sealed."""
    if data is not None and len(data) > MAX_STORED:
        text = f"payload too large: {len(data)} bytes, limit {MAX_STORED}"
        raise InvalidInput(text, reason="payload_too_large", path=what)


def check_limit(value: int, *, what: str, low: int, high: int) -> int:
    return _check_integer(value, what=what, low=low, high=high, reason="invalid_argument")


def check_flag(value: bool, *, what: str) -> bool:
    """Any text is true, also "no"."""
    if not isinstance(value, bool):
        raise _refuse(value, what, "True or False was expected", reason="invalid_option")
    return value


def _check_integer(value: object, *, what: str, low: int, high: int, reason: str) -> int:
    if not _is_integer(value) or not low <= value <= high:
        raise _refuse(value, what, f"an integer from {low:,} to {high:,} was expected", reason=reason)
    return value


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def check_visibility(visibility_for: Duration, *, what: str = "visibility") -> Duration:
    """How long a claim lasts without a commit: 1 s to 24 h."""
    is_integer = _is_integer(visibility_for)
    if not is_integer or not SHORTEST_VISIBILITY <= visibility_for <= LONGEST_VISIBILITY:
        found = describe(visibility_for) if is_integer and abs(visibility_for) <= MAX_DURATION else None
        text = f"from {describe(SHORTEST_VISIBILITY)} to 24 h is accepted"
        raise _refuse(visibility_for, what, text, reason="invalid_config", found=found)
    return visibility_for


def check_keep(keep_for: Duration, *, what: str = "keep") -> Duration:
    """How long runs that are over are kept: 1 s to 10 years."""
    if not _is_integer(keep_for) or not SECOND <= keep_for <= MAX_DURATION:
        text = "from 1 s to 10 years is accepted; without it runs are kept as the settings say"
        found = describe(keep_for) if _is_integer(keep_for) else None
        raise _refuse(keep_for, what, text, reason="invalid_duration", found=found)
    return keep_for


def check_retry(max_attempts: int, *, initial_for: Duration, factor: float, max_for: Duration) -> None:
    reason = "invalid_retry_policy"
    _check_integer(max_attempts, what="max_attempts", low=1, high=MAX_ATTEMPTS, reason=reason)
    for what, value in (("initial", initial_for), ("max_delay", max_for)):
        if not _is_integer(value) or not 0 <= value <= MAX_DURATION:
            raise _refuse(value, what, "a duration of at most 10 years was expected", reason=reason)
    if max_for < initial_for:
        text = f"it must not be shorter than initial, {describe(initial_for)}"
        raise _refuse(max_for, "max_delay", text, reason=reason, found=describe(max_for))
    if not _is_finite(factor) or factor < 1:
        raise _refuse(factor, "factor", "a finite number of at least 1 was expected", reason=reason)


def _is_finite(number: object) -> bool:
    try:
        return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    except OverflowError:  # an int too large for a float
        return False


def _refuse(value: object, what: str, text: str, *, reason: str, found: str | None = None) -> InvalidInput:
    return InvalidInput(f"Invalid {what} {found or shown(value)}: {text}.", reason=reason, path=what)
