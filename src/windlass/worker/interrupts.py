"""How a process that is told to end gives its runs back first."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminated_in_order() -> Iterator[None]:
    """SIGTERM cancels this task, as Ctrl-C does, and ends the process once the block is left.

    Without this the process would be gone at once, and what it had claimed out of reach until the claim ends.
    """
    loop, task, heard = asyncio.get_running_loop(), asyncio.current_task(), False
    is_main = threading.current_thread() is threading.main_thread()
    if task is None or not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # not ours to hear, or somebody has made it theirs
        return

    def hear(*_: object) -> None:
        nonlocal heard
        heard = True
        loop.call_soon_threadsafe(task.cancel)

    signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if heard:
            signal.raise_signal(signal.SIGTERM)
