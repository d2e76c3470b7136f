"""How fast are graphs, and does a large one cost more than a small one? DBOS runs child workflows in their place."""

from __future__ import annotations

from collections.abc import Callable

from bench.course import Course
from bench.pairs import interleave
from bench.programs import GRAPHS, WINDLASS, peer
from bench.targets import STORES

JOBS = "jobs_per_second"


def measure_graphs(course: Course) -> None:
    for store in STORES:
        _chain(course, store)
        _fan(course, store)
        _large(course, store)


def _chain(course: Course, store: str) -> None:
    """Beside bare commits, of which a chain needs at least one for each job; and beside DBOS."""

    def ours() -> float:
        return course.run(GRAPHS, "chain", store, size=course.sizes.chain).figures[JOBS]

    def commits() -> float:
        return course.run(WINDLASS, "raw", store).figures["commits_per_second"]

    pairs = interleave(ours, commits, rounds=course.sizes.rounds)
    rates = [pair.ours for pair in pairs]
    course.add("chain_over_commits", store, [pair.ratio for pair in pairs])
    rates += _beside_dbos(course, store, "chain", ours)
    course.add("chain", store, rates)


def _fan(course: Course, store: str) -> None:
    def ours() -> float:
        return course.run(GRAPHS, "fan", store, size=course.sizes.jobs).figures[JOBS]

    rates = _beside_dbos(course, store, "fan", ours) or [ours() for _ in range(course.sizes.rounds)]
    course.add("fan", store, rates)


def _beside_dbos(course: Course, store: str, case: str, ours: Callable[[], float]) -> list[float]:
    """Our rates in the pairs with theirs; none if no peer is to be measured."""
    if not course.has_peers:
        return []
    program, size = peer("dbos"), course.sizes.dbos_children

    def theirs() -> float:
        return course.run(program, case, store, size=size).figures[JOBS]

    course.say(f"{case} of jobs beside DBOS ({store}) …")
    pairs = interleave(ours, theirs, rounds=course.sizes.rounds)
    course.add(f"dbos_{case}", store, [pair.theirs for pair in pairs])
    course.add(f"{case}_over_dbos", store, [pair.ratio for pair in pairs])
    return [pair.ours for pair in pairs]


def _large(course: Course, store: str) -> None:
    created: list[float] = []
    finished: list[float] = []
    ratios: list[float] = []
    for _ in range(course.sizes.rounds):
        created.append(course.run(GRAPHS, "create", store, size=course.sizes.jobs).figures["create_seconds"])
        figures = course.run(GRAPHS, "finish", store, size=course.sizes.jobs).figures
        finished.append(figures["large_ms"])
        ratios.append(figures["ratio"])
    course.add("create_graph", store, created)
    course.add("finish_job", store, finished)
    course.add("finish_flat", store, ratios)
