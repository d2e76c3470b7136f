"""Does a green run mean that everything was run, and can a part be chosen by its word?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.spec("runs:V1")
def test_ci_runs_every_test_there_is_and_takes_no_excuse() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^test:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)

    assert re.search(r"WINDLASS_REQUIRE_ALL=1.*make test|WINDLASS_REQUIRE_ALL=1\n(?:.*\n)*.*make test", ci)
    variables = dict(re.findall(r"^(PYTEST|SIDE_BY_SIDE) := (.*)$", makefile, re.MULTILINE))
    options = re.sub(r"\$\((PYTEST|SIDE_BY_SIDE)\)", lambda found: variables[found[1]], recipe).partition("pytest")[2]
    assert "--numprocesses" in options
    assert not re.search(r" (-k|-m|--deselect|--ignore|--lf|--maxfail|-x)\b", options)  # nothing is left out
    assert "make test" in (ROOT / "README.md").read_text()


@pytest.mark.spec("runs:V2")
def test_tests_can_be_chosen_by_word() -> None:
    """Collected once for all words, from one folder: that takes seconds, and of all of them most of a minute."""
    words = ["workflow", "sleep", "retry"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-k", " or ".join(words), "tests/unit"]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert collected.returncode == 0, collected.stdout + collected.stderr
    chosen = [line for line in collected.stdout.splitlines() if "::" in line]
    for word in words:
        assert sum(word in line for line in chosen) >= 5, word
