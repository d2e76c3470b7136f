"""Run the program of the README, kill it in the middle, run it again: what was done is not done again.

`make demo` runs this. It works in a folder of its own, which it removes, and fails if a line is printed twice or lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(__file__).with_name("order.py")
EXPECTED = ["packed 7", "shipped 7", "order 7 done"]


def say(text: str) -> None:
    print(text, flush=True)


def start(folder: str) -> subprocess.Popen[str]:
    """The program, as a user would start it. Unbuffered, so that a line printed is a line seen."""
    say(f"\n$ python {PROGRAM.name}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    return subprocess.Popen(
        [sys.executable, "-u", str(PROGRAM)], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )


def next_line(program: subprocess.Popen[str]) -> str | None:
    assert program.stdout is not None
    line = program.stdout.readline().rstrip("\n")
    if line:
        say(f"  {line}")
    return line or None


def run_and_kill(folder: str) -> list[str]:
    program = start(folder)
    first = next_line(program)
    say("  … it sleeps for 10 s now; two seconds into that:")
    time.sleep(2)
    program.send_signal(signal.SIGKILL)
    program.wait()
    say(f"\n$ kill -9 {program.pid}\n  killed: no clean-up, no goodbye. The run is a row in windlass.db.")
    return [first] if first else []


def run_to_the_end(folder: str) -> list[str]:
    began = time.monotonic()
    program = start(folder)
    lines = []
    while (line := next_line(program)) is not None:
        if not lines:
            say(f"  … {time.monotonic() - began:.1f} s after the restart: the sleep went on where it was")
        lines.append(line)
    program.wait()
    return lines


def show(folder: str) -> None:
    say("\n$ windlass show --key order-7")
    subprocess.run([sys.executable, "-m", "windlass", "show", "--key", "order-7"], cwd=folder, check=True)


def main() -> int:
    say("A run that survives kill -9, on a SQLite file and nothing else.")
    with tempfile.TemporaryDirectory(prefix="windlass-demo-") as folder:
        printed = run_and_kill(folder) + run_to_the_end(folder)
        if printed == EXPECTED:
            show(folder)
    again = len(printed) - len(set(printed))
    lost = len(set(EXPECTED) - set(printed))
    say(f"\nsteps run again after they were committed: {again} · lost: {lost}")
    return 0 if printed == EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
