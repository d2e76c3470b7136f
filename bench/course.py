"""What one run of the bench is given: how large, how often, on which databases; and where its figures go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bench.databases import Databases
from bench.pairs import Spread
from bench.programs import WINDLASS, Program, Record
from bench.results import Results
from bench.table import number
from bench.targets import BY_NAME


class Sizes(NamedTuple):
    """How many of what. A slow peer is given fewer, so that both of a pair meet the same minute."""

    rounds: int = 5
    flat_rounds: int = 5
    runs: int = 1_000  # of ten steps
    waiting: int = 10_000  # to be drained
    dbos_runs: int = 200  # of ten steps
    dbos_waiting: int = 2_000
    procrastinate_waiting: int = 1_000
    chain: int = 1_000  # jobs, each of which needs the one before
    jobs: int = 10_000  # of a large graph
    dbos_children: int = 300
    handled: int = 2_000  # events that go through a pipeline one by one
    events: int = 50_000  # published, or consumed a hundred at a time
    armed: int = 100_000  # signals on what nobody touches
    shown: int = 100_000  # runs behind a page
    requests: int = 30  # of each page
    others: int = 500_000  # rows that concern somebody else
    due: int = 200_000
    claims: int = 100
    idle_seconds: float = 60.0
    fed: tuple[int, ...] = (10_000, 100_000)  # when the size of a worker is looked at
    case: int | None = None  # of the remaining cases; as they come


QUICK = Sizes(
    rounds=1,
    flat_rounds=1,
    runs=100,
    waiting=1_000,
    dbos_runs=20,
    dbos_waiting=200,
    procrastinate_waiting=200,
    chain=100,
    jobs=1_000,
    dbos_children=50,
    handled=200,
    events=2_000,
    armed=5_000,
    shown=5_000,
    requests=10,
    others=5_000,
    due=15_000,
    claims=50,
    idle_seconds=5.0,
    fed=(1_000, 3_000),
    case=20,
)


class Course:
    def __init__(self, databases: Databases, sizes: Sizes, *, command: str, has_peers: bool = True) -> None:
        self.databases, self.sizes, self.has_peers = databases, sizes, has_peers
        self.results = Results()
        self._command = command
        self._began = time.monotonic()

    def run(self, program: Program, case: str, store: str, *, size: int | None = None) -> Record:
        """Measure one case in a fresh process on a fresh database."""
        with self.databases.fresh(store) as url:
            return program.run(case, url=url, size=size)

    def windlass(self, case: str, store: str, *, size: int | None = None) -> Record:
        return self.run(WINDLASS, case, store, size=size)

    def add(self, figure: str, store: str, samples: Sequence[float]) -> None:
        """Keep what was measured, and say it."""
        today = datetime.now(UTC).date().isoformat()
        self.results.add(figure, store, samples, on=today, command=self._command)
        spread, about = Spread.of(samples), BY_NAME[figure]
        is_reached = about.is_reached(store, spread.median)
        verdict = "" if is_reached is None else "   reached" if is_reached else "   MISSED"
        self.say(
            f"{about.text} ({store}): {number(spread.median)} {about.unit}"
            f" [{number(spread.low)} – {number(spread.high)}]{verdict}"
        )

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {text}", flush=True)
