"""What `prepare` answered: which events to reserve, and when to be asked again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from windlass.codec import Codec
from windlass.define.handler_definition import HandlerDefinition
from windlass.define.pipeline_values import Idle, Reserve, TopicEvent
from windlass.errors import InvalidInput
from windlass.model.duration import EPOCH, LAST_INSTANT, MAX_DURATION, MICROSECOND, to_duration
from windlass.model.pipeline import Reservation
from windlass.model.time import SECOND, Duration, Instant


class Wake(Struct, frozen=True):
    """When to prepare again though nothing was published: at a time, or after a while, or neither."""

    at: Instant | None = None
    after: Duration | None = None
    warning: str | None = None  # what was given, and says nothing


class Choice(Struct, frozen=True, kw_only=True):
    """What is to be reserved, as the engine is told."""

    events: tuple[TopicEvent[Any], ...] = ()
    data: bytes | None = None
    value: Any = None  # the data, as it will come back
    title: str = ""
    wake: Wake

    @property
    def reserved(self) -> tuple[Reservation, ...]:
        return tuple(Reservation(topic=event.topic, id=event.id, version=event.version) for event in self.events)


def read_choice(answer: object, definition: HandlerDefinition, codec: Codec) -> Choice:
    """Raises InvalidInput for what `prepare` may not answer."""
    name = definition.spec.name
    if isinstance(answer, Idle):
        wake = Wake(after=read_after(answer.wake_in)) if answer.wake_in is not None else read_wake(answer.wake_at)
        return Choice(wake=wake)
    if not isinstance(answer, Reserve):
        raise InvalidInput(
            f"prepare of handler {name!r} answers with windlass.Reserve(events, …) or windlass.Idle(), "
            f"not with {_described(answer)}.",
            reason="invalid_result",
        )
    # Whoever reserves events and gives no data means none, whatever the type of it would be.
    type = Any if answer.data is None else definition.data_type
    try:
        data, value = codec.round_trip(answer.data, type, what="prepare of handler", name=name)
    except InvalidInput as refused:
        if type is not Any or refused.reason != InvalidInput.code:  # it cannot be stored at all
            what = f"Reserve() in prepare of handler {name!r}"
            codec.check_arguments((answer.data,), (type,), ("data",), what=what)
            raise
        raise InvalidInput(
            f"prepare of handler {name!r} gives Reserve() data of a type that its class does not name; after a crash "
            "it would come back as something else. Write: class …(windlass.Consumer[TYPE OF DATA, TYPE OF RESULT]).",
            reason=refused.reason,
            path="data",
        ) from None
    return Choice(events=answer.events, data=data, value=value, title=answer.title, wake=read_wake(answer.wake_at))


def read_wake(given: object) -> Wake:
    """A text that is no time is a warning, and counts as none. Raises InvalidInput for what can never be one."""
    if given is None:
        return Wake()
    if isinstance(given, timedelta):
        return Wake(after=read_after(given))
    when = given
    if isinstance(given, str):
        try:
            when = datetime.fromisoformat(given)
        except ValueError:
            return Wake(
                warning=f"wake_at {given[:80]!r} is no time, so there is none: write it as ISO 8601 with a zone."
            )
    if not isinstance(when, datetime):
        raise InvalidInput(
            f"wake_at takes an ISO text with a zone, a datetime with its zone or a timedelta, not {_described(given)}.",
            reason="invalid_time",
            path="wake_at",
        )
    if when.utcoffset() is None:
        raise InvalidInput(
            f"wake_at {when.isoformat()} has no timezone: write datetime.now(UTC), or a zone behind the text.",
            reason="invalid_time",
            path="wake_at",
        )
    return Wake(at=Instant(min(max(0, (when - EPOCH) // MICROSECOND), LAST_INSTANT)))


def read_after(given: Any) -> Duration:
    """A duration from now. One that lies in the past, or in a hundred years, is for the engine to bring in bounds."""
    if isinstance(given, timedelta):
        return Duration(min(max(0, given // MICROSECOND), MAX_DURATION))
    if isinstance(given, (int, float)) and (given < 0 or given > MAX_DURATION // SECOND):
        return Duration(0) if given < 0 else MAX_DURATION
    return to_duration(given, what="wake_in")


def _described(value: object) -> str:
    return "None" if value is None else f"something of type {type(value).__name__}"
