"""What do signals cost those whom they do not watch, what those whom they do, and how soon do they act?"""

from __future__ import annotations

import asyncio

from bench.course import Course
from bench.load import load, settle
from bench.pairs import interleave
from bench.programs import SIGNALS, WINDLASS
from bench.signal_load import watch_loaded
from bench.targets import STORES

RUNS, FIRED = "runs_per_second", "fired_runs_per_second"


def measure_signals(course: Course) -> None:
    for store in STORES:
        _others(course, store)
        _own(course, store)
        _soon(course, store)


def _others(course: Course, store: str) -> None:
    """Two databases side by side, both with runs that are due tomorrow; in one of them each of these is watched."""
    sizes = course.sizes
    with course.databases.fresh(store) as loaded, course.databases.fresh(store) as plain:
        course.say(f"arming {sizes.armed:,} signals ({store}) …")
        for url in (loaded, plain):
            asyncio.run(load(url, "tomorrow", count=sizes.armed))
        asyncio.run(watch_loaded(loaded))
        for url in (loaded, plain):
            asyncio.run(settle(url))

        def drain(url: str) -> float:
            return WINDLASS.run("drain", url=url, size=sizes.waiting).figures[RUNS]

        pairs = interleave(lambda: drain(loaded), lambda: drain(plain), rounds=sizes.flat_rounds)
        course.add("signals_flat", store, [pair.ratio for pair in pairs])


def _own(course: Course, store: str) -> None:
    fired: list[float] = []

    def watched() -> float:
        figures = course.run(SIGNALS, "watched", store, size=course.sizes.waiting).figures
        fired.append(figures[FIRED])
        return figures[RUNS]

    def alone() -> float:
        return course.run(SIGNALS, "alone", store, size=course.sizes.waiting).figures[RUNS]

    pairs = interleave(watched, alone, rounds=course.sizes.rounds)
    course.add("signals_watched", store, [pair.ratio for pair in pairs])
    course.add("signals_fired", store, fired)


def _soon(course: Course, store: str) -> None:
    rounds = range(course.sizes.rounds)
    follow = [course.run(SIGNALS, "follow", store, size=course.sizes.case).figures for _ in rounds]
    course.add("follow_item", store, [figures["item_ms"] for figures in follow])
    course.add("follow_run", store, [figures["run_ms"] for figures in follow])
    across = [course.run(SIGNALS, "across", store, size=course.sizes.case).figures["across_ms"] for _ in rounds]
    course.add("follow_across", store, across)
