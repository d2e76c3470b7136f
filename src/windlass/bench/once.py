"""One case in a process of its own: `python -m windlass.bench.once CASE --db URL [--size N]` prints one line of JSON.

A fresh process for every measurement: what one leaves in memory, caches and connections does not help the next.
The database is used as it is, and what the case writes stays in it.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import msgspec
from msgspec import Struct

from windlass import process
from windlass.bench.cases import CASES
from windlass.bench.durable import BenchFailed
from windlass.bench.site import Site
from windlass.errors import WindlassError
from windlass.model.time import SECOND
from windlass.runtime import SystemClock

FAILED = 1
LONGEST = 600  # seconds for one case, whatever the machine
LOOKS = 10  # a second, whether it is to be stopped
MODULE = "windlass.bench.once"
CLOCK = SystemClock()


class Record(Struct, frozen=True, kw_only=True):
    """What one process has measured."""

    case: str
    store: str  # sqlite, postgresql
    size: int
    figures: dict[str, float]
    durability: dict[str, str]  # as the database said it
    loop: str = "asyncio"  # or uvloop
    cpu_seconds: float  # of the whole process
    seconds: float


def measure(case: str, url: str, *, size: int | None = None, is_stopped: Callable[[], bool] = lambda: False) -> Record:
    """Run one case in a process of its own. Raises BenchFailed with what that has said.

    Once it is stopped, that process is ended and KeyboardInterrupt is raised.
    """
    command = [sys.executable, "-P", "-m", MODULE, case, "--db", url]
    if size is not None:
        command += ["--size", str(size)]
    # Modules are found where we have found ours; a session of its own, because Ctrl-C is for whoever called us.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)}
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, errors = _said(process, is_stopped)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it has started: its database is about to go
            raise
    if process.returncode:
        said = errors.strip().splitlines()[-1:] or [f"The case {case} ended with code {process.returncode}."]
        raise BenchFailed(said[0].removeprefix("windlass: "))
    return msgspec.json.decode(output, type=Record)


def _said(process: subprocess.Popen[str], is_stopped: Callable[[], bool]) -> tuple[str, str]:
    """What it wrote until its end."""
    for _ in range(LONGEST * LOOKS):
        try:
            return process.communicate(timeout=1 / LOOKS)
        except subprocess.TimeoutExpired:
            if is_stopped():
                raise KeyboardInterrupt from None
    raise BenchFailed(f"A case did not end within {LONGEST} s. Nothing is reported.")


async def run(case: str, url: str, *, size: int | None = None) -> Record:
    """Run one case here."""
    began, site = CLOCK.monotonic(), Site(url)
    size = CASES[case].size if size is None else size
    figures = await CASES[case].run(site, size)
    return Record(
        case=case,
        store=site.location.kind,
        size=size,
        figures=figures,
        durability=site.durability,
        loop=process.loop_name(),
        cpu_seconds=time.process_time(),
        seconds=(CLOCK.monotonic() - began) / SECOND,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--db", required=True, metavar="URL", help="a path, or postgresql://…")
    parser.add_argument("--size", type=_positive, help="how many; else as many as the case has in full")
    given = parser.parse_args()
    for module in ("windlass.embedded", "windlass.worker.worker"):
        import_module(module)  # as `app.serve` does
    try:
        record = process.run(run(given.case, given.db, size=given.size))
    except (WindlassError, BenchFailed, OSError) as error:
        sys.stderr.write(f"windlass: {' '.join(str(error).split())}\n")
        sys.exit(FAILED)
    sys.stdout.write(msgspec.json.encode(record).decode() + "\n")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


if __name__ == "__main__":
    main()
