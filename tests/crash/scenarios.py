"""The stories that are killed at every point: one for each thing the engine does."""

from __future__ import annotations

from tests.crash import (
    stories_of_children,
    stories_of_claims,
    stories_of_control,
    stories_of_events,
    stories_of_graphs,
    stories_of_pipelines,
    stories_of_retention,
    stories_of_schedules,
    stories_of_signals,
    stories_of_steps,
    stories_of_workers,
)
from tests.crash.telling import REGISTERED
from tests.lives.crashes import Scenario

__all__ = ["SCENARIOS", "THEMES", "named"]

THEMES = (
    stories_of_children,
    stories_of_control,
    stories_of_events,
    stories_of_graphs,
    stories_of_pipelines,
    stories_of_retention,
    stories_of_schedules,
    stories_of_signals,
    stories_of_claims,
    stories_of_steps,
    stories_of_workers,
)

# In this order whatever is imported first: test_stories draws its pairs of points along it.
SCENARIOS = [scenario for theme in THEMES for scenario in REGISTERED if scenario.drive.__module__ == theme.__name__]


def named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)
