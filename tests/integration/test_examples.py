"""Does every example run as it stands, as a program of its own in an empty folder?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

EXAMPLES = ROOT / "examples"
PATIENCE = 60.0  # seconds; the slowest sleeps for ten

FAN_OUT = """\
counted clock
counted dog
counted march
counted sea
counted whale
words: 36
never more than 2 at once: True
"""
FAN_OUT_AGAIN = """\
words: 36
never more than 2 at once: True
"""
RETRIES = """\
order 7
order 7 uploaded
declined: no funds
logic StepError: not a number {'text': 'seven'}
attempts: {'fetch': 3, 'upload': 2, 'charge': 1, 'parse': 1}
"""
PARALLEL = """\
south for 20
['engine reserved', 'wheels reserved']
"""
CHARGED = """\
paid with charge-1
asked 2 times, charged 1 time
"""
TESTED = """\
passed: the second reminder helps
passed: nothing is sent before its time
passed: every step is on record
"""
TRIED = {"order", "demo", "fan_out", "retries", "parallel", "idempotent_charge", "testing_a_workflow"}


def run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The example in a process of its own, with no setting of ours around it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def lines_of(text: str) -> list[str]:
    """Items of a fan-out end in any order."""
    return sorted(text.splitlines())


def test_every_example_is_tried_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == TRIED


@pytest.mark.parametrize(
    ("name", "printed"), [("retries", RETRIES), ("parallel", PARALLEL), ("testing_a_workflow", TESTED)]
)
def test_an_example_prints_what_it_promises(name: str, printed: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_the_fan_out_counts_every_book_once_however_often_it_is_run(tmp_path: Path) -> None:
    first, second = run("fan_out", tmp_path), run("fan_out", tmp_path)

    assert (first.returncode, lines_of(first.stdout), first.stderr) == (0, lines_of(FAN_OUT), "")
    assert (second.returncode, second.stdout, second.stderr) == (0, FAN_OUT_AGAIN, "")


def test_the_charge_is_asked_for_twice_and_made_once_when_the_program_dies_in_between(tmp_path: Path) -> None:
    first, second = run("idempotent_charge", tmp_path), run("idempotent_charge", tmp_path)

    assert (first.returncode, first.stdout, first.stderr) == (9, "", "")
    assert (second.returncode, second.stdout, second.stderr) == (0, CHARGED, "")


def test_the_demo_kills_the_program_of_the_readme_and_finds_nothing_lost_or_done_again(tmp_path: Path) -> None:
    done = run("demo", tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "run again after they were committed: 0 · lost: 0" in done.stdout
