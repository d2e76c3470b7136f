"""How a value that was set is read: what is accepted, and what is said of the rest. A secret is never quoted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from windlass.errors import InvalidInput
from windlass.model.time import DAY, SECOND, Duration
from windlass.rules.access import parse_token
from windlass.rules.limits import check_visibility
from windlass.settings_url import HOST, is_address, parse_url

_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)
_LONGEST_SHOWN = 60
_MOST_LISTED = 100


class Secret:
    """A text that is not shown by accident: not in a repr, a log line, an error or a traceback."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def token(value: object, source: str) -> Secret:
    """Of a key, as `windlass keys create` shows it. What is refused is not quoted: it may be a token with a slip."""
    if not isinstance(value, str) or parse_token(value) is None:
        text = f"{source} is no token: it begins with wl_ and is shown once, by windlass keys create."
        raise InvalidInput(text, reason="invalid_config", path=source)
    return Secret(value)


def file_path(value: object, source: str) -> str:
    is_text = isinstance(value, str) and value.strip() and value.isprintable()
    if not isinstance(value, str) or not is_text:
        raise refused(source, value, "the path of a file")
    return value


def each(read: Callable[[Any, str], str]) -> Callable[[Any, str], tuple[str, ...]]:
    """A list of what `read` takes."""

    def read_all(value: object, source: str) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MOST_LISTED:
            raise refused(source, value, f"a list of at most {_MOST_LISTED}")
        return tuple(read(item, source) for item in value)

    return read_all


def listed(text: str) -> object:
    """What the environment holds in place of a list: names with commas between them."""
    return [item.strip() for item in text.split(",") if item.strip()]


def origin(value: object, source: str) -> str:
    """As a browser sends it: http or https, a host, and its port unless it is the usual one."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
        is_origin = parts is not None and parts.scheme in ("http", "https") and parts.port != 0
        host = parts.hostname if parts is not None else None
    except ValueError:
        is_origin, host, parts = False, None, None
    if not is_origin or not host or parts is None or not (is_address(host) or HOST.fullmatch(host)):
        raise refused(source, value, "an origin such as https://windlass.example.org")
    if value != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise refused(source, value, "an origin such as https://windlass.example.org, with nothing behind the host")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def database(value: object, source: str) -> str:
    if not isinstance(value, str):  # said by its type: in a list or a table there may be a password
        raise InvalidInput(f"{source} must be a text, not {_kind(value)}.", reason="invalid_config", path=source)
    parse_url(value, source=source)
    return value


def host(value: object, source: str) -> str:
    if not isinstance(value, str) or not (is_address(value) or HOST.fullmatch(value)):
        raise refused(source, value, "an address or the name of a host, without a port")
    return value


def one_of(*accepted: str) -> Callable[[Any, str], str]:
    def read(value: object, source: str) -> str:
        if not isinstance(value, str) or value.lower() not in accepted:
            raise refused(source, value, f"one of {', '.join(accepted)}")
        return value.lower()

    return read


def whether(value: object, source: str) -> bool:
    if not isinstance(value, bool):
        raise refused(source, value, "true or false")
    return value


def whole(low: int, high: int) -> Callable[[Any, str], int]:
    def read(value: object, source: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise refused(source, value, f"a whole number from {low} to {high}")
        return value

    return read


def seconds(low: Duration, high: Duration) -> Callable[[Any, str], Duration]:
    def read(value: object, source: str) -> Duration:
        wanted = f"a number of seconds from {low / SECOND:g} to {high // SECOND}"
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise refused(source, value, wanted)
        if not low <= value * SECOND <= high:  # also false for nan
            raise refused(source, value, wanted)
        return Duration(round(value * SECOND))

    return read


def visibility(value: object, source: str) -> Duration:
    return check_visibility(seconds(SECOND, DAY)(value, source))


def number(text: str) -> object:
    """A number, if the text is one as it is written in a file: ASCII, without sign and exponent."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        return text
    return float(stripped) if "." in stripped else int(stripped)


def switch(text: str) -> object:
    words = {**dict.fromkeys(("true", "1", "yes", "on"), True), **dict.fromkeys(("false", "0", "no", "off"), False)}
    return words.get(text.strip().lower(), text)


def refused(source: str, value: object, wanted: str) -> InvalidInput:
    is_short = isinstance(value, (str, int, float)) and not (isinstance(value, int) and abs(value) >= 10**18)
    shown = f"{value!r:.{_LONGEST_SHOWN}}" if is_short else _kind(value)
    return InvalidInput(f"{source} must be {wanted}, not {shown}.", reason="invalid_config", path=source)


def _kind(value: object) -> str:
    names = {dict: "a table", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "a date or a time")  # nothing else can stand in the file
