"""What the bodies of the demo really did, written down outside the engine.

One JSON line per event, on disk before the event goes on. The engine never reads it; `judge.py` holds it against the
database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from windlass.define.current import current_step
from windlass.runtime import Clock

FILE = "journal.jsonl"
RETURNED = "returned"
BEGINNING = b'{"event":'  # of every line


class Event(StrEnum):
    ACCEPTED = "accepted"  # a run, as the one who started it was told
    ENTERED = "entered"  # the body of a step
    LEFT = "left"  # a body that has come to its end
    KILLED = "killed"  # a worker, by the demo
    ENDED = "ended"  # a worker that has left in order, or at last the demo itself


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    event: Event
    pid: int
    number: int  # among the lines of this process, from 1
    at: int  # wall time in microseconds
    run_id: str = ""
    key: str = ""
    attempt: int = 0
    idempotency_key: str = ""
    outcome: str = ""  # of a body: RETURNED, or the type of the exception
    process: int = 0  # that was killed or has ended
    lines: int = 0  # … after it had written so many: one that is taken out is missed


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class Journal:
    """The lines of one process. The file is shared: every line is one append."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._pid, self._number = os.getpid(), 0

    def write(self, event: Event, **fields: Any) -> None:
        """Append one line. It is on disk when this returns."""
        self._number += 1
        line = Line(event=event, pid=self._pid, number=self._number, at=self._clock.now(), **fields)
        # Opened anew for every line: whoever edits the file by replacing it finds the next one in it.
        with self._path.open("ab", buffering=0) as file:
            file.write(_encoder.encode(line) + b"\n")
            os.fsync(file.fileno())

    def write_end(self, event: Event, *, pid: int) -> None:
        """Note that another process is gone, and how many lines it has left: none can be added any more."""
        written = (line.number for line in read_journal(self._path) if line.pid == pid)
        self.write(event, process=pid, lines=max(written, default=0))

    def end(self) -> None:
        """The last line: it counts them all, itself included."""
        self.write(Event.ENDED, process=self._pid, lines=self._number + 1)

    @contextmanager
    def body(self) -> Iterator[None]:
        """For the body of a step: note that it is entered, and how it is left."""
        step = current_step()
        fields = {
            "run_id": step.run_id,
            "key": step.key,
            "attempt": step.attempt,
            "idempotency_key": step.idempotency_key,
        }
        self.write(Event.ENTERED, **fields)
        outcome = RETURNED
        try:
            yield
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            self.write(Event.LEFT, **fields, outcome=outcome)


def read_journal(path: Path) -> tuple[Line, ...]:
    """Every line that can be read. One without its end was being written when its process died."""
    if not path.exists():
        return ()
    *whole, _ = path.read_bytes().split(b"\n")
    lines = []
    for text in whole:
        start = max(0, text.rfind(BEGINNING))  # whoever wrote behind a torn line wrote a whole one
        with suppress(msgspec.DecodeError):  # as good as gone, and found missing as such
            lines.append(_decoder.decode(text[start:]))
    return tuple(lines)
