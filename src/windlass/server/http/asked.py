"""What may be sent over HTTP: every body and every set of query parameters, by name.

Nothing here is free-form, and a field or parameter that is not named is refused. Payloads are the one exception: they
are any JSON.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from windlass.define.schedule import CAUGHT_UP
from windlass.model.access import Role
from windlass.model.effect import Resolution
from windlass.model.feed import FEED_LIMIT
from windlass.model.gate import GateKind
from windlass.model.pipeline import EventStatus, InputStatus
from windlass.model.run import HIGHEST_PRIORITY, LOWEST_PRIORITY, RunStatus
from windlass.model.schedule import CatchUp, Overlap
from windlass.rules.limits import MAX_KEY, MAX_NAME, MAX_NOTE, MAX_STEP_KEY, MAX_TITLE
from windlass.rules.schedule_limits import MOST_CAUGHT_UP

PAGE = 50
LONGEST_WAIT = 60  # seconds
MOST_STARTS = 1_000
TEN_YEARS = 3_653 * 24 * 3_600

Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
Key = Annotated[str, Meta(min_length=1, max_length=MAX_KEY)]
Person = Annotated[str, Meta(min_length=1, max_length=MAX_KEY, description="Who did it, as they call themselves.")]
Note = Annotated[str, Meta(max_length=MAX_NOTE)]
Priority = Annotated[int, Meta(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)]
Seconds = Annotated[float, Meta(ge=0, le=TEN_YEARS)]
Span = Annotated[float, Meta(gt=0, le=TEN_YEARS)]
Time = Annotated[datetime, Meta(tz=True)]
RunIdText = Annotated[str, Meta(pattern="^run_[0-9A-HJKMNP-TV-Z]{26}$")]
HandlerRunIdText = Annotated[str, Meta(pattern="^hrn_[0-9A-HJKMNP-TV-Z]{26}$")]
InputIdText = Annotated[str, Meta(pattern="^inp_[0-9A-HJKMNP-TV-Z]{26}$")]
StepText = Annotated[str, Meta(min_length=1, max_length=2 * MAX_STEP_KEY)]
Limit = Annotated[int, Meta(ge=1, le=500)]
FeedLimit = Annotated[int, Meta(ge=1, le=FEED_LIMIT)]
WaitSeconds = Annotated[float, Meta(ge=0, le=LONGEST_WAIT)]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
CursorText = Annotated[str, Meta(min_length=1, max_length=500)]


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every body and every query has in common."""


# Runs


class StartRequest(Asked, frozen=True, kw_only=True):
    """A run of a workflow. Without a queue and a version it gets those that workers serve the workflow under."""

    workflow: Name
    args: list[Any] = []
    key: Key | None = None
    queue: Name | None = None
    version: Annotated[str, Meta(max_length=MAX_NAME)] | None = None
    priority: Priority = 0
    delay_secs: Seconds | None = None
    at: Time | None = None
    timeout_secs: Span | None = None
    run_id: RunIdText | None = None
    allow_unknown: bool = False  # no worker has served this workflow yet, and that is no mistake


class StartManyRequest(Asked, frozen=True, kw_only=True):
    """All are checked before the first is stored; then each stands for itself."""

    runs: Annotated[list[StartRequest], Meta(min_length=1, max_length=MOST_STARTS)]


class RunsQuery(Asked, frozen=True, kw_only=True):
    status: RunStatus | None = None
    workflow: Name | None = None
    queue: Name | None = None
    created_after: Time | None = None
    parent: RunIdText | None = None
    schedule: Name | None = None
    before: RunIdText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class KeyQuery(Asked, frozen=True, kw_only=True):
    key: Key


class WaitQuery(Asked, frozen=True, kw_only=True):
    wait_secs: WaitSeconds = 0.0


class WorkersQuery(Asked, frozen=True, kw_only=True):
    stopped_since: Time | None = None


# Control


class EventRequest(Asked, frozen=True, kw_only=True):
    event: Name
    payload: Any = None
    id: Key | None = None  # the same id again is the same event


class DecisionRequest(Asked, frozen=True, kw_only=True):
    is_approved: bool
    by: Person | None = None
    note: Note | None = None
    step: StepText | None = None


class DeedRequest(Asked, frozen=True, kw_only=True):
    by: Person | None = None
    note: Note | None = None


class PersonRequest(Asked, frozen=True, kw_only=True):
    by: Person | None = None


class RetryRequest(Asked, frozen=True, kw_only=True):
    by: Person | None = None
    from_step: StepText | None = None


class GateRequest(Asked, frozen=True, kw_only=True):
    kind: GateKind
    name: Name
    is_paused: bool
    by: Person | None = None
    note: Note | None = None


class CursorRequest(Asked, frozen=True, kw_only=True):
    seq: Seq


# Schedules


class ScheduleBody(Asked, frozen=True, kw_only=True):
    """Which runs, and when: `cron` or `every_secs`, one of them."""

    workflow: Name
    args: list[Any] = []
    version: Annotated[str, Meta(max_length=MAX_NAME)] = ""
    queue: Name = "default"
    timeout_secs: Span | None = None
    cron: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    every_secs: Span | None = None
    tz: Annotated[str, Meta(min_length=1, max_length=100)] = "UTC"
    catch_up: CatchUp = CatchUp.LATEST
    max_catch_up: Annotated[int, Meta(ge=1, le=MOST_CAUGHT_UP)] = CAUGHT_UP
    overlap: Overlap = Overlap.SKIP
    jitter_secs: Seconds = 0.0


