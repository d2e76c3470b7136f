"""What did one case measure, in a process of its own? Windlass and its peers are asked in the same way.

PROGRAM CASE --db URL --size N   ->   {"case": …, "store": …, "figures": {…}, "durability": {…}, …}
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.environments import python_of

ROOT = Path(__file__).parents[1]
LONGEST_SECONDS = 900.0
# Windlass reads these, Python those: what the shell has set must not change what is measured.
FOREIGN = ("WINDLASS_", "PYTHON", "DBOS", "PGQUEUER_", "PROCRASTINATE_", "PG")


class Record(Struct, frozen=True, kw_only=True):
    """What one process has measured."""

    case: str
    store: str
    size: int
    figures: dict[str, float]
    durability: dict[str, str]
    cpu_seconds: float
    seconds: float


class Program(Struct, frozen=True, kw_only=True):
    """Something that answers for cases."""

    name: str
    module: str
    python: str = sys.executable

    def run(self, case: str, *, url: str, size: int | None = None) -> Record:
        """Measure one case in a fresh process. Raises ProgramFailed with its last words."""
        command = [self.python, "-m", self.module, case, "--db", url]
        if size is not None:
            command += ["--size", str(size)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        if done.returncode:
            raise ProgramFailed(f"{self.name} {case}: {done.stderr.strip()[-2000:] or done.returncode}")
        return msgspec.json.decode(done.stdout.strip().splitlines()[-1], type=Record)


class ProgramFailed(Exception):
    """A program gave no figure; the text is what it said."""


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


WINDLASS = Program(name="windlass", module="windlass.bench.once")
CLAIMS = Program(name="claims", module="bench.claims")
GRAPHS = Program(name="graphs", module="bench.graph_cases")
PIPELINES = Program(name="pipelines", module="bench.pipeline_cases")
SIGNALS = Program(name="signals", module="bench.signal_cases")
PAGES = Program(name="pages", module="bench.page_cases")


def peer(name: str) -> Program:
    return Program(name=name, module=f"bench.peers.{name}.program", python=str(python_of(name)))
