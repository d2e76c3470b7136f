"""Notice a workflow that blocks the event loop, and say where.

A thread asks the loop for a sign of life while runs are executed. If none comes it looks at the stack of the loop's
thread: the line of the workflow that is standing there is the one to turn into a step.
"""

from __future__ import annotations

import asyncio
import linecache
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

from windlass.model.duration import describe
from windlass.model.time import Duration
from windlass.runtime import Clock

LOGGER = logging.getLogger("windlass.worker")
BLOCKED_AFTER = 1.0  # seconds without a sign of life


class LoopWatch:
    def __init__(
        self, clock: Clock, workflows: Callable[[], dict[CodeType, str]], *, blocked_after: float = BLOCKED_AFTER
    ) -> None:
        self._clock, self._workflows, self._blocked_after = clock, workflows, blocked_after
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._is_wanted = threading.Event()
        self._is_stopped = False
        self._answered = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="windlass-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def want(self, *, wanted: bool) -> None:
        """Watch while runs are executed; an idle worker is left in peace."""
        if wanted:
            self._is_wanted.set()
        elif not self._is_stopped:  # else its thread would sleep for ever instead of ending
            self._is_wanted.clear()

    def stop(self) -> None:
        self._is_stopped = True
        self._is_wanted.set()

    def _watch(self) -> None:
        while self._is_wanted.wait() and not self._is_stopped:
            asked_at = self._clock.monotonic()
            self._answered.clear()
            try:
                self._loop.call_soon_threadsafe(self._answered.set)
            except RuntimeError:
                return  # the loop is closed
            if self._answered.wait(self._blocked_after):
                threading.Event().wait(self._blocked_after / 2)
                continue
            where = self._where()
            while not self._answered.wait(self._blocked_after):
                if self._is_over():
                    return
            if where is not None and not self._is_stopped:
                self._report(where, Duration(self._clock.monotonic() - asked_at))

    def _is_over(self) -> bool:
        return self._is_stopped or self._loop.is_closed()

    def _report(self, where: tuple[str, str, str], held_for: Duration) -> None:
        name, line, culprit = where
        LOGGER.warning(
            "Workflow %r held the event loop for %s at %s (%s). Make it a step: await ctx.step(%s, ...); "
            "sync steps run in threads.",
            name,
            describe(held_for),
            line,
            culprit,
            culprit,
            extra={"workflow": name},
        )

    def _where(self) -> tuple[str, str, str] | None:
        """Workflow, "shop.py:14" and what it called there, if the loop's thread is inside a workflow."""
        workflows = self._workflows()
        frame: FrameType | None = sys._current_frames().get(self._thread_id)
        inner: FrameType | None = None
        while frame is not None:
            if frame.f_code in workflows:
                location = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                return workflows[frame.f_code], location, _culprit(frame, inner)
            inner, frame = frame, frame.f_back
        return None


def _culprit(frame: FrameType, inner: FrameType | None) -> str:
    """What the workflow called: by its frame, or for a builtin by the text of the line."""
    if inner is not None:
        module = inner.f_globals.get("__name__", "")
        return f"{module}.{inner.f_code.co_qualname}" if module != "__main__" else inner.f_code.co_qualname
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return text.split("(")[0].split("=")[-1].strip() or "its own code"
