"""What pages for people are made from: reads that cost the same however much has happened before."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.run import LogEntry, Run, RunId, RunStatus
from windlass.model.signal import Signal
from windlass.model.step import Step
from windlass.model.time import Duration, Instant


class SearchRuns(Struct, frozen=True, kw_only=True):
    """Newest first. `text` is a part of an id, of a workflow's name or of a start key, in any case."""

    namespace: str
    status: RunStatus | None = None
    name: str | None = None
    queue: str | None = None
    text: str | None = None
    created_after: Instant | None = None  # then, or later
    before: str | None = None  # what the page before came with as `next`
    limit: int = 50


class FoundRun(Struct, frozen=True, kw_only=True):
    run: Run
    key: str | None = None  # under which it was started
    failure: Failure | None = None  # of a failed run, or why a paused one is paused


class FoundRuns(Struct, frozen=True, kw_only=True):
    runs: tuple[FoundRun, ...]
    next: str | None = None  # pass as `before`; none: nothing is left
    looked_back_to: Instant | None = None  # the look ended here before the page was full; none: it did not


class OpenApproval(Struct, frozen=True, kw_only=True):
    """A run that waits for a person."""

    run: Run
    key: str  # of the step
    title: str
    since: Instant | None
    due_at: Instant | None


class LongStep(Struct, frozen=True, kw_only=True):
    """A body that is at work for much longer than the same step took before."""

    run: Run
    step: str
    since: Instant
    typical_for: Duration | None  # the median of its last completed attempts; none: there are none


class Attention(Struct, frozen=True, kw_only=True):
    """Runs that wait for a person, as of one moment."""

    now: Instant
    failed: tuple[FoundRun, ...] = ()  # of their own, lately, and nobody has tried them again
    failed_more: bool = False
    paused: tuple[FoundRun, ...] = ()
    paused_more: bool = False
    approvals: tuple[OpenApproval, ...] = ()
    approvals_more: bool = False
    signals: tuple[Signal, ...] = ()  # paused because what they fired could not be done
    signals_more: bool = False
    long_steps: tuple[LongStep, ...] = ()
    long_steps_more: bool = False


class Minute(Struct, frozen=True, kw_only=True):
    """What ended in one minute. A picture and no account: what commits much later is not in it."""

    minute: Instant  # its beginning
    ended: int
    failed: int  # of these
    started: int  # of these: what never began took no time
    took_sum: int  # microseconds from the first claim to the end
    took_max: int


class RunPreview(Struct, frozen=True, kw_only=True):
    """A run with the beginnings of its payloads."""

    run: Run
    key: str | None
    input: bytes
    input_size: int  # of the whole
    output: bytes | None
    output_size: int
    failure: Failure | None


class ListSteps(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    skipped: int = 0  # of the latest
    limit: int = 200


class StepPreview(Struct, frozen=True, kw_only=True):
    """An attempt with the beginning of its output."""

    step: Step
    output_size: int  # of the whole


class StepPage(Struct, frozen=True, kw_only=True):
    """Attempts of a run, in the order they began."""

    steps: tuple[StepPreview, ...]
    is_more: bool  # earlier ones


class SentMessage(Struct, frozen=True, kw_only=True):
    """What a run was sent, without what it says."""

    name: str
    sent_at: Instant
    is_received: bool


class LogPage(Struct, frozen=True, kw_only=True):
    """The last entries about something, the oldest of them first."""

    entries: tuple[LogEntry, ...]
    is_more: bool
