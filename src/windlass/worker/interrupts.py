"""How a process that is told to end gives its runs back first."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

OURS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel this task, and end the process once the block is left.

    The first lets bodies end, the second stops them; both give back what is claimed, which would else be out of reach
    until the claims end. The third ends the process where it stands.
    """
    loop, task, heard = asyncio.get_running_loop(), asyncio.current_task(), list[int]()

    def hear(number: int, _: object) -> None:
        heard.append(number)
        if len(heard) > 2:
            os._exit(128 + number)
        if task is not None:
            # In a turn of its own: an exception raised here would end whatever code is at work, also our own.
            loop.call_soon_threadsafe(task.cancel)

    before = {number: signal.getsignal(number) for number in OURS if _is_free(number)}
    for number in before:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if signal.SIGTERM in heard:
            signal.raise_signal(signal.SIGTERM)
        if heard:
            raise KeyboardInterrupt


def _is_free(number: int) -> bool:
    """Is the signal heard here, and by nobody but the default and asyncio?"""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(number)
    of_asyncio = getattr(getattr(handler, "func", None), "__qualname__", "")  # a partial of its runner's method
    return handler in (signal.SIG_DFL, signal.default_int_handler) or of_asyncio == "Runner._on_sigint"
