"""Note that bodies began which are still at work after a moment. One timer for all of them: most end sooner."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from windlass.model.time import MILLISECOND
from windlass.runtime import Clock

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

AFTER = 20 * MILLISECOND  # a body that ends sooner leaves no trace of having begun


class Noting:
    def __init__(self, clock: Clock, executions: Collection[Execution]) -> None:
        self._clock, self._executions = clock, executions
        self._is_due = False

    def entered(self) -> None:
        """A body was entered: look in a moment whether it is still at work."""
        if not self._is_due:
            self._is_due = True
            self._clock.call_later(AFTER, self._look)

    def _look(self) -> None:
        now = self._clock.monotonic()
        first: int | None = None
        for execution in self._executions:
            if not execution.is_over and not execution.claimed.recoveries:
                younger = execution.reports.observe(now - AFTER)
                if younger is not None and (first is None or younger < first):
                    first = younger
        self._is_due = first is not None
        if first is not None:
            self._clock.call_later(max(MILLISECOND, first + AFTER - now), self._look)
