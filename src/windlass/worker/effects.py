"""Execute an effect that is a step of a run: its start is on the ledger before it is called.

begin ─┬─ enter ─────► call ─┬─ returned ──────────────────► the step completes, and the ledger with it
       │                     ├─ failed for certain ────────► the step has failed, as any step
       │                     └─ nobody knows ─┐
       ├─ reconcile ───────────────────────► ask ─┬─ happened ► the step completes
       │                                          ├─ did not ─► a failed attempt, tried again by its policy
       ├─ later ──────────────────────────┐       └─ unknown ─┐
       │                                  └► tried again, and that does not count
       ├─ applied, skipped ► the step completes without a call
       └─ person ──────────► the run waits for one
"""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from windlass.define.current import STEP
from windlass.define.effect import idempotency_key
from windlass.define.handler_definition import EffectDefinition
from windlass.define.workflow import StepDefinition
from windlass.errors import ClaimLost, InvalidInput, WindlassError
from windlass.model.effect import INLINE_FOR
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline_work import BeginEffect, Begun, BegunKind, FailEffect, Reconciled, ReconcileEffect, Verdict
from windlass.model.time import SECOND, Duration
from windlass.worker import failures, handler_failures
from windlass.worker.calls import Body
from windlass.worker.effect_calls import TIMEOUT_FOR, Found, decode_arguments, encode_arguments, read_found
from windlass.worker.running import Halted, Ran, has_ended, run_code

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

ASK_AGAIN_AFTER = Duration(10 * SECOND)  # where nobody said when


class Unfinished(Exception):
    """The body of an effect ends, and there is no result: with a failure, for a person, or because of an error."""

    def __init__(
        self, failure: Failure | None = None, *, is_held: bool = False, cause: WindlassError | None = None
    ) -> None:
        super().__init__("" if failure is None else failure.message)
        self.failure, self.is_held, self.cause = failure, is_held, cause

    def tell(self, execution: Execution, body: Body) -> None:
        if self.cause is not None:
            execution.ending.drop(self.cause)
        elif self.failure is None:  # the process is to stop
            execution.on_interrupt(body)
        elif self.is_held:
            execution.on_failure(body, self.failure, is_doubt=True)
        else:
            execution.on_failure(body, self.failure)


