"""What is typed behind a command: JSON values, durations, times, and who types them."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click
from msgspec import Struct

from windlass.cli.session import Text
from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration, to_instant
from windlass.rules.limits import check_note, check_person

Command = TypeVar("Command", bound=Callable[..., Any])

MEANT_AS_JSON = ("{", "[", '"')  # what begins like this and cannot be read is a slip, not a text

_codec = Codec()


class Value(Struct, frozen=True, kw_only=True):
    """One value as it was typed, and as it was read."""

    text: str
    data: bytes  # JSON
    value: Any

    def typed(self, type: Any) -> Any:
        """The value as its declaration wants it; what does not fit stays as it is, for the check that says so."""
        if type is str and not isinstance(self.value, str):
            return self.text  # an order number is text too
        try:
            return _codec.decode(self.data, type)
        except InvalidInput:
            return self.value


class Json(click.ParamType[Value]):
    """A JSON value as `--json` shows it, or a word that is no JSON: that is text."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:
        if isinstance(value, Value):
            return value
        text = Text().convert(value, param, ctx)
        data = text.encode()
        try:
            return Value(text=text, data=data, value=_codec.decode(data))
        except InvalidInput as refused:
            if refused.reason != "invalid_json" or text.lstrip().startswith(MEANT_AS_JSON):
                self.fail(f"{text[:60]!r} cannot be read: {refused}.", param, ctx)
        return Value(text=text, data=json.dumps(text).encode(), value=text)


class Span(click.ParamType[str]):
    """A duration, as the library takes it."""

    name = "duration"

    def __init__(self, *, allow_zero: bool = True) -> None:
        self._allow_zero = allow_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            to_duration(text, allow_zero=self._allow_zero)
        except InvalidInput:
            least = "" if self._allow_zero else "more than 0 and "
            example = '"500ms", "90s", "1h30m", "2d"'
            self.fail(f"{text[:60]!a} is not a duration, such as {example}; {least}at most 10 years.", param, ctx)
        return text


class Moment(click.ParamType[datetime]):
    """A time with its zone, in ISO 8601."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
            to_instant(moment)
        except (ValueError, InvalidInput):
            self.fail(f"{str(value)[:60]!a} is not a time with its zone, such as 2030-05-01T12:00:00Z.", param, ctx)
        return moment


def by_option(command: Command) -> Command:
    """Add --by: who did it, as the log keeps it."""
    return click.option("--by", type=Text(_person), help="Who does it.  [default: your login name]")(command)


def note_option(command: Command) -> Command:
    """Add --note: what they say about it."""
    return click.option("--note", type=Text(_note), help="What to remember about it.")(command)


def person(by: str | None) -> str | None:
    """Who it was: as given, else the login name, else nobody in particular."""
    if by is not None:
        return by
    try:
        return check_person(getpass.getuser())
    except (OSError, KeyError, ImportError, InvalidInput):  # no such user on this machine, as in many containers
        return None


def _person(text: str) -> str:
    return check_person(text) or text


def _note(text: str) -> str:
    return check_note(text) or text
