"""Run the bodies of steps: async ones as tasks, sync ones in threads; stop them, time them, look at how they end."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from typing import TYPE_CHECKING, Any, NoReturn

from windlass.define.current import STEP, StepInfo
from windlass.errors import InvalidInput
from windlass.model.duration import describe
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.model.time import Duration, Instant
from windlass.telemetry.observer import RunWatch, StepEnd
from windlass.worker import failures
from windlass.worker.calls import Body, Call
from windlass.worker.claims import InFlight
from windlass.worker.effect_calls import TIMEOUT_FOR
from windlass.worker.effects import EffectBody, Unfinished

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

LOGGER = logging.getLogger("windlass.worker")


class Bodies:
    """The bodies of one run that are at work."""

    def __init__(self, execution: Execution) -> None:
        self._execution, self._host = execution, execution.host
        self._run_id = execution.claimed.run_id
        self.working: set[Body] = set()
        self._is_stopped = False
        self.watch: RunWatch | None = None  # whom to tell, if anyone

    def enter(self, call: Call, *, now: int) -> None:
        definition = call.definition
        assert definition is not None
        host, execution = self._host, self._execution
        if execution.standby is not None:
            execution.standby.stop()
        body = Body(call, entered_at=now, is_thread=not definition.is_async)
        if definition.timeout_for is not None and definition.effect is None:
            body.timer = host.clock.call_later(definition.timeout_for, self._time_out, body)
        info = StepInfo(
            key=call.key,
            name=definition.name,
            attempt=call.attempt,
            run_id=self._run_id,
            idempotency_key=f"{execution.claimed.seed}/{call.key}",
            stops_at=Instant(host.clock.now() + self._limit(body)),
        )
        context = body.context = host.context.copy()
        context.run(STEP.set, info)
        if self.watch is not None:
            body.watch = self.watch.step_begins(
                name=definition.name, key=call.key, attempt=call.attempt, context=context
            )
        self.working.add(body)
        if definition.effect is not None:  # sees to its own time-out: passed, it says nothing about what happened
            host.runners.enter(body, EffectBody(execution, body, definition).perform(), self._ended)
        elif definition.is_async:
            try:
                coroutine = context.run(definition.function, *call.args)
            except Exception as error:  # wrong arguments: the coroutine was never made
                coroutine = _raise(error)
            host.runners.enter(body, coroutine, self._ended)
        else:
            body.work = host.threads.submit(functools.partial(definition.function, *call.args), context=context)
            body.work.add_done_callback(functools.partial(self._thread_ended, body), context=host.context)
        if not execution.claimed.recoveries:
            host.observe()

    def in_flight(self, now: int) -> InFlight | None:
        """What renews the claim: bodies at work, within their time. One beyond `longest_step_for` ends here."""
        if not self.working:
            return None
        longest_for = self._host.longest_step_for
        endless = [body for body in self.working if not body.is_timed_out and _is_endless(body)]
        for body in endless:
            if now - body.entered_at >= longest_for:
                self._time_out(body)
        within = [body for body in self.working if not body.is_timed_out and not self._is_stopped]
        if not within:
            return None
        wanted = [body.call.definition.visibility_for or 0 for body in within if body.call.definition is not None]
        return InFlight(
            visibility_for=Duration(max(self._execution.tenure.visibility_for, *wanted)),
            ends_at=min((body.entered_at + longest_for for body in endless if not body.is_timed_out), default=None),
            is_in_threads=all(body.is_thread for body in within),
        )

    def _limit(self, body: Body) -> Duration:
        """How long a body may be at work."""
        definition = body.call.definition
        assert definition is not None
        if definition.timeout_for is not None:
            return definition.timeout_for
        return self._host.longest_step_for if definition.effect is None else TIMEOUT_FOR

    @property
    def has_effects(self) -> bool:
        """Is an effect being called, or asked about? Not a thread that passed its time-out: that may never end."""
        return any(_is_effect(body) and not body.is_timed_out for body in self.working)

    def stop_all(self) -> None:
        """Cancel what can be cancelled. Nothing of it is reported any more."""
        self._is_stopped = True
        for body in self.working:
            if body.timer is not None:
                body.timer.cancel()
            body.cancel()

    async def wait_ended(self) -> None:
        while self.working:
            begun = [body.work for body in self.working if body.work is not None]
            if begun:
                await asyncio.wait(begun)
            await asyncio.sleep(0)  # what has not begun is over in the next turn

    async def effects_left(self) -> None:
        """Until those that could be stopped have said what is known of them."""
        begun = [body.work for body in self.working if body.work and _is_effect(body) and not body.is_thread]
        if begun:
            await asyncio.wait(begun)

    def threads(self) -> list[str]:
        """Steps whose thread is still at work."""
        return sorted(body.call.key for body in self.working if body.is_thread)

    def _time_out(self, body: Body) -> None:
        body.is_timed_out = True
        if not body.is_thread:
            body.cancel()
            return
        LOGGER.warning(
            "Step %r of %s passed its time-out of %s, but a thread cannot be stopped: it keeps its slot until it ends.",
            body.call.key,
            self._run_id,
            describe(self._limit(body)),
            extra={"run": self._run_id, "step": body.call.key},
        )
        self._execution.on_failure(body, self._timed_out(body))

    def _timed_out(self, body: Body) -> Failure:
        return Failure(
            kind=FailureKind.TIMEOUT,
            type="TimeoutError",
            message=f"The step did not end within {describe(self._limit(body))}.",
            step=body.call.key,
            reason=FailureReason.TOO_LONG,
        )

    def _thread_ended(self, body: Body, work: asyncio.Future[Any]) -> None:
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        self._ended(body, work.result() if error is None else None, error)

    def _ended(self, body: Body, value: Any, error: BaseException | None) -> None:
        try:
            self._judge(body, value, error)
        except Exception:  # of ours, or of the program's log: nobody would hear of this body any more
            run_id = self._run_id
            LOGGER.exception("Run %s is dropped: an error of the worker itself", run_id, extra=self._execution.about)
            self._execution.ending.lose()

    def _judge(self, body: Body, value: Any, error: BaseException | None) -> None:
        self.working.discard(body)
        body.has_ended, body.error = True, error
        if body.timer is not None:
            body.timer.cancel()
        if self._is_stopped:
            body.left(StepEnd.STOPPED, now=self._host.clock.monotonic())
        elif body.is_timed_out:
            if body.is_thread:  # reported when it timed out; now the run has one thing less at work, and may leave
                self._execution.nudge()
            else:
                self._execution.on_failure(body, self._timed_out(body))
        elif error is None:
            self._returned(body, value)
        elif isinstance(error, (KeyboardInterrupt, SystemExit)) or self._is_torn_down(body, error):
            # The process is to stop; that is no failure of the step, which is left to whoever takes the run next.
            self._host.is_draining = True
            self._execution.on_interrupt(body)
            if body.is_thread:  # a task tells the loop itself
                self._host.interrupt(error)
        else:
            self._raised(body, error)

    def _is_torn_down(self, body: Body, error: BaseException) -> bool:
        """Was the body cancelled with everything else on the loop? One that cancels itself has failed."""
        task = body.work
        if not isinstance(error, asyncio.CancelledError) or not isinstance(task, asyncio.Task):
            return False
        return task.cancelling() > 0 and self._host.is_ending()

    def _returned(self, body: Body, value: Any) -> None:
        call, host = body.call, self._host
        if body.is_thread and inspect.iscoroutine(value):
            # A plain callable that returned a coroutine, as a lambda does: go on with it on the loop.
            body.is_thread = body.has_ended = False
            body.work = None  # until the coroutine begins
            self.working.add(body)
            definition = call.definition
            if definition is not None and definition.timeout_for is not None:
                left = definition.timeout_for - (host.clock.monotonic() - body.entered_at)
                body.timer = host.clock.call_later(left, self._time_out, body)
            host.runners.enter(body, value, self._ended)
            return
        definition = call.definition
        assert definition is not None
        try:
            stored, decoded = host.codec.round_trip(value, definition.return_type, what="Step", name=definition.name)
        except InvalidInput as refused:
            self._execution.on_failure(
                body, Failure(kind=FailureKind.LOGIC, type="InvalidInput", message=str(refused), step=call.key)
            )
            return
        except Exception as broken:  # the codec's hook: the result exists, but cannot be kept
            self._raised(body, broken)
            return
        now = host.clock.monotonic()
        if body.watch is not None:
            body.left(StepEnd.COMPLETED, now=now)
        if call.group is not None:
            call.group.running -= 1
            self._execution.nudge()  # another one may begin
        self._execution.reports.complete(call, stored, decoded, entered_at=body.entered_at, now=now)

    def _raised(self, body: Body, error: BaseException) -> None:
        if isinstance(error, Unfinished):
            error.tell(self._execution, body)
            return
        definition = body.call.definition
        assert definition is not None
        host = self._host
        try:
            failure = failures.of_step(error, definition, codec=host.codec, classify=host.classify, key=body.call.key)
        except Exception as broken:  # the user's classify hook, or a StepError with a kind that does not exist
            reason = f"{type(error).__qualname__} could not be classified: {broken}"
            failure = Failure(
                kind=FailureKind.LOGIC, type=type(broken).__qualname__, message=reason, step=body.call.key
            )
        self._execution.on_failure(body, failure)


def _is_effect(body: Body) -> bool:
    return body.call.definition is not None and body.call.definition.effect is not None


def _is_endless(body: Body) -> bool:
    """Has it no time-out of its own?"""
    definition = body.call.definition
    return definition is not None and definition.timeout_for is None and definition.effect is None


async def _raise(error: Exception) -> NoReturn:
    raise error