class EffectBody:
    def __init__(self, execution: Execution, body: Body, definition: StepDefinition) -> None:
        effect = definition.effect
        assert effect is not None
        self._execution, self._host, self._body = execution, execution.host, body
        self._definition, self._effect = definition, effect
        self._args, self._params = body.call.args, b""
        self._attempt = 1  # at this very effect, as the ledger counts
        # A call that waited for a thread behind its begin could come after the time when nobody is inside any more.
        self._has_thread = body.is_thread
        if body.is_thread:
            self._host.threads.reserve()
        self._inside: asyncio.Future[Any] | None = None  # the call, while it is at work
        self._timeout_for = definition.timeout_for or TIMEOUT_FOR
        # What every write about it carries.
        claimed = execution.claimed
        self._held: dict[str, Any] = {
            "namespace": execution.host.namespace,
            "run_id": claimed.run_id,
            "token": claimed.token,
            "step_key": body.call.key,
        }

    @property
    def _called(self) -> dict[str, Any]:
        return {**self._held, "attempt": self._attempt}

    async def perform(self) -> Any:
        """The result of the effect, called or not. Raises Unfinished."""
        try:
            return await self._perform()
        except WindlassError as error:  # of ours: what user code raised was looked at before
            raise Unfinished(cause=error) from None
        except Halted:
            raise Unfinished from None
        except asyncio.CancelledError:
            await self._leave()
            raise
        finally:
            self._give_up_thread()

    async def _perform(self) -> Any:
        begun = await self._begin()
        if begun.kind is BegunKind.ENTER:
            return await self._call()
        self._give_up_thread()  # whoever is asked about it may need it
        return await self._go_on(begun, None)

    async def _go_on(self, begun: Begun, failure: Failure | None) -> Any:
        """What the ledger says about a call that was made before."""
        if begun.kind is BegunKind.APPLIED:
            return self._stored(begun.result or b"null")
        if begun.kind is BegunKind.SKIPPED:
            return self._skipped()
        if begun.kind is BegunKind.RECONCILE:
            return await self._reconcile(failure)
        if begun.kind is BegunKind.PERSON:
            raise self._for_person(failure)
        raise self._later(begun.due_in, failure)

    async def _begin(self) -> Begun:
        execution, effect = self._execution, self._effect
        try:
            self._params = encode_arguments(effect, self._args, self._host.codec)
            key = idempotency_key(effect, self._args)
        except InvalidInput as refused:
            raise Unfinished(self._of_step(handler_failures.refused(refused))) from None
        except Exception as error:  # of the user's `key=`
            failure = handler_failures.of_handler(error, codec=self._host.codec, classify=self._host.classify)
            raise Unfinished(self._of_step(failure)) from None
        key = key or f"{execution.claimed.seed}/{self._body.call.key}"
        await self._secure()
        command = BeginEffect(
            **self._held,
            subject=execution.claimed.run_id,
            name=effect.name,
            params=self._params,
            idempotency_key=key,
            has_reconcile=effect.reconcile is not None,
            timeout_for=self._timeout_for,
        )
        until = execution.tenure.until  # a renewal does not move the time from which others may ask about the call
        begun = await self._host.work.begin_effect(command)
        self._attempt = begun.attempt
        if execution.is_over:
            raise Unfinished
        if self._host.clock.monotonic() >= until:  # called now, it might still be at work when others ask about it
            raise ClaimLost(execution.claimed.run_id, token=execution.claimed.token)
        STEP.set(replace(STEP.get(), idempotency_key=begun.idempotency_key or key))
        return begun

    def _give_up_thread(self) -> None:
        if self._has_thread:
            self._has_thread = False
            self._host.threads.give_up()

    async def _call(self) -> Any:
        has_thread, self._has_thread = self._has_thread, False
        ran, work = await run_code(
            self._host,
            self._definition.function,
            self._args,
            context=contextvars.copy_context(),
            timeout_for=self._timeout_for,
            began=self._enter,
            has_thread=has_thread,
        )
        self._inside = None
        if not ran.is_over:
            return await self._left_behind(work)
        if ran.error is None:  # also behind its time-out
            try:
                name, type = self._definition.name, self._definition.return_type
                _, value = self._host.codec.round_trip(ran.value, type, what="Effect", name=name)
            except InvalidInput as refused:  # and yet it has happened
                return await self._find_out(handler_failures.unknown(str(refused)))
            except Exception as broken:  # the codec's hook
                return await self._find_out(handler_failures.unreadable(broken))
            self._body.call.is_effect = True
            return value
        return await self._raised(ran)

    def _enter(self, work: asyncio.Future[Any]) -> None:
        self._inside = work

    async def _leave(self) -> None:
        """The worker stops. If nobody is inside of the effect any more, nobody has to wait for the claim to end."""
        execution = self._execution
        if self._inside is None or not execution.is_over or execution.tenure.left() <= 0:
            return
        if not await has_ended(self._inside):
            return
        failure = self._of_step(handler_failures.stopped())
        with suppress(WindlassError):  # then it is given back as it is
            await self._host.work.fail_effect(
                FailEffect(**self._called, verdict=Verdict.UNKNOWN, failure=failure, is_cut=True)
            )

    async def _left_behind(self, work: asyncio.Future[Any]) -> None:
        """A thread passed its time-out and is still at work: nobody asks about it before it must have ended."""
        body, failure = self._body, self._of_step(self._timed_out())
        command = FailEffect(**self._called, verdict=Verdict.UNKNOWN, failure=failure, is_inside=True)
        begun = await self._host.work.fail_effect(command)
        is_for_person = begun.kind is BegunKind.PERSON
        end = self._for_person(failure) if is_for_person else self._later(begun.due_in, failure)
        body.is_timed_out = True
        end.tell(self._execution, body)
        await asyncio.wait([work])  # it keeps its slot until it ends

    async def _raised(self, ran: Ran) -> Any:
        host, definition, error = self._host, self._definition, ran.error
        assert error is not None
        if ran.is_timed_out:
            return await self._find_out(self._timed_out(), is_cut=True)
        unknown, verdict = handler_failures.of_effect(error, codec=host.codec, classify=host.classify)
        # Who lists an exception in `raises=` says that it is an end of its step like any other.
        if verdict is Verdict.UNKNOWN and not isinstance(error, definition.raises):
            return await self._find_out(unknown)
        key = self._body.call.key
        failure = failures.of_step(error, definition, codec=host.codec, classify=host.classify, key=key)
        await host.work.fail_effect(FailEffect(**self._called, verdict=Verdict.FAILED, failure=failure))
        raise Unfinished(failure) from None

    async def _find_out(self, failure: Failure, *, is_cut: bool = False) -> Any:
        """The call is over, and nobody knows what became of it. If it was cut short, it may happen yet."""
        failure = self._of_step(failure)
        begun = await self._host.work.fail_effect(
            FailEffect(**self._called, verdict=Verdict.UNKNOWN, failure=failure, is_cut=is_cut)
        )
        return await self._go_on(begun, failure)

    async def _reconcile(self, failure: Failure | None) -> Any:
        found = await self._ask(self._effect)
        try:
            reconciled = await self._found(found)
        except InvalidInput as refused:  # what was found cannot be kept: asked in vain
            found = Found(failure=handler_failures.refused(refused))
            reconciled = await self._found(found)
        if found.result is not None:
            return found.value
        if found.did_not_happen and reconciled.due_in is None:  # else it is too early to say so
            text = "It was called before, and that did not happen."
            failure = failure or handler_failures.unknown(text, type="DidNotHappen")
            raise Unfinished(self._of_step(handler_failures.did_not_happen(failure)))
        if reconciled.needs_person:
            raise self._for_person(failure or found.failure)
        raise self._later(reconciled.due_in, failure or found.failure)

    async def _found(self, found: Found) -> Reconciled:
        return await self._host.work.reconcile_effect(
            ReconcileEffect(
                **self._called,
                subject=self._execution.claimed.run_id,
                result=found.result,
                did_not_happen=found.did_not_happen,
                failure=found.failure,
            )
        )

    async def _ask(self, effect: EffectDefinition) -> Found:
        if effect.reconcile is None:
            text = f"Effect {effect.name!r} ({effect.location}) has no reconcile= to ask."
            return Found(failure=handler_failures.logic(text))
        await self._secure()
        context = contextvars.copy_context()
        args = decode_arguments(effect, self._params, self._host.codec)  # the call may have changed its own
        ran, _ = await run_code(self._host, effect.reconcile, args, context=context, timeout_for=INLINE_FOR)
        return read_found(ran, effect, self._host.codec, limit=INLINE_FOR)

    async def _secure(self) -> None:
        """Have at least half of the claim left; while the code is at work it is renewed."""
        needed = self._execution.tenure.renewal(now=self._host.clock.monotonic())
        if needed is not None:
            await self._execution.reports.renew(needed)

    def _stored(self, result: bytes) -> Any:
        try:
            return self._host.codec.decode(result, self._definition.return_type)
        except InvalidInput as refused:  # the code has changed, or a person was mistaken
            run_id, name = self._execution.claimed.run_id, self._effect.name
            text = f"The result on record of effect {name!r} does not fit what it declares ({refused}). If a person "
            text += f'gave it, give another: "windlass resolve {run_id} --happened RESULT". If the code has changed, '
            text += f'restore it and "windlass resume {run_id}".'
            reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message=text)
            raise Unfinished(self._of_step(reason), is_held=True) from None

    def _skipped(self) -> None:
        """A person decided to go on without it: None, if the code can take that."""
        name, type = self._definition.name, self._definition.return_type
        try:
            self._host.codec.decode(b"null", type)
        except InvalidInput:
            text = f"A person decided to go on without effect {name!r}, and there is nothing it could return."
            failure = Failure(kind=FailureKind.LOGIC, type="EffectSkipped", message=text, is_final=True)
            raise Unfinished(self._of_step(failure)) from None

    def _later(self, due_in: Duration | None, failure: Failure | None) -> Unfinished:
        text = f"Nobody knows yet whether effect {self._effect.name!r} happened."
        failure = failure or handler_failures.unknown(text, type="Indeterminate")
        retry_after = ASK_AGAIN_AFTER if due_in is None else due_in
        return Unfinished(self._of_step(replace(failure, kind=FailureKind.INDETERMINATE, retry_after=retry_after)))

    def _for_person(self, failure: Failure | None) -> Unfinished:
        run_id, key = self._execution.claimed.run_id, self._body.call.key
        why = "" if failure is None or not failure.message else f" ({failure.type}: {failure.message})"
        text = (
            f"Nobody knows whether effect {self._effect.name!r} happened, step {key!r} of this run{why}. "
            f"Find out, and say so: windlass resolve {run_id}"
        )
        reason = handler_failures.unknown(text, type="Indeterminate")
        return Unfinished(self._of_step(reason), is_held=True)

    def _timed_out(self) -> Failure:
        what = f"Effect {self._effect.name!r}"
        return handler_failures.timed_out(what, self._timeout_for, kind=FailureKind.INDETERMINATE)

    def _of_step(self, failure: Failure) -> Failure:
        return replace(failure, step=self._body.call.key)
