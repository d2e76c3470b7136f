"""Does WINDLASS_REQUIRE_ALL=1 make every test that does not run a failure?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

SAMPLES = {
    "skipped by a mark": "@pytest.mark.skip(reason='sample')\ndef test_it(): ...",
    "skipped inside": "def test_it():\n    pytest.skip('sample')",
    "skipped by a fixture": "@pytest.fixture\ndef it():\n    pytest.skip('sample')\n\ndef test_it(it): ...",
    "skipped as a module": "pytest.skip('sample', allow_module_level=True)",
    "expected to fail": "@pytest.mark.xfail(reason='sample')\ndef test_it():\n    assert False",
    "expected to fail, and passes": "@pytest.mark.xfail(reason='sample')\ndef test_it(): ...",
}


def outcome_of(directory: Path, *, require_all: str) -> subprocess.CompletedProcess[str]:
    """Run the samples under the real hooks, in a process and a directory of their own."""
    (directory / "conftest.py").write_text((ROOT / "tests" / "require_all.py").read_text())
    (directory / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        str(directory),
    ]
    environment = os.environ | {"WINDLASS_REQUIRE_ALL": require_all}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=directory, check=False)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    for number, body in enumerate(SAMPLES.values()):
        (tmp_path / f"test_sample_{number}.py").write_text(f"import pytest\n\n{body}\n")
    return tmp_path


def test_whatever_does_not_run_fails_when_all_is_required(samples: Path) -> None:
    result = outcome_of(samples, require_all="1")

    # A skip that comes before the body, by mark or fixture, fails in set-up and counts as an error, as does a module.
    assert "3 failed, 3 errors" in result.stdout
    assert result.returncode != 0


def test_nothing_changes_when_it_is_not_required(samples: Path) -> None:
    result = outcome_of(samples, require_all="0")

    assert result.returncode == 0
    assert "4 skipped, 1 xfailed, 1 xpassed" in result.stdout


def test_what_runs_and_passes_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text("def test_it(): ...\n")

    result = outcome_of(tmp_path, require_all="1")

    assert (result.returncode, "1 passed" in result.stdout) == (0, True)
