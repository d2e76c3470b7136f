"""Events about signals, as they come over a stream, and as frames of a subscription."""

from __future__ import annotations

from typing import NamedTuple

from windlass.server.http.told_of_signals import CreatedEvent, FiredEvent, SignalEvent, UpdatedEvent

FIRED, CREATED, UPDATED = "work.signal.fired", "work.signal.created", "work.signal.updated"


class FiredFrame(FiredEvent, frozen=True, kw_only=True):
    """A signal has fired. Its event_id is made of the firing's."""

    subscription: str  # the id of the request that began it


class CreatedFrame(CreatedEvent, frozen=True, kw_only=True):
    """A signal was made. Its event_id is made of the number of the entry in the log."""

    subscription: str


class UpdatedFrame(UpdatedEvent, frozen=True, kw_only=True):
    """A signal was changed, steered, given up, resolved or deleted: `cause` says which."""

    subscription: str


class Shapes(NamedTuple):
    line: type[SignalEvent]
    frame: type[SignalEvent]


EVENTS = {
    FIRED: Shapes(FiredEvent, FiredFrame),
    CREATED: Shapes(CreatedEvent, CreatedFrame),
    UPDATED: Shapes(UpdatedEvent, UpdatedFrame),
}
