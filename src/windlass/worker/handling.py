"""Execute one pipeline that was claimed: one task after another, until its claim is given back.

    handle      the phases of a handler (worker/phases.py), then its commit, which answers with what is next
    reconcile   ask whether an effect happened
    fix         ask `on_logic_error`
    tell        nothing is held: people are told that worker after worker was lost

Every write carries the token of the claim. When that has run out nothing is written any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from msgspec.structs import replace

from windlass.define.current import STEP, StepInfo
from windlass.define.handler_definition import EffectDefinition, PipelineDefinition
from windlass.errors import ClaimLost, InvalidInput, Unavailable, WindlassError
from windlass.model.effect import INLINE_FOR
from windlass.model.pipeline import EffectOutcome, HandlerKind, HandlerStatus, Phase
from windlass.model.pipeline_work import (
    ClaimedPipeline,
    CommitHandler,
    FixHandler,
    ReconcileEffect,
    StopHandler,
    Task,
    TaskKind,
    Verdict,
)
from windlass.model.time import SECOND, Duration, Instant
from windlass.telemetry.observer import Code, CodeKind
from windlass.worker import effect_calls, handler_failures, problems
from windlass.worker.effect_calls import Found
from windlass.worker.effecting import EventsChanged
from windlass.worker.handler_failures import Stop
from windlass.worker.host import Host
from windlass.worker.phases import Phases
from windlass.worker.pipeline_hold import PipelineHold
from windlass.worker.running import Halted, Ran, has_ended, run_code
from windlass.worker.telling import Telling

LOGGER = logging.getLogger("windlass.worker")

T = TypeVar("T")

SEND_AGAIN_AFTER = SECOND  # on top of the engine's own patience
MANY_RUNS = 50  # in a row, after which a pipeline makes room for others that wait for a slot


class Handling(PipelineHold):
    def __init__(
        self, claimed: ClaimedPipeline, definition: PipelineDefinition, host: Host, *, is_crowded: Callable[[], bool]
    ) -> None:
        super().__init__(claimed, host)
        self.definition, self._is_crowded = definition, is_crowded
        self._runs, self._telling = 0, Telling(self)
        self._left_behind: set[asyncio.Future[Any]] = set()  # code that could not be stopped

    @property
    def continues(self) -> bool:
        """Is the claim kept for what is next?"""
        return not self.host.is_draining and not (self._runs > MANY_RUNS and self._is_crowded())

    async def execute(self) -> None:
        """Everything there is to do under this claim. Ends when none of its code is at work any more."""
        name, about = self.claimed.name, {"pipeline": self.claimed.name}
        self.host.watch_claim(self.tenure)
        try:
            task: Task | None = self.claimed.task
            while task is not None:
                self._runs += 1
                with self._telling.executing(task):
                    task = await self._do(task)
        except (Halted, asyncio.CancelledError):  # by the worker, or with everything else on the loop
            if not self.has_run_out and not self._is_given_back:
                await self._give_back()
        except ClaimLost as error:
            LOGGER.info("Pipeline %r is dropped: %s", name, error, extra=about)
        except Unavailable as error:
            LOGGER.info("Pipeline %r is dropped: %s", name, error, extra=about)
            await self._give_back_when_answered()
        except Exception:
            LOGGER.exception("Pipeline %r is given back: an error of the worker itself", name, extra=about)
            await self._give_back()
        finally:
            await self._wait_left_behind()
            if self.has_run_out and not self._is_given_back:
                await self._give_back()  # by our clock it is over; by the store's somebody may wait for its end

    async def _do(self, task: Task) -> Task | None:
        if task.kind is TaskKind.RECONCILE:
            return await self._reconcile(task)
        if task.kind is TaskKind.FIX:
            await self._fix(task)
        elif task.kind is TaskKind.TELL:
            self.give_up_claim()
            await problems.tell_crash_loop(self, task)
        else:
            return await self._handle(task)
        return None

    async def _handle(self, task: Task) -> Task | None:
        handler = self.definition.handlers.get(task.handler)
        if handler is None or (handler.spec.kind is HandlerKind.PRODUCER) is not (task.phase is Phase.EXECUTING):
            if task.outcome is EffectOutcome.SKIPPED:
                return await self._let_go(task)
            await self._stop(task, Stop(handler_failures.gone(task.handler), phase=task.phase))
            return None
        phases = Phases(self, task)
        try:
            following = await phases.handle()
            self._telling.ends(HandlerStatus.PAUSED_APPROVAL if phases.is_parked else HandlerStatus.COMMITTED)
            return following
        except Stop as stop:
            await self._stop(task, stop)
        except (Halted, asyncio.CancelledError) as cut:
            if not self.has_run_out:
                # What is known of its effect would be lost with the claim; what is written already is told so.
                with suppress(WindlassError, EventsChanged, Stop):
                    await phases.catch_up()
                if phases.is_called and isinstance(cut, Halted) and await has_ended(cut.work):
                    await self._leave_effect(task)
            raise
        except (ClaimLost, Unavailable):
            raise
        except Exception as error:
            LOGGER.exception("Handler %r failed by an error of the worker itself", task.handler, extra=self.about(task))
            verdict = Verdict.UNKNOWN if phases.is_called else None
            failure = handler_failures.internal(error)
            await self._stop(task, Stop(failure, phase=phases.phase, verdict=verdict, is_cut=phases.is_called))
        return None

    async def _let_go(self, task: Task) -> Task | None:
        """A person has decided about its events, and nothing of it is left to be called."""
        visibility_for, asked_at = self.tenure.visibility_for, self.host.clock.monotonic()
        command = CommitHandler(
            **self.held, run_id=task.run_id, continues=self.continues, visibility_for=visibility_for
        )
        committed = await self.patiently(lambda: self.host.work.commit_handler(command))
        if committed.task is not None:
            self.renewed(visibility_for, asked_at=asked_at)
        return committed.task

    def about(self, task: Task) -> dict[str, str]:
        """What a record of the log is about."""
        return {"pipeline": self.claimed.name, "handler": task.handler, "run": task.run_id}

    def info(self, task: Task, name: str, key: str, *, timeout_for: Duration = INLINE_FOR) -> StepInfo:
        """What an effect, and `reconcile`, may know about itself."""
        return StepInfo(
            key=task.handler,
            name=name,
            attempt=task.attempt,
            run_id=task.run_id,
            idempotency_key=key,
            stops_at=Instant(self.host.clock.now() + timeout_for),
        )

    # --- user code ----------------------------------------------------------------------------------------------------

    async def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        *,
        timeout_for: Duration,
        code: Code | None = None,
        info: StepInfo | None = None,
        waits: Callable[[], Awaitable[None]] | None = None,
        is_last: bool = False,
    ) -> Ran:
        """Call user code. Raises Halted when the claim has run out, or the worker stops, before it has ended.

        `code`: what it is, if it is part of a handler. `waits`: what to do meanwhile, should it not be over at once.
        `is_last`: it may end, though the worker stops.
        """
        if self._halted.done() and not is_last:  # as behind an answer that came too late
            raise Halted
        context = self.host.context.copy()
        if info is not None:
            context.run(STEP.set, info)
        self.enters(function)
        try:
            with self._telling.calling(code, context=context) as called:
                ran, work = await run_code(
                    self.host,
                    function,
                    args,
                    context=context,
                    timeout_for=timeout_for,
                    halted=None if is_last else self._halted,
                    waits=waits,
                    began=lambda _: self.entered(timeout_for),
                )
                called.ran = ran
        except Halted as halted:
            if halted.work is not None:
                self._left_behind.add(halted.work)
            raise
        finally:
            self.leaves()
        if not ran.is_over:
            self._left_behind.add(work)
            told = "%s of pipeline %r passed its time-out, but a thread cannot be stopped: it keeps its slot."
            LOGGER.warning(told, getattr(function, "__qualname__", function), self.claimed.name)
        if self._unanswered is not None and ran.error is self._unanswered:  # of ours, through the code that asked
            raise self._unanswered
        return ran

    async def reconcile(self, definition: EffectDefinition, args: tuple[Any, ...], info: StepInfo) -> Found:
        """Ask whether an effect happened. `info` has the key by which the outside world may know it."""
        assert definition.reconcile is not None
        await self.secure()
        code = Code(CodeKind.RECONCILE, definition.name)
        ran = await self.run(definition.reconcile, args, timeout_for=INLINE_FOR, code=code, info=info)
        found = effect_calls.read_found(ran, definition, self.host.codec, limit=INLINE_FOR)
        if found.failure is not None:  # its text may quote a payload, and is in the database
            told = "reconcile of effect %r of pipeline %r gave no answer: %s. See: windlass show %s"
            LOGGER.warning(told, definition.name, self.claimed.name, found.failure.type, info.run_id)
        return found

    async def _wait_left_behind(self) -> None:
        work = {item for item in self._left_behind if not item.done()}
        if work:
            await asyncio.wait(work)

    # --- what became of it --------------------------------------------------------------------------------------------

    async def _stop(self, task: Task, stop: Stop) -> None:
        handler_failures.tell(self.about(task), stop.failure, phase=stop.phase, error=stop.__cause__)
        command = StopHandler(
            **self.held,
            run_id=task.run_id,
            phase=stop.phase,
            failure=stop.failure,
            verdict=stop.verdict,
            is_inside=stop.is_inside,
            is_found=stop.is_found,
            is_cut=stop.is_cut,
        )
        stopped = await self.patiently(lambda: self.host.work.stop_handler(command))
        self.give_up_claim()
        self._telling.ends(stopped.run.status, error=stop.failure.type)
        await problems.tell(self, stopped)

    async def _leave_effect(self, task: Task) -> None:
        """The worker stops, and nobody is inside of the effect any more: nobody has to wait for the claim to end."""
        with suppress(WindlassError):  # then it is given back as it is
            await self._stop(
                task, Stop(handler_failures.stopped(), phase=Phase.MUTATING, verdict=Verdict.UNKNOWN, is_cut=True)
            )

    async def _reconcile(self, task: Task) -> Task | None:
        effect = task.effect
        definition = None if effect is None else self.host.registry.handlers.effect_of_name(effect.name)
        assert effect is not None
        if definition is None:  # asked in vain: given back, it would come again at once
            text = f"Effect {effect.name!r} is no longer in the code: declare it again, or say whether it happened."
            found = Found(failure=handler_failures.logic(text))
        elif definition.reconcile is None or not effect.has_reconcile:  # or it had none when it was called
            text = f"Effect {definition.name!r} ({definition.location}) has no reconcile= to ask."
            found = Found(failure=handler_failures.logic(text))
        else:
            try:
                args = effect_calls.decode_arguments(definition, effect.params, self.host.codec)
            except InvalidInput as refused:
                found = Found(failure=handler_failures.refused(refused))
            else:
                found = await self.reconcile(definition, args, self.info(task, effect.name, effect.idempotency_key))
        command = ReconcileEffect(
            namespace=self.host.namespace,
            subject=self.claimed.name,
            token=self.claimed.token,
            run_id=task.run_id,
            result=found.result,
            did_not_happen=found.did_not_happen,
            failure=found.failure,
            continues=self.continues,
        )
        try:
            reconciled = await self.patiently(lambda: self.host.work.reconcile_effect(command))
        except InvalidInput as refused:  # what was found cannot be kept: asked in vain, or it would come again at once
            command = replace(command, result=None, failure=handler_failures.refused(refused))
            reconciled = await self.patiently(lambda: self.host.work.reconcile_effect(command))
        if reconciled.task is None:
            self.give_up_claim()
        if reconciled.needs_person:
            await problems.tell_found(self, task, command)
        return reconciled.task

    async def _fix(self, task: Task) -> None:
        is_fixed, note = await problems.ask_fixer(self, task)
        command = FixHandler(**self.held, run_id=task.run_id, is_fixed=is_fixed, note=note)
        await self.patiently(lambda: self.host.work.fix_handler(command))
        self.give_up_claim()
        if not is_fixed:
            await problems.tell_unfixed(self, task)
