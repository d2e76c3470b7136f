"""The processes that execute the demo's runs: started as anyone would start them, killed, and always reaped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from windlass.settings import PREFIX

DATABASE = "windlass.db"
PACE = "DEMO_PACE"  # without the prefix of our settings: it is none
SLOTS = 12  # fewer than there are runs, so that both workers get some
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
GRACE = 10.0  # seconds to leave in order


class DemoFailed(Exception):
    """The demo could not be played to its end."""


class WorkerProcess:
    def __init__(self, letter: str, process: subprocess.Popen[bytes], *, output: Path) -> None:
        self.letter, self._process, self._output = letter, process, output
        self.was_killed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as `kill -9` does, and wait until nothing is left of it."""
        self.was_killed = True
        self._process.kill()
        self._reap()

    def stop(self) -> None:
        """Ask it to leave in order."""
        self._process.terminate()

    def check(self) -> None:
        """Raise DemoFailed if it has ended by itself."""
        if not self.was_killed and not self.is_alive:
            code, name = self._process.returncode, f"Worker {self.letter} (pid {self.pid})"
            if code < 0:
                raise DemoFailed(f"{name} was ended by signal {-code}, not by the demo. Nothing was counted.")
            last = self._output.read_text(errors="replace").strip().splitlines()[-1:]
            said = f": {last[0]}" if last else ""
            raise DemoFailed(f"{name} ended by itself with code {code}{said}")

    def _reap(self, patience: float | None = None) -> None:
        self._process.wait(patience)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it has left; one that takes too long is killed."""
        try:
            self._reap(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()


class Workers:
    """All workers of one demo, the dead included."""

    def __init__(self, folder: Path, *, pace: float) -> None:
        self.folder, self._pace = folder, pace
        self.all: list[WorkerProcess] = []

    def alive(self) -> list[WorkerProcess]:
        return [worker for worker in self.all if worker.is_alive]

    def start(self, count: int) -> list[WorkerProcess]:
        return [self._start(LETTERS[len(self.all)]) for _ in range(count)]

    def _start(self, letter: str) -> WorkerProcess:
        output = self.folder / f"worker-{letter}.log"
        with output.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "windlass", "worker", "windlass.demo.served:app", "--slots", str(SLOTS)],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the demo, which ends them itself
            )
        worker = WorkerProcess(letter, process, output=output)
        self.all.append(worker)
        return worker

    def _environment(self) -> dict[str, str]:
        """The user's own, without settings of Windlass; modules are found where we have found ours."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        places = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        return {**inherited, f"{PREFIX}URL": DATABASE, PACE: str(self._pace), "PYTHONPATH": places}

    def stop(self) -> None:
        """Let the living leave in order, all at the same time."""
        alive = self.alive()
        for worker in alive:
            worker.stop()
        for worker in alive:
            worker.wait()

    def close(self) -> None:
        """Whatever happened, nothing is left running."""
        for worker in self.alive():
            worker.kill()
