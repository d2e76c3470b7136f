"""What stands around commands and answers about pipelines on the wire, where the doors in process take arguments."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.effect import Effect
from windlass.model.pipeline import EventRow, HandlerRunId, InputId
from windlass.model.pipeline_commands import HandlerRunView, PipelineDetail, Publish, TopicView, Trace


class OfPipeline(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str


class PublishMany(Struct, frozen=True, kw_only=True):
    namespace: str
    events: tuple[Publish, ...]


class ListByName(Struct, frozen=True, kw_only=True):
    namespace: str
    after: str | None = None


class PipelineDetails(Struct, frozen=True, kw_only=True):
    pipelines: tuple[PipelineDetail, ...]
    has_more: bool = False


class Topics(Struct, frozen=True, kw_only=True):
    topics: tuple[TopicView, ...]
    has_more: bool = False


class GetHandlerRun(Struct, frozen=True, kw_only=True):
    """With how much of it is here already."""

    namespace: str
    run_id: HandlerRunId
    is_rest: bool = False
    has_effect: bool = False
    skip_events: int = 0
    skip_published: int = 0


class HandlerRunPart(Struct, frozen=True, kw_only=True):
    view: HandlerRunView
    has_more: bool = False


class TraceInput(Struct, frozen=True, kw_only=True):
    """With how much of it is here already."""

    namespace: str
    pipeline: str
    input: InputId
    skip_events: int = 0
    skip_runs: int = 0
    skip_effects: int = 0


class TracePart(Struct, frozen=True, kw_only=True):
    trace: Trace
    has_more: bool = False


class ListOpenEffects(Struct, frozen=True, kw_only=True):
    namespace: str
    after_owner: str | None = None
    after_step: str = ""
    after_attempt: int = 0


class OpenEffects(Struct, frozen=True, kw_only=True):
    effects: tuple[Effect, ...]
    has_more: bool = False


# Work


class ReadEventsFrom(Struct, frozen=True, kw_only=True):
    """Without ids: pending ones. `after` is the sequence number of the last one that is here already."""

    namespace: str
    pipeline: str
    token: int
    topic: str
    ids: tuple[str, ...] = ()
    limit: int = 0
    after: int = 0


class EventRows(Struct, frozen=True, kw_only=True):
    events: tuple[EventRow, ...]
    has_more: bool = False
