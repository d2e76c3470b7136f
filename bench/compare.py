"""How does Windlass stand beside its peers and beside the bare database?"""

from __future__ import annotations

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
    for store in STORES:
        if not course.has_peers:
            course.add("steps", store, [_steps(course, store) for _ in range(course.sizes.rounds)])
            continue
        pairs = _pairs(course, peer("dbos"), "steps", STEPS, store, size=course.sizes.dbos_runs)
        course.add("steps", store, [pair.ours for pair in pairs])
        course.add("dbos_steps", store, [pair.theirs for pair in pairs])
        course.add("steps_over_dbos", store, [pair.ratio for pair in pairs])


def measure_drain(course: Course) -> None:
    """Runs that wait, beside whoever drains that store."""
    if not course.has_peers:
        for store in STORES:
            course.add("drain", store, [_drain(course, store) for _ in range(course.sizes.rounds)])
        return
    sizes = course.sizes
    ours: dict[str, list[float]] = {store: [] for store in STORES}
    for name, store, size in (
        ("dbos", SQLITE, sizes.dbos_waiting),
        ("pgqueuer", POSTGRESQL, sizes.waiting),
        ("dbos", POSTGRESQL, sizes.dbos_waiting),
        ("procrastinate", POSTGRESQL, sizes.procrastinate_waiting),
    ):
        pairs = _pairs(course, peer(name), "drain", RUNS, store, size=size)
        ours[store] += [pair.ours for pair in pairs]
        course.add(f"{name}_drain", store, [pair.theirs for pair in pairs])
        course.add(f"drain_over_{name}", store, [pair.ratio for pair in pairs])
    for store, samples in ours.items():
        course.add("drain", store, samples)


def _pairs(course: Course, other: Program, case: str, figure: str, store: str, *, size: int) -> list[Pair]:
    def ours() -> float:
        return _steps(course, store) if case == "steps" else _drain(course, store)

    def theirs() -> float:
        return course.run(other, case, store, size=size).figures[figure]

    course.say(f"{case} beside {other.name} ({store}) …")
    return interleave(ours, theirs, rounds=course.sizes.rounds)


def _steps(course: Course, store: str) -> float:
    return course.windlass("steps", store, size=course.sizes.runs).figures[STEPS]


def _drain(course: Course, store: str) -> float:
    return course.windlass("drain", store, size=course.sizes.waiting).figures[RUNS]
