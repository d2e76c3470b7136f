"""What may be asked about pipelines, and what is answered. Workers send durations; each of their writes has a token."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.effect import Effect, Resolution
from windlass.model.pipeline import (
    EventRow,
    EventStatus,
    Handler,
    HandlerRun,
    HandlerRunId,
    Input,
    InputId,
    InputStatus,
    NewInput,
    Pipeline,
    PipelineSpec,
)
from windlass.model.time import Instant
from windlass.model.worker import ServedPipeline as ServedPipeline

# What people and programs ask


class DeclarePipelines(Struct, frozen=True, kw_only=True):
    """What the code of a program says. A pipeline it said before and says no more is paused, never deleted."""

    namespace: str
    program: str
    pipelines: tuple[PipelineSpec, ...]
    only_new: bool = False  # enter those that nobody has entered before, and leave all others as they are


class Publish(Struct, frozen=True, kw_only=True, gc=False):
    """Publish an event from outside of any pipeline, such as from a webhook. The same id again replaces its payload."""

    namespace: str
    topic: str
    id: str
    payload: bytes
    input: NewInput | None = None  # what outside has caused it


class Published(Struct, frozen=True, kw_only=True, gc=False):
    pipelines: int  # that subscribe to the topic, and have it now
    is_repeat: bool  # every one of them knew the id


class SteerPipeline(Struct, frozen=True, kw_only=True):
    """Pause, resume, run now, or retry."""

    namespace: str
    name: str
    by: str | None = None
    note: str | None = None


class DecideHandler(Struct, frozen=True, kw_only=True):
    """Approve or reject what a pipeline is about to do. `run_id`: only if it is still this attempt that waits."""

    namespace: str
    name: str
    is_approved: bool
    releases: bool = False  # of a rejection: the events go back; else they are skipped
    run_id: HandlerRunId | None = None
    by: str | None = None
    note: str | None = None


class ResolveEffect(Struct, frozen=True, kw_only=True):
    """What a person says about an effect of which nobody knows whether it happened."""

    namespace: str
    subject: str  # a pipeline, or the id of a run
    resolution: Resolution
    result: bytes | None = None  # with "happened"
    step: str | None = None  # of a run, where several are open
    by: str | None = None
    note: str | None = None
    owner: str | None = None  # only about the call of this attempt or run, and of this number:
    attempt: int | None = None  # so whoever asks again after a lost answer says nothing about another one


class SkipInput(Struct, frozen=True, kw_only=True):
    """Let go of everything an input has caused that is not done, or of one event."""

    namespace: str
    pipeline: str
    input: InputId | None = None
    topic: str | None = None  # with `event`
    event: str | None = None
    by: str | None = None
    note: str | None = None


class Skipped(Struct, frozen=True, kw_only=True):
    skipped: int  # events
    aborted: HandlerRunId | None = None  # an attempt that was at one of them, and has done nothing yet
    finishing: int = 0  # events whose effect has happened: their attempt goes on to its end


class ListHandlerRuns(Struct, frozen=True, kw_only=True):
    """The newest first."""

    namespace: str
    pipeline: str
    handler: str | None = None
    before: str | None = None
    limit: int = 50


class HandlerRunPage(Struct, frozen=True, kw_only=True):
    runs: tuple[HandlerRun, ...]
    next: str | None


class HandlerRunView(Struct, frozen=True, kw_only=True):
    """An attempt with what it was given and found, its effect, its events, and the chain it belongs to."""

    run: HandlerRun
    data: bytes | None
    result: bytes | None
    effect: Effect | None
    events: tuple[EventRow, ...]
    published: tuple[EventRow, ...]
    chain: tuple[HandlerRunId, ...]  # oldest first


class ListEvents(Struct, frozen=True, kw_only=True):
    """The oldest first; `after` is the sequence number of the last one of the page before."""

    namespace: str
    pipeline: str
    topic: str | None = None
    status: EventStatus | None = None
    after: int = 0
    limit: int = 50


class EventPage(Struct, frozen=True, kw_only=True):
    events: tuple[EventRow, ...]
    next: int | None


class ListInputs(Struct, frozen=True, kw_only=True):
    """The newest first."""

    namespace: str
    pipeline: str
    status: InputStatus | None = None
    before: InputId | None = None  # the last one of the page before, whatever its status
    limit: int = 50


class InputPage(Struct, frozen=True, kw_only=True):
    inputs: tuple[Input, ...]
    next: InputId | None


class Trace(Struct, frozen=True, kw_only=True):
    """What became of an input: its events, in every topic, with the attempts that took them and their effects."""

    input: Input
    events: tuple[EventRow, ...]
    runs: tuple[HandlerRun, ...]
    effects: tuple[Effect, ...]


class TopicUse(Struct, frozen=True, kw_only=True):
    pipeline: str
    handler: str
    is_subscribed: bool  # else it publishes


class TopicView(Struct, frozen=True, kw_only=True):
    name: str
    uses: tuple[TopicUse, ...]
    pending: dict[str, int]  # by pipeline
    reserved: dict[str, int]


class HandlerView(Struct, frozen=True, kw_only=True):
    handler: Handler
    pending: int  # events in its topics, counted up to a limit
    oldest_at: Instant | None  # of the first of them
    last_run: HandlerRun | None


class PipelineView(Struct, frozen=True, kw_only=True):
    pipeline: Pipeline
    handlers: tuple[HandlerView, ...]
    run: HandlerRun | None  # active, or the one that holds the pipeline
    effect: Effect | None  # of that
    inputs_pending: int
    activity: tuple[HandlerRun, ...]  # committed lately, that did something
    workers: int  # live, that serve this revision
    now: Instant
    outdated: int = 0  # workers, live, that serve another revision of it
    inputs_stale: int = 0  # of those pending: for longer than somebody should wait


class PipelineSummary(Struct, frozen=True, kw_only=True):
    """A pipeline in the words of a person."""

    name: str
    status: str  # Running, Idle, Needs attention, Stopped
    issue: str  # "" where there is none
    schedule: str
    next_check: Instant | None
    activity: tuple[str, ...]
    pending: str


class PipelineDetail(Struct, frozen=True, kw_only=True):
    view: PipelineView
    summary: PipelineSummary
