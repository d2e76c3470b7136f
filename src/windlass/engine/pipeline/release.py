"""The holder's own claim on a pipeline: extended, or given back."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk, open_desk
from windlass.engine.pipeline.effects import doubt
from windlass.engine.pipeline.reserve import renewed
from windlass.engine.pipeline.stop import cut_off
from windlass.engine.pipeline.waking import wake_all
from windlass.errors import ClaimLost
from windlass.model.pipeline import HandlerStatus, PipelineStatus
from windlass.model.pipeline_work import PipelineClaim
from windlass.rules import phases
from windlass.store.base import Tx


async def renew_pipeline(parts: Parts, claim: PipelineClaim) -> None:
    async def renew(tx: Tx) -> None:
        desk = await open_desk(tx, claim.namespace, names=[claim.pipeline])
        held = desk.held(claim.pipeline, token=claim.token)
        desk.put(renewed(held, claim.visibility_for, now=desk.now))
        await desk.save()

    await parts.run_tx("renew_pipeline", renew)


async def release_pipeline(parts: Parts, claim: PipelineClaim) -> None:
    """An attempt that is not over counts as crashed; it costs no recovery, because its holder is there to say so."""
    asked = 0

    async def release(tx: Tx) -> Desk | None:
        nonlocal asked
        asked += 1
        desk = await open_desk(tx, claim.namespace, names=[claim.pipeline])
        try:
            held = desk.held(claim.pipeline, token=claim.token)
        except ClaimLost:
            if asked > 1:  # a first try whose answer was lost
                return None
            raise
        await give_back(desk, Attempts(desk, parts.ids), held.name)
        await desk.save()
        return desk

    desk = await parts.run_tx("release_pipeline", release)
    if desk is not None:
        wake_all(parts, desk.woken)


async def give_back(desk: Desk, attempts: Attempts, name: str) -> None:
    """End the claim on a pipeline, as its holder would. A claim that ended in order ends the count of recoveries."""
    desk.put(replace(desk.pipelines[name], recoveries=0))
    await cut_off(desk, attempts, desk.pipelines[name], is_release=True)
    pipeline = desk.pipelines[name]
    run = desk.current(pipeline)
    effect = desk.effect(run)
    is_in_doubt = run is not None and run.status is HandlerStatus.PAUSED_RECONCILIATION
    if is_in_doubt and effect is not None and effect.status.is_open:
        await doubt(desk, pipeline, effect)  # nobody has to claim it to find out that it waits
    else:
        await desk.release(pipeline if run is None else phases.unfixed(pipeline, run, before=PipelineStatus.RUNNING))
