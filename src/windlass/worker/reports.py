"""What the worker writes about a run: every write carries the token of its claim."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from windlass.define.workflow import WorkflowDefinition
from windlass.errors import ClaimLost, InvalidInput, ReplayMismatch, Unavailable
from windlass.model.commands import (
    BeginStep,
    Claim,
    CompleteStep,
    FailStep,
    FinishRun,
    HoldRun,
    OpenWait,
    Suspend,
    Verdict,
    WaitStep,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.retry import DEFAULT_RETRY, RetryPolicy
from windlass.model.run import RunStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.runtime import Timer
from windlass.telemetry.observer import Departure
from windlass.worker import failures, recall
from windlass.worker.calls import Body, Call

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

NULL = b"null"
NO_DELAY = Duration(0)
SEND_AGAIN_AFTER = SECOND  # on top of the engine's own patience
LATER = Duration(5 * SECOND)  # what is in the way may be gone by then, and is not asked for in a loop


class _Result(NamedTuple):
    command: CompleteStep
    call: Call
    decoded: Any
    asked_at: int  # when it was first sent


class Reports:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._host = execution.host
        # What every write about this run carries, above all the token of its claim.
        self._held: dict[str, Any] = {
            "namespace": execution.host.namespace,
            "run_id": execution.claimed.run_id,
            "token": execution.claimed.token,
        }
        self.writing: set[int] = set()  # orders of results on their way to the store
        self.unanswered: set[asyncio.Future[Any]] = set()
        self._kept: dict[int, tuple[_Result, Timer]] = {}  # results that the store could not take, by their order
        self.is_suspending = False
        recorded = (record.order for record in execution.claimed.history if record.order is not None)
        self._order = 1 + max(recorded, default=-1)

    def complete(self, body: Body, stored: bytes, decoded: Any) -> None:
        ran_for = Duration(self._host.clock.monotonic() - body.entered_at)
        self._complete(body.call, stored, decoded, ran_for)

    def wake(self, call: Call) -> None:
        """A sleep is over. That too is written before the code hears of it, so the order is known at every replay."""
        self._complete(call, NULL, None, Duration(0))

    def _complete(self, call: Call, stored: bytes, decoded: Any, ran_for: Duration) -> None:
        order = self._next_order()
        self.writing.add(order)
        command = CompleteStep(
            **self._attempt(call),
            order=order,
            output=stored,
            ran_for=ran_for,
            renew_for=self._execution.tenure.renewal(),
        )
        # Measured once: sent again it may only repeat what the first one has renewed.
        self._send(_Result(command, call, decoded, self._host.clock.monotonic()))

    def _send(self, result: _Result) -> None:
        self._when_done(self._host.work.complete_step(result.command), functools.partial(self._completed, result))

    def _completed(self, result: _Result, written: Any) -> None:
        order, execution = result.command.order, self._execution
        is_unanswered = not written.cancelled() and isinstance(written.exception(), Unavailable)
        if is_unanswered and not self._host.is_draining:
            # The store is away, and a result is worth more than a slot: while the claim lasts nobody else has the run.
            self._kept[order] = (result, self._host.clock.call_later(SEND_AGAIN_AFTER, self._send_again, order))
            return
        self.writing.discard(order)
        if execution.is_over or self._lost(written):
            return
        if result.command.renew_for is not None:
            execution.tenure.renewed(asked_at=result.asked_at, visibility_for=result.command.renew_for)
        execution.result(order, result.call, lambda: (result.decoded, None), written.result())

    def _send_again(self, order: int) -> None:
        if not self._execution.is_over:  # else whoever gives the run back sends it, if the claim still holds
            self._send(self._kept.pop(order)[0])

    def send_kept(self) -> None:
        """Results that wait to be sent again go out before the run is given back, else they are worked for twice."""
        while self._kept:
            _, (result, timer) = self._kept.popitem()
            timer.cancel()
            self._send(result)

    def observed(self, body: Body) -> None:
        """The body is still at work after a moment: note that it began. Nobody waits for this."""
        if not self._execution.is_over:
            self._when_done(self._host.work.begin_step(self._beginning(body.call)), self._noted(body))

    def _noted(self, body: Body) -> Any:
        def noted(written: Any) -> None:
            error = None if written.cancelled() else written.exception()
            is_at_work = body.work is None or not body.work.done()
            # An observation that could not be written is none. Only a lost claim stops the body; and overtaken by its
            # own completion even that means nothing.
            if is_at_work and isinstance(error, ClaimLost):
                self._lost(written)

        return noted

    async def begin(self, call: Call) -> None:
        await self._host.work.begin_step(self._beginning(call))

    def _beginning(self, call: Call) -> BeginStep:
        return BeginStep(**self._attempt(call))

    async def renew(self, visibility_for: Duration) -> None:
        asked_at = self._host.clock.monotonic()
        await self._host.work.renew_claim(Claim(**self._held, visibility_for=visibility_for))
        self._execution.tenure.renewed(asked_at=asked_at, visibility_for=visibility_for)

    def suspend(
        self, failed: list[tuple[Body, Failure]], waits: list[Call], *, park: bool, together: bool
    ) -> Coroutine[Any, Any, None]:
        """Write failed attempts and new waits and have open waits decided; with `park`, leave the run if all are open.

        The run is busy from this call on, and not from the first turn of the coroutine: a park that was decided in
        between would give the claim away under these writes.
        """
        state, can_decide = self._execution.waits, self._execution.can_decide
        orders = [self._next_order() for _ in failed]
        new = [call for call in waits if call.kind.is_wait]
        deciding = [*state.open.values(), *new] if can_decide else []
        state.is_undecided = not can_decide and bool(new or state.is_undecided)
        decided = tuple(OpenWait(key=call.key, order=self._next_order()) for call in deciding)
        held = self._next_order()  # keeps the run busy while the waits are on their way
        self.writing.update((*orders, *(item.order for item in decided), held))
        self.is_suspending = True
        command = Suspend(
            **self._held,
            failures=tuple(
                self._failure(body, failure, order) for (body, failure), order in zip(failed, orders, strict=True)
            ),
            waits=tuple(map(self._waiting, waits)),
            open=decided,
            dropped=state.take_dropped(),
            park=park,
            together=together,
        )
        return self._suspend(command, failed, waits, held=held)

    async def _suspend(
        self, command: Suspend, failed: list[tuple[Body, Failure]], waits: list[Call], *, held: int
    ) -> None:
        orders = [item.order for item in command.failures]
        execution, state = self._execution, self._execution.waits
        try:
            suspended = await self._host.work.suspend_run(command)
        finally:
            self.writing.difference_update((*orders, *(item.order for item in command.open), held))
            self.is_suspending = False
        if suspended.is_parked:
            execution.ending.departure = Departure.PARKED
            execution.ending.end(None)
            return
        execution.not_parked()
        results = self._retry(failed, orders, suspended.verdicts)
        decided = {item.key for item in command.open}
        for wait, verdict in zip(waits, suspended.verdicts[len(failed) :], strict=True):
            if wait.kind.is_wait:
                state.keep_open(wait, verdict.due_in)
                state.is_undecided |= wait.key not in decided
            else:
                state.time(wait, verdict.due_in or 0)
        for settled in suspended.settled:
            over = state.settled(settled)
            if over is not None:
                value_of = recall.settled(over, settled.output, settled.failure)
                results.append((settled.order, over, value_of, settled.at))
        if results and state.open:
            state.is_undecided = True  # one event at a time: another may be there
        for result in sorted(results, key=lambda result: result[0]):  # none overtakes another
            execution.result(*result)
        execution.advance()

    def _retry(
        self, failed: list[tuple[Body, Failure]], orders: list[int], verdicts: tuple[Verdict, ...]
    ) -> list[tuple[int, Call, recall.ValueOf, Instant]]:
        """Wait for the next try of what failed; answers with what failed for good."""
        over = []
        for (body, failure), order, verdict in zip(failed, orders, verdicts, strict=False):
            call = body.call
            if verdict.due_in is None:
                over.append((order, call, recall.failed(failure, call, self._host.codec), verdict.at))
            else:
                call.attempt, call.failures = call.attempt + 1, call.failures + 1
                self._execution.waits.time(call, verdict.due_in)
        return over

    def _failure(self, body: Body, failure: Failure, order: int) -> FailStep:
        call = body.call
        return FailStep(
            **self._attempt(call),
            order=order,
            failure=failure,
            retry=self._policy(call),
            ran_for=Duration(self._host.clock.monotonic() - body.entered_at),
        )

    def _attempt(self, call: Call) -> dict[str, Any]:
        """What every write about an attempt carries."""
        return {
            **self._held,
            "key": call.key,
            "kind": call.kind,
            "attempt": call.attempt,
            "failures": call.failures,
            "input_hash": call.input_hash,
        }

    def _policy(self, call: Call) -> RetryPolicy:
        """What the call brought: the step's own policy or its workflow's; else the default."""
        assert call.definition is not None
        retry = call.definition.retry
        return DEFAULT_RETRY if retry is None else retry.policy

    def _waiting(self, call: Call) -> WaitStep:
        return WaitStep(
            **self._held,
            key=call.key,
            kind=call.kind,
            input_hash=call.input_hash,
            due_for=call.due_for,
            due_at=call.due_at,
            awaits=call.awaits,
            detail=call.detail,
            child=call.child,
        )

    async def succeed(self, value: Any, definition: WorkflowDefinition) -> None:
        try:
            output, _ = self._host.codec.round_trip(value, definition.return_type, what=f"Workflow {definition.name!r}")
        except InvalidInput as refused:
            await self.fail(Failure(kind=FailureKind.LOGIC, type="InvalidInput", message=str(refused)))
            return
        await self._finish(RunStatus.COMPLETED, output=output)

    async def fail(self, failure: Failure) -> None:
        await self._finish(RunStatus.FAILED, failure=failure)

    async def deadlock(self) -> None:
        message = "Every task of the workflow waits for another one, and none of them for a step, a sleep or an event."
        await self.fail(Failure(kind=FailureKind.LOGIC, type="Deadlock", message=message))

    async def _finish(self, status: RunStatus, *, output: bytes | None = None, failure: Failure | None = None) -> None:
        result = msgspec.json.encode(failure) if output is None else output
        await self._host.work.finish_run(
            FinishRun(
                **self._held,
                status=status,
                output=output,
                failure=failure,
                result_hash=hashlib.blake2b(result, digest_size=16).digest(),
                parent=self._execution.claimed.parent,
                schedule=self._execution.claimed.schedule,
            )
        )
        self._execution.outcome, self._execution.ending.departure = status, Departure(status)
        self._execution.ending.error = "" if failure is None else failure.type
        if failure is not None:
            failures.tell_run(self._execution.claimed, failure)

    async def hold(self, error: ReplayMismatch) -> None:
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message=str(error), step=error.step)
        await self._host.work.hold_run(HoldRun(**self._held, reason=reason))
        self._execution.ending.departure = Departure.PAUSED

    async def release(self, *, delay_for: Duration = NO_DELAY) -> None:
        await self._host.work.release_run(Claim(**self._held, delay_for=delay_for))
        self._execution.ending.departure = Departure.RELEASED

    def _next_order(self) -> int:
        self._order += 1
        return self._order - 1

    def _when_done(self, written: Awaitable[Any], callback: Any) -> None:
        future = asyncio.ensure_future(written)
        self.unanswered.add(future)
        future.add_done_callback(self.unanswered.discard, context=self._host.context)
        future.add_done_callback(callback, context=self._host.context)

    def _lost(self, written: asyncio.Future[Any]) -> bool:
        """Was the write refused? Then the run is dropped: nothing is written under this token any more."""
        error = None if written.cancelled() else written.exception()
        if error is None and not written.cancelled():
            return False
        self._execution.ending.drop(error)
        return True
