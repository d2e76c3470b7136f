"""What the worker writes about a run: every write carries the token of its claim."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from windlass.errors import ClaimLost, Unavailable
from windlass.model.commands import (
    BeginStep,
    Claim,
    CompleteStep,
    FailStep,
    OpenWait,
    Suspend,
    Verdict,
    WaitStep,
)
from windlass.model.failure import Failure
from windlass.model.retry import DEFAULT_RETRY, RetryPolicy
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.retries import counts
from windlass.runtime import Timer
from windlass.telemetry.observer import Departure
from windlass.worker import recall
from windlass.worker.calls import Body, Call

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

NULL = b"null"
SEND_AGAIN_AFTER = SECOND  # on top of the engine's own patience


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
        self.unanswered = 0  # writes on their way that no task of ours awaits
        self._all_answered: asyncio.Future[None] | None = None  # for whoever waits until there are none
        self._kept: dict[int, tuple[CompleteStep, Call, Any, int, Timer]] = {}  # what the store could not take
        self.is_suspending = False
        self._order = 0
        if execution.claimed.history:
            recorded = (record.order for record in execution.claimed.history if record.order is not None)
            self._order = 1 + max(recorded, default=-1)

    def complete(self, call: Call, stored: bytes, decoded: Any, *, entered_at: int, now: int) -> None:
        order = self._order
        self._order = order + 1
        self.writing.add(order)
        claimed = self._execution.claimed
        command = CompleteStep(
            namespace=self._host.namespace,
            run_id=claimed.run_id,
            token=claimed.token,
            key=call.key,
            kind=call.kind,
            attempt=call.attempt,
            order=order,
            failures=call.failures,
            input_hash=call.input_hash,
            output=stored,
            ran_for=Duration(now - entered_at),
            renew_for=self._execution.tenure.renewal(now=now),
            effect=call.is_effect,
        )
        # Measured once: sent again it may only repeat what the first one has renewed.
        self._send(command, call, decoded, now)

    def wake(self, call: Call) -> None:
        """A sleep is over. That too is written before the code hears of it, so the order is known at every replay."""
        now = self._host.clock.monotonic()
        self.complete(call, NULL, None, entered_at=now, now=now)

    def _send(self, command: CompleteStep, call: Call, decoded: Any, asked_at: int) -> None:
        self.unanswered += 1
        heard = functools.partial(self._completed, command, call, decoded, asked_at)
        self._host.work.complete_step(command).then(heard)

    def _completed(self, command: CompleteStep, call: Call, decoded: Any, asked_at: int, outcome: Any) -> None:
        order, execution = command.order, self._execution
        self.unanswered -= 1
        if self._all_answered is not None:
            self._tell_answered()
        if isinstance(outcome, Exception):
            if isinstance(outcome, Unavailable) and not self._host.is_draining:
                # The store is away, and a result is worth more than a slot: while the claim lasts nobody else has the
                # run.
                timer = self._host.clock.call_later(SEND_AGAIN_AFTER, self._send_again, order)
                self._kept[order] = (command, call, decoded, asked_at, timer)
                return
            self.writing.discard(order)
            if not execution.is_over:
                execution.ending.drop(outcome)
            return
        self.writing.discard(order)
        if execution.is_over:
            return
        if command.renew_for is not None:
            execution.tenure.renewed(asked_at=asked_at, visibility_for=command.renew_for)
        if not execution.alone.deliver(call, decoded, outcome):
            execution.result(order, call, lambda: (decoded, None), outcome)

    def _send_again(self, order: int) -> None:
        if not self._execution.is_over:  # else whoever gives the run back sends it, if the claim still holds
            self._send(*self._kept.pop(order)[:-1])

    def send_kept(self) -> None:
        """Results that wait to be sent again go out before the run is given back, else they are worked for twice."""
        while self._kept:
            _, (*result, timer) = self._kept.popitem()
            timer.cancel()
            self._send(*result)

    @property
    def has_kept(self) -> bool:
        """Does a result wait to be sent again?"""
        return bool(self._kept)

    def _tell_answered(self) -> None:
        if not self.unanswered and self._all_answered is not None:
            self._all_answered.set_result(None)
            self._all_answered = None

    async def until_answered(self) -> None:
        """Wait for the writes that are on their way."""
        while self.unanswered:
            if self._all_answered is None:
                self._all_answered = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._all_answered])

    def observe(self, before: int) -> int | None:
        """Note that bodies began which are at work since then. Nobody waits for this. Answers when the next one did."""
        first: int | None = None
        for body in self._execution.bodies.working:
            if body.is_noted:
                continue
            if body.entered_at > before or body.work is None:  # one that has not begun is about to
                first = body.entered_at if first is None else min(first, body.entered_at)
                continue
            body.is_noted = True
            self.unanswered += 1
            heard = functools.partial(self._noted, body)
            self._host.work.begin_step(self._beginning(body.call)).then(heard)
        return first

    def _noted(self, body: Body, outcome: Any) -> None:
        self.unanswered -= 1
        self._tell_answered()
        # An observation that could not be written is none. Only a lost claim stops the body; and overtaken by its own
        # completion even that means nothing.
        if not body.has_ended and isinstance(outcome, ClaimLost):
            self._execution.ending.drop(outcome)

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
            unretrieved=None if self._execution.leftovers is None else self._execution.leftovers.take_news(),
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
        execution.is_parking = False  # something failed for good, or has come, and its code goes on
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
                call.attempt, call.failures = call.attempt + 1, call.failures + counts(failure)
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

    def _next_order(self) -> int:
        self._order += 1
        return self._order - 1
