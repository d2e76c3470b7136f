"""What is done at a hook point of a scenario, and at which of them: for tests on either database."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from zlib import crc32

import pytest

from tests.crash import stories_of_graphs, stories_of_pipelines, stories_of_signals
from tests.crash.places import Places
from tests.crash.scenarios import SCENARIOS
from tests.crash.telling import told
from tests.lives.crashes import Case, Scenario, play
from tests.lives.faults import Moment, Point
from tests.scale import SCALE

TRIES = 5  # to find a point that is reached this time too

PRESENCE = frozenset({"register_worker", "deregister_worker", "heartbeat"})  # the same in every story
COMMON = frozenset({"start_runs", "begin_steps", "complete_steps"})  # nearly so
KNOWN = {
    stories_of_graphs.__name__: frozenset({"claim_runs"}),  # of jobs: those of any run
    stories_of_pipelines.__name__: frozenset({"declare"}),  # of schedules, of which there are none
}

ON_SQLITE = {stories_of_signals.__name__: stories_of_signals.TRANSACTIONS}  # all of them are tried in test_signals.py


def each_of(scenarios: Sequence[Scenario]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scenario", scenarios, ids=lambda scenario: scenario.name.replace(" ", "-"))


def every_scenario_of(theme: ModuleType) -> pytest.MarkDecorator:
    """Those that this module tells."""
    return each_of([scenario for scenario in SCENARIOS if scenario.drive.__module__ == theme.__name__])


every_scenario = each_of(SCENARIOS)


@pytest.mark.spec("invariants:I-01", "invariants:I-02", "invariants:I-03", "invariants:I-04", "invariants:I-05")
@pytest.mark.spec("invariants:I-06", "invariants:I-07", "invariants:I-08", "invariants:I-09", "invariants:I-10")
@pytest.mark.spec("invariants:I-11", "invariants:I-12", "invariants:I-13", "invariants:I-14", "invariants:I-15")
@pytest.mark.spec("invariants:I-16", "invariants:I-17", "invariants:I-18", "invariants:I-19", "invariants:I-20")
@pytest.mark.spec("invariants:I-21", "invariants:I-23", "invariants:I-24", "invariants:I-25", "invariants:I-26")
@pytest.mark.spec("invariants:I-27", "invariants:I-28", "invariants:I-29", "invariants:I-30", "invariants:I-31")
@pytest.mark.spec("invariants:I-32", "invariants:I-50", "invariants:I-51", "invariants:I-53", "invariants:I-54")
@pytest.mark.spec("invariants:I-33", "invariants:I-34", "invariants:I-35", "invariants:I-36", "invariants:I-37")
@pytest.mark.spec("invariants:I-38", "invariants:I-39", "invariants:I-40", "invariants:I-41", "invariants:I-44")
@pytest.mark.spec("invariants:I-45", "invariants:I-57", "invariants:I-64", "invariants:I-65")
class EveryPoint:
    """The test of the files in `points`. Each has one theme: they take longest, and files are executed side by side."""

    def test_a_crash_at_any_point_loses_nothing_and_repeats_nothing(
        self, scenario: Scenario, places: Places, figures: list[str]
    ) -> None:
        crash_everywhere(scenario, places, figures)


def crash_everywhere(scenario: Scenario, places: Places, figures: list[str]) -> None:
    """Tell a story once for each of its points, with a crash there: nothing is lost, and nothing repeated."""
    calm = told(scenario, places)
    assert calm.complaints == []
    points = worth_a_try(calm, scenario, places)

    complaints: dict[Point, list[str]] = {}
    exercised: list[Point] = []
    for point in points:
        case = crashed(scenario, places, point, bound_for=scenario.bound_for(calm.lasted_for))
        exercised += case.crashes
        if case.complaints:
            complaints[point] = case.complaints

    figures.append(f"{places.name:10}  {scenario.name:34} {len(exercised):3} of {len(points):3} points")
    assert complaints == {}
    assert sorted(exercised) == sorted(points)


def crashed(scenario: Scenario, places: Places, point: Point, *, bound_for: int) -> Case:
    """The story with a crash. On several connections batches form anew each time, and a point may not come about."""
    for _ in range(TRIES):
        case = play(scenario, places.fresh(), crash_at=[point], bound_for=bound_for)
        if case.crashes:
            break
    return case


def worth_a_try(calm: Case, scenario: Scenario, places: Places) -> list[Point]:
    """Every point; at the small size, those that are not tried elsewhere.

    On a server each costs three times as much. Before the beginning of a transaction the rows are those that the last
    one has left, as before its commit, and only what clients have heard differs: SQLite is asked, at every sixth of
    these points. Of stories that clients tell again, what is new in them, at every second point. On a server every
    third point, and of what is told again every fourth.
    """
    (points,) = calm.points
    if SCALE > 1:
        return points
    on_a_server = places.name == "postgresql"
    known = PRESENCE | COMMON if on_a_server else PRESENCE
    share = (4 if on_a_server else 2) if scenario.is_told_again else (3 if on_a_server else 1)
    known |= KNOWN.get(scenario.declare.__module__, frozenset())
    known |= frozenset() if on_a_server else ON_SQLITE.get(scenario.declare.__module__, frozenset())
    return [
        point
        for point in points
        if not (point.moment is Moment.BEFORE_BEGIN and (on_a_server or _is_left_out(point, one_of=6)))
        and not (scenario.is_told_again and point.transaction in known)
        and not _is_left_out(point, one_of=share)
    ]


def _is_left_out(point: Point, *, one_of: int) -> bool:
    return bool(crc32(repr(point).encode()) % one_of)
