"""Which calls of a run have not begun, and what must be so before their bodies are entered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from windlass.model.step import StepKind
from windlass.worker.calls import Call

if TYPE_CHECKING:
    from windlass.worker.execute import Execution


class Entering:
    def __init__(self, execution: Execution) -> None:
        self._execution, self._host = execution, execution.host
        self.calls: list[Call] = []
        self.preparing = 0
        self._renewing: asyncio.Lock | None = None

    def __bool__(self) -> bool:
        return bool(self.calls)

    def add(self, call: Call) -> None:
        self.calls.append(call)
        self._execution.nudge()

    def enter_all(self) -> None:
        """Enter every body that may begin, and end the sleeps that are over."""
        calls, self.calls = self.calls, []
        execution, now = self._execution, self._host.clock.monotonic()
        for call in calls:
            if call.kind is StepKind.SLEEP:
                execution.reports.wake(call)
                continue
            if call.is_given_up:  # with the branch that asked, or with its map, which has failed
                if call.record is not None or call.failures:  # else nobody knows of it
                    execution.waits.drop(call)
                continue
            definition = call.definition
            assert definition is not None
            if not definition.is_async and not self._has_thread():
                self.calls.append(call)
                continue
            if call.group is not None:
                if call.group.is_full:
                    self.calls.append(call)
                    continue
                call.group.running += 1
            needed = execution.tenure.needed_before(definition.visibility_for, now=now)
            if needed is not None or execution.claimed.recoveries:
                self.preparing += 1
                execution.ending.start(self._prepare(call))
            else:
                execution.bodies.enter(call, now=now)

    def _has_thread(self) -> bool:
        return self._host.threads.has_room(self._execution.nudge)

    async def _prepare(self, call: Call) -> None:
        """Before a body is entered: enough of the claim, and for a recovered run its start on record."""
        execution, definition, clock = self._execution, call.definition, self._host.clock
        assert definition is not None
        if self._renewing is None:
            self._renewing = asyncio.Lock()
        try:
            async with self._renewing:  # one renewal serves all that wait for it
                needed = execution.tenure.needed_before(definition.visibility_for, now=clock.monotonic())
                if needed is not None:
                    await execution.reports.renew(needed)
            if execution.claimed.recoveries:
                await execution.reports.begin(call)
        finally:
            self.preparing -= 1
        if execution.is_over:
            return
        if not execution.is_leaving and (definition.is_async or self._has_thread()):
            execution.bodies.enter(call, now=clock.monotonic())
        else:
            if call.group is not None:
                call.group.running -= 1
            self.add(call)
