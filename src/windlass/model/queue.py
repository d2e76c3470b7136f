"""What a queue looks like from outside: what is in it, who serves it, and how fast it empties."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.gate import Gate
from windlass.model.run import RunStatus
from windlass.model.time import Instant
from windlass.model.worker import Served


class Place(StrEnum):
    """Where a run that is not over stands, as a queue counts it."""

    DUE = "due"  # a worker may claim it now, whatever it waited for before
    RUNNING = "running"
    LATER = "later"  # due by itself: it sleeps, backs off, or begins later
    WAITING = "waiting"  # for an event, a person, a child, or the run before it
    PAUSED = "paused"


class LaneCount(Struct, frozen=True, kw_only=True):
    """How many runs of one lane stand alike."""

    lane: Served
    status: RunStatus
    is_due: bool
    runs: int
    earliest: Instant | None  # of their due times; none: they have none


class QueueView(Struct, frozen=True, kw_only=True):
    """One queue, as of one moment."""

    namespace: str
    name: str
    at: Instant  # when this was true
    due: int = 0
    running: int = 0
    later: int = 0
    waiting: int = 0
    paused: int = 0
    oldest_due_at: Instant | None = None  # since when the run that is due for the longest has been due
    ended_per_minute: float = 0.0
    ended_is_estimate: bool = False  # too many ended to be counted: it is what the last of them come to
    workers: int = 0  # live ones that take runs of it
    slots: int = 0  # of these together, for all the queues they serve
    gate: Gate | None = None  # that keeps the whole queue from being claimed
    unserved: tuple[tuple[Served, int], ...] = ()  # what is due, behind no closed gate, and run by no live worker
