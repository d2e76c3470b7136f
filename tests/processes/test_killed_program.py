"""Does a program that was killed go on when it is run again, without waiting for the end of its claim?

That is told by the log, not by a watch: what was claimed is taken from the dead, and no claim runs out. How long it
took is measured and said, and nothing depends on it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.processes.children import PATIENCE, environment, until
from tests.processes.database import Database
from windlass.model.run import GONE, TAKEN, RunStatus

SCRIPT = Path(__file__).with_name("order.py")


class Program:
    """The script, in a folder of its own."""

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

    def entered(self) -> Counter[str]:
        journal = self._folder / "journal"
        return Counter(journal.read_text().split()) if journal.exists() else Counter()


@pytest.mark.spec("invariants:I-01", "invariants:I-08", "invariants:I-12", "invariants:I-65")
@pytest.mark.parametrize("where", ["task", "thread"])
def test_a_program_that_was_killed_goes_on_before_its_claim_ends(
    where: str, database: Database, folder: Path, figures: list[str]
) -> None:
    program = Program(folder, database.url)
    first = program.start(where, "first")
    try:
        until(lambda: program.entered()["ship"] == 1 or first.poll() is not None, what="the second step is at work")
    finally:
        first.kill()
        _, complaints = first.communicate()
    assert first.returncode == -signal.SIGKILL, complaints

    began = time.monotonic()
    again = program.start(where)
    try:
        printed, complaints = again.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - began
    finally:
        again.kill()
        again.communicate()

    assert (again.returncode, printed.strip()) == (0, "packed a book, shipped"), complaints
    assert program.entered() == {"pack": 1, "ship": 2}
    last = database.look()
    assert [run.status for run in last.runs.values()] == [RunStatus.COMPLETED]
    taken = [entry.cause for entry in last.log if entry.cause in TAKEN]
    assert len(taken) == 1 and taken[0] in GONE
    assert (last.inconsistencies, last.damage) == ((), ())
    figures.append(
        f"{database.name:10}  killed in a {where}, run again: {sum(cause in GONE for cause in taken)} of {len(taken)} "
        f"claims taken from the dead, finished {seconds:.1f} s after the new process was begun"
    )
