"""How fast are pipelines, beside what the database alone allows, and does what is over cost anything?"""

from __future__ import annotations

from bench.course import Course
from bench.pairs import interleave
from bench.programs import PIPELINES, WINDLASS
from bench.targets import STORES

RUNS, EVENTS = "runs_per_second", "events_per_second"
COMMITS = 5  # claim and T1 to T4


def measure_pipelines(course: Course) -> None:
    for store in STORES:
        _phases(course, store)
        _others(course, store)
        _flat(course, store)


def _phases(course: Course, store: str) -> None:
    """Beside bare commits, of which the textbook needs five for each event."""

    def ours() -> float:
        return course.run(PIPELINES, "phases", store, size=course.sizes.handled).figures[RUNS]

    def commits() -> float:
        return course.run(WINDLASS, "raw", store).figures["commits_per_second"] / COMMITS

    pairs = interleave(ours, commits, rounds=course.sizes.rounds)
    course.add("pipeline", store, [pair.ours for pair in pairs])
    course.add("pipeline_over_commits", store, [pair.ratio for pair in pairs])
    chosen = [
        course.run(PIPELINES, "chosen", store, size=course.sizes.handled).figures[RUNS]
        for _ in range(course.sizes.rounds)
    ]
    course.add("pipeline_chosen", store, chosen)


def _others(course: Course, store: str) -> None:
    rounds = range(course.sizes.rounds)
    many = [course.run(PIPELINES, "many", store, size=course.sizes.handled).figures[RUNS] for _ in rounds]
    course.add("pipelines", store, many)
    batch = [course.run(PIPELINES, "batch", store, size=course.sizes.events).figures[EVENTS] for _ in rounds]
    course.add("pipeline_batch", store, batch)
    publish = [course.run(PIPELINES, "publish", store, size=course.sizes.events).figures[EVENTS] for _ in rounds]
    course.add("publish", store, publish)


def _flat(course: Course, store: str) -> None:
    def beside() -> float:
        return course.run(PIPELINES, "beside", store, size=course.sizes.handled).figures[RUNS]

    def alone() -> float:
        return course.run(PIPELINES, "phases", store, size=course.sizes.handled).figures[RUNS]

    pairs = interleave(beside, alone, rounds=course.sizes.rounds)
    course.add("pipeline_flat", store, [pair.ratio for pair in pairs])
