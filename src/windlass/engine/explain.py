"""Say why a run is not running: everything is read as of one moment, and a rule turns it into sentences."""

from __future__ import annotations

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.errors import NotFound
from windlass.model.explanation import Explanation
from windlass.model.run import RunId
from windlass.rules.explain import Facts, explain
from windlass.store.base import Tx


async def explain_run(parts: Parts, namespace: str, run_id: RunId) -> Explanation:
    async def look(tx: Tx) -> Facts:
        view = await tx.runs.view(namespace, id=run_id)
        if view is None:
            raise NotFound("run", run_id)
        histories = await tx.steps.histories(namespace, run_ids=[run_id])
        return Facts(
            view=view,
            steps=tuple(histories.get(run_id, ())),
            log=tuple(await tx.log.of_subject(namespace, kind="run", id=run_id)),
            workers=tuple(await tx.workers.live(namespace)),
            now=await tx.now(),
        )

    # One snapshot: a run that is claimed between two reads would seem to wait for the worker that has it.
    return explain(await until_answered(parts.clock, lambda: parts.store.read("explain_run", look)))
