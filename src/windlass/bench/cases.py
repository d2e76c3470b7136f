"""Which cases there are, how large each is, and what its figures are called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from windlass.bench import latency, workloads
from windlass.bench.site import Site

RATE, TIME, TIMES = "/s", "ms", "×"


class Beside(Struct, frozen=True):
    """What the bare store does in place of it: a figure of the same case or of `raw`."""

    key: str
    unit: str
    words: str


class Figure(Struct, frozen=True):
    key: str  # in the record
    words: str
    unit: str
    beside: Beside | None = None


class Case(Struct, frozen=True, kw_only=True):
    run: Callable[[Site, int], Awaitable[dict[str, float]]]
    size: int  # in full
    brief: int  # for a look of half a minute, as `windlass bench` takes
    figures: tuple[Figure, ...]


RAW = "raw"
ROWS = Beside("rows_per_second", RATE, "{} rows/s")
COMMIT = Beside("commit_ms", TIME, "{} ms a commit")
COMMITS = Beside("twelve_commits_ms", TIME, "{} ms for 12 commits")

CASES = {
    RAW: Case(
        run=workloads.raw,
        size=500,
        brief=500,
        figures=(
            Figure("commits_per_second", "bare commits of one row", RATE),
            Figure("rows_per_second", "bare rows, 500 to a commit", RATE),
        ),
    ),
    "steps": Case(
        run=workloads.steps,
        size=1_000,
        brief=1_000,
        figures=(Figure("steps_per_second", "steps of {size} runs × 10", RATE, ROWS),),
    ),
    "drain": Case(
        run=workloads.drain,
        size=10_000,
        brief=10_000,
        figures=(Figure("runs_per_second", "drain of {size} waiting runs", RATE, ROWS),),
    ),
    "starts_each": Case(
        run=workloads.starts_each,
        size=10_000,
        brief=10_000,
        figures=(Figure("starts_per_second", "{size} starts, one call each", RATE, ROWS),),
    ),
    "starts_batch": Case(
        run=workloads.starts_batch,
        size=10_000,
        brief=10_000,
        figures=(Figure("starts_per_second", "{size} starts, one call", RATE, ROWS),),
    ),
    "ten_steps": Case(
        run=latency.ten_steps,
        size=50,
        brief=30,
        figures=(
            Figure("ten_steps_ms", "one run of 10 steps, idle", TIME, COMMITS),
            Figure("ratio", "the same to 12 bare commits", TIMES),
        ),
    ),
    "first_line": Case(
        run=latency.first_line,
        size=200,
        brief=50,
        figures=(
            Figure("local_ms", "first line, dispatched locally", TIME, COMMIT),
            Figure("claimed_ms", "first line, through a claim", TIME, COMMIT),
        ),
    ),
    "first_line_across": Case(
        run=latency.first_line_across,
        size=100,
        brief=30,
        figures=(Figure("across_ms", "first line, in another process", TIME, COMMIT),),
    ),
    "replay": Case(
        run=latency.replay,
        size=1_000,
        brief=1_000,
        figures=(
            Figure("replay_ms", "replay of {size} steps", TIME),
            Figure("woken_ms", "the same from the wake-up on", TIME),
        ),
    ),
}
