"""Is anything lost or done twice if we die here? Asked at every hook point of every scenario, on SQLite.

A file of its own for each database: they are the longest tests, and files are what is executed side by side.
"""

from __future__ import annotations

import pytest

from tests.crash.every_point import crash_everywhere, every_scenario
from tests.crash.places import Places
from tests.lives.crashes import Scenario


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
@every_scenario
def test_a_crash_at_any_point_loses_nothing_and_repeats_nothing(
    scenario: Scenario, sqlite: Places, figures: list[str]
) -> None:
    crash_everywhere(scenario, sqlite, figures)
