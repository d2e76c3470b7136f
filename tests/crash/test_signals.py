"""Is a cause lost, or anything done twice, if the process dies around a transaction about signals? Each is tried.

Beside what every story is tried for: whoever is started again comes to the same end as if nothing had happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.crash import stories_of_signals
from tests.crash.every_point import crashed, each_of
from tests.crash.places import Places
from tests.crash.scenarios import SCENARIOS, named
from tests.crash.stories_of_signals import TRANSACTIONS
from tests.crash.telling import told
from tests.invariants.evidence import Snapshot
from tests.lives.crashes import Scenario
from tests.lives.faults import Moment, Point
from tests.scale import SCALE
from windlass.model.signal import FiringStatus

OURS = [scenario for scenario in SCENARIOS if scenario.declare.__module__ == stories_of_signals.__name__]

every_story = each_of(OURS)


def points_of(scenario: Scenario, places: Places) -> list[Point]:
    (points,) = told(scenario, places).points
    return [point for point in points if point.transaction in TRANSACTIONS]


def crash_at(points: Sequence[Point], scenario: Scenario, places: Places) -> tuple[dict[Point, Any], list[Point]]:
    """What was wrong behind each of them, and at which the process did die."""
    calm = told(scenario, places)
    wrong: dict[Point, Any] = {}
    exercised: list[Point] = []
    for point in points:
        case = crashed(scenario, places, point, bound_for=scenario.bound_for(calm.lasted_for))
        exercised += case.crashes
        if case.complaints or ending(case.evidence.last) != ending(calm.evidence.last):
            wrong[point] = case.complaints or ending(case.evidence.last)
    return wrong, exercised


def ending(last: Snapshot) -> dict[str, Any]:
    """What has come of it all, whoever did it, when and how often it was tried."""
    watched = last.watched
    names: dict[str, str] = {signal.id: signal.key or "" for signal in watched.signal_rows}
    return {
        "items": Counter(item.status for item in watched.items),
        "tasks": Counter((task.title, task.status) for task in watched.tasks),
        "signals": sorted((signal.key or "", signal.status, signal.fired) for signal in watched.signal_rows),
        "firings": Counter((names[row.signal_id], row.to_status, row.status) for row in watched.firing_rows),
        "announced": Counter(names.get(entry.subject_id, "") for entry, _ in last.announcements),
        "runs": Counter((run.name, run.status) for run in last.runs.values()),
    }


@pytest.mark.spec("invariants:I-46", "invariants:I-47", "invariants:I-48", "invariants:I-49", "signals:1", "signals:2")
@every_story
def test_a_crash_around_any_transaction_about_signals_changes_nothing(
    scenario: Scenario, sqlite: Places, figures: list[str]
) -> None:
    points = points_of(scenario, sqlite)

    wrong, exercised = crash_at(points, scenario, sqlite)

    figures.append(f"{sqlite.name:10}  {scenario.name:34} {len(exercised):3} of {len(points):3} points about signals")
    assert told(scenario, sqlite).complaints == []
    assert wrong == {}
    assert sorted(exercised) == sorted(points)


@pytest.mark.spec("invariants:I-46", "invariants:I-47", "invariants:I-48", "invariants:I-49", "signals:1", "signals:2")
def test_a_crash_around_each_transaction_about_signals_changes_nothing_on_a_server(
    postgresql: Places, figures: list[str]
) -> None:
    """At the small size each of them once, where it comes last: a case costs five times as much there."""
    chosen: dict[tuple[str, Moment], tuple[Scenario, Point]] = {}
    every = [(scenario, point) for scenario in OURS for point in points_of(scenario, postgresql)]
    for scenario, point in every:
        chosen[point.transaction, point.moment] = (scenario, point)
    tried = every if SCALE > 1 else list(chosen.values())

    wrong: dict[str, Any] = {}
    exercised: list[Point] = []
    for scenario in OURS:
        own = [point for other, point in tried if other is scenario]
        found, reached = crash_at(own, scenario, postgresql)
        wrong |= {f"{scenario.name}: {point}": text for point, text in found.items()}
        exercised += reached

    figures.append(f"{postgresql.name:10}  {'signals':34} {len(exercised):3} of {len(tried):3} points about signals")
    assert wrong == {}
    assert sorted(exercised) == sorted(point for _, point in tried)
    assert {name for name, _ in chosen} == TRANSACTIONS


def test_the_stories_about_signals_do_meet_what_they_are_about(places: Places) -> None:
    item = told(named("signals on an item"), places).evidence.last
    late = told(named("causes that are too late"), places).evidence.last
    runs = told(named("signals on runs that fail"), places).evidence.last
    times = told(named("signals on times"), places).evidence.last
    stuck = told(named("firings that cannot be worked"), places).evidence.last

    assert ending(item)["tasks"].total() == 3  # two when it was blocked, of which one waited for the resume; one after
    assert {entry.cause for entry in item.log} >= {"fire", "pause", "resume", "update", "cancel", "delete"}
    assert {row.error for row in late.watched.firing_rows if row.status is FiringStatus.SUPERSEDED} == {
        "its signal is fired",
        "its signal was cancelled",
        "its signal has fired for this subject",
    }
    assert ending(runs)["runs"] == {("order", "failed"): 2, ("page", "completed"): 5}
    assert {entry.cause for entry in runs.log} >= {"undeclared", "update"}
    assert ending(times)["firings"] == {("at", "due", "done"): 1, ("every", "due", "done"): 2}
    assert [entry.cause for entry in stuck.log if entry.subject_kind == "signal"].count("give_up") >= 2
