"""What does a worker cost that has nothing to do, and how large does it become? Read from /proc, from outside."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.course import Course
from bench.load import make_app, nothing
from bench.programs import ROOT, environment
from bench.targets import STORES
from windlass.client.calls import call

TARGET = "bench.served:app"
SETTLED_SECONDS = 5.0  # after its start, or after its last run
STOP_SECONDS = 60.0
BATCH = 10_000
KILOBYTE, MEGABYTE = 1_024, 1_000_000


class Size(NamedTuple):
    """Of a process, in megabytes."""

    resident: float
    peak: float


def measure_idle(course: Course) -> None:
    for store in STORES:
        with course.databases.fresh(store) as url, serving(url) as pid:
            _watch(course, store, url, pid)


def _watch(course: Course, store: str, url: str, pid: int) -> None:
    time.sleep(SETTLED_SECONDS)
    course.add("resident_started", store, [read_size(pid).resident])
    course.say(f"watching an idle worker for {course.sizes.idle_seconds:.0f} s ({store}) …")
    began, used = time.monotonic(), read_cpu(pid)
    time.sleep(course.sizes.idle_seconds)
    course.add("idle_cpu", store, [100 * (read_cpu(pid) - used) / (time.monotonic() - began)])
    sizes, fed = [], 0
    for total in course.sizes.fed:
        asyncio.run(feed(url, total - fed))
        fed = total
        time.sleep(SETTLED_SECONDS)
        sizes.append(read_size(pid))
        course.say(f"after {total:,} runs: {sizes[-1].resident:.1f} MB, at most {sizes[-1].peak:.1f} MB ({store})")
    course.add("resident", store, [sizes[-1].resident])
    course.add("resident_peak", store, [sizes[-1].peak])
    course.add("growth", store, [sizes[-1].resident - sizes[0].resident])


@contextmanager
def serving(url: str) -> Iterator[int]:
    """A worker process as anybody starts it; answers with its number."""
    command = [sys.executable, "-m", "windlass", "worker", TARGET, "--url", url, "--log-level", "error"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
    try:
        yield process.pid
        assert process.poll() is None, f"the worker ended by itself with code {process.returncode}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def feed(url: str, count: int) -> None:
    """Start that many runs, some thousands at a time, and wait until the worker has drained them."""
    async with make_app(url) as app:
        for first in range(0, count, BATCH):
            calls = [call(nothing, number) for number in range(min(BATCH, count - first))]
            handles = await app.start_many(calls)
            await asyncio.gather(*[handle.result() for handle in handles])


def read_cpu(pid: int) -> float:
    """Seconds that its threads have spent on a processor: counted in nanoseconds, those of the process in ticks."""
    paths = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in paths) / 1_000_000_000


def read_size(pid: int) -> Size:
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            found[name] = int(value.split()[0]) * KILOBYTE / MEGABYTE
    return Size(resident=found["VmRSS"], peak=found["VmHWM"])
