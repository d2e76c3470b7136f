"""How a process that is all ours runs: on which loop, how often it looks for garbage, and how it is told to stop.

Only where the process is ours, as under `app.serve()`, `windlass worker` and `windlass server`: inside of somebody's
program all that is theirs to choose.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("windlass")

YOUNG = 10_000  # objects; a worker with a thousand runs at work makes more than Python's 700 in every turn of the loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, on uvloop where it is installed."""
    calm_collector()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(work)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's if it is installed (`pip install windlass[uvloop]`), else none: asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def loop_name() -> str:
    return "asyncio" if loop_factory() is None else "uvloop"


def calm_collector() -> None:
    """Look for garbage less often, and never again in what was loaded before: it is here to stay.

    Runs leave no garbage behind that has to be looked for; to look for it all the same took a third of their time.
    """
    gc.collect()
    gc.freeze()
    young, *older = gc.get_threshold()
    if young:  # else somebody has switched it off
        gc.set_threshold(max(young, YOUNG), *older)


@contextmanager
def stop_on_signal(said: str) -> Iterator[asyncio.Event]:
    """An event that SIGINT or SIGTERM sets, with a line in the log. A second one exits at once: 130 for Ctrl-C."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop(number: int) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        log.warning("%s Once more (Ctrl-C) to exit at once.", said)
        stopped.set()

    # Not loop.add_signal_handler: the second signal must be heard also while user code holds the loop.
    def hear(number: int, _: object) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        loop.call_soon_threadsafe(stop, number)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def first_of(*events: asyncio.Event) -> None:
    """Wait until one of them is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
