"""What travels over a WebSocket: one JSON text per frame, requests with their answers, and events.

→ {"id": "1", "op": "runs.get", "params": {"run_id": "run_…"}}      ← {"id": "1", "ok": true, "result": {…}}
→ {"id": "2", "op": "feed.subscribe", "params": {"cursor": "…"}}    ← {"id": "2", "ok": true, "result": {…}}
                                                                    ← {"event": "log", "subscription": "2", …}
→ {"id": "3", "op": "work.subscribe", "params": {}}                 ← {"event": "work.signal.fired", …}
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from windlass.server.http.asked import Asked, StreamQuery
from windlass.server.http.asked_of_signals import SignalStreamQuery
from windlass.server.http.frames_of_signals import CREATED, FIRED, UPDATED, CreatedFrame, FiredFrame, UpdatedFrame
from windlass.server.http.told import ErrorDetail, LogLine, Told

FrameId = Annotated[str, Meta(min_length=1, max_length=100)]


class Request(Asked, frozen=True, kw_only=True):
    id: FrameId  # chosen by whoever asks: the answer bears it
    op: Annotated[str, Meta(min_length=1, max_length=100)]
    params: dict[str, Any] = msgspec.field(default_factory=dict)


class Reply(Told, frozen=True, kw_only=True):
    id: str
    ok: Literal[True] = True
    result: Any


class RefusalFrame(Told, frozen=True, kw_only=True):
    id: str  # "" if the request had none that could be read
    ok: Literal[False] = False
    error: ErrorDetail


class LogEvent(Told, frozen=True, kw_only=True):
    event: Literal["log"] = "log"
    subscription: str  # the id of the request that began it
    cursor: str  # go on behind this entry
    entry: LogLine


class EndEvent(Told, frozen=True, kw_only=True):
    """A subscription is over: nothing comes of it any more."""

    event: Literal["ended"] = "ended"
    subscription: str
    error: ErrorDetail


class PongAnswer(Told, frozen=True, kw_only=True):
    pong: Literal[True] = True


class SubscribedAnswer(Told, frozen=True, kw_only=True):
    subscription: str
    cursor: str  # from where on it is followed


class UnsubscribedAnswer(Told, frozen=True, kw_only=True):
    is_ended: bool  # false: there was none of that id


class NoParams(Asked, frozen=True, kw_only=True):
    """An empty object."""


class SubscribeParams(StreamQuery, frozen=True, kw_only=True):
    """From where on, and about what."""


class SubscribeSignalsParams(SignalStreamQuery, frozen=True, kw_only=True):
    """From where on, and about which of them."""


class UnsubscribeParams(Asked, frozen=True, kw_only=True):
    subscription: FrameId


EVENTS: dict[str, type[Struct]] = {
    "log": LogEvent,
    "ended": EndEvent,
    FIRED: FiredFrame,
    CREATED: CreatedFrame,
    UPDATED: UpdatedFrame,
}
FRAMES: tuple[type[Struct], ...] = (Request, Reply, RefusalFrame, *EVENTS.values())
