"""How a run leaves its worker: with a last word, given back, or dropped because the claim is gone."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from windlass.errors import ClaimLost, Unavailable, WindlassError
from windlass.model.claims import Renewal
from windlass.model.commands import FinishRun
from windlass.model.duration import describe
from windlass.model.run import RunKind
from windlass.model.time import SECOND, Duration
from windlass.telemetry.observer import Departure
from windlass.worker import failures, last_words, mismatch
from windlass.worker.claims import InFlight
from windlass.worker.tasks import cancel_all, fail
from windlass.worker.tenure import Tenure

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

LOGGER = logging.getLogger("windlass.worker")
CANCELLED_ITSELF = "The workflow cancelled itself."
STUCK_AFTER = 5 * SECOND
GIVE_BACK_EVERY = SECOND


class Ending:
    def __init__(self, execution: Execution) -> None:
        self._execution, self._host = execution, execution.host
        self._run_id = execution.claimed.run_id
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_unanswered = False  # dropped because the store was away, and not because the claim was lost
        self.departure, self.error = Departure.LOST, ""  # until a last word is written; and what failed, by its type

    @property
    def tenure(self) -> Tenure:
        return self._execution.tenure

    @property
    def is_over(self) -> bool:
        return self._execution.is_over

    def in_flight(self, now: int) -> InFlight | None:
        return self._execution.bodies.in_flight(now)

    def renewal(self, visibility_for: Duration) -> Renewal:
        return Renewal(id=self._run_id, token=self._execution.claimed.token, visibility_for=visibility_for)

    def lose_claim(self) -> None:
        """The store says that it is somebody else's. A run that is being parked has given it back itself."""
        if not self._execution.is_parking:
            self.drop(ClaimLost(self._run_id, token=self._execution.claimed.token))

    def run_out(self) -> None:
        """The claim has run out: from now on another worker may have the run, and it is dropped here."""
        LOGGER.warning(
            "The claim on run %s ran out: for %s no step was at work, or this process or its event loop stood still. "
            "Another worker may take it.",
            self._run_id,
            describe(self._execution.tenure.visibility_for),
            extra=self._execution.about,
        )
        self.lose()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do a piece of the worker's own work for this run; if the claim turns out to be lost, drop the run."""
        self._start(self._guarded(work))

    def lose(self) -> None:
        """The claim is gone, or may be: write nothing any more."""
        self.end(None)

    def stop(self) -> None:
        """The worker's grace is over: stop the bodies and give the run back."""
        if not self._execution.is_over:
            self.end(self._give_back())

    async def _give_back(self) -> None:
        """Effects that were stopped say so first, which nobody could under another claim."""
        await self._execution.bodies.effects_left()
        await last_words.release(self._execution)

    def is_torn_down(self, root: asyncio.Task[Any]) -> bool:
        """A loop that ends cancels every task: whatever the code made of that says nothing about the run."""
        asked_to_stop = not root.cancelled() and isinstance(root.exception(), KeyboardInterrupt | SystemExit)
        return asked_to_stop or (root.cancelling() > 0 and self._host.is_ending())

    def judge(self, root: asyncio.Task[Any]) -> None:
        """The workflow is over: what has become of the run?"""
        execution = self._execution
        if self.is_torn_down(root):
            self._host.is_draining = True
            self.stop()
            return
        if execution.history.unread:
            unread = sorted(execution.history.unread)
            self.end(last_words.hold(execution, mismatch.left_unread(self._run_id, unread)))
            return
        error = asyncio.CancelledError(CANCELLED_ITSELF) if root.cancelled() else root.exception()
        failure = None if execution.leftovers is None else execution.leftovers.failure()
        if error is not None:
            failure = failures.of_workflow(error, codec=execution.codec)
        if failure is not None:
            self.finish(last_words.failed(execution, failure))
        elif execution.definition.spawns is not None and execution.claimed.kind is RunKind.GROUP:
            self.end(last_words.spawn(execution, root.result()))
        else:
            self.finish(last_words.succeeded(execution, root.result()))

    def end(self, report: Coroutine[Any, Any, None] | None) -> None:
        """Close the context, stop what is at work, write the last word; free the slot once nothing runs any more."""
        if self._execution.is_over:
            if report is not None:
                report.close()
            return
        self._execution.close()
        self._start(self._wind_down(report))

    def finish(self, command: FinishRun) -> None:
        """The last word of a run whose code is over. Most leave nothing behind, and need no task to clear it away."""
        execution = self._execution
        if execution.is_over:
            return
        if self._tasks or execution.reports.writing or execution.reports.unanswered or execution.is_at_work:
            self.end(last_words.finish(execution, command))
            return
        execution.close()
        self._host.work.finish_run(command).then(functools.partial(self._finished, command))

    def _finished(self, command: FinishRun, outcome: Any) -> None:
        if isinstance(outcome, Exception):
            self._start(self._wind_down(fail(outcome)))
            return
        last_words.finished(self._execution, command)
        self._leave()
        self._execution.dissolve()

    def drop(self, error: BaseException | None) -> None:
        """Something about this run could not be written: say so, and write nothing any more."""
        self._tell_dropped(error)
        self.lose()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.drop(error)

    async def _wind_down(self, report: Coroutine[Any, Any, None] | None) -> None:
        try:
            if report is not None:
                await self._until_answered()
                await report
        except Exception as error:
            self._tell_dropped(error)
        finally:
            if report is not None:
                report.close()  # of no effect once it was awaited
            try:
                await self._clear_away()
            finally:
                self._leave()
        if self._is_unanswered:
            await self._give_back_when_answered()

    def _leave(self) -> None:
        """Nothing of the run is at work here any more."""
        watch = self._execution.bodies.watch
        if watch is not None:
            ran_for = Duration(self._host.clock.monotonic() - self._execution.claimed_at)
            watch.ends(self.departure, ran_for=ran_for, error=self.error or None)
        self._host.left(self._execution)

    def _tell_dropped(self, error: BaseException | None) -> None:
        """That a claim is lost, or the store is away, happens; what else it refuses somebody should look at."""
        self._is_unanswered |= isinstance(error, Unavailable)
        run_id, about = self._run_id, self._execution.about
        if error is None or isinstance(error, ClaimLost | Unavailable):
            LOGGER.info("Run %s is dropped: %s", run_id, error or "its write was cancelled", extra=about)
        elif isinstance(error, WindlassError):
            LOGGER.warning("Run %s is dropped: %s", run_id, error, extra=about)
        else:
            LOGGER.error("Run %s is dropped: an error of the worker itself", run_id, exc_info=error, extra=about)

    async def _give_back_when_answered(self) -> None:
        """The store was away, and nothing of the run is at work here any more: nobody has to wait for its claim."""
        while self._execution.tenure.left() > 0 and not self._host.is_draining:
            try:
                await self._until_answered()
                return await last_words.release(self._execution)
            except Unavailable:
                await self._host.clock.sleep(GIVE_BACK_EVERY)
            except WindlassError:
                return  # it is over, or somebody else's

    async def _until_answered(self) -> None:
        """The last word overtakes nothing: refused behind it, a result that is on its way would be worked for again.

        Raises Unavailable if the store could not take a result: by now it may take the last word, which comes too soon.
        """
        reports = self._execution.reports
        reports.send_kept()
        await reports.until_answered()
        on_their_way = self._tasks - {asyncio.current_task()}
        if on_their_way:
            await asyncio.wait(on_their_way)
        if reports.has_kept:
            raise Unavailable("Results of this run are still to be written.")

    async def _clear_away(self) -> None:
        """Drop the code: its `finally` blocks run now, and every call they make to ctx is refused."""
        tasks = self._execution.tree.living()
        cancel_all(tasks)
        reminder = self._host.clock.call_later(STUCK_AFTER, self._report_stuck)
        try:
            if tasks:
                await asyncio.wait(tasks)
            await self._execution.bodies.wait_ended()
        finally:
            reminder.cancel()

    def _report_stuck(self) -> None:
        threads = ", ".join(self._execution.bodies.threads()) or "none"
        LOGGER.warning(
            "Run %s is over here, but some of its code does not stop (threads: %s); it keeps its slot until it does.",
            self._run_id,
            threads,
            extra=self._execution.about,
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=self._host.context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
