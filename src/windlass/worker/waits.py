"""What a run waits for: what it sleeps or backs off for, and what the engine decides about (events, children, people).

new        asked for, and not on record yet
timed      sleeps and back-offs on record; a timer of ours ends them
open       on record, and over only when the engine says so; undecided when it should be asked
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.commands import Settled
from windlass.model.time import MILLISECOND, SECOND
from windlass.worker.calls import Call

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

EARLY = MILLISECOND  # timers may fire a little early; a wait must not
ASK_AGAIN_AFTER = SECOND


class Waits:
    def __init__(self, execution: Execution) -> None:
        self._execution, self._clock = execution, execution.host.clock
        self.new: list[Call] = []
        self.timed: set[Call] = set()
        self.open: dict[str, Call] = {}
        self.is_undecided = False
        self.dropped: set[str] = set()  # keys of branches the code has given up

    def __bool__(self) -> bool:
        return bool(self.timed or self.open)

    @property
    def is_any(self) -> bool:
        return bool(self.new or self.timed or self.open or self.is_undecided or self.dropped)

    def begin(self, call: Call) -> None:
        """A wait that is not on record: it is written at the next standstill."""
        group = call.group
        if call.kind.is_wait and group is not None:
            if group.is_full:
                group.backlog.append(call)
                return
            group.running += 1
        self.new.append(call)

    def go_on(self, call: Call, due_in: int | None) -> None:
        """A wait of which the record says that it has not ended."""
        if not call.kind.is_wait:
            self.time(call, due_in or 0)
            return
        if call.group is not None:
            call.group.running += 1
        self.keep_open(call, due_in)
        self.is_undecided = True  # what it waits for may have come since

    def keep_open(self, call: Call, due_in: int | None) -> None:
        self.open[call.key] = call
        if due_in is not None:
            call.timer = self._clock.call_later(max(0, due_in) + EARLY, self._late, call)

    def _late(self, call: Call) -> None:
        """Its time is over by our clock. The store's decides, and may want to be asked once more."""
        self.look()
        call.timer = self._clock.call_later(ASK_AGAIN_AFTER, self._late, call)

    def time(self, call: Call, due_in: int) -> None:
        """The call is due again in that many microseconds; the run may be parked by then."""
        self.timed.add(call)
        if due_in <= 0:
            self._due(call)
        else:
            call.timer = self._clock.call_later(due_in + EARLY, self._due, call)

    def look(self) -> None:
        """Something may have come, or it is too late for something: let the engine decide."""
        if (self.open or self._execution.reports.is_suspending) and not self._execution.is_over:
            self.is_undecided = True
            self._execution.nudge()

    def _due(self, call: Call) -> None:
        """Go on with it at the next standstill: not before all that history has to say was heard."""
        self.timed.discard(call)
        self._execution.entering.add(call)

    def take_new(self) -> list[Call]:
        new, self.new = self.new, []
        return new

    def take_dropped(self) -> tuple[str, ...]:
        """What was given up since this was last written."""
        dropped, self.dropped = self.dropped, set()
        return tuple(sorted(dropped))

    def settled(self, settled: Settled) -> Call | None:
        """A wait is over; whoever stood behind it in its map may begin."""
        call = self.open.pop(settled.key, None)
        if call is None:
            return None
        call.awaits = settled.awaits
        if call.timer is not None:
            call.timer.cancel()
        if call.group is not None:
            call.group.running -= 1
            if call.group.backlog and not call.group.is_over:
                self.begin(call.group.backlog.popleft())
        return call

    def drop(self, call: Call) -> None:
        """Nobody waits for it any more."""
        self.dropped.add(call.key)

    def sort_out(self) -> None:
        """Let go of what the code has given up since the last look."""
        if not self.is_any:
            return
        self.new = [call for call in self.new if not call.is_given_up]
        for call in [*self.timed, *self.open.values()]:
            if call.is_given_up:
                self.drop(call)
                self.timed.discard(call)
                self.open.pop(call.key, None)
                if call.timer is not None:
                    call.timer.cancel()
        if not self.open and not self._execution.reports.is_suspending:
            self.is_undecided = False  # else what is on its way to the store is to be decided when it is there

    @property
    def are_together(self) -> bool:
        """Are all of them children of one map that has nobody left to start? Then only the last is worth waking for."""
        calls = [*self.open.values(), *(call for call in self.new if call.kind.is_wait)]
        group = calls[0].group if calls else None
        return group is not None and not group.backlog and all(call.group is group for call in calls)

    def stop(self) -> None:
        if not self:
            return
        for call in [*self.timed, *self.open.values()]:
            if call.timer is not None:
                call.timer.cancel()
