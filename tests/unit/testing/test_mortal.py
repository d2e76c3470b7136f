"""Does a worker die where it was told to, once, and is the place named so that one can find it?"""

from __future__ import annotations

import windlass.testing
from tests.architecture.documents import is_named
from tests.architecture.source import ROOT
from windlass.testing.mortal import CrashPoint, Fate, PlannedCrash

HOW_TO = ROOT / "docs" / "how-to" / "testing-your-workflows.md"


def point(write: str = "complete_step", *keys: str, time: int = 0, is_after: bool = False) -> CrashPoint:
    return CrashPoint(write, "order", keys, time, is_after)


def test_a_place_is_named_by_what_is_recorded() -> None:
    assert str(point("complete_step", "pack", time=1)) == "before the result of 'pack' in order was recorded"
    assert str(point("finish_run", time=1, is_after=True)) == "after the end of order was recorded"
    assert str(point("claim_runs", time=2, is_after=True)) == "after the claim of order was recorded (time 2)"
    assert str(point("suspend_run", "sleep", "fetch", time=1)).startswith("before the wait of 'sleep' and 'fetch' in")


def test_a_place_that_comes_again_is_another_one() -> None:
    fate = Fate()

    assert not any([fate.reach(point("renew_claim")), fate.reach(point("renew_claim"))])

    assert [item.time for item in fate.points] == [1, 2]


def test_a_worker_dies_at_its_place_and_its_successor_does_not() -> None:
    fate = Fate(crash_at=point("complete_step", "pack", time=2))

    died = [fate.reach(point("complete_step", "pack")) for _ in range(3)]

    assert died == [False, True, False]
    assert fate.has_crashed


def test_a_planned_crash_comes_once_for_each_time_it_was_asked_for() -> None:
    fate = Fate()
    fate.plans += [PlannedCrash("pack", is_after=True), PlannedCrash("pack", is_after=True)]
    places = [
        point("begin_step", "pack", is_after=True),
        point("complete_step", "pack"),
        point("complete_step", "ship"),
    ]

    assert not any(fate.reach(place) for place in places)
    assert [fate.reach(point("complete_step", "pack", is_after=True)) for _ in range(3)] == [True, True, False]
    assert [str(plan) for plan in fate.plans] == ["crash(after='pack')"] * 2


def test_what_is_offered_for_tests_is_explained() -> None:
    text = HOW_TO.read_text()

    assert [name for name in windlass.testing.__all__ if not is_named(name, text)] == []
    assert [name for name in windlass.testing.__all__ if not hasattr(windlass.testing, name)] == []
