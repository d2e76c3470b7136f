"""How our own processes write their log: a line or a JSON object per record, without payloads, passwords and tokens.

Only a command that is a process of its own, such as `windlass worker`, calls this. A library that is embedded in
somebody else's program leaves its handlers and levels alone.

The text of an exception is data of whoever raised it: a step that fails may quote its arguments. What Windlass itself
logs therefore names such an exception by its type and the lines it passed through. Its text is in the database, for
those who may read it. What a program logs itself, by `ctx.log` or its own loggers, is written as it is.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, get_args

from windlass.codec import safe_text
from windlass.errors import UserCodeError, WindlassError

LogFormat = Literal["plain", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
# What `extra=` may add to a JSON object. The list is closed: an object or a payload that somebody attaches stays out.
FIELDS = ("namespace", "run", "workflow", "step", "worker", "queue", "schedule", "duty", "count")

LONGEST = 16_384  # characters of a message, and of an exception
DEEPEST = 40  # frames of a traceback
LONGEST_CHAIN = 8  # exceptions that led to one another, and those of a group
OF_USERS = "windlass.run"  # where ctx.log writes
# Each of these reads a text once: what one attempt has passed, the next cannot begin in.
_PASSWORD = re.compile(
    r"(://[^\s:/@]*+:)[^\s/]*(?=@)|([?&](?:(?!password)[a-z_])*+password[a-z_]*+=)[^\s&]*+", re.IGNORECASE
)
_TOKEN = re.compile(r"(\bwl_[0-9A-Z]{26}_)[A-Za-z0-9_-]+")  # the part that may be shown, and the secret
_OUTCOME = re.compile(r"\b(?:exception|result)=.*")  # in how asyncio shows a task
_LARGEST = 2**63


@contextmanager
def configured(format: LogFormat, level: LogLevel, stream: TextIO | None = None) -> Iterator[None]:
    """Write what this process logs to the standard error, in this format and from this level on, while it lasts."""
    root, handler = logging.getLogger(), logging.StreamHandler(sys.stderr if stream is None else stream)
    before = root.level
    handler.setFormatter(JsonFormatter() if format == "json" else PlainFormatter())
    root.addHandler(handler)
    root.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


class PlainFormatter(logging.Formatter):
    """`2026-11-16 08:00:00,123 INFO windlass.worker  text`, in local time. A traceback follows, with a margin."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{self.formatTime(record)} {record.levelname} {record.name}  {_message(record)}"
        # No text can pass for a record: a new one begins at the margin, and nothing else does.
        behind = (f"    {escape(line)}" for line in (_exception(record) or "").splitlines())
        return "\n".join((escape(head), *behind))


class JsonFormatter(logging.Formatter):
    """One object per line: `at` in UTC, `level`, `logger`, `message`, known fields of `extra=`, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        told |= {name: value for name in FIELDS if (value := _field(record, name)) is not None}
        if exception := _exception(record):
            told["exception"] = exception
        # ASCII on purpose: valid under every encoding, lone surrogates included; json leaves only DEL as it is.
        return json.dumps(told).replace("\x7f", "\\u007f")


def escape(text: str) -> str:
    """The text with everything that is not plainly visible spelled out: control characters, bidi marks, bad bytes."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class _Told:
    """Stands in a message for an exception."""

    def __init__(self, error: BaseException) -> None:
        self._text = _said(error)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _is_own(record: logging.LogRecord) -> bool:
    """Whether we, or asyncio about our tasks, have written this; not the program itself."""
    name = record.name
    return name == "asyncio" or ((name == "windlass" or name.startswith("windlass.")) and name != OF_USERS)


def _message(record: logging.LogRecord) -> str:
    try:
        text = _own_message(record) if _is_own(record) else record.getMessage()
    except Exception as error:  # arguments that do not fit, or a __str__ that fails
        template = record.msg if isinstance(record.msg, str) else type(record.msg).__qualname__
        text = f"{template} (not filled in: {type(error).__qualname__})"
    text = _without_passwords(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _own_message(record: logging.LogRecord) -> str:
    text = str(_Told(record.msg) if isinstance(record.msg, BaseException) else record.msg)
    if isinstance(record.args, tuple) and record.args:
        text %= tuple(_Told(item) if isinstance(item, BaseException) else item for item in record.args)
    elif record.args:
        text %= record.args
    if record.name == "asyncio":  # shows tasks, and with them what they returned or raised
        text = _OUTCOME.sub("…", text.partition("\n")[0])
    return text


def _field(record: logging.LogRecord, name: str) -> str | int | None:
    value = record.__dict__.get(name)
    if isinstance(value, str):
        return _without_passwords(str(value)[:LONGEST]) or None
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST
    return int(value) if is_number else None  # type: ignore[arg-type]


def _exception(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        text = ""
    elif _is_own(record):
        text = _way_of(error)
    else:
        text = _whole(error)
    text = _without_passwords("\n".join(filter(None, (text.rstrip(), record.stack_info))))
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return text


def _said(error: BaseException) -> str:
    """The text of an exception if it is ours, else its type."""
    is_ours = isinstance(error, WindlassError) and not isinstance(error, UserCodeError)
    return safe_text(error) if is_ours else type(error).__qualname__


def _way_of(error: BaseException) -> str:
    """A traceback with types in place of texts, the exception that came first on top."""
    chain: list[str] = []
    current: BaseException | None = error
    while current is not None and len(chain) < LONGEST_CHAIN:
        frames = "".join(traceback.format_tb(current.__traceback__, limit=-DEEPEST))
        within = current.exceptions[:LONGEST_CHAIN] if isinstance(current, BaseExceptionGroup) else ()
        inner = "".join(f"  {_said(part)}\n" for part in within)
        chain.append(f"Traceback (most recent call last):\n{frames}{_said(current)}\n{inner}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "".join(reversed(chain))


def _whole(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error, limit=-DEEPEST))
    except Exception as broken:  # a __str__ of user code may do anything
        return f"{_way_of(error)} (its text cannot be read: {type(broken).__qualname__})"


def _without_passwords(text: str) -> str:
    return _TOKEN.sub(r"\1***", _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text))
