"""api.service.Control, in process: what people and other programs do to runs."""

from __future__ import annotations

from windlass.engine import approve, cancel, cursors, drain, gates, pause, resume, retry, send
from windlass.engine.again import until_answered
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.model.commands import (
    Cancelled,
    CancelRun,
    Decide,
    PauseRun,
    ResumeRun,
    RetryRun,
    SendEvent,
    Sent,
    SetGate,
    Started,
)
from windlass.model.gate import Gate
from windlass.model.message import Decision
from windlass.model.run import RunStatus, RunView, WorkerId
from windlass.model.worker import Worker


class EngineControl:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def send_event(self, command: SendEvent) -> Sent:
        return await send.send_event(self._parts, command)

    async def decide(self, command: Decide) -> Decision:
        return await approve.decide(self._parts, command)

    async def cancel_run(self, command: CancelRun) -> Cancelled:
        return await cancel.cancel_run(self._parts, command)

    async def retry_run(self, command: RetryRun) -> Started:
        return await retry.retry_run(self._parts, command)

    async def pause_run(self, command: PauseRun) -> RunStatus:
        return await pause.pause_run(self._parts, command)

    async def resume_run(self, command: ResumeRun) -> RunView:
        await resume.resume_run(self._parts, command)
        store = self._parts.store
        view = await until_answered(
            self._parts.clock,
            lambda: store.read("get_run", lambda tx: tx.runs.view(command.namespace, id=command.run_id), single=True),
        )
        if view is None:
            raise no_run(command.run_id)
        return view

    async def set_gate(self, command: SetGate) -> Gate:
        return await gates.set_gate(self._parts, command)

    async def list_gates(self, namespace: str) -> tuple[Gate, ...]:
        return await gates.list_gates(self._parts, namespace)

    async def drain_worker(self, namespace: str, id: WorkerId, by: str | None = None) -> Worker:
        return await drain.drain_worker(self._parts, namespace, id, by=by)

    async def move_cursor(self, namespace: str, name: str, seq: int) -> int:
        return await cursors.move_cursor(self._parts, namespace, name, seq)

    async def drop_cursor(self, namespace: str, name: str) -> bool:
        return await cursors.drop_cursor(self._parts, namespace, name)
