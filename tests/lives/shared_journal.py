"""One journal for several processes that are alive at once, each of which may be killed in the middle of a line.

All of them append to the same file, so the order of its lines is the order in which things were written down: what
happened before its line, happened before everything that was begun after it. No clock is asked.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tests.lives.journal import Journal, Line
from windlass.runtime import Clock

_decoder = msgspec.json.Decoder(Line)


class SharedJournal(Journal):
    """The journal as one process writes it: `number` is its own among all that ever wrote here, from 1."""

    def __init__(self, path: Path, *, number: int, clock: Clock) -> None:
        super().__init__(path)
        self._life = number - 1
        self.begin_life(clock)

    def _append(self, line: bytes) -> None:
        """It begins on a line of its own, behind whatever a dying process left half done.

        It is not forced to disk: what a killed process had written, its operating system keeps.
        """
        os.write(self._file, b"\n" + line + b"\n")


def read_shared_journal(path: Path) -> tuple[Line, ...]:
    """Every whole line. A torn one was being written when its process died, and never happened."""
    found = []
    for text in path.read_bytes().split(b"\n"):
        try:
            found.append(_decoder.decode(text))
        except msgspec.DecodeError:
            continue
    return tuple(found)
