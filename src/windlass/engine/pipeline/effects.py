"""T2, T3 and T9: an effect is called, has returned, or is found out about."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.reserve import active_run, renewed, reserve_events
from windlass.errors import ClaimLost
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.pipeline import EffectOutcome, HandlerRun, HandlerStatus, Issue, Phase, Pipeline, PipelineStatus
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    Begun,
    BegunKind,
    Reconciled,
    ReconcileEffect,
    ReserveOutcome,
)
from windlass.model.time import Instant
from windlass.rules import effects as rules
from windlass.rules import phases
from windlass.rules.effects import BY_RECONCILE


async def begin_effect(desk: Desk, command: BeginEffect) -> Begun:
    """T2, and T1 with it where the worker has waited with that: nothing is called before this is committed."""
    if command.reserves is not None:
        reserved = await reserve_events(desk, command.reserves)
        if reserved.outcome is not ReserveOutcome.RESERVED:
            return Begun(kind=BegunKind.CHANGED)
    pipeline = desk.held(command.subject, token=command.token)
    run = active_run(desk, pipeline, command.run_id, token=command.token)
    was = desk.effect(run)
    if was is not None and run.phase is Phase.MUTATING:
        # Under one claim it is asked for once, so this is the same call, whose answer was lost: nobody has called yet.
        if was.status is EffectStatus.IN_FLIGHT and was.token == command.token:
            rules.check_begin(was, command)
            return Begun(kind=BegunKind.ENTER, idempotency_key=was.idempotency_key, attempt=was.attempt)
        raise ClaimLost(command.run_id, token=command.token)
    if run.phase is not Phase.PREPARED:
        raise ClaimLost(command.run_id, token=command.token)
    held = renewed(pipeline, command.renew_for, now=desk.now)
    effect = rules.new_effect(command, SubjectKind.PIPELINE, claim_ends=held.available_at or desk.now, now=desk.now)
    desk.ledger.add(effect)
    title = command.title or run.title
    desk.book.put(replace(run, phase=Phase.MUTATING, title=title, effect=command.name, updated_at=desk.now))
    desk.put(held)
    return Begun(kind=BegunKind.ENTER, idempotency_key=effect.idempotency_key, attempt=effect.attempt)


async def apply_effect(desk: Desk, command: ApplyEffect) -> Instant:
    """T3: result, ledger and phase are one commit: from then on nobody calls it again."""
    pipeline = desk.held(command.pipeline, token=command.token)
    run = active_run(desk, pipeline, command.run_id, token=command.token)
    effect = desk.effect(run)
    if effect is None or effect.token != command.token:
        raise ClaimLost(command.run_id, token=command.token)
    if run.phase is Phase.MUTATED and effect.status is EffectStatus.APPLIED:
        rules.check_result(effect, command.result)
        return desk.now  # the same call again
    if run.phase is not Phase.MUTATING or effect.status is not EffectStatus.IN_FLIGHT:
        raise ClaimLost(command.run_id, token=command.token)
    by = rules.source(is_found=command.is_found)
    desk.ledger.put(rules.applied(effect, command.result, by=by, now=desk.now))
    desk.book.put(replace(run, phase=Phase.MUTATED, outcome=EffectOutcome.SUCCESS, updated_at=desk.now))
    desk.book.keep_result(run.id, command.result)
    desk.put(renewed(pipeline, command.renew_for, now=desk.now))
    return desk.now


async def reconcile_effect(desk: Desk, attempts: Attempts, command: ReconcileEffect) -> Reconciled:
    """T9: what `reconcile` found out, and what follows from it."""
    said = _said(desk, command)
    if said is not None:
        return said
    pipeline = desk.held(command.subject, token=command.token)
    run = desk.current(pipeline)
    if run is not None and run.id != command.run_id and run.retry_of == command.run_id and run.token == command.token:
        return Reconciled(task=await attempts.task_of(run))  # the same call again
    effect = desk.effect(run)
    is_asked = run is not None and run.id == command.run_id and run.status is HandlerStatus.PAUSED_RECONCILIATION
    if run is None or effect is None or not is_asked or not effect.status.is_open:
        raise ClaimLost(command.run_id, token=command.token)
    known = rules.answered(
        effect,
        result=command.result,
        did_not_happen=command.did_not_happen,
        failure=command.failure,
        now=desk.now,
    )
    desk.ledger.put(known)
    if known.status.is_open:
        await doubt(desk, pipeline, known)
        return _told(desk, pipeline.name)
    if known.status is EffectStatus.APPLIED:
        desk.book.put(phases.happened(run, now=desk.now))
        desk.book.keep_result(run.id, command.result)
    else:
        await desk.tx.reserved.release(desk.namespace, run_id=run.id)
        if not phases.was_cut_off(run):
            await _hold(desk, pipeline, run, effect)
            return _told(desk, pipeline.name)
        desk.book.put(phases.did_not_happen(run, now=desk.now))
    if not command.continues:
        await desk.release(phases.freed(pipeline, now=desk.now))
        return Reconciled()
    task = await attempts.advance(pipeline.name, before=PipelineStatus.IDLE)
    return Reconciled(task=task)


async def _hold(desk: Desk, pipeline: Pipeline, run: HandlerRun, effect: Effect) -> None:
    """It did not happen, and that is a failure like any other: tried again after a while, and not for ever."""
    stopped, held = phases.did_not_happen_after_all(run, pipeline, failure=effect.failure, now=desk.now)
    desk.book.put(stopped)
    desk.put(held, cause=stopped.status.value)
    await desk.release(held)


def _told(desk: Desk, name: str) -> Reconciled:
    return Reconciled(needs_person=desk.pipelines[name].status is PipelineStatus.ATTENTION)


def _said(desk: Desk, command: ReconcileEffect) -> Reconciled | None:
    """What the same call has come to that gave the claim back, if its answer was lost on its way."""
    found = desk.pipelines.get(command.subject)
    run = None if found is None else desk.current(found)
    effect = desk.effect(run)
    if found is None or found.token != command.token or found.status is PipelineStatus.RUNNING:
        return None
    if run is None or run.id != command.run_id or effect is None:
        return None
    if command.result is not None or command.did_not_happen:
        is_known = effect.status is (EffectStatus.FAILED if command.did_not_happen else EffectStatus.APPLIED)
        is_same = is_known and effect.resolved_by == BY_RECONCILE and effect.result == command.result
    else:
        is_same = effect.status.is_open and effect.asked > 0 and command.failure in (None, effect.failure)
    return _told(desk, found.name) if is_same else None


async def doubt(desk: Desk, pipeline: Pipeline, effect: Effect) -> None:
    """Nobody knows whether it happened: `reconcile` is asked later, or a person is needed. Gives the claim back."""
    pipeline = replace(pipeline, recoveries=0)  # whoever held it is there to say so
    if effect.status is EffectStatus.INDETERMINATE:
        desk.put(phases.attention(pipeline, Issue.INDETERMINATE, now=desk.now), cause="indeterminate")
        return
    waiting = replace(pipeline, status=PipelineStatus.RECONCILING, issue=None, changed_at=desk.now)
    desk.put(waiting, cause="reconcile")
    await desk.release(waiting)
