"""Drive one run: replay what is recorded, execute what is not, and leave when everything waits.

Nothing here is decided while a task of the run is about to do something. Once all of them stand still, in this order:

    a disagreement with history     → the run is given to a person
    the workflow has returned       → finish
    a recorded or committed result  → deliver the first, and look again once all stand still
    calls not yet begun             → enter their bodies (all history has been read by then, or it is a disagreement)
    nothing at work, only waits     → park: write what is waited for, give the claim back, drop the body

Results are delivered in the order in which they were written, which is a column of `steps`; a replay follows it.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Coroutine
from typing import Any

from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, ReplayMismatch
from windlass.model.commands import ClaimedRun
from windlass.model.failure import Failure
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.time import MILLISECOND, Duration, Instant
from windlass.worker import failures, mismatch, recall
from windlass.worker.bodies import Bodies
from windlass.worker.calls import Body, Call, Group
from windlass.worker.ending import Ending
from windlass.worker.host import Host
from windlass.worker.patience import Patience, Standby
from windlass.worker.recall import ValueOf
from windlass.worker.reports import LATER, Reports
from windlass.worker.tasks import OWNER, TaskTree
from windlass.worker.tenure import Tenure

LOGGER = logging.getLogger("windlass.worker")
CANCELLED_ITSELF = "The workflow cancelled itself."
EARLY = MILLISECOND  # timers may fire a little early; a wait must not


class Execution:
    def __init__(self, claimed: ClaimedRun, definition: WorkflowDefinition, host: Host) -> None:
        self.claimed, self.host = claimed, host
        self.codec, self.registry = host.codec, host.registry
        self.tree = TaskTree(self.nudge)
        self.tenure = Tenure(claimed, host.clock)
        self.now: int = claimed.started_at
        self.is_over = False
        self.outcome: RunStatus | None = None  # how the run ended here, if it did
        self.definition = definition
        self._claimed_at = host.clock.monotonic()
        self._history = {record.key: record for record in claimed.history}
        self._unread = set(self._history)
        self._recorded = sum(record.order is not None for record in claimed.history)
        self._results: list[tuple[int, Call, ValueOf, Instant]] = []  # a heap by order
        self._fresh: list[Call] = []
        self._waits: set[Call] = set()
        self._new_waits: list[Call] = []
        self._failed: list[tuple[Body, Failure]] = []
        self._preparing = 0
        self._renewing = asyncio.Lock()
        self.dropped: set[str] = set()  # keys of branches the code has given up
        self._mismatch: ReplayMismatch | None = None
        self._is_nudged = self._is_parking = False
        self._root: asyncio.Task[Any] | None = None
        self._standby = Standby(host, claimed, leave=self._leave_if_nothing_came)
        self._patience = Patience(host, workflow=claimed.name, nudge=self.nudge)
        self.bodies = Bodies(
            host,
            claimed.run_id,
            on_value=self._on_value,
            on_failure=self._on_failure,
            on_interrupt=self._on_interrupt,
            nudge=self.nudge,
        )
        self.reports = Reports(self)
        self.ending = Ending(self)

    @property
    def is_replaying(self) -> bool:
        # What is on record and not asked for yet may be a wait, which has no result: the code came so far before too.
        return self._recorded > 0 or bool(self._unread)

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        context = self.host.context.copy()
        context.run(OWNER.set, self.tree)
        self._root = asyncio.get_running_loop().create_task(coroutine, context=context)
        self.ending.watch_claim()
        self.nudge()  # code that begins with a foreign wait asks for nothing, and is to be noticed all the same

    # --- what the code asks -------------------------------------------------------------------------------------------

    def reserve(self, key: str, kind: StepKind, input_hash: bytes) -> Call:
        """Fix a key at call time, and compare what history says about it."""
        record = self._history.get(key)
        if record is not None:
            self._unread.discard(key)
            if record.kind is not kind:
                self._disagree(mismatch.other_kind(self.claimed.run_id, record, kind))
            elif record.input_hash != input_hash:
                self._disagree(mismatch.other_input(self.claimed.run_id, record))
        return Call(key, kind, input_hash, record)

    async def ask(self, call: Call) -> Any:
        call.future = self._open_future()
        self._enqueue(call)
        return await call.future

    async def ask_all(self, calls: list[Call], group: Group) -> list[Any]:
        if not calls:
            return []
        group.future = self._open_future()
        for call in calls:
            self._enqueue(call)
        results: list[Any] = await group.future
        return results

    def _open_future(self) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.tree.futures.add(future)
        return future

    def _enqueue(self, call: Call) -> None:
        record = call.record
        if record is not None and record.order is not None:
            heapq.heappush(
                self._results, (record.order, call, recall.recorded(call, self.codec), record.finished_at or Instant(0))
            )
        elif record is not None and record.due_in is not None:
            self.wait(call, record.due_in - (self.host.clock.monotonic() - self._claimed_at))
        elif call.kind is StepKind.SLEEP:
            self._new_waits.append(call)
        else:
            self._fresh.append(call)
        self.nudge()

    # --- the turn of the wheel ----------------------------------------------------------------------------------------

    def nudge(self) -> None:
        """Look at the run in the next turn of the loop."""
        if not self._is_nudged and not self.is_over:
            self._is_nudged = True
            asyncio.get_running_loop().call_soon(self._nudged, context=self.host.context)

    def _nudged(self) -> None:
        self._is_nudged = False
        try:
            self.advance()
        except Exception:
            LOGGER.exception("Run %s is dropped: an error of the worker itself", self.claimed.run_id)
            self.ending.lose()

    def advance(self) -> None:
        if self.is_over or self._is_parking:
            return
        if self._mismatch is not None:
            self.ending.end(self.reports.hold(self._mismatch))
            return
        if self._root is not None and self._root.done():
            self._finish(self._root)
            return
        foreign = self.tree.foreign_waits()
        if foreign is None:
            self.nudge()
        elif not foreign or self._patience.is_out(foreign):
            self._proceed(is_still=not foreign)

    def _proceed(self, *, is_still: bool) -> None:
        if self._deliver():
            self.nudge()
            return
        if is_still and self._unread and not self._results and not self.tree.has_shared_waits:
            # Everything recorded was delivered, and still nobody has asked for these.
            asked = [call.key for call in (*self._fresh, *self._new_waits)]
            self._disagree(mismatch.renamed(self.claimed.run_id, sorted(self._unread), asked))
            return
        if not self.host.is_draining:
            self._enter_fresh()
        is_idle = is_still and not self.is_busy
        has_news = bool(self._failed or self._new_waits)
        if has_news and (self._fresh or not is_idle):
            self._suspend(park=False)
        elif not is_idle:
            return
        elif self._fresh and not self.host.is_draining:
            # No thread is free; the run is nudged when one is.
            self._standby.begin("a free thread for a sync step", half_of_claim=self.tenure.left() // 2)
        elif has_news or (self._waits and not self._fresh):
            self._suspend(park=True)
        elif self.host.is_draining:  # whatever is left to do, another worker does
            self.ending.end(self.reports.release())
        elif self.tree.has_shared_waits:
            self._standby.begin("an asyncio lock, event or queue", half_of_claim=self.tenure.left() // 2)
        else:
            self.ending.end(self.reports.deadlock())

    def _leave_if_nothing_came(self) -> None:
        has_come = self.is_busy or self._results or self._failed or self._new_waits
        if self._is_parking or has_come or self.tree.foreign_waits() != []:
            self.nudge()  # it moved, if only by itself
        else:
            self.ending.end(self.reports.release())

    @property
    def is_busy(self) -> bool:
        return bool(len(self.bodies) or self._preparing or self.reports.writing)

    def _deliver(self) -> bool:
        """Give the code the next result, unless one that was written before it is still on its way."""
        if not self._results or (self.reports.writing and min(self.reports.writing) < self._results[0][0]):
            return False
        self._standby.stop()
        _, call, value_of, at = heapq.heappop(self._results)
        if call.record is not None and call.record.order is not None:
            self._recorded -= 1
        self.now = max(self.now, at)
        try:
            value, error = value_of()
        except InvalidInput as refused:
            self._disagree(mismatch.other_result(self.claimed.run_id, call.key, refused))
            return True
        except Exception as broken:  # the codec's hook, for example a key service that does not answer
            LOGGER.warning("Run %s is given back: %r cannot be read: %s", self.claimed.run_id, call.key, broken)
            self.ending.end(self.reports.release(delay_for=LATER))
            return True
        if call.group is None:
            self._settle(call.future, value, error)
        elif call.group.take(call.index, value, error):
            self._settle(call.group.future, call.group.results, error)
        return True

    def _settle(self, future: asyncio.Future[Any] | None, value: Any, error: Exception | None) -> None:
        if future is None:
            return
        self.tree.futures.discard(future)
        if future.done():  # its branch was cancelled by the code
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def _enter_fresh(self) -> None:
        """Enter every body that may begin, and end the sleeps that are over."""
        fresh, self._fresh = self._fresh, []
        for call in fresh:
            if call.kind is StepKind.SLEEP:
                self.reports.wake(call)
                continue
            if call.future is not None and call.future.cancelled():
                self.dropped.add(call.key)  # with the branch that asked
                continue
            if not self._has_thread_for(call):
                self._fresh.append(call)
                continue
            if call.group is not None:
                if call.group.future is not None and call.group.future.done():
                    self.dropped.add(call.key)  # with its map, which has failed
                    continue
                if call.group.is_full:
                    self._fresh.append(call)
                    continue
                call.group.running += 1
            if self.claimed.recoveries or self._needed(call) is not None:
                self._preparing += 1
                self.ending.start(self._prepare(call))
            else:
                self._enter(call)

    def _has_thread_for(self, call: Call) -> bool:
        assert call.definition is not None
        return call.definition.is_async or self.host.threads.has_room(self.nudge)

    async def _prepare(self, call: Call) -> None:
        """Before a body is entered: enough of the claim, and for a recovered run its start on record."""
        try:
            async with self._renewing:  # one renewal serves all that wait for it
                needed = self._needed(call)
                if needed is not None:
                    await self.reports.renew(needed)
            if self.claimed.recoveries:
                await self.reports.begin(call)
        finally:
            self._preparing -= 1
        if self.is_over:
            return
        if not self.host.is_draining and self._has_thread_for(call):
            self._enter(call)
        else:
            if call.group is not None:
                call.group.running -= 1
            self._fresh.append(call)
            self.nudge()

    def _needed(self, call: Call) -> Duration | None:
        assert call.definition is not None
        return self.tenure.needed_before(call.definition.visibility_for)

    def _enter(self, call: Call) -> None:
        self._standby.stop()
        body = self.bodies.enter(call, stops_in=self.tenure.left())
        if not self.claimed.recoveries:
            self.host.observe(self.reports.observed, body)

    # --- what became of it --------------------------------------------------------------------------------------------

    def _on_value(self, body: Body, stored: bytes, decoded: Any) -> None:
        self._left_body(body)
        self.reports.complete(body, stored, decoded)

    def _on_failure(self, body: Body, failure: Failure) -> None:
        self._left_body(body)
        self._failed.append((body, failure))
        self.nudge()  # and not at once: what fails in the same turn is written together

    def _on_interrupt(self, body: Body) -> None:
        self._left_body(body)
        self._fresh.append(body.call)
        self.nudge()

    def _left_body(self, body: Body) -> None:
        if body.call.group is not None:
            body.call.group.running -= 1
            self.nudge()

    def result(self, order: int, call: Call, value_of: ValueOf, at: Instant) -> None:
        """A result is on record; the code gets it when its turn comes."""
        heapq.heappush(self._results, (order, call, value_of, at))
        if not self._is_nudged:  # else it is looked at in the next turn anyway: once, however many results came in this
            self.advance()

    def wait(self, call: Call, due_in: int) -> None:
        """The call is due again in that many microseconds; the run may be parked by then."""
        self._waits.add(call)
        if due_in <= 0:
            self._due(call)
        else:
            call.timer = self.host.clock.call_later(due_in + EARLY, self._due, call)

    def _due(self, call: Call) -> None:
        """Go on with it at the next standstill: not before all that history has to say was heard."""
        self._waits.discard(call)
        self._fresh.append(call)
        self.nudge()

    def _suspend(self, *, park: bool) -> None:
        if self.reports.is_suspending:
            return  # this news is written with whatever else comes until that is answered
        failed, self._failed = self._failed, []
        waits, self._new_waits = self._new_waits, []
        self._is_parking = park
        self.ending.start(self.reports.suspend(failed, waits, park=park))

    def not_parked(self) -> None:
        """The run stays: some failure was for good, so its code goes on."""
        self._is_parking = False

    def _disagree(self, error: ReplayMismatch) -> None:
        if self._mismatch is None:
            self._mismatch = error
        self.nudge()

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finish(self, root: asyncio.Task[Any]) -> None:
        asked_to_stop = not root.cancelled() and isinstance(root.exception(), KeyboardInterrupt | SystemExit)
        if asked_to_stop or (root.cancelling() and self.host.is_ending()):
            self._torn_down(root)
        elif self._unread:
            if not root.cancelled():
                root.exception()  # seen: the disagreement explains it
            self.ending.end(self.reports.hold(mismatch.left_unread(self.claimed.run_id, sorted(self._unread))))
        else:
            error = asyncio.CancelledError(CANCELLED_ITSELF) if root.cancelled() else root.exception()
            if error is None:
                self.ending.end(self.reports.succeed(root.result(), self.definition))
            else:
                self.ending.end(self.reports.fail(failures.of_workflow(error, codec=self.codec)))

    def _torn_down(self, root: asyncio.Task[Any]) -> None:
        """A loop that ends cancels every task: whatever the code made of that says nothing about the run."""
        if not root.cancelled():
            root.exception()  # seen: nobody else will look
        self.host.is_draining = True
        self.ending.stop()

    def close(self) -> None:
        """From here on ctx refuses every call, and nothing that still runs is listened to."""
        self.is_over = True
        for call in self._waits:
            if call.timer is not None:
                call.timer.cancel()
        self._standby.stop()
        self._patience.stop()
        self.bodies.stop_all()
