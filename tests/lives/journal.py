"""What really happened, written down outside the engine: bodies entered and left, acknowledgements, refusals.

An append-only file, one JSON line per event, on disk before the event goes on. The engine never reads it; checkers hold
it against the database. A life that has ended writes nothing more: the dead do not keep journals.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from windlass.define.current import current_step
from windlass.runtime import Clock


class Event(StrEnum):
    ASKED = "asked"  # a client is about to ask for a run
    ACKED = "acked"  # … and was told that it is accepted
    REFUSED = "refused"  # … or that it is not
    TOLD = "told"  # a client is about to do something to a run or a queue: send, approve, cancel, pause, …
    HEARD = "heard"  # … and was told that it is done
    DECLINED = "declined"  # … or that it cannot be
    ENTERED = "entered"  # a body
    LEFT = "left"  # a body that has come to its end
    DELIVERED = "delivered"  # a step's result reached the code of the workflow
    RAISED = "raised"  # a step's failure did
    WOKE = "woke"  # a sleep is over for the code
    VALUE = "value"  # something the code may rely on at every replay: time, chance
    GIVEN = "given"  # a job was told how its upstreams ended, and what they returned
    HANDLED = "handled"  # a phase of a handler was entered, with these events
    PUBLISHED = "published"  # a handler is about to return, and has published these
    CALLED = "called"  # an effect was called, and the outside world did this
    RECONCILED = "reconciled"  # … was asked about it, and answered this
    CLAIMED = "claimed"  # a claim was answered, with these runs or pipelines
    SENT = "sent"  # a worker is about to write under its token
    ANSWERED = "answered"  # … and got this answer
    STOPPING = "stopping"  # a worker was told to leave in order
    STOPPED = "stopped"
    CRASHED = "crashed"


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event. `life` counts the processes that have worked on the database, from 1."""

    event: Event
    life: int
    at: int  # wall time of that life's clock
    run_id: str = ""
    key: str = ""  # of the step, the start key, or the id of an event
    attempt: int = 0
    token: int = 0
    idempotency_key: str = ""
    is_acknowledged: bool = False  # of a body: had the start of its run been acknowledged when it was entered?
    who: str = ""  # a worker's id, or a name given by the test
    what: str = ""  # an operation, a workflow, the name of a value
    value: Any = None
    outcome: str = ""
    renew_for: int | None = None  # of a write that asks for a longer claim


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class Journal:
    """The journal of one story. Test bodies write to it; every line is on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._lock = threading.Lock()  # sync bodies and crash hooks write from threads
        self._clock: Clock | None = None
        self._life = 0
        self._acknowledged: set[str] = set()

    @property
    def life(self) -> int:
        return self._life

    def begin_life(self, clock: Clock) -> None:
        """A new process begins to work: its lines carry its number and the time of its clock."""
        with self._lock:
            self._life, self._clock = self._life + 1, clock

    def end_life(self) -> None:
        """The process is gone: whatever it still believes to be doing is not written down."""
        with self._lock:
            self._clock = None

    def write(self, event: Event, **fields: Any) -> None:
        with self._lock:
            if self._clock is None:
                return
            line = Line(event=event, life=self._life, at=self._clock.now(), **fields)
            if event is Event.ACKED:
                self._acknowledged.add(line.run_id)
            self._append(_encoder.encode(line))

    def _append(self, line: bytes) -> None:
        os.write(self._file, line + b"\n")
        os.fsync(self._file)

    @contextmanager
    def body(self) -> Iterator[None]:
        """For the body of a step: note that it is entered, and how it is left."""
        step = current_step()
        fields = {
            "run_id": step.run_id,
            "key": step.key,
            "attempt": step.attempt,
            "idempotency_key": step.idempotency_key,
            "is_acknowledged": step.run_id in self._acknowledged,
        }
        self.write(Event.ENTERED, **fields)
        outcome = "returned"
        try:
            yield
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            self.write(Event.LEFT, **fields, outcome=outcome)

    def close(self) -> None:
        os.close(self._file)


def read_journal(path: Path) -> tuple[Line, ...]:
    """Every whole line; a last one without its end was being written when its process died, and never happened."""
    *whole, _ = path.read_bytes().split(b"\n")
    return tuple(map(_decoder.decode, whole))
