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

from windlass.define.current import RUN
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, ReplayMismatch
from windlass.model.commands import ClaimedRun
from windlass.model.failure import Failure
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.time import Instant
from windlass.rules.runs import expired
from windlass.runtime import Timer
from windlass.telemetry.observer import StepEnd
from windlass.worker import failures, last_words, mismatch, recall
from windlass.worker.alone import Alone
from windlass.worker.bodies import Bodies
from windlass.worker.calls import Body, Call, Group, has_left
from windlass.worker.ending import Ending
from windlass.worker.entering import Entering
from windlass.worker.history import NO_HISTORY, History
from windlass.worker.host import Host
from windlass.worker.last_words import LATER
from windlass.worker.leftovers import Leftovers, leftovers_of
from windlass.worker.patience import Patience, Standby
from windlass.worker.recall import ValueOf
from windlass.worker.reports import Reports
from windlass.worker.tasks import OWNER, TaskTree
from windlass.worker.tenure import Tenure
from windlass.worker.waits import Waits

LOGGER = logging.getLogger("windlass.worker")


class Execution:
    """One claimed run, while its code is at work here."""

    # With 30 attributes or more CPython gives every object a dictionary of its own: 1.3 kB, and 6 % of all steps.
    __slots__ = (
        "__weakref__", "_doubt", "_expiry", "_failed", "_is_nudged", "_mismatch", "_patience", "_results", "_root",
        "alone", "bodies", "claimed", "claimed_at", "codec", "definition", "ending", "entering", "history", "host",
        "is_held", "is_over", "is_parking", "leftovers", "now", "outcome", "registry", "reports", "standby", "tenure",
        "tree", "waits",
    )  # fmt: skip

    def __init__(self, claimed: ClaimedRun, definition: WorkflowDefinition, host: Host) -> None:
        self.claimed, self.host = claimed, host
        self.codec, self.registry = host.codec, host.registry
        self.tree = TaskTree(self.nudge, host.loop)
        self.tenure = Tenure(claimed, host.clock)
        self.now: int = claimed.started_at if claimed.begun_at is None else claimed.begun_at
        self.is_over = False
        self.outcome: RunStatus | None = None  # how the run ended here, if it did
        self.definition = definition
        self.claimed_at = host.clock.monotonic()
        self.history = History(claimed.history) if claimed.history else NO_HISTORY
        self._results: list[tuple[int, Call, ValueOf, Instant]] = []  # a heap by order
        self._failed: list[tuple[Body, Failure]] = []
        self.waits = Waits(self)
        self.entering = Entering(self)
        self.is_held = False  # a person wants the run paused
        self._doubt: Failure | None = None  # what only a person can tell, before the run goes on
        self._expiry: Timer | None = None
        self._mismatch: ReplayMismatch | None = None
        self._is_nudged = False
        self.is_parking = False  # what it waits for is on its way to the store, and perhaps nothing stays here
        self.alone = Alone(self)
        self._root: asyncio.Task[Any] | None = None
        self.standby: Standby | None = None  # made when they are needed, which is seldom
        self._patience: Patience | None = None
        self.leftovers: Leftovers | None = None  # as well
        self.bodies = Bodies(self)
        self.reports = Reports(self)
        self.ending = Ending(self)

    @property
    def about(self) -> dict[str, str]:
        """What a record of the log is about."""
        return {"run": self.claimed.run_id, "workflow": self.claimed.name}

    @property
    def has_news(self) -> bool:
        """Is there something that the code, or the store, has not heard of yet?"""
        return bool(self._results or self._failed) or self._mismatch is not None

    @property
    def is_leaving(self) -> bool:
        """No new body is entered: the worker stops, a person wants a pause or has to be asked, or the code is over."""
        has_returned = self._root is not None and self._root.done()
        return self.host.is_draining or self.is_held or self._doubt is not None or has_returned

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        context = self.host.context.copy()
        context.run(OWNER.set, self.tree)
        context.run(RUN.set, self.claimed.run_id)
        if self.host.watch is not None:
            self.bodies.watch = self.host.watch.run_begins(self.claimed, context=context)
        self._root = self.tree.create_root(coroutine, context)
        self.host.watch_claim(self.tenure)
        if self.claimed.expires_in is not None:
            left = self.claimed.expires_in - (self.host.clock.monotonic() - self.claimed_at)
            self._expiry = self.host.clock.call_later(max(0, left), self._expire)
        self.nudge()  # code that begins with a foreign wait asks for nothing, and is to be noticed all the same

    # --- what the code asks -------------------------------------------------------------------------------------------

    def recall(self, key: str, kind: StepKind, input_hash: bytes) -> Call:
        """Compare a call with what history says about its key, if anything."""
        record = self.history.read(key)
        if record is not None:
            if record.kind is not kind:
                self._disagree(mismatch.other_kind(self.claimed.run_id, record, kind))
            elif record.input_hash != input_hash:
                self._disagree(mismatch.other_input(self.claimed.run_id, record))
        return Call(key, kind, input_hash, record)

    async def ask(self, call: Call) -> Any:
        future = call.future = self._open_future(call)
        if not self.alone.enter(call):
            self._enqueue(call)
        return await future

    async def ask_all(self, calls: list[Call], group: Group) -> list[Any]:
        if not calls:
            return []
        group.calls, group.future = calls, self._open_future(group)
        # What is on record first: it takes its places in the limit before anything new does.
        for call in sorted(calls, key=lambda call: call.record is None):
            self._enqueue(call)
        results: list[Any] = await group.future
        return results

    def _open_future(self, asked: Call | Group) -> asyncio.Future[Any]:
        if self.is_over:  # asked for before, and awaited now: nobody would resolve it
            raise has_left(self.claimed.run_id)
        future: asyncio.Future[Any] = asyncio.Future(loop=self.host.loop.loop)
        self.tree.futures[future] = asked
        return future

    def _enqueue(self, call: Call) -> None:
        self.alone.call = None
        record = call.record
        if record is not None and record.order is not None:
            heapq.heappush(
                self._results, (record.order, call, recall.recorded(call, self.codec), record.finished_at or Instant(0))
            )
        elif record is not None and (record.due_in is not None or call.kind.is_wait):
            passed = self.host.clock.monotonic() - self.claimed_at
            self.waits.go_on(call, None if record.due_in is None else record.due_in - passed)
        elif call.kind is StepKind.STEP:
            self.entering.add(call)
        else:
            self.waits.begin(call)
        self.nudge()

    # --- the turn of the wheel ----------------------------------------------------------------------------------------

    def nudge(self) -> None:
        """Look at the run in the next turn of the loop."""
        if not self._is_nudged and not self.is_over:
            self._is_nudged = True
            self.host.turns.ask(self._nudged)

    def _nudged(self) -> None:
        self._is_nudged = False
        if self.is_over or self.alone.is_waiting:
            return
        try:
            self.advance()
        except Exception:
            LOGGER.exception("Run %s is dropped: an error of the worker itself", self.claimed.run_id, extra=self.about)
            self.ending.lose()

    def advance(self) -> None:
        if self.is_over or self.is_parking:
            return
        if self._mismatch is not None:
            self.ending.end(last_words.hold(self, self._mismatch))
            return
        if self._doubt is not None and not self.bodies.has_effects:
            self.ending.end(last_words.hold(self, self._doubt))
            return
        if self._root is not None and self._root.done():
            self._finish(self._root)
            return
        foreign = self.tree.foreign_waits()
        if foreign is None:
            self.nudge()
            return
        if self.tree.failed:
            leftovers_of(self).look()
        if not foreign or self._is_out_of_patience(foreign):
            self._proceed(is_still=not foreign)

    def _is_out_of_patience(self, foreign: list[asyncio.Future[Any]]) -> bool:
        if self._patience is None:
            self._patience = Patience(self.host, self.claimed, nudge=self.nudge)
        return self._patience.is_out(foreign)

    def _proceed(self, *, is_still: bool) -> None:
        if self._results and self._deliver():
            self.nudge()
            return
        if is_still and self._has_unread():
            return
        self.waits.sort_out()
        # First what has come from outside, then what is ours to do: an event wins over a sleep that is over.
        if self.entering.calls and not self.is_leaving and not self.waits.is_undecided:
            self.entering.enter_all()
        is_idle = is_still and not self.is_busy
        has_news = bool(self._failed or self.waits.new) or (self.waits.is_undecided and self.can_decide)
        tells = self.leftovers is not None and self.leftovers.has_news
        if tells or (has_news and (self.entering or not is_idle)):
            self._suspend(park=False)
        elif not is_idle:
            return
        elif self.entering and not self.is_leaving:
            # No thread is free; the run is nudged when one is.
            self._stand_by("a free thread for a sync step")
        elif has_news or (self.waits and not self.entering):
            self._suspend(park=True)
        elif self.is_leaving:  # whatever is left to do is done by another worker, or when it is resumed
            self.ending.end(last_words.release(self))
        elif self.tree.has_shared_waits:
            self._stand_by("an asyncio lock, event or queue")
        else:
            self.ending.finish(last_words.deadlock(self))

    def _has_unread(self) -> bool:
        """Was everything recorded delivered, and still nobody has asked for some of it? That is a disagreement."""
        if not self.history.unread or self._results or self.tree.has_shared_waits:
            return False
        asked = [call.key for call in (*self.entering.calls, *self.waits.new)]
        self._disagree(mismatch.renamed(self.claimed.run_id, sorted(self.history.unread), asked))
        return True

    def _stand_by(self, awaited: str) -> None:
        if self.standby is None:
            self.standby = Standby(self.host, self.claimed, leave=self._leave_if_nothing_came)
        self.standby.begin(awaited, half_of_claim=self.tenure.left() // 2)

    def _leave_if_nothing_came(self) -> None:
        has_come = self.is_busy or self._results or self._failed or self.waits.new or self.waits.is_undecided
        if self.is_parking or has_come or self.tree.foreign_waits() != []:
            self.nudge()  # it moved, if only by itself
        else:
            self.ending.end(last_words.release(self))

    @property
    def can_decide(self) -> bool:
        """May the engine take events for the waits of this run? Not while a result is on its way to the code.

        The code may give a wait up when it hears of that, and an event that was taken for it would be lost.
        """
        return not self._results and not self.reports.writing

    @property
    def is_busy(self) -> bool:
        return bool(self.bodies.working or self.entering.preparing or self.reports.writing)

    @property
    def is_at_work(self) -> bool:
        """Is there code of the run that has not ended, be it a body, or a branch that the workflow left behind?"""
        return bool(self.bodies.working) or self.tree.has_living()

    def _deliver(self) -> bool:
        """Give the code the next result, unless one that was written before it is still on its way."""
        if self.reports.writing and min(self.reports.writing) < self._results[0][0]:
            return False
        if self.standby is not None:
            self.standby.stop()
        _, call, value_of, at = heapq.heappop(self._results)
        if call.record is not None:
            self.history.deliver(call.record)
        if at > self.now:
            self.now = at
        try:
            value, error = value_of()
        except InvalidInput as refused:
            self._disagree(mismatch.other_result(self.claimed.run_id, call.key, refused))
            return True
        except Exception as broken:  # the codec's hook, for example a key service that does not answer
            told, about = "Run %s is given back: %r cannot be read: %s", {**self.about, "step": call.key}
            LOGGER.warning(told, self.claimed.run_id, call.key, broken, extra=about)
            self.ending.end(last_words.release(self, delay_for=LATER))
            return True
        if call.group is None:
            self.tree.resolve(call.future, value, error)
        elif call.group.take(call.index, value, error):
            self.tree.resolve(call.group.future, call.group.results, error)
        return True

    # --- what became of it --------------------------------------------------------------------------------------------

    def on_failure(self, body: Body, failure: Failure, *, is_doubt: bool = False) -> None:
        """`is_doubt`: a person has to be asked, once other effects have ended: stopped, they were in doubt as well."""
        self.alone.call = None
        how = StepEnd.TIMED_OUT if body.is_timed_out else StepEnd.FAILED
        body.left(how, now=self.host.clock.monotonic(), error=failure.type)
        if body.call.group is not None:
            body.call.group.running -= 1
        failures.tell_step(self.claimed, body, failure)
        if is_doubt:
            self._doubt = self._doubt or failure
        else:
            self._failed.append((body, failure))
        self.nudge()  # and not at once: what fails in the same turn is written together

    def on_interrupt(self, body: Body) -> None:
        self.alone.call = None
        body.left(StepEnd.STOPPED, now=self.host.clock.monotonic())
        if body.call.group is not None:
            body.call.group.running -= 1
        self.entering.add(body.call)

    def result(self, order: int, call: Call, value_of: ValueOf, at: Instant) -> None:
        """A result is on record; the code gets it when its turn comes."""
        heapq.heappush(self._results, (order, call, value_of, at))
        if not self._is_nudged:  # else it is looked at in the next turn anyway: once, however many results came in this
            self.advance()

    def hold(self, *, is_held: bool) -> None:
        """A person wants the run paused, or does not any more."""
        if self.is_held is not is_held:
            self.is_held = is_held
            self.nudge()

    def _expire(self) -> None:
        """The time-out of the whole run has passed, whatever is at work."""
        self.ending.finish(last_words.failed(self, expired()))

    def _suspend(self, *, park: bool) -> None:
        if self.reports.is_suspending:
            return  # this news is written with whatever else comes until that is answered
        failed, self._failed = self._failed, []
        together = park and self.waits.are_together
        self.is_parking = park
        self.ending.start(self.reports.suspend(failed, self.waits.take_new(), park=park, together=together))

    def _disagree(self, error: ReplayMismatch) -> None:
        if self._mismatch is None:
            self._mismatch = error
        self.nudge()

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finish(self, root: asyncio.Task[Any]) -> None:
        """The workflow is over. Tasks that it has left behind hear the rest of the record, before it is judged."""
        is_alone = len(self.tree.paths) == 1 and not self.tree.failed
        if is_alone or self.ending.is_torn_down(root):
            self.ending.judge(root)
        elif not leftovers_of(self).stand_still():
            self.nudge()
        elif self._results:
            if self._deliver():
                self.nudge()
        elif not self.reports.writing:
            self.ending.judge(root)

    def close(self) -> None:
        """From here on ctx refuses every call, and nothing that still runs is listened to."""
        self.is_over = True
        self.tree.leave()
        self.waits.stop()
        if self._expiry is not None:
            self._expiry.cancel()
        if self.standby is not None:
            self.standby.stop()
        if self._patience is not None:
            self._patience.stop()
        self.bodies.stop_all()

    def dissolve(self) -> None:
        """Let go of the parts, which refer to this and to each other, once nothing is at work or on its way any more.

        Else every run would wait for the garbage collector, which would have more to do than the worker.
        """
        self.tree.forget_all()
        del self.tree, self.alone, self.waits, self.entering, self.bodies, self.reports, self.ending, self._root
