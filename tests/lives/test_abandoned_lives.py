"""Does a life that is taken away leave nothing behind in the test's own process?"""

from __future__ import annotations

import asyncio

from windlass.runtime import SystemClock
from windlass.worker.watch import LoopWatch

PATIENCE = 5.0  # seconds for a thread to end


async def test_a_watch_that_is_stopped_ends_though_it_is_called_unwanted_afterwards() -> None:
    """As by a run that ends after its worker has stopped; each would keep a thread for ever."""
    watch = LoopWatch(SystemClock(), dict, blocked_after=0.2)
    watch.start()
    watch.want(wanted=True)
    await asyncio.to_thread(watch._answered.wait, PATIENCE)  # it has had its sign of life, and rests

    watch.stop()
    watch.want(wanted=False)

    await asyncio.to_thread(watch._thread.join, PATIENCE)
    assert not watch._thread.is_alive()
