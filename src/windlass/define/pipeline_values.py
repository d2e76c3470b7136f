"""What handlers of a pipeline are given and answer with: events, what was prepared, what to reserve, a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from windlass.define.options import DurationLike, shorten
from windlass.errors import InvalidInput
from windlass.model.failure import Failure
from windlass.rules.limits import MAX_TITLE, check_note

T = TypeVar("T")
In = TypeVar("In")

WakeLike: TypeAlias = str | datetime | timedelta  # ISO text with a zone, a time with its zone, or from now


class TopicEvent(Struct, Generic[T], frozen=True, kw_only=True):
    """Something that was published to a topic, as a handler gets it."""

    topic: str
    id: str
    payload: T
    attempt: int = 1  # grows when it was reserved and given back
    created_at: datetime
    version: int = 0  # grows when its payload is replaced, or a person gave it back


class Prepared(Struct, Generic[In], frozen=True, kw_only=True):
    """What `mutate` and `next` are given: the reserved events as they were then, and the data of `Reserve`.

    Without a `prepare` of one's own `data` is the payload of the event, or, with `batch=`, the list of payloads.
    """

    events: tuple[TopicEvent[Any], ...]
    data: In
    title: str = ""
    outcome: Literal["success", "none", "skipped"] | None = None  # of the effect; known in `next`


class Reserve:
    """What `prepare` answers: take these events, all of them or none, and go on to `mutate` and `next` with `data`.

    `title` is for people: "Charge order 7". `wake_at` is when to prepare again though nothing was published.
    Example: `return windlass.Reserve(events, data=[event.payload.id for event in events], title="Two orders")`
    """

    __slots__ = ("data", "events", "title", "wake_at")

    def __init__(
        self,
        events: TopicEvent[Any] | Sequence[TopicEvent[Any]],
        *,
        data: Any = None,
        title: str = "",
        ui: Mapping[str, str] | None = None,
        wake_at: WakeLike | None = None,
    ) -> None:
        self.events = _read_events(events)
        self.data, self.wake_at = data, wake_at
        self.title = check_note(title or _read_ui(ui), what="title", longest=MAX_TITLE) or ""

    def __repr__(self) -> str:
        return f"Reserve({len(self.events)} events)"


class Idle:
    """What `prepare` answers that wants nothing now: until something is published, or `wake_at`, or `wake_in` passed.

    Example: `return windlass.Idle(wake_in="1h")`
    """

    __slots__ = ("wake_at", "wake_in")

    def __init__(self, *, wake_at: WakeLike | None = None, wake_in: DurationLike | None = None) -> None:
        if wake_at is not None and wake_in is not None:
            raise InvalidInput("Idle() takes wake_at or wake_in, not both.", reason="invalid_option", path="wake_in")
        self.wake_at, self.wake_in = wake_at, wake_in

    def __repr__(self) -> str:
        return "Idle()"


class Problem(Struct, frozen=True, kw_only=True):
    """What went wrong in a pipeline: given to `on_logic_error`, `on_attention` and `on_indeterminate`."""

    pipeline: str
    handler: str
    run_id: str  # of the attempt: "hrn_" and 26 characters
    phase: str  # where it stopped: "preparing", "mutating", "emitting" …
    status: str  # "failed:logic", "paused:approval" …
    issue: str | None = None  # what a person is needed for, if one is
    failure: Failure | None = None  # its kind, type, message and traceback
    attempt: int = 1


class Fixed(Struct, frozen=True):
    """What `on_logic_error` answers when it has put the cause right: the handler is tried again."""

    note: str = ""


class GiveUp(Struct, frozen=True):
    """What `on_logic_error` answers when a person is needed."""

    note: str = ""


def _read_events(events: object) -> tuple[TopicEvent[Any], ...]:
    given = (events,) if isinstance(events, TopicEvent) else events
    if isinstance(given, (list, tuple)):
        found = tuple(event for event in given if isinstance(event, TopicEvent))
        if len(found) == len(given):
            return found
        given = next(event for event in given if not isinstance(event, TopicEvent))
    raise InvalidInput(
        f"Reserve() takes an event or a list of events that ctx.peek() or ctx.get() gave, not {shorten(given)}.",
        reason="invalid_argument",
        path="events",
    )


def _read_ui(ui: object) -> str:
    """Display text in the form {"title": …}."""
    if ui is None:
        return ""
    if not isinstance(ui, Mapping) or set(ui) - {"title"}:
        raise InvalidInput(
            f"ui of Reserve() takes {{'title': …}} and nothing else, not {shorten(ui)}.",
            reason="invalid_argument",
            path="ui",
        )
    title: str = ui.get("title", "")
    return title
