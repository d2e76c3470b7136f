"""The short way: a run with one task that awaits one step, as most runs are most of the time.

Such a run stands still the moment it asks, and again the moment it gets the result. So what `execute` decides once
all tasks stand still is decided here at once, without another turn of the loop; whatever else there is about the run
leaves it to `execute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windlass.model.time import Instant
from windlass.worker.calls import Call

if TYPE_CHECKING:
    from windlass.worker.execute import Execution


class Alone:
    __slots__ = ("_execution", "call")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self.call: Call | None = None  # the step that the only task of the run awaits

    def enter(self, call: Call) -> bool:
        """Enter the body at once, if nothing has to be looked at before."""
        execution, definition = self._execution, call.definition
        host, waits, entering = execution.host, execution.waits, execution.entering
        if (
            definition is None
            or not definition.is_async
            or call.record is not None
            or execution.history.unread
            or execution.claimed.recoveries
            or not execution.tree.is_asked_by_root
            or execution.tree.failed
            or execution.has_news
            or execution.bodies.working
            or execution.reports.writing
            or entering.calls
            or entering.preparing
            or waits.is_any
            or execution.is_held
            or execution.is_over
            or host.is_draining
        ):
            return False
        now = host.clock.monotonic()
        if execution.tenure.needed_before(definition.visibility_for, now=now) is not None:
            return False
        self.call = call
        execution.bodies.enter(call, now=now)
        return True

    @property
    def is_waiting(self) -> bool:
        """Is there nothing to do until the step has ended? Not if the code has given it up, as after a time-out."""
        call = self.call
        return call is not None and len(self._execution.tree.paths) == 1 and not call.is_given_up

    def deliver(self, call: Call, value: Any, at: Instant) -> bool:
        """Give the task what it awaits, if it is still alone."""
        if self.call is not call:
            return False
        self.call = None
        execution, future = self._execution, call.future
        if len(execution.tree.paths) > 1 or future is None or future.done():
            return False
        if at > execution.now:
            execution.now = at
        execution.tree.futures.pop(future, None)
        future.set_result(value)
        execution.nudge()  # whatever the code does now, unless it asks for the next step
        return True
