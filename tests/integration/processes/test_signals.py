"""Does a program that is told to stop leave its run claimable, and does the next one go on with it at once?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE = 120.0  # seconds; a claim lasts for five minutes

PROGRAM = """
import asyncio, os, sys, time
import windlass

app = windlass.App()
is_first = "first" in sys.argv

def note(text):
    with open("journal", "a") as journal:
        journal.write(text + "\\n")

async def in_a_task() -> str:
    note("entered")
    await asyncio.sleep(60 if is_first else 0)
    return "done"

def in_a_thread() -> str:
    note("entered")
    time.sleep(60 if is_first else 0)
    return "done"

@app.workflow
async def order(ctx: windlass.Context, where: str) -> str:
    return await ctx.step(in_a_task if where == "task" else in_a_thread)

if __name__ == "__main__":
    print(app.run(order, sys.argv[1], key="order"))
"""


class Program:
    """A script that executes one run in a folder of its own, and is told to stop while its step is at work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._script = folder / "program.py"
        self._script.write_text(PROGRAM)

    def start(self, *args: str, grace: str = "30") -> subprocess.Popen[str]:
        environment = {**os.environ, "WINDLASS_URL": "sqlite:///windlass.db", "WINDLASS_WORKER_GRACE_SECS": grace}
        return subprocess.Popen(
            [sys.executable, str(self._script), *args],
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_entered(self) -> None:
        _until(lambda: (self._folder / "journal").exists(), what="the step is at work")

    def finish(self, *args: str) -> tuple[str, float]:
        """Run it again to its end: what it prints, and how long that took."""
        began = time.monotonic()
        again = self.start(*args)
        out, complaints = again.communicate(timeout=PATIENCE)
        assert again.returncode == 0, complaints
        return out.strip(), time.monotonic() - began


def _until(is_true: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s"
        time.sleep(0.01)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.spec("invariants:I-25")
@pytest.mark.parametrize("where", ["task", "thread"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_told_to_stop_gives_its_run_back(program: Program, where: str, number: signal.Signals) -> None:
    first = program.start(where, "first", grace="0")
    program.until_entered()

    first.send_signal(number)
    _, complaints = first.communicate(timeout=PATIENCE)
    printed, took = program.finish(where)

    assert first.returncode == -number, complaints
    assert "is kept and goes on when it is run again" in complaints
    assert printed == "done"
    assert took < PATIENCE / 2  # it did not have to wait for the end of a claim


@pytest.mark.spec("invariants:I-08", "security:32")
@pytest.mark.parametrize("where", ["task", "thread"])
def test_a_second_ctrl_c_ends_the_script_and_not_the_run(program: Program, where: str) -> None:
    first = program.start(where, "first")
    program.until_entered()

    first.send_signal(signal.SIGINT)
    assert first.stderr is not None
    assert any("is kept" in line for line in first.stderr)  # which ends when the script does
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=PATIENCE)
    printed, took = program.finish(where)

    assert printed == "done"
    assert took < PATIENCE / 2
