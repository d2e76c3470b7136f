"""T8: a person says whether an effect of a pipeline happened."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.steer import steer
from windlass.errors import WrongState
from windlass.model.effect import Effect, EffectStatus, Resolution
from windlass.model.pipeline import (
    EffectOutcome,
    HandlerRun,
    HandlerRunId,
    HandlerStatus,
    Issue,
    Pipeline,
    PipelineStatus,
)
from windlass.model.pipeline_commands import ResolveEffect, SteerPipeline
from windlass.model.run import Deed
from windlass.rules import effects as rules
from windlass.rules import phases
from windlass.rules.steered import standing


async def resolve_of_pipeline(parts: Parts, command: ResolveEffect) -> Effect:
    """The ledger, the attempt, its events and the pipeline are one commit, and one row of the audit."""
    said: list[Effect] = []
    # Whose effect it is: asked again after a lost answer, it is still about that one.
    meant = [] if command.owner is None else [HandlerRunId(command.owner)]

    async def resolve(desk: Desk, pipeline: Pipeline) -> str | None:
        said.clear()
        if meant and (known := await _resolved(desk, meant[0], command)) is not None:
            said.append(known)
            return None
        run = desk.current(pipeline)
        before = await _said_before(desk, pipeline, run, command)
        if run is not None and before is not None:
            meant[:] = [HandlerRunId(before.owner)]
            said.append(await _correct(desk, pipeline, run, before, command))
            return f"{before.name}: {command.resolution.value}, with another result"
        effect = desk.effect(run)
        if effect is not None and _is_repeat(effect, command):
            said.append(effect)
            return None
        if run is None or effect is None or not _is_open(pipeline, run, effect) or meant not in ([], [run.id]):
            raise _nothing_to_resolve(pipeline)
        meant[:] = [run.id]
        by = command.by or "somebody"
        known = rules.resolved(
            effect, command.resolution, result=command.result, by=by, note=command.note, now=desk.now
        )
        desk.ledger.put(known)
        await _decide(desk, run, known, command, by=by)
        freed = phases.freed(pipeline, now=desk.now)
        if command.resolution is Resolution.TRY_AGAIN:
            freed = replace(freed, status=PipelineStatus.RECONCILING)
        desk.put(freed, cause="resolve", deed=Deed(by=command.by, note=command.note))
        await desk.release(freed)
        said.append(known)
        return f"{effect.name}: {command.resolution.value}"

    steering = SteerPipeline(namespace=command.namespace, name=command.subject, by=command.by, note=command.note)
    await steer(parts, steering, "resolve_effect", resolve)
    return said[0]


async def _resolved(desk: Desk, run_id: HandlerRunId, command: ResolveEffect) -> Effect | None:
    """The effect of this very attempt, if this was said about it, however far its pipeline has come since."""
    if run_id not in desk.ledger.effects:
        await desk.ledger.read(desk.namespace, [run_id])
    effect = desk.ledger.effects.get(run_id)
    is_said = effect is not None and effect.resolution is command.resolution
    # Whoever was asked once more, and did not know, may be asked once more again.
    is_open_again = effect is not None and effect.status is EffectStatus.INDETERMINATE
    is_mended = effect is not None and rules.corrects(effect, command.resolution, command.result)
    return effect if is_said and not is_open_again and not is_mended else None


async def _said_before(desk: Desk, pipeline: Pipeline, run: HandlerRun | None, command: ResolveEffect) -> Effect | None:
    """The effect behind which it stands, if what that returned is only a person's word, and another word now.

    What follows has not been taken up yet, or has stumbled.
    """
    has_stumbled = pipeline.status is PipelineStatus.ATTENTION and pipeline.issue is Issue.LOGIC
    if run is None or run.outcome is not EffectOutcome.SUCCESS or not (has_stumbled or _is_untaken(pipeline, run)):
        return None
    known: HandlerRun | None = run
    while known is not None and known.retry_of is not None and known.id not in desk.ledger.effects:
        await desk.book.read([known.retry_of])
        await desk.ledger.read(desk.namespace, [known.retry_of])
        known = desk.book.runs.get(known.retry_of)
    effect = None if known is None else desk.ledger.effects.get(known.id)
    is_meant = effect is not None and command.owner in (None, effect.owner)
    is_other = effect is not None and rules.corrects(effect, command.resolution, command.result)
    return effect if is_meant and is_other else None


async def _correct(desk: Desk, pipeline: Pipeline, run: HandlerRun, was: Effect, command: ResolveEffect) -> Effect:
    """What follows has stumbled, and is tried again with what is said now."""
    by = command.by or "somebody"
    effect = rules.corrected(was, result=command.result, by=by, note=command.note, now=desk.now)
    desk.ledger.put(effect)
    desk.book.keep_result(run.id, effect.result)
    freed = phases.freed(pipeline, now=desk.now)
    desk.put(freed, cause="resolve", deed=Deed(by=command.by, note=command.note))
    await desk.release(freed)
    return effect


async def _decide(desk: Desk, run: HandlerRun, effect: Effect, command: ResolveEffect, *, by: str) -> None:
    note = command.note
    match command.resolution:
        case Resolution.HAPPENED:
            desk.book.put(phases.happened(run, now=desk.now, by=by, note=note))
            desk.book.keep_result(run.id, effect.result)
        case Resolution.DID_NOT_HAPPEN:
            desk.book.put(phases.did_not_happen(run, now=desk.now, by=by, note=note))
            await desk.tx.reserved.release(desk.namespace, run_id=run.id)
        case Resolution.SKIP:
            desk.book.put(phases.skipped(run, now=desk.now, by=by, note=note))


def _is_open(pipeline: Pipeline, run: HandlerRun, effect: Effect) -> bool:
    is_held = pipeline.status in (PipelineStatus.ATTENTION, PipelineStatus.RECONCILING, PipelineStatus.IDLE)
    return is_held and run.status is HandlerStatus.PAUSED_RECONCILIATION and effect.status.is_open


def _is_untaken(pipeline: Pipeline, run: HandlerRun) -> bool:
    return pipeline.status is PipelineStatus.IDLE and run.status is HandlerStatus.PAUSED_RECONCILIATION


def _is_repeat(effect: Effect, command: ResolveEffect) -> bool:
    """The same word of the same person once more, while nobody has gone on with it yet."""
    return effect.resolution is command.resolution and effect.resolved_by == (command.by or "somebody")


def _nothing_to_resolve(pipeline: Pipeline) -> WrongState:
    return WrongState(
        "Pipeline",
        repr(pipeline.name),
        standing(pipeline),
        wanted="one with an effect of which nobody knows whether it happened",
        hint=f"See: windlass explain {pipeline.name}",
    )
