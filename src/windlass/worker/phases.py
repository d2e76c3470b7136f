"""Execute one handler, phase by phase: each is user code, and ends with a write.

producer   produce ─► commit
consumer   prepare ─► reserve ─► mutate ─► begin the effect, call it, apply it ─► next ─► commit

What was prepared is written with the begin of the effect, and what that returned with the commit, where the code in
between takes no time: two transactions instead of four. Code that takes its time finds both written, and `next` always
finds its events reserved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from windlass.define.effect import Effect
from windlass.define.pipeline_values import Prepared, TopicEvent
from windlass.errors import InvalidInput
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import EffectOutcome, EventRow, HandlerKind, Phase
from windlass.model.pipeline_work import ApplyEffect, CommitHandler, ReadEvents, ReserveEvents, ReserveOutcome, Task
from windlass.model.time import MINUTE, Duration
from windlass.telemetry.observer import Code, CodeKind
from windlass.worker import handler_failures, problems
from windlass.worker.effecting import Effecting, EventsChanged
from windlass.worker.handler_contexts import (
    MutateRunContext,
    NextRunContext,
    PrepareRunContext,
    ProducerRunContext,
    read_event,
)
from windlass.worker.handler_failures import Stop
from windlass.worker.preparing import Choice, Wake, read_choice

if TYPE_CHECKING:
    from windlass.worker.handling import Handling

LOGGER = logging.getLogger("windlass.worker")

HANDLER_FOR = Duration(4 * MINUTE)  # of a phase of a handler that has no time-out of its own
MOST_CHANGES = 10  # that others make to events while they are chosen, before it is tried again later

Context = ProducerRunContext | PrepareRunContext | MutateRunContext | NextRunContext
Outcome = Literal["success", "none", "skipped"]


class Phases:
    def __init__(self, handling: Handling, task: Task) -> None:
        self._handling, self._task, self._host = handling, task, handling.host
        self._work, self._codec = handling.host.work, handling.host.codec
        self.definition = handling.definition.handlers[task.handler]
        self.spec = self.definition.spec
        self.phase = task.phase
        self.is_called = False  # may its effect have happened?
        self.is_parked = False  # for a person to approve
        self.events: tuple[TopicEvent[Any], ...] = ()
        self._data: Any = None
        self.title = task.title
        self._outcome: EffectOutcome = task.outcome or EffectOutcome.NONE
        self._result: Any = None
        self._reserves: ReserveEvents | None = None  # what was prepared, and is to be written
        self._returned: bytes | None = None  # what the effect returned, and is to be written
        self._is_found = False  # that, by `reconcile`

    async def handle(self) -> Task | None:
        """What is next under this claim; none if it was given back."""
        if self.spec.kind is HandlerKind.PRODUCER:
            return await self._produce()
        if self.phase is not Phase.PREPARING:
            self._read_prepared()
            return await self._go_on()
        for _ in range(MOST_CHANGES):
            try:
                return await self._go_on() if await self._prepare() else None
            except EventsChanged:
                self.phase, self.events, self._reserves = Phase.PREPARING, (), None
        message = f"The events that prepare chose changed {MOST_CHANGES} times while it was choosing."
        raise Stop(Failure(kind=FailureKind.TRANSIENT, type="EventsChanged", message=message), phase=self.phase)

    async def _go_on(self) -> Task | None:
        """Behind what was prepared."""
        try:
            if self.phase is Phase.PREPARED and self.definition.mutate is not None and self.events:
                await self._mutate(self.definition.mutate)
            return await self._emit()
        except Stop:
            await self.catch_up()  # it stopped behind that
            raise

    async def catch_up(self) -> None:
        """Write what is waiting to be written. Raises EventsChanged if what was prepared cannot be.

        It waits until that is answered, so that whoever is interrupted here may ask for it again.
        """
        if self._reserves is not None:
            if await self._reserve(self._reserves) is not ReserveOutcome.RESERVED:
                raise EventsChanged
            self._reserves = None
        if self._returned is not None:
            await self._apply(self._returned)
            self._returned = None

    # --- producers ----------------------------------------------------------------------------------------------------

    async def _produce(self) -> Task | None:
        ctx = ProducerRunContext(self._task, self._handling.definition, codec=self._codec, clock=self._host.clock)
        assert self.definition.produce is not None
        state = await self._call("produce", self.definition.produce, ctx, self._state())
        return await self._commit(ctx, state)

    def _state(self) -> Any:
        """What the handler returned last; None the first time."""
        stored = self._task.state
        return None if stored is None else self._decode(stored, self.definition.state_type, "state")

    # --- prepare ------------------------------------------------------------------------------------------------------

    async def _prepare(self) -> bool:
        """Choose events, and have them reserved. False: a person has to approve first, and the claim was given back."""
        choice = await self._choose()
        now = self._host.clock.monotonic()
        command = ReserveEvents(
            **self._handling.held,
            run_id=self._task.run_id,
            reserved=choice.reserved,
            data=choice.data,
            title=choice.title,
            wake_at=choice.wake.at,
            wake_in=choice.wake.after,
            warning=choice.wake.warning,
            renew_for=self._handling.tenure.renewal(now=now),
        )
        self.events, self._data, self.title = choice.events, choice.value, choice.title
        if not self.spec.needs_approval or not choice.events:
            self.phase, self._reserves = Phase.PREPARED, command
            return True
        outcome = await self._reserve(command)
        if outcome is ReserveOutcome.CHANGED:
            raise EventsChanged
        if outcome is ReserveOutcome.RESERVED:  # by what is declared since, nobody has to approve any more
            self.phase = Phase.PREPARED
            return True
        self.is_parked = True
        self._handling.give_up_claim()
        await problems.tell_parked(self._handling, self._task)
        return False

    async def _choose(self) -> Choice:
        """What `prepare` answers; without one, the oldest events."""
        ctx = PrepareRunContext(
            self._task, self._handling.definition, codec=self._codec, clock=self._host.clock
        ).reading(self._read_rows)
        if self.definition.prepare is None:
            return self._take(await self._oldest())
        answer = await self._call("prepare", self.definition.prepare, ctx, self._state())
        try:
            choice = read_choice(answer, self.definition, self._codec)
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=self.phase) from None
        if choice.wake.warning is not None:
            about = self._handling.about(self._task)
            LOGGER.warning("%s of pipeline %r: %s", self.spec.name, about["pipeline"], choice.wake.warning, extra=about)
        return choice

    async def _oldest(self) -> list[EventRow]:
        rows: list[EventRow] = []
        for topic in self.spec.topics:
            rows += await self._read_rows(topic, None, self.spec.batch)
        return sorted(rows, key=lambda row: row.seq)[: self.spec.batch]

    def _take(self, rows: Sequence[EventRow]) -> Choice:
        self.events = self._read_events(rows)
        return Choice(events=self.events, value=self._payload(), wake=Wake())

    async def _reserve(self, command: ReserveEvents) -> ReserveOutcome:
        asked_at = self._host.clock.monotonic()
        try:
            reserved = await self._handling.patiently(lambda: self._work.reserve_events(command))
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=Phase.PREPARING) from None
        if reserved.outcome is ReserveOutcome.RESERVED:
            self._handling.renewed(command.renew_for, asked_at=asked_at)
        return reserved.outcome

    async def _apply(self, result: bytes) -> None:
        asked_at = self._host.clock.monotonic()
        renew_for = self._handling.tenure.renewal(now=asked_at)
        command = ApplyEffect(
            **self._handling.held,
            run_id=self._task.run_id,
            result=result,
            renew_for=renew_for,
            is_found=self._is_found,
        )
        await self._handling.patiently(lambda: self._work.apply_effect(command))
        self._handling.renewed(renew_for, asked_at=asked_at)
        self.is_called = False

    async def _read_rows(self, topic: str, ids: tuple[str, ...] | None, limit: int) -> tuple[EventRow, ...]:
        command = ReadEvents(**self._handling.held, topic=topic, ids=ids, limit=limit)
        return await self._handling.patiently(lambda: self._work.read_events(command))

    def _read_prepared(self) -> None:
        """What an attempt before this one has prepared, or the engine, which reserves the oldest events."""
        task = self._task
        self.events = self._read_events(task.events)
        if self.definition.prepare is None:
            self._data = self._payload()
        elif task.data is not None and self._codec.decode(task.data) is not None:
            self._data = self._decode(task.data, self.definition.data_type, "data")
        # Null is also what a person gave who knows that it happened, and not what it returned.
        if task.result is not None and self._codec.decode(task.result) is not None:
            self._read_result(task.result)

    def _read_result(self, result: bytes) -> None:
        effect = self._host.registry.handlers.effect_of_name(self._task.effect_name)
        try:
            self._result = self._codec.decode(result, Any if effect is None else effect.return_type)
        except InvalidInput as refused:
            text = f"The stored result of effect {self._task.effect_name!r} is not what it declares now: {refused}. "
            text += f"If a person gave it: windlass resolve {self._handling.claimed.name} --happened RESULT."
            raise Stop(handler_failures.logic(text), phase=self.phase) from None

    def _read_events(self, rows: Sequence[EventRow]) -> tuple[TopicEvent[Any], ...]:
        topics = self._handling.definition.topics
        try:
            return tuple(read_event(row, topics.get(row.topic, Any), self._codec) for row in rows)
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=self.phase) from None

    def _payload(self) -> Any:
        """What a consumer without `prepare` is given as data."""
        payloads = [event.payload for event in self.events]
        return payloads if self.spec.batch > 1 else next(iter(payloads), None)

    # --- mutate and next ----------------------------------------------------------------------------------------------

    async def _mutate(self, mutate: Callable[..., Any]) -> None:
        ctx = MutateRunContext(self._task, self._handling.definition, codec=self._codec, clock=self._host.clock)
        answer = await self._call("mutate", mutate, ctx, self._prepared(None))
        if answer is None:
            return
        if not isinstance(answer, Effect):
            text = f"mutate of handler {self.spec.name!r} answers with windlass.Effect(…) or None, not with "
            raise Stop(handler_failures.logic(f"{text}something of type {type(answer).__name__}."), phase=self.phase)
        self._result = await self._perform(answer)
        self._outcome, self.phase = EffectOutcome.SUCCESS, Phase.MUTATED

    async def _perform(self, effect: Effect[Any]) -> Any:
        try:
            step = self._host.registry.describe_step(effect.function)
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=self.phase) from None
        if step.effect is None:
            text = f"mutate of handler {self.spec.name!r} answers with an effect that is not declared: "
            raise Stop(handler_failures.logic(f"{text}write @app.effect above {step.name}."), phase=self.phase)
        effecting = Effecting(self._handling, self._task, step, effect.args, events=self.events)
        try:
            return await effecting.perform(title=effect.title or self.title, reserves=self._reserves)
        finally:
            self.is_called, self._returned = effecting.is_called, effecting.result
            self._is_found = effecting.is_found
            if effecting.is_begun:
                self.phase, self._reserves = Phase.MUTATING, None

    async def _emit(self) -> Task | None:
        ctx = NextRunContext(self._task, self._handling.definition, codec=self._codec, clock=self._host.clock)
        emit = self.definition.next
        # A function over events is not told what a person has decided about them: after a no it is not called at all.
        is_over = not self.events or self._outcome is EffectOutcome.SKIPPED
        if emit is None or (self.definition.takes_events and is_over):
            return await self._commit(ctx, None)
        if self._reserves is not None and self.events:
            await self.catch_up()  # nobody else has these events when `next` sees them
        self.phase = Phase.EMITTING
        if self.definition.takes_events:
            await self._call("next", emit, ctx, [*self.events])
            return await self._commit(ctx, None)
        state = await self._call("next", emit, ctx, self._prepared(self._outcome), self._result)
        return await self._commit(ctx, state)

    def _prepared(self, outcome: EffectOutcome | None) -> Prepared[Any]:
        return Prepared(
            events=self.events,
            data=self._data,
            title=self.title,
            outcome=None if outcome is None else cast("Outcome", outcome.value),
        )

    async def _commit(self, ctx: ProducerRunContext | NextRunContext, state: Any) -> Task | None:
        """A handler that returned None keeps the state it had."""
        handling, asked_at = self._handling, self._host.clock.monotonic()
        try:
            stored = None
            if state is not None:
                name, type = self.spec.name, self.definition.state_type
                stored, _ = self._codec.round_trip(state, type, what="Handler", name=name)
            continues = handling.continues
            command = CommitHandler(
                **handling.held,
                run_id=self._task.run_id,
                has_state=stored is not None,
                state=stored,
                events=tuple(ctx.events.values()),
                inputs=tuple(ctx.inputs.values()),
                continues=continues,
                visibility_for=handling.tenure.visibility_for if continues else Duration(0),
                reserves=self._reserves,
                result=self._returned,
                is_found=self._is_found,
            )
            committed = await handling.patiently(lambda: self._work.commit_handler(command))
        except InvalidInput as refused:
            raise Stop(handler_failures.refused(refused), phase=self.phase) from None
        if committed.is_changed:
            raise EventsChanged
        self._reserves, self._returned, self.is_called = None, None, False
        if committed.task is not None:
            handling.renewed(command.visibility_for, asked_at=asked_at)
        return committed.task

    # --- user code ----------------------------------------------------------------------------------------------------

    async def _call(self, name: str, function: Callable[..., Any], ctx: Context, *args: Any) -> Any:
        """The answer of a phase. Raises Stop for what it raised, and when it passed its time-out."""
        timeout_for = self.spec.timeout_for or HANDLER_FOR
        await self._handling.secure()
        code = Code(CodeKind.PHASE, name)
        try:
            ran = await self._handling.run(
                function, (ctx, *args), timeout_for=timeout_for, code=code, waits=self.catch_up
            )
        finally:
            ctx.close()
        if ran.is_timed_out:
            what = f"Phase {self.phase.value!r} of handler {self.spec.name!r}"
            raise Stop(handler_failures.timed_out(what, timeout_for), phase=self.phase)
        if ran.error is not None:
            failure = handler_failures.of_handler(ran.error, codec=self._codec, classify=self._host.classify)
            raise Stop(failure, phase=self.phase) from ran.error
        return ran.value

    def _decode(self, stored: bytes, type: Any, what: str) -> Any:
        try:
            return self._codec.decode(stored, type)
        except InvalidInput as refused:
            text = f"The stored {what} of handler {self.spec.name!r} is not what its code declares now: {refused}"
            raise Stop(handler_failures.logic(text), phase=self.phase) from None
