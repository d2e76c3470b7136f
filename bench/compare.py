"""How does Windlass stand beside its peers and beside the bare database?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from bench.course import Course
from bench.pairs import Pair, interleave
from bench.programs import Program, peer
from bench.targets import POSTGRESQL, SQLITE, STORES

STEPS, RUNS = "steps_per_second", "runs_per_second"
# What `python -m windlass.bench.once` is asked, and which figure is made of what it answers.
CASES = {
    "ten_steps": {"ten_steps_ms": "ten_steps_ms", "ten_steps": "ratio"},
    "first_line": {"first_line_local": "local_ms", "first_line_claimed": "claimed_ms"},
    "first_line_across": {"first_line_across": "across_ms"},
    "starts_each": {"starts_each": "starts_per_second"},
    "starts_batch": {"starts_batch": "starts_per_second"},
    "replay": {"replay": "replay_ms"},
}
FULL_SIZE = {"replay", "starts_each", "starts_batch"}  # a smaller one would be another figure


def measure_raw(course: Course) -> None:
    _repeat(course, "raw", {"commit_ms": "commit_ms", "commits": "commits_per_second", "group_rows": "rows_per_second"})


def measure_alone(course: Course) -> None:
    for case, figures in CASES.items():
        _repeat(course, case, figures)


def _repeat(course: Course, case: str, figures: dict[str, str]) -> None:
    size = None if case in FULL_SIZE else course.sizes.case
    samples: dict[tuple[str, str], list[float]] = {}
    for _ in range(course.sizes.rounds):  # the stores in turn, so that a slow minute meets both
        for store in STORES:
            record = course.windlass(case, store, size=size)
            for figure, name in figures.items():
                samples.setdefault((figure, store), []).append(record.figures[name])
    for (figure, store), found in samples.items():
        course.add(figure, store, found)


def measure_steps(course: Course) -> None:
    """Runs of ten steps, beside DBOS on either store."""
    size = course.sizes.dbos_runs
    rivals = (
        Rival("dbos", SQLITE, "steps", size),
        Rival("dbos_wal", SQLITE, "steps_wal", size),
        Rival("dbos", POSTGRESQL, "steps", size),
    )
    _beside(course, "steps", lambda store: _steps(course, store), rivals)


def measure_drain(course: Course) -> None:
    """Runs that wait, beside whoever drains that store."""
    sizes = course.sizes
    rivals = (
        Rival("dbos", SQLITE, "drain", sizes.dbos_waiting),
        Rival("dbos_wal", SQLITE, "drain_wal", sizes.dbos_waiting),
        Rival("pgqueuer", POSTGRESQL, "drain", sizes.waiting),
        Rival("dbos", POSTGRESQL, "drain", sizes.dbos_waiting),
        Rival("procrastinate", POSTGRESQL, "drain", sizes.procrastinate_waiting),
    )
    _beside(course, "drain", lambda store: _drain(course, store), rivals)


class Rival(NamedTuple):
    """A peer on a store, as the figures call it."""

    name: str
    store: str
    case: str
    size: int

    @property
    def program(self) -> Program:
        return peer(self.name.removesuffix("_wal"))


def _beside(course: Course, what: str, ours: Callable[[str], float], rivals: Sequence[Rival]) -> None:
    """Add the rate of each, and that of Windlass in all the pairs of a store."""
    rounds = course.sizes.rounds
    if not course.has_peers:
        for store in STORES:
            course.add(what, store, [ours(store) for _ in range(rounds)])
        return
    samples: dict[str, list[float]] = {store: [] for store in STORES}
    for rival in rivals:
        pairs = _pairs(course, rival, partial(ours, rival.store))
        samples[rival.store] += [pair.ours for pair in pairs]
        course.add(f"{rival.name}_{what}", rival.store, [pair.theirs for pair in pairs])
        course.add(f"{what}_over_{rival.name}", rival.store, [pair.ratio for pair in pairs])
    for store, found in samples.items():
        course.add(what, store, found)


def _pairs(course: Course, rival: Rival, ours: Callable[[], float]) -> list[Pair]:
    program = rival.program  # made now, if it has to be: not while somebody else is measured

    def theirs() -> float:
        (rate,) = course.run(program, rival.case, rival.store, size=rival.size).figures.values()
        return rate

    course.say(f"{rival.case} beside {program.name} ({rival.store}) …")
    return interleave(ours, theirs, rounds=course.sizes.rounds)


def _steps(course: Course, store: str) -> float:
    return course.windlass("steps", store, size=course.sizes.runs).figures[STEPS]


def _drain(course: Course, store: str) -> float:
    return course.windlass("drain", store, size=course.sizes.waiting).figures[RUNS]