class ScheduleRequest(ScheduleBody, frozen=True, kw_only=True):
    by: Person | None = None


class NewScheduleRequest(ScheduleRequest, frozen=True, kw_only=True):
    name: Name


class DeclaredSchedule(ScheduleBody, frozen=True, kw_only=True):
    name: Name


class DeclareRequest(Asked, frozen=True, kw_only=True):
    """What the code of a program says. What it said before and says no more is paused."""

    program: Key
    schedules: Annotated[list[DeclaredSchedule], Meta(max_length=MOST_STARTS)] = []
    keep_secs: dict[str, Span | None] = {}  # by workflow: how long ended runs of it are kept


class TriggerRequest(Asked, frozen=True, kw_only=True):
    by: Person | None = None
    run_id: RunIdText | None = None  # of the run it starts: the same again is the same run


class ResumeScheduleRequest(Asked, frozen=True, kw_only=True):
    by: Person | None = None
    backfill: bool = False


class PersonQuery(Asked, frozen=True, kw_only=True):
    by: Person | None = None


# Graphs


class GraphsQuery(Asked, frozen=True, kw_only=True):
    name: Name | None = None
    is_open: bool | None = None  # only those that are not over, or only those that are
    before: RunIdText | None = None
    limit: Limit = PAGE


class JobsQuery(Asked, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


# Pipelines


class InputBody(Asked, frozen=True, kw_only=True):
    """Something outside that causes events: known by where it is from, what it is, and its id there."""

    source: Name
    type: Name
    id: Key
    title: Annotated[str, Meta(max_length=MAX_TITLE)] = ""


class PublishRequest(Asked, frozen=True, kw_only=True):
    payload: Any = None
    id: Key | None = None  # the same id again is the same event
    input: InputBody | None = None  # what outside has caused it


class PublishManyRequest(Asked, frozen=True, kw_only=True):
    """All are checked before the first is published; then each stands for itself."""

    events: Annotated[list[PublishRequest], Meta(min_length=1, max_length=MOST_STARTS)]


class HandlerRunsQuery(Asked, frozen=True, kw_only=True):
    handler: Name | None = None
    before: HandlerRunIdText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class PipelineEventsQuery(Asked, frozen=True, kw_only=True):
    topic: Name | None = None
    status: EventStatus | None = None
    after: Seq = 0  # what the page before came with as `next`
    limit: Limit = PAGE


class InputsQuery(Asked, frozen=True, kw_only=True):
    status: InputStatus | None = None
    before: InputIdText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class ApproveRequest(Asked, frozen=True, kw_only=True):
    run_id: HandlerRunIdText | None = None  # only if it is still this attempt that waits
    by: Person | None = None
    note: Note | None = None


class RejectRequest(ApproveRequest, frozen=True, kw_only=True):
    releases: bool = False  # the events go back; else they are skipped


class ResolveRequest(Asked, frozen=True, kw_only=True):
    resolution: Resolution
    result: Any = None  # with "happened": what the effect came back with
    by: Person | None = None
    note: Note | None = None


class ResolveRunRequest(ResolveRequest, frozen=True, kw_only=True):
    step: StepText | None = None  # needed only where several are open


class SkipRequest(Asked, frozen=True, kw_only=True):
    """An input, or one event by its topic and id."""

    input: InputIdText | None = None
    topic: Name | None = None
    event: Key | None = None
    by: Person | None = None
    note: Note | None = None


# What happens


class FeedQuery(Asked, frozen=True, kw_only=True):
    cursor: CursorText | None = None  # none: from the beginning of what is kept; "now": from now on
    subject_kind: Name | None = None
    subject_id: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    limit: FeedLimit = 100
    wait_secs: WaitSeconds = 0.0


class StreamQuery(Asked, frozen=True, kw_only=True):
    cursor: CursorText | None = None
    subject_kind: Name | None = None
    subject_id: Annotated[str, Meta(min_length=1, max_length=500)] | None = None


class AuditQuery(Asked, frozen=True, kw_only=True):
    before: Seq | None = None
    limit: Limit = PAGE


# Tenants and keys


class NamespacesQuery(Asked, frozen=True, kw_only=True):
    after: Name | None = None
    limit: Limit = PAGE


class NamespaceRequest(Asked, frozen=True, kw_only=True):
    name: Name
    note: Note | None = None


class KeysQuery(Asked, frozen=True, kw_only=True):
    namespace: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None = None


class KeyRequest(Asked, frozen=True, kw_only=True):
    """The secret is made by whoever asks, and only its hash is sent: the token is never on the wire but to be used."""

    id: Annotated[str, Meta(pattern="^key_[0-9A-HJKMNP-TV-Z]{26}$")]
    namespace: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    roles: Annotated[list[Role], Meta(min_length=1, max_length=10)]
    secret_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    queues: Annotated[list[Name], Meta(max_length=1_000)] = []
    note: Note | None = None
    expires_secs: Span | None = None
    by: Person | None = None


class NothingRequest(Asked, frozen=True, kw_only=True):
    """An empty object."""
