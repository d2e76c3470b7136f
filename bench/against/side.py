"""One of two trees that are compared: measures with the bench of its own tree, one measurement a turn.

    python -P side.py       with an interpreter that finds `bench` and `windlass` in that tree

The other end of the pipe says which part and how large, a line of JSON each; we answer with what was measured. After
each measurement the turn is the other tree's, until a line comes back. The file is always that of the newer tree, the
bench is that of either: only what f2697f2 has may be asked of it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import windlass
from bench import flat, programs, wire
from bench.course import Course, Sizes
from bench.databases import Databases
from bench.idle import measure_idle
from bench.run import PARTS
from bench.targets import FIGURES, STORES


def measure_claim(course: Course) -> None:
    for store in STORES:
        flat._much_due(course, store)


# A part measures these once, however many rounds it is asked for. The rest of the pairs is measured behind it.
ONCE: dict[str, Callable[[Course], None]] = {"flat": measure_claim, "idle": measure_idle, "wire": wire._idle}


class Pipe:
    """Lines of JSON, on what was our standard output: what the bench prints goes to the standard error."""

    def __init__(self) -> None:
        self._output = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(self, **told: Any) -> None:
        self._output.write(json.dumps(told) + "\n")
        self._output.flush()

    def hear(self) -> dict[str, Any] | None:
        line = sys.stdin.readline()
        return json.loads(line) if line else None


class Turn:
    """A measurement is over with its database; where a database serves several, each is a turn of its own."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._open = 0  # databases
        self._is_whole = False  # the database is there for one measurement
        self._was_given = False  # since the first of the open ones was opened

    @contextmanager
    def opened(self) -> Iterator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def closed(self) -> None:
        if self._open:
            return
        if not self._was_given:
            self._give()
        self._was_given = False

    @contextmanager
    def whole(self) -> Iterator[None]:
        self._is_whole = True
        try:
            yield
        finally:
            self._is_whole = False

    def measured(self) -> None:
        if not self._is_whole:
            self._give()
            self._was_given = self._open > 0

    def reset(self) -> None:
        self._open, self._is_whole, self._was_given = 0, False, False

    def _give(self) -> None:
        self._pipe.tell(turn=True)
        if self._pipe.hear() is None:
            raise KeyboardInterrupt


class TurnDatabases(Databases):
    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self._turn = turn

    @contextmanager
    def fresh(self, store: str) -> Iterator[str]:
        with self._turn.opened(), super().fresh(store) as url:
            yield url
        self._turn.closed()


class TurnCourse(Course):
    def __init__(self, databases: TurnDatabases, sizes: Sizes, turn: Turn, pipe: Pipe) -> None:
        super().__init__(databases, sizes, command="", has_peers=False)
        self._turn, self._pipe = turn, pipe

    def run(self, program: programs.Program, case: str, store: str, *, size: int | None = None) -> programs.Record:
        with self.databases.fresh(store) as url, self._turn.whole():
            return program.run(case, url=url, size=size)

    def add(self, figure: str, store: str, samples: Sequence[float]) -> None:
        self._pipe.tell(figure=figure, store=store, samples=list(samples))

    def say(self, text: str) -> None:
        self._pipe.tell(say=text)


def measure(part: str, course: Course) -> None:
    PARTS[part](course)
    for _ in range(course.sizes.rounds - 1):
        if part in ONCE:
            ONCE[part](course)


def asked_sizes(asked: Mapping[str, Any]) -> Sizes:
    """As the newer tree says, as far as this one knows it: both measure the same."""
    known = {name: value for name, value in asked.items() if name in Sizes._fields}
    return Sizes()._replace(**known)


def introduction() -> dict[str, Any]:
    figures = {}
    for figure in FIGURES:
        targets = list(figure.targets.values())
        figures[figure.name] = {
            "text": figure.text,
            "unit": figure.unit,
            "is_ceiling": targets[0].is_ceiling if targets else None,
        }
    return {"windlass": str(Path(windlass.__file__).parent), "parts": list(PARTS), "figures": figures}


def main() -> None:
    pipe = Pipe()
    turn = Turn(pipe)
    plain = programs.Program.run

    def run(self: programs.Program, case: str, *, url: str, size: int | None = None) -> programs.Record:
        record = plain(self, case, url=url, size=size)
        turn.measured()
        return record

    programs.Program.run = run  # type: ignore[method-assign]
    with TurnDatabases(turn) as databases:
        pipe.tell(**introduction(), postgres=databases.postgres_version)
        while (asked := pipe.hear()) is not None:
            try:
                measure(asked["part"], TurnCourse(databases, asked_sizes(asked["sizes"]), turn, pipe))
            except Exception as error:
                traceback.print_exc()
                turn.reset()
                pipe.tell(failed=f"{type(error).__name__}: {error}")
            else:
                pipe.tell(over=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
