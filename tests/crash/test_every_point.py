"""Is anything lost or done twice if we die here? Asked at every hook point of every scenario, on both databases."""

from __future__ import annotations

import dataclasses
import random

import pytest
from msgspec.structs import replace

from tests.crash.places import Places
from tests.crash.scenarios import SCENARIOS
from tests.scale import SCALE
from windlass.model.time import SECOND, Duration
from windlass.testing.crashes import VISIBILITY, Case, Scenario, play
from windlass.testing.faults import Point
from windlass.testing.journal import Event
from windlass.testing.journalled_work import CLAIM_LOST

PAIRS = 50 * SCALE  # on each database
TRIES = 5  # to find a point that is reached this time too
NOTICED_WITHIN = 10 * SECOND  # three looks, and the time a server is given to bring sessions back

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))


@pytest.mark.spec(
    "invariants:I-01", "invariants:I-02", "invariants:I-03", "invariants:I-04", "invariants:I-05", "invariants:I-06"
)
@pytest.mark.spec("invariants:I-07", "invariants:I-08", "invariants:I-09", "invariants:I-10", "invariants:I-11")
@pytest.mark.spec("invariants:I-12", "invariants:I-15", "invariants:I-16", "invariants:I-17", "invariants:I-18")
@pytest.mark.spec("invariants:I-19", "invariants:I-20", "invariants:I-21", "invariants:I-23", "invariants:I-25")
@pytest.mark.spec("invariants:I-65")
@every_scenario
def test_a_crash_at_any_point_loses_nothing_and_repeats_nothing(
    scenario: Scenario, places: Places, figures: list[str]
) -> None:
    told = play(scenario, places.fresh())
    assert told.complaints == []
    (points,) = told.points

    complaints: dict[Point, list[str]] = {}
    exercised: list[Point] = []
    for point in points:
        case = play(scenario, places.fresh(), crash_at=[point], bound_for=scenario.bound_for(told.lasted_for))
        exercised += case.crashes
        if case.complaints:
            complaints[point] = case.complaints

    figures.append(f"{places.name:10}  {scenario.name:34} {len(exercised):3} of {len(points):3} points")
    assert complaints == {}
    assert sorted(exercised) == sorted(points)


@pytest.mark.spec("invariants:I-01", "invariants:I-03", "invariants:I-08", "invariants:I-12", "invariants:I-65")
def test_a_second_crash_during_the_recovery_loses_nothing_either(places: Places, figures: list[str]) -> None:
    chance = random.Random("pairs")
    complaints: dict[tuple[str, Point, Point], list[str]] = {}
    exercised = 0
    for number in range(PAIRS):
        scenario = SCENARIOS[number % len(SCENARIOS)]
        if number % 2:
            scenario = noticed(scenario)
        first = chance.choice(points_of(scenario, places))
        recovery = play(scenario, places.fresh(), crash_at=[first]).points[1]
        for _ in range(TRIES):
            second = chance.choice(recovery)
            case = play(scenario, places.fresh(), crash_at=[first, second])
            # On several connections batches form anew each time, and the last ones may not come about.
            if [text for text in case.complaints if "never reached" not in text] or len(case.crashes) == 2:
                break

        exercised += len(case.crashes) == 2
        if case.complaints:
            complaints[scenario.name, first, second] = case.complaints

    figures.append(f"{places.name:10}  {'a second crash in the recovery':34} {exercised:3} of {PAIRS:3} pairs")
    assert complaints == {}
    assert exercised == PAIRS


def noticed(scenario: Scenario) -> Scenario:
    """The same story among workers that look for the dead, so that what these held comes back long before its time."""
    settings = replace(scenario.settings, probe_for=Duration(SECOND))
    return dataclasses.replace(scenario, name=f"{scenario.name}, noticed", settings=settings)


@pytest.mark.spec("invariants:I-03", "invariants:I-08", "invariants:I-12", "invariants:I-17")
def test_a_death_that_is_noticed_costs_seconds(places: Places, figures: list[str]) -> None:
    """Killed in the middle of every transaction of a run; its claim would have lasted for half a minute."""
    scenario = noticed(named("observed start"))
    told = play(scenario, places.fresh())
    (points,) = told.points
    few_seconds = told.lasted_for + NOTICED_WITHIN

    complaints = {}
    for point in points:
        case = play(scenario, places.fresh(), crash_at=[point], bound_for=few_seconds)
        if case.complaints:
            complaints[point] = case.complaints

    figures.append(f"{places.name:10}  {scenario.name:34} {len(points):3} of {len(points):3} points")
    assert complaints == {}
    assert NOTICED_WITHIN < VISIBILITY // 2


def points_of(scenario: Scenario, places: Places, *, found: dict[tuple[str, str], list[Point]] = {}) -> list[Point]:  # noqa: B006
    """The points of a story that is not interrupted, found once."""
    if (places.name, scenario.name) not in found:
        (found[places.name, scenario.name],) = play(scenario, places.fresh()).points
    return found[places.name, scenario.name]


@every_scenario
def test_losing_every_wakeup_costs_time_and_nothing_else(scenario: Scenario, places: Places) -> None:
    case = play(scenario, places.fresh(), has_wakeups=False)

    assert case.complaints == []


def named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


def refusals(case: Case, who: str) -> int:
    lines = case.evidence.of(Event.ANSWERED)
    return sum(line.who == who and line.outcome == CLAIM_LOST for line in lines)


@pytest.mark.spec("invariants:I-18")
def test_the_stories_about_old_tokens_do_meet_refusals(places: Places, figures: list[str]) -> None:
    """Without a refused write they would prove nothing."""
    by_hand = refusals(play(named("vanished worker that comes back"), places.fresh()), "ghost")
    by_hand += refusals(play(named("holder that has let go"), places.fresh()), "ghost")
    by_worker = refusals(play(named("clock that jumped"), places.fresh()), "worker")

    figures.append(f"{places.name:10}  stale writes refused: {by_hand} by hand, {by_worker} of a worker")
    assert by_hand == 2 * (8 + 3)  # every kind of write while the run is open, and the grave ones when it is over
    assert by_worker >= 1
