"""The test's end of a nursery: start a process, send it a signal, wait for it, see what it complained about."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds for something that must happen, on a machine that has much else to do
GOODBYE = 20.0  # seconds for a nursery to end
LOOK_EVERY = 0.02


class Child:
    """A process that works for a test."""

    def __init__(self, nursery: Nursery, pid: int, *, number: int, errors: Path) -> None:
        self.pid, self.number, self._errors = pid, number, errors
        self._nursery = nursery
        self._code: int | None = None

    def send(self, number: signal.Signals) -> None:
        """It is not waited for before, so nobody else can have its id by now."""
        assert self._code is None
        os.kill(self.pid, number)

    def wait(self, *, seconds: float = PATIENCE) -> int:
        """Its exit code; minus the signal that ended it."""
        if self._code is None:
            self._code = self._nursery.ask({"wait": self.pid, "seconds": seconds})
            assert self._code is not None, f"Process {self.number} still lives after {seconds:g} s.\n{self.complaints}"
        return self._code

    def end(self, number: signal.Signals) -> int:
        self.send(number)
        return self.wait()

    @property
    def is_stopped(self) -> bool:
        status = Path(f"/proc/{self.pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "T"

    @property
    def complaints(self) -> str:
        return self._errors.read_text(errors="replace") if self._errors.exists() else ""


class Nursery:
    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder
        self._children: list[Child] = []

    def start(self, entry: str, /, **arguments: Any) -> Child:
        """Start a process; it learns its number. Paths in its arguments are sent as text."""
        number = len(self._children) + 1
        errors = self._folder / f"process-{number}.errors"
        request = {"start": entry, "arguments": {**arguments, "number": number}, "errors": str(errors)}
        child = Child(self, self.ask(request), number=number, errors=errors)
        self._children.append(child)
        return child

    @property
    def complaints(self) -> str:
        """What every process had to say, for the report of a test that failed."""
        said = {child.number: child.complaints.strip() for child in self._children}
        return "\n".join(f"--- process {number}\n{text}" for number, text in said.items() if text)

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request, default=str), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, f"The nursery is gone.\n{(self._folder / 'nursery.errors').read_text()}"
        return json.loads(answer)


@contextmanager
def open_nursery(folder: Path) -> Iterator[Nursery]:
    with (folder / "nursery.errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.nursery"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # an interrupt typed at the terminal is for the test
        )
    nursery = Nursery(process, folder)
    try:
        yield nursery
    except BaseException:
        print(nursery.complaints, file=sys.stderr)
        raise
    finally:
        see_off(process)


def see_off(process: subprocess.Popen[str]) -> None:
    """Close its input, so it kills what is left, and ends. If it does not, it is killed with all that it started."""
    try:
        process.communicate(timeout=GOODBYE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
        process.communicate()


def environment(**variables: str) -> dict[str, str]:
    """Ours, without settings of Windlass: a program gets those it is given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    found = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    return {**kept, "PYTHONPATH": found, **variables}


def until(is_true: Callable[[], bool], *, what: str) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s"
        time.sleep(LOOK_EVERY)
