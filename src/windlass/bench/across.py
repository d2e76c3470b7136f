"""The other process of `first_line_across`: executes runs until its input ends, and tells the time of each first line.

`python -m windlass.bench.across URL`; a number a line, of the monotonic clock in microseconds. The first of them means
that it waits for runs.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from windlass import process
from windlass.bench.latency import declare_first_line
from windlass.bench.site import Site
from windlass.bench.workloads import CLOCK


async def execute(url: str) -> None:
    site = Site(url)
    app = site.app()
    declare_first_line(app, _tell)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    async with site.opened(app), app.worker():
        threading.Thread(target=wait_for_end, daemon=True).start()
        _tell(CLOCK.monotonic())
        await ended.wait()


def _tell(at: int) -> None:
    os.write(sys.stdout.fileno(), f"{at}\n".encode())


if __name__ == "__main__":
    process.run(execute(sys.argv[1]))
