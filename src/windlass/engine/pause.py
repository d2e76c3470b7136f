"""Hold a run until it is resumed. What of it is at work comes to its end first."""

from __future__ import annotations

from windlass.engine.audit import Audit
from windlass.engine.graph.lock import lock_graph_behind, lock_graph_of
from windlass.engine.graph.pause import Steered, pause_graph
from windlass.engine.parts import Parts
from windlass.engine.release import save_run, tell_of_pause
from windlass.engine.send import lock_existing
from windlass.model.commands import PauseRun
from windlass.model.run import PAUSED_BY, Deed, RunKind, RunStatus
from windlass.notify.local import worker_topic
from windlass.rules import runs as rules
from windlass.store.base import Tx


async def pause_run(parts: Parts, command: PauseRun) -> RunStatus:
    audit = Audit.of_caller("pause_run")

    async def pause(tx: Tx) -> Steered:
        locked = await lock_graph_of(tx, command.namespace, command.run_id)
        run = await lock_existing(tx, command.namespace, command.run_id)
        if run.kind is RunKind.GRAPH and not run.status.is_terminal:
            locked = await lock_graph_behind(tx, locked, run)
            steered = await pause_graph(tx, locked, run, Deed(by=command.by, note=command.note))
            if steered.run != run:  # else it was asked for before, by whomever
                await audit.note(tx, run.namespace, subject=run.id, before=run.status, after=RunStatus.PAUSED)
            return steered
        paused = rules.pause(run)
        if paused == run:
            return Steered(run=run)  # asked for before, by whomever
        await audit.note(tx, run.namespace, subject=run.id, before=run.status, after=RunStatus.PAUSED)
        deed = Deed(by=command.by, note=command.note)
        return Steered(run=await save_run(tx, paused, was=run, cause=PAUSED_BY, deed=deed))

    steered = await parts.run_tx("pause_run", pause)
    for run in (steered.run, *steered.jobs):
        if run.worker is not None:  # it enters no new body, and parks
            parts.hub.publish(worker_topic(run.namespace, run.worker))
        else:
            tell_of_pause(parts, run.namespace, run.id)
    return steered.run.status
