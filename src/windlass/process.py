"""How a process that is all a worker's runs: on which loop, and how often it looks for garbage.

Only where the process is ours, as under `app.serve()` and `windlass worker`: inside of somebody's program both are
theirs to choose.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

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
