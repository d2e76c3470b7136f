"""Is every story killed at every point, by one of the files here?"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.crash.scenarios import SCENARIOS
from tests.crash.telling import REGISTERED

HERE = Path(__file__)
FILES = sorted(path.stem for path in HERE.parent.glob("test_*.py") if path != HERE)


def scenarios_of(file: str) -> list[str]:
    marks = import_module(f"tests.crash.points.{file}").TestEveryPoint.pytestmark
    (scenarios,) = [mark.args[1] for mark in marks if mark.name == "parametrize"]
    return [scenario.name for scenario in scenarios]


def test_every_scenario_is_in_one_file() -> None:
    tried = [name for file in FILES for name in scenarios_of(file)]

    assert sorted(tried) == sorted(scenario.name for scenario in REGISTERED)
    assert len(SCENARIOS) == len(REGISTERED)
