"""Is a start key one run, also when two processes ask at the same moment, and after the run has finished?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes.children import PATIENCE, environment, until
from tests.processes.database import Database

SCRIPT = Path(__file__).with_name("asking.py")
COUNT = 50


class Programs:
    """The script, any number of times, in one folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._environment = folder, environment(WINDLASS_URL=url)

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), *args],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def together(self, suffixes: dict[str, str]) -> list[Any]:
        """What each was answered, all of them let go at once."""
        asking = [self.start(name, suffix, str(COUNT)) for name, suffix in suffixes.items()]
        try:
            until(lambda: self._are_ready(suffixes) or any(one.poll() is not None for one in asking), what="all ready")
            (self._folder / "go").touch()
            return [self.answer(one) for one in asking]
        finally:
            for one in asking:
                one.kill()
                one.communicate()

    def answer(self, program: subprocess.Popen[str]) -> Any:
        printed, complaints = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, complaints
        return json.loads(printed)

    def _are_ready(self, names: dict[str, str]) -> bool:
        return all((self._folder / f"ready-{name}").exists() for name in names)


@pytest.fixture
def programs(folder: Path, database: Database) -> Programs:
    return Programs(folder, database.url)


@pytest.mark.spec("invariants:I-56", "security:38", "security:40")
def test_a_key_asked_for_by_two_processes_at_once_is_one_run_also_after_its_end(
    programs: Programs, database: Database
) -> None:
    first, second = programs.together({"a": "", "b": ""})
    results = programs.answer(programs.start("serve", str(COUNT)))
    third = programs.answer(programs.start("c", "", str(COUNT)))

    assert first == second == third
    assert all(is_accepted for _, is_accepted in first)
    assert results == [f"order {number} done" for number in range(COUNT)]
    assert {run.id for run in database.runs()} == {id for id, _ in first}
    assert [run.attempts for run in database.runs()] == [1] * COUNT


@pytest.mark.spec("invariants:I-56", "security:39")
def test_of_two_processes_with_other_input_one_wins_each_key_and_the_other_is_told_whose_it_is(
    programs: Programs, database: Database
) -> None:
    first, second = programs.together({"a": "x", "b": "y"})

    assert [id for id, _ in first] == [id for id, _ in second]
    assert all(mine != theirs for (_, mine), (_, theirs) in zip(first, second, strict=True))
    assert {run.id for run in database.runs()} == {id for id, _ in first}
