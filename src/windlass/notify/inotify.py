"""How Linux tells a process that another one has touched a file.

A touch is to open the file for reading and close it again: that alone is told to whoever watches the file, it writes
nothing to the disk and waits for nothing that is written there. What SQLite itself does to its journal is no touch.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from windlass.runtime import Clock

CLOSED_WITHOUT_WRITING = 0x10  # IN_CLOSE_NOWRITE
LONGEST_NEWS = 4_096  # bytes; what is alike waits once, so that there is hardly ever more than one event


class Touches:
    """The touches of one file, remembered by the kernel until they are taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Also when it is forgotten, as by a test that plays a process which dies: a user may be told of few files only.
        self.close = weakref.finalize(self, os.close, descriptor)

    def take(self) -> bool:
        """Was the file touched since this was asked last?"""
        try:
            return bool(os.read(self._descriptor, LONGEST_NEWS))
        except BlockingIOError:
            return False

    async def wait(self, clock: Clock, delay: int) -> None:
        """Return when there is a touch to take, or after `delay` microseconds."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._descriptor, _wake, woken)
        timer = clock.call_later(delay, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()
            loop.remove_reader(self._descriptor)


def watch_touches(path: str) -> Touches | None:
    """None: this system cannot tell, or does not want to, because too many are told already."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    begin: Callable[..., int] = library.inotify_init1
    add: Callable[..., int] = library.inotify_add_watch
    descriptor = begin(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    if add(descriptor, os.fsencode(path), CLOSED_WITHOUT_WRITING) < 0:
        os.close(descriptor)
        return None
    return Touches(descriptor)


def touch(path: str) -> None:
    """Wake those who watch the file; one that cannot be opened, or is not there, has nobody to wake."""
    if sys.platform != "linux":  # nobody there is told
        return
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def _wake(woken: asyncio.Future[Any]) -> None:
    if not woken.done():
        woken.set_result(None)
