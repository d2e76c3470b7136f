"""The doors Runs and Control, at the other end of the wire."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.answers import Answer
from windlass.api.grpc import envelopes as of
from windlass.api.grpc.asking import Asker, not_repeated
from windlass.api.grpc.batches import Batches, Kind
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.errors import from_detail
from windlass.api.grpc.mirror import mirror
from windlass.model.commands import (
    Cancelled,
    CancelRun,
    Decide,
    Outcome,
    PauseRun,
    ResumeRun,
    RetryRun,
    SendEvent,
    Sent,
    SetGate,
    Started,
    StartRun,
)
from windlass.model.explanation import Explanation
from windlass.model.gate import Gate
from windlass.model.message import Decision, Message
from windlass.model.page import ListRuns, RunPage
from windlass.model.queue import QueueView
from windlass.model.run import LogEntry, Run, RunId, RunStatus, RunView, WorkerId
from windlass.model.step import Step
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Worker
from windlass.runtime import Clock, Ids
from windlass.v1 import workflow_pb2
from windlass.v1.model_pb2 import StartedRun

PAGE_LIMIT = 500
WAIT_FOR = Duration(20 * SECOND)  # in one call

_STARTED = mirror(Started, StartedRun.DESCRIPTOR)


class RemoteRuns:
    def __init__(self, channel: Channel, *, clock: Clock, ids: Ids) -> None:
        self._clock, self._ids = clock, ids
        self._workflows, self._admin = Asker(channel, "WorkflowService"), Asker(channel, "AdminService")
        self.starts = Batches(
            channel,
            Kind(
                "WorkflowService",
                "StartRuns",
                _starting,
                "runs",
                mirror(StartRun, workflow_pb2.StartRun.DESCRIPTOR),
                _outcomes,
            ),
        )

    def start_run(self, command: StartRun) -> Answer[Started]:
        # Chosen here: asked again after a lost answer, it is the same run.
        named = command if command.run_id is not None else replace(command, run_id=RunId(self._ids.run()))
        return self.starts.submit(command.namespace, named)

    async def wait_for_result(self, namespace: str, run_id: RunId, wait_for: Duration | None) -> Outcome:
        deadline = None if wait_for is None else self._clock.monotonic() + wait_for
        while True:
            left = WAIT_FOR if deadline is None else Duration(max(0, deadline - self._clock.monotonic()))
            asked = of.WaitForResult(namespace=namespace, run_id=run_id, wait_for=Duration(min(left, WAIT_FOR)))
            found: Outcome = await self._workflows.ask("WaitForResult", asked, Outcome, wait_for=asked.wait_for)
            is_over = found.status.is_terminal or found.status is RunStatus.PAUSED
            if is_over or (deadline is not None and self._clock.monotonic() >= deadline):
                return found

    async def get_run(self, namespace: str, run_id: RunId) -> RunView:
        found: RunView = await self._workflows.ask("GetRun", of.OfRun(namespace=namespace, run_id=run_id), RunView)
        return found

    async def find_run(self, namespace: str, key: str) -> RunView:
        found: RunView = await self._workflows.ask("FindRun", of.OfKey(namespace=namespace, key=key), RunView)
        return found

    async def list_runs(self, query: ListRuns) -> RunPage:
        """A server gives at most 500 at a time; whoever wants more gets them in parts."""
        runs: list[Run] = []
        while True:
            left = query.limit - len(runs)
            asked = replace(query, limit=min(left, PAGE_LIMIT), before=runs[-1].id if runs else query.before)
            found: RunPage = await self._workflows.ask("ListRuns", asked, RunPage)
            runs.extend(found.runs)
            if found.next is None or len(runs) >= query.limit:
                return RunPage(runs=tuple(runs), next=found.next)

    async def list_steps(self, namespace: str, run_id: RunId) -> tuple[Step, ...]:
        found: list[Step] = []
        asked = of.ListSteps(namespace=namespace, run_id=run_id)
        while True:
            part: of.Steps = await self._workflows.ask("ListSteps", asked, of.Steps)
            found.extend(part.steps)
            if not part.has_more:
                break
            asked = replace(asked, after_key=found[-1].key, after_attempt=found[-1].attempt)
        # More than one answer holds comes by key.
        return tuple(found if asked.after_key is None else sorted(found, key=_begun))

    async def read_log(self, namespace: str, run_id: RunId) -> tuple[LogEntry, ...]:
        found: list[LogEntry] = []
        while True:
            after = found[-1].seq if found else 0
            asked = of.OfRunAfter(namespace=namespace, run_id=run_id, after=after)
            part: of.LogEntries = await self._workflows.ask("ReadLog", asked, of.LogEntries)
            found.extend(part.entries)
            if not part.has_more:
                return tuple(found)

    async def explain_run(self, namespace: str, run_id: RunId) -> Explanation:
        asked = of.OfRun(namespace=namespace, run_id=run_id)
        found: Explanation = await self._workflows.ask("ExplainRun", asked, Explanation)
        return found

    async def list_messages(self, namespace: str, run_id: RunId) -> tuple[Message, ...]:
        found: list[Message] = []
        while True:
            after = found[-1].seq if found else 0
            asked = of.OfRunAfter(namespace=namespace, run_id=run_id, after=after)
            part: of.Messages = await self._workflows.ask("ListMessages", asked, of.Messages)
            found.extend(part.messages)
            if not part.has_more:
                return tuple(found)

    async def list_workers(self, namespace: str, stopped_since: Instant | None = None) -> tuple[Worker, ...]:
        asked = of.ListWorkers(namespace=namespace, stopped_since=stopped_since)
        found: of.WorkerViews = await self._admin.ask("ListWorkers", asked, of.WorkerViews)
        return found.workers

    async def list_queues(self, namespace: str) -> tuple[QueueView, ...]:
        found: of.Queues = await self._admin.ask("ListQueues", of.OfNamespace(namespace=namespace), of.Queues)
        return found.queues


def _begun(step: Step) -> tuple[int, int, str, int]:
    return (step.started_at or 0, step.order or 0, step.key, step.attempt)


def _starting(*, namespace: str, runs: list[Any]) -> Any:
    # Whoever asks has the code of what is started, or has looked whether somebody knows it.
    return workflow_pb2.StartRunsRequest(namespace=namespace, runs=runs, allow_unknown=True)


def _outcomes(answer: Any) -> list[Any]:
    return [
        from_detail(item.error) if item.HasField("error") else _STARTED.to_struct(item.started)
        for item in answer.outcomes
    ]


class RemoteControl:
    def __init__(self, channel: Channel) -> None:
        self._workflows, self._admin = Asker(channel, "WorkflowService"), Asker(channel, "AdminService")

    async def send_event(self, command: SendEvent) -> Sent:
        found: Sent = await self._workflows.ask("SendEvent", command, Sent, again=not_repeated)
        return found

    async def decide(self, command: Decide) -> Decision:
        found: Decision = await self._workflows.ask("Decide", command, Decision)
        return found

    async def cancel_run(self, command: CancelRun) -> Cancelled:
        found: Cancelled = await self._workflows.ask("CancelRun", command, Cancelled)
        return found

    async def retry_run(self, command: RetryRun) -> Started:
        found: Started = await self._workflows.ask("RetryRun", command, Started, again=not_repeated)
        return found

    async def pause_run(self, command: PauseRun) -> RunStatus:
        found: of.Paused = await self._workflows.ask("PauseRun", command, of.Paused)
        return found.status

    async def resume_run(self, command: ResumeRun) -> RunView:
        found: RunView = await self._workflows.ask("ResumeRun", command, RunView)
        return found

    async def set_gate(self, command: SetGate) -> Gate:
        found: Gate = await self._admin.ask("SetGate", command, Gate)
        return found

    async def list_gates(self, namespace: str) -> tuple[Gate, ...]:
        found: of.Gates = await self._admin.ask("ListGates", of.OfNamespace(namespace=namespace), of.Gates)
        return found.gates

    async def drain_worker(self, namespace: str, id: WorkerId, by: str | None = None) -> Worker:
        found: Worker = await self._admin.ask("DrainWorker", of.DrainWorker(namespace=namespace, id=id, by=by), Worker)
        return found

    async def move_cursor(self, namespace: str, name: str, seq: int) -> int:
        asked = of.MoveCursor(namespace=namespace, name=name, seq=seq)
        found: of.Moved = await self._admin.ask("MoveCursor", asked, of.Moved)
        return found.seq

    async def drop_cursor(self, namespace: str, name: str) -> bool:
        asked = of.OfCursor(namespace=namespace, name=name)
        found: of.Dropped = await self._admin.ask(
            "DropCursor", asked, of.Dropped, again=lambda told: of.Dropped(is_dropped=True)
        )
        return found.is_dropped
