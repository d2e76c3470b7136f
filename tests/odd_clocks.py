"""Does the suite hold wherever the clock of the machine stands? Run it with the clock started at ten odd instants.

    python tests/odd_clocks.py [--at NAME]… [--list] [tests and options of pytest …]

The clock is moved by a library of thirty lines that is loaded before all others: odd_clocks.c, so this needs Linux and
a C compiler. That holds for the tests and for every process that they start, PostgreSQL included; monotonic time stays.
It starts half a minute before the instant, which so comes while tests are at work. Nothing in Windlass knows of this.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_suffix(".c")
BEFORE = 30  # seconds: pytest has collected by then
# Where the clock of the machine is read: by a test, by a server under test, by programs that are started.
WALL_CLOCK = (
    "tests/faults",
    "tests/integration/cli",
    "tests/integration/dashboard/test_minutes.py",
    "tests/integration/demo",
    "tests/integration/server",
    "tests/integration/signals",
    "tests/integration/test_bad_schedules.py",
    "tests/integration/test_file_watch.py",
    "tests/migration",
    "tests/processes",
    "tests/property/test_codec_roundtrip.py",
    "tests/property/test_slots_swept.py",
    "tests/unit/rules/test_cron.py",
    "tests/unit/rules/test_slots.py",
    "tests/unit/server",
    "tests/stores",
    "tests/unit/test_codec.py",
    "tests/unit/test_duration.py",
    "tests/unit/test_limits.py",
)


class Odd(NamedTuple):
    at: str
    zone: str = "UTC"

    @property
    def seconds(self) -> float:
        return datetime.fromisoformat(self.at).timestamp()


INSTANTS = {
    "minute": Odd("2026-06-17T12:35:00+00:00"),
    "hour": Odd("2026-06-17T14:00:00+00:00", "Asia/Kathmandu"),  # where an hour ends at a quarter to
    "day": Odd("2026-10-01T00:00:00+00:00"),
    "year": Odd("2027-01-01T00:00:00+00:00"),
    "leap-day": Odd("2028-02-29T00:00:00+00:00"),
    "summer": Odd("2027-03-28T01:00:00+00:00", "Europe/Berlin"),  # two o'clock is three
    "winter": Odd("2027-10-31T01:00:00+00:00", "Europe/Berlin"),  # three o'clock is two
    "ten-digits": Odd("2001-09-09T01:46:40+00:00"),  # 10^9 s: a digit more, and long before this was written
    "2038": Odd("2038-01-19T03:14:08+00:00"),  # 2^31 s
    "2106": Odd("2106-02-07T06:28:16+00:00"),  # 2^32 s
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", action="append", choices=INSTANTS, help="this instant; may be repeated")
    parser.add_argument("--list", action="store_true", help="say which instants there are")
    asked, told = parser.parse_known_args(arguments)
    if not any((ROOT / word.partition("::")[0]).exists() for word in told):
        told += WALL_CLOCK
    if asked.list:
        print("\n".join(f"{name:12} {odd.at} {odd.zone}" for name, odd in INSTANTS.items()))
        return 0
    compiler = shutil.which("cc")
    if compiler is None:
        print("There is no C compiler: apt-get install gcc libc6-dev", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # PostgreSQL may run as another user
        library = Path(folder) / "odd_clocks.so"
        command = [compiler, "-O2", "-Wall", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        failed = []
        for name in asked.at or INSTANTS:
            offset = round(INSTANTS[name].seconds - BEFORE - time.time())
            subprocess.run([*command, f"-DOFFSET={offset}"], check=True)
            if not holds(INSTANTS[name], library, offset, told):
                failed.append(name)
    print(f"The suite failed at: {', '.join(failed)}." if failed else "The suite passed at every instant.")
    return 1 if failed else 0


def holds(odd: Odd, library: Path, offset: int, told: Sequence[str]) -> bool:
    """Whether the tests pass with the clock started there."""
    environment = os.environ | {"LD_PRELOAD": str(library), "TZ": odd.zone}
    print(f"The clock is started {BEFORE} s before {odd.at}, in {odd.zone}.", flush=True)
    clock = [sys.executable, "-c", "import time; print(time.time())"]
    said = float(subprocess.run(clock, env=environment, check=True, capture_output=True, text=True).stdout)
    assert abs(said - time.time() - offset) < BEFORE, "the clock was not moved"
    tests = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", "2", "--dist", "loadfile", *told]
    return subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
