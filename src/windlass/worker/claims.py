"""Notice claims that run out. One timer for all runs of a worker: most of them end long before it fires."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from windlass.runtime import Clock, Timer

if TYPE_CHECKING:
    from windlass.worker.execute import Execution


class Claims:
    def __init__(self, clock: Clock, executions: Collection[Execution]) -> None:
        self._clock, self._executions = clock, executions
        self._timer: Timer | None = None
        self._at = 0  # when it fires

    def watch(self, until: int) -> None:
        """Look at all claims at that moment, if no look is due sooner."""
        if self._timer is not None:
            if self._at <= until:
                return
            self._timer.cancel()
        self._at = until
        self._timer = self._clock.call_later(until - self._clock.monotonic(), self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        held = [execution for execution in self._executions if not execution.is_over]
        for execution in held:
            if execution.tenure.left() <= 0:
                execution.ending.run_out()
        left = [execution.tenure.until for execution in held if not execution.is_over]
        if left:
            self.watch(min(left))
