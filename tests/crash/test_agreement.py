"""Do SQLite and PostgreSQL end up the same after the same story?"""

from __future__ import annotations

import pytest

from tests.crash.every_point import every_scenario
from tests.crash.places import Places
from tests.crash.telling import told
from tests.invariants.checkers import stores_agree
from tests.lives.crashes import Scenario, play
from tests.lives.faults import Moment, Point


@pytest.mark.spec("invariants:I-60")
@every_scenario
def test_both_databases_tell_the_same_story(scenario: Scenario, sqlite: Places, postgresql: Places) -> None:
    one, other = told(scenario, sqlite), told(scenario, postgresql)

    assert stores_agree(one.evidence.last, other.evidence.last) == []


@pytest.mark.spec("invariants:I-60")
@every_scenario
def test_both_databases_tell_the_same_story_after_a_crash(
    scenario: Scenario, sqlite: Places, postgresql: Places
) -> None:
    # The first registration of a worker is a point that both have, in the same place.
    point = Point("register_worker", Moment.AFTER_COMMIT, 1)

    one = play(scenario, sqlite.fresh(), crash_at=[point])
    other = play(scenario, postgresql.fresh(), crash_at=[point])

    assert (one.complaints, other.complaints) == ([], [])
    assert stores_agree(one.evidence.last, other.evidence.last) == []
