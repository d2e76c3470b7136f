"""Is it as fast beside half a million runs that concern somebody else?

Two databases of a store side by side, one loaded and one not: a drain here, a drain there, in changing order, and the
ratio of each pair. Then the claim that finds nothing, and the one that finds more than it asks for.
"""

from __future__ import annotations

import asyncio

from bench.course import Course
from bench.load import load, settle
from bench.pairs import interleave
from bench.programs import CLAIMS, WINDLASS
from bench.targets import LOADS, STORES


def measure_flat(course: Course) -> None:
    for store in STORES:
        for kind in LOADS:
            _beside(course, store, kind)
        _much_due(course, store)


def _beside(course: Course, store: str, kind: str) -> None:
    sizes = course.sizes
    with course.databases.fresh(store) as loaded, course.databases.fresh(store) as empty:
        course.say(f"loading {sizes.others:,} runs: {kind} ({store}) …")
        for url, count in ((loaded, sizes.others), (empty, 1)):
            asyncio.run(load(url, kind, count=count))
            asyncio.run(settle(url))
        claims = [CLAIMS.run("empty", url=loaded, size=sizes.claims).figures for _ in range(min(3, sizes.flat_rounds))]
        course.add(f"empty_claim_{kind}", store, [claim["empty_ms"] for claim in claims])
        course.add(f"empty_poll_{kind}", store, [claim["poll_ms"] for claim in claims])

        def drain(url: str) -> float:
            return WINDLASS.run("drain", url=url, size=sizes.waiting).figures["runs_per_second"]

        pairs = interleave(lambda: drain(loaded), lambda: drain(empty), rounds=sizes.flat_rounds)
        course.add(f"flat_{kind}", store, [pair.ratio for pair in pairs])


def _much_due(course: Course, store: str) -> None:
    with course.databases.fresh(store) as url:
        asyncio.run(load(url, "due", count=course.sizes.due))
        asyncio.run(settle(url))
        record = CLAIMS.run("hundred", url=url, size=course.sizes.claims)
        course.add("claim_hundred", store, [record.figures["hundred_ms"]])
