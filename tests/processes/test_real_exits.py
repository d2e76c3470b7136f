"""Is anything lost or done twice if a process really ends here? A sample of the points of all crash stories.

`tests/crash` visits every point, with a death that is played. Here the process is gone: its memory, its threads, its
locks and its connections, without a goodbye.
"""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import pytest

from tests.crash.places import Place, Places
from tests.crash.scenarios import SCENARIOS
from tests.crash.telling import told
from tests.invariants.checkers import judge
from tests.invariants.evidence import Evidence
from tests.invariants.processes import TOGETHER, Crowd
from tests.lives.crashes import NOTICED_AFTER, Scenario, not_held
from tests.lives.faults import Point
from tests.lives.journal import read_journal
from tests.processes.children import Nursery
from tests.processes.program import KILLED
from tests.scale import SCALE
from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Duration, Instant
from windlass.testing.clock import FakeClock

EXITS = {"sqlite": 40 * SCALE, "postgresql": 15 * SCALE}  # at most all; new processes connect slowly to a server


class Candidate(NamedTuple):
    scenario: Scenario
    point: Point
    bound_for: Duration  # within which everything must be over after the crash


@pytest.mark.spec("invariants:I-01", "invariants:I-02", "invariants:I-03", "invariants:I-04", "invariants:I-08")
@pytest.mark.spec("invariants:I-09", "invariants:I-10", "invariants:I-12", "invariants:I-15", "invariants:I-17")
@pytest.mark.spec("invariants:I-13", "invariants:I-14", "invariants:I-18", "invariants:I-20", "invariants:I-21")
@pytest.mark.spec("invariants:I-24", "invariants:I-57", "invariants:I-65")
def test_a_real_exit_at_any_point_loses_nothing_and_repeats_nothing(
    places: Places, nursery: Nursery, figures: list[str]
) -> None:
    # What a story removes has to be looked at before, by whoever tells it; here nobody is left who has.
    stories = [scenario for scenario in SCENARIOS if scenario.settings.keep_for is None]
    candidates = [candidate for scenario in stories for candidate in points_of(scenario, places)]
    chosen = random.Random("exits").sample(candidates, min(EXITS[places.name], len(candidates)))

    complaints = {
        (candidate.scenario.name, candidate.point): found
        for number, candidate in enumerate(chosen)
        # Every second death is noticed; after the others the next process waits for the end of the claims.
        if (found := exit_at(candidate, places.fresh(), nursery, probe_for=SECOND * (number % 2)))
    }

    exercised = len(chosen) - sum("never reached" in str(found) for found in complaints.values())
    figures.append(
        f"{places.name:10}  real exits: {exercised} of {len(chosen)} chosen, {len(candidates)} points in all"
    )
    assert complaints == {}


def points_of(scenario: Scenario, places: Places) -> list[Candidate]:
    calm = told(scenario, places)
    assert calm.complaints == []
    (points,) = calm.points
    return [Candidate(scenario, point, scenario.bound_for(calm.lasted_for)) for point in points]


def exit_at(candidate: Candidate, place: Place, nursery: Nursery, *, probe_for: int) -> list[str]:
    """Let a process tell the story and end at the point, and another one go on from there; what is wrong then."""
    scenario, point, bound_for = candidate
    first, code = live(1, scenario, place, nursery, now=FakeClock().now(), point=point)
    if code != KILLED:
        return [f"never reached; it ended with {code}", nursery.complaints]
    died = place.look_at_death(at=first["now"], life=1)
    holders = set(map(WorkerId, first["holders"]))
    complaints = not_held(point, holders, died)

    now = first["now"] + NOTICED_AFTER
    second, code = live(2, scenario, place, nursery, now=now, point=None, probe_for=probe_for)
    if code != 0:
        return [*complaints, f"the next process ended with {code}", nursery.complaints]
    evidence = Evidence(
        snapshots=(died, place.look(at=second["now"], life=2)),
        lines=read_journal(place.folder / "journal"),
        visibility_for=scenario.settings.visibility_for,
        poll_for=scenario.settings.poll_for,
        max_recoveries=scenario.settings.max_recoveries,
        retry_limits=scenario.retry_limits,
        healed_at=Instant(now),
        bound_for=bound_for,
    )
    crowd = Crowd(snapshots=evidence.snapshots, lines=evidence.lines, killed=frozenset({1}))
    together = (f"{number} {text}" for number, check in TOGETHER.items() for text in check(crowd))
    return [*complaints, *judge(evidence), *scenario.other_endings(evidence.last), *together]


def live(
    life: int, scenario: Scenario, place: Place, nursery: Nursery, *, now: int, point: Point | None, probe_for: int = 0
) -> tuple[dict[str, Any], int]:
    """One life in a process of its own: what it left to be known, and its exit code."""
    end = place.folder / f"end-{life}"
    child = nursery.start(
        "live",
        scenario=scenario.name,
        url=place.url,
        journal=place.folder / "journal",
        end=end,
        life=life,
        now=now,
        point=point,
        probe_for=probe_for,
    )
    code = child.wait()
    left: dict[str, Any] = json.loads(end.read_text()) if end.exists() else {}
    return left, code
