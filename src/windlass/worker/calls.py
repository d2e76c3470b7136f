"""What the code of a run asked for: one call per key, from the moment it is reserved until its result is delivered."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from typing import Any

from windlass.define.workflow import StepDefinition
from windlass.errors import NotAllowed
from windlass.model.commands import StartChild
from windlass.model.failure import Failure
from windlass.model.step import StepKind, StepRecord
from windlass.model.time import Duration, Instant
from windlass.runtime import Timer
from windlass.telemetry.observer import StepEnd, StepWatch

MISSING: Any = object()  # a result that has not come

Read = Callable[[bytes | None, Failure | None], tuple[Any, Exception | None]]


class Group:
    """The calls of one `ctx.map`: one future for all of them, resolved by the last result or the first failure."""

    def __init__(self, size: int, limit: int | None) -> None:
        self.calls: list[Call] = []
        self.results: list[Any] = [MISSING] * size
        self.missing = size
        self.limit = limit
        self.running = 0
        self.backlog: deque[Call] = deque()  # children that begin when another one has ended
        self.future: asyncio.Future[Any] | None = None

    def take(self, index: int, value: Any, error: Exception | None) -> bool:
        """Keep one result. True if the future can be resolved now."""
        self.results[index] = value
        self.missing -= 1
        return error is not None or self.missing == 0

    @property
    def open(self) -> list[Call]:
        return [call for call in self.calls if self.results[call.index] is MISSING]

    @property
    def is_over(self) -> bool:
        """Nobody listens any more: it has failed, or its branch was given up."""
        return self.future is not None and self.future.done()

    @property
    def is_full(self) -> bool:
        return self.limit is not None and self.running >= self.limit


class Call:
    # Most calls are first attempts of a step, and a class's default costs nothing.
    attempt = 1
    failures = 0
    definition: StepDefinition | None = None
    args: tuple[Any, ...] = ()
    future: asyncio.Future[Any] | None = None
    group: Group | None = None
    index = 0
    due_for: Duration | None = None
    due_at: Instant | None = None
    timer: Timer | None = None
    awaits: str | None = None
    detail: bytes | None = None
    child: StartChild | None = None
    is_effect = False  # on the ledger, and it has returned
    read: Read | None = None  # of a wait: what its result means to the code

    def __init__(self, key: str, kind: StepKind, input_hash: bytes, record: StepRecord | None) -> None:
        self.key, self.kind, self.input_hash, self.record = key, kind, input_hash, record
        if record is not None:
            # An attempt that was seen to start and never ended stays on record, so the next one has the next number.
            # A wait has one attempt: it goes on where it was.
            is_wait = kind is StepKind.SLEEP or kind.is_wait
            self.attempt = 1 if is_wait else record.attempt + 1
            self.failures = record.failures

    @property
    def is_work(self) -> bool:
        """Is something to be done for it? Else it only waits, for a time, a person or what comes from elsewhere."""
        return self.kind is StepKind.STEP or self.child is not None

    @property
    def is_given_up(self) -> bool:
        """Was its branch cancelled by the code, or has the map failed that it belongs to?"""
        future = self.future if self.group is None else self.group.future
        return future is not None and future.done()

    def __lt__(self, other: Call) -> bool:
        return self.key < other.key  # orders are unique; a heap asks only in principle


class Body:
    """User code at work for one call."""

    __slots__ = (
        "call",
        "context",
        "entered_at",
        "error",
        "has_ended",
        "is_cancelled",
        "is_noted",
        "is_thread",
        "is_timed_out",
        "timer",
        "watch",
        "work",
    )

    def __init__(self, call: Call, *, entered_at: int, is_thread: bool) -> None:
        self.call, self.entered_at, self.is_thread = call, entered_at, is_thread
        self.work: asyncio.Future[Any] | None = None  # its task, or the answer of its thread; none before it begins
        self.is_cancelled = self.has_ended = False
        self.error: BaseException | None = None  # what it raised
        self.timer: Timer | None = None
        self.is_timed_out = False
        self.is_noted = False  # was it seen to be at work for a while?
        self.context: contextvars.Context | None = None
        self.watch: StepWatch | None = None

    def cancel(self) -> None:
        """Stop it where it waits; one that has not begun does not begin. A thread cannot be stopped."""
        if self.work is None:
            self.is_cancelled = True
        elif not self.is_thread:
            self.work.cancel()

    def left(self, how: StepEnd, *, now: int, error: str | None = None) -> None:
        """Tell whoever watches, once: a thread whose time-out has passed goes on for a while."""
        if self.watch is not None:
            watch, self.watch = self.watch, None
            watch.ends(how, ran_for=Duration(now - self.entered_at), error=error)


def has_left(run_id: str) -> NotAllowed:
    return NotAllowed(
        f"Run {run_id} has left this worker, so ctx takes no more calls here. "
        'A "finally" block of a workflow may clean up memory, but it cannot run steps.'
    )
