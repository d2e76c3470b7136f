"""Call the one effect of a handler: on the ledger first, then the call, then what became of it.

begin ─► call ─┬─ returned ─────────────────────────────► apply, at the latest when `next` is over
               ├─ failed for certain ───────────────────► stop: failed
               └─ nobody knows ─► reconcile ─┬─ happened ► apply
                                             ├─ did not ─► stop: failed, to be tried again
                                             └─ unknown ─► stop: unknown
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.define.effect import idempotency_key
from windlass.define.pipeline_values import TopicEvent
from windlass.define.workflow import StepDefinition
from windlass.errors import ClaimLost, InvalidInput
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import Phase
from windlass.model.pipeline_work import BeginEffect, Begun, BegunKind, ReserveEvents, Task, Verdict
from windlass.telemetry.observer import Code, CodeKind
from windlass.worker import handler_failures
from windlass.worker.effect_calls import TIMEOUT_FOR, decode_arguments, encode_arguments, key_of_events
from windlass.worker.handler_failures import Stop
from windlass.worker.running import Ran

if TYPE_CHECKING:
    from windlass.worker.handling import Handling


class EventsChanged(Exception):
    """What was chosen is not as it was seen any more, and nothing was written: prepare again."""


class Effecting:
    def __init__(
        self,
        handling: Handling,
        task: Task,
        step: StepDefinition,
        args: tuple[Any, ...],
        *,
        events: Sequence[TopicEvent[Any]],
    ) -> None:
        self._handling, self._task, self._host = handling, task, handling.host
        definition = step.effect
        assert definition is not None
        self._definition, self._function, self._args, self._events = definition, step.function, args, events
        self._timeout_for = definition.timeout_for or TIMEOUT_FOR
        self._key, self._params = "", b""
        self.is_begun = False  # is it on the ledger?
        self.is_called = False  # may it have happened?
        self.result: bytes | None = None  # what it returned, which is not on the ledger yet
        self.is_found = False  # that, by `reconcile`

    async def perform(self, *, title: str, reserves: ReserveEvents | None = None) -> Any:
        """What the effect returned, as it will come back. Raises Stop if it did not, or nobody knows.

        `reserves`: what was prepared and is to be written with its begin. Raises EventsChanged if that cannot be.
        """
        begun = await self._begin(title, reserves)
        self._key = begun.idempotency_key or self._key
        if self._handling.is_stopping:
            raise Stop(handler_failures.not_called(), phase=Phase.MUTATING, verdict=Verdict.FAILED)
        self.is_called = True
        info = self._handling.info(self._task, self._definition.name, self._key, timeout_for=self._timeout_for)
        code = Code(CodeKind.EFFECT, self._definition.name)
        ran = await self._handling.run(self._function, self._args, timeout_for=self._timeout_for, code=code, info=info)
        return await self._judge(ran)

    async def _begin(self, title: str, reserves: ReserveEvents | None) -> Begun:
        """Put it on the ledger. Nothing has happened before this is answered."""
        definition, asked_at = self._definition, self._host.clock.monotonic()
        try:
            self._params = encode_arguments(definition, self._args, self._host.codec)
            self._key = idempotency_key(definition, self._args) or key_of_events(
                self._handling.claimed.name, self._task.handler, self._events
            )
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=Phase.PREPARED) from None
        except Exception as error:  # of the user's `key=`
            failure = handler_failures.of_handler(error, codec=self._host.codec, classify=self._host.classify)
            raise Stop(failure, phase=Phase.PREPARED) from error
        tenure = self._handling.tenure
        renew_for = tenure.renewal(now=asked_at)
        command = BeginEffect(
            namespace=self._host.namespace,
            subject=self._handling.claimed.name,
            token=self._handling.claimed.token,
            run_id=self._task.run_id,
            name=definition.name,
            params=self._params,
            idempotency_key=self._key,
            has_reconcile=definition.reconcile is not None,
            title=title,
            timeout_for=self._timeout_for,
            renew_for=renew_for,
            reserves=reserves,
        )
        # Asked again only under the same claim, and before anything was called: so it may still be entered.
        try:
            begun = await self._handling.patiently(lambda: self._host.work.begin_effect(command))
        except InvalidInput as refused:  # what was chosen cannot be reserved
            raise Stop(handler_failures.refused(refused), phase=Phase.PREPARING) from None
        if begun.kind is BegunKind.CHANGED:
            raise EventsChanged
        # No later renewal moves the time from which others may ask about the call: it begins before the claim ends.
        self._handling.renewed(renew_for, asked_at=asked_at)
        if tenure.left() <= 0:
            raise ClaimLost(self._task.run_id, token=self._handling.claimed.token)
        self.is_begun = True
        return begun

    async def _judge(self, ran: Ran) -> Any:
        definition, codec = self._definition, self._host.codec
        if not ran.is_over:
            what = f"Effect {definition.name!r}"
            failure = handler_failures.timed_out(what, self._timeout_for, kind=FailureKind.INDETERMINATE)
            raise Stop(failure, phase=Phase.MUTATING, verdict=Verdict.UNKNOWN, is_inside=True)
        if ran.error is None:  # also behind its time-out
            try:
                stored, value = codec.round_trip(ran.value, definition.return_type, what="Effect", name=definition.name)
            except InvalidInput as refused:  # and yet it has happened
                return await self._find_out(handler_failures.unknown(str(refused)))
            except Exception as broken:  # the codec's hook
                return await self._find_out(handler_failures.unreadable(broken))
            self.result = stored
            return value
        if ran.is_timed_out:
            what = f"Effect {definition.name!r}"
            failure = handler_failures.timed_out(what, self._timeout_for, kind=FailureKind.INDETERMINATE)
            return await self._find_out(failure, is_cut=True)
        failure, verdict = handler_failures.of_effect(ran.error, codec=codec, classify=self._host.classify)
        if verdict is Verdict.FAILED:
            raise Stop(failure, phase=Phase.MUTATING, verdict=verdict) from ran.error
        return await self._find_out(failure)

    async def _find_out(self, failure: Failure, *, is_cut: bool = False) -> Any:
        """Ask at once whether it happened: the call is over. If it was cut short, it may happen yet."""
        definition = self._definition
        if definition.reconcile is not None:
            info = self._handling.info(self._task, definition.name, self._key)
            args = decode_arguments(definition, self._params, self._host.codec)  # the call may have changed its own
            found = await self._handling.reconcile(definition, args, info)
            if found.result is not None:
                self.result, self.is_found = found.result, True
                return found.value
            if found.did_not_happen and not is_cut:
                failure = handler_failures.did_not_happen(failure)
                raise Stop(failure, phase=Phase.MUTATING, verdict=Verdict.FAILED, is_found=True)
        raise Stop(failure, phase=Phase.MUTATING, verdict=Verdict.UNKNOWN, is_cut=is_cut)
