"""The door Work, at the other end of the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from windlass.answers import Answer
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import remote_graphs
from windlass.api.grpc.asking import Asker, not_repeated
from windlass.api.grpc.batches import Batches, Kind, written
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.mirror import Mirror, mirror
from windlass.api.grpc.polls import Doors, Polls, longer
from windlass.api.grpc.remote_pipeline_work import RemotePipelineWork
from windlass.api.grpc.table import FILLED_REQUEST
from windlass.errors import NotFound
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import (
    BeginStep,
    Cancelled,
    CancelRun,
    Claim,
    ClaimedRun,
    ClaimRuns,
    ClaimState,
    CompleteStep,
    FinishRun,
    Heartbeat,
    Heartbeaten,
    HoldRun,
    LookAtClaims,
    Probed,
    ProbeWorkers,
    RegisterWorker,
    Registration,
    SendEvent,
    Sent,
    Suspend,
    Suspended,
    Verdict,
)
from windlass.model.graph import Added, AddJobs, NeedsOf, ReadNeeds
from windlass.model.run import RunStatus, WorkerId
from windlass.model.step import StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns
from windlass.runtime import Clock
from windlass.v1 import worker_pb2

SERVICE = "WorkerService"
_POLL = Mirror(ClaimRuns, worker_pb2.PollRequest.DESCRIPTOR, renamed={"poll": "poll_id"})
_CLAIMED = mirror(ClaimedRun, worker_pb2.ClaimedRun.DESCRIPTOR)


class RemoteWorkers:
    def __init__(self, channel: Channel, *, clock: Clock) -> None:
        self._clock = clock
        self._asker = Asker(channel, SERVICE)

    async def register_worker(self, command: RegisterWorker) -> Registration:
        """Without a lock: nothing tells its death but the end of its claims."""
        registration: Registration = await self._asker.ask("Register", command, Registration)
        return registration

    async def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        beaten: of.Beaten = await self._asker.ask("Heartbeat", command, of.Beaten)
        if not beaten.accepted:
            raise NotFound("worker", command.id, hint="It left, or was silent for too long: register it again.")
        return Heartbeaten(should_drain=beaten.should_drain)

    async def deregister_worker(self, namespace: str, id: WorkerId, ended: EndedRuns | None = None) -> None:
        await self._asker.ask("Deregister", of.Deregister(namespace=namespace, id=id, ended=ended), of.Nothing)

    async def probe_workers(self, command: ProbeWorkers) -> Probed:
        """The server looks for dead workers; whether this one is still registered its heartbeat tells."""
        return Probed(is_registered=True, lock=None, dead=())

    async def listen(self, namespace: str, worker: WorkerId, wait_for: Duration) -> bool:
        asked = of.Listen(namespace=namespace, worker=worker, wait_for=longer(wait_for))
        heard: of.Heard = await self._asker.ask("Listen", asked, of.Heard, wait_for=asked.wait_for)
        return heard.should_drain

    async def renew_claims(self, command: RenewClaims) -> RenewedClaims:
        renewed: RenewedClaims = await self._asker.ask("RenewClaims", command, RenewedClaims)
        return renewed


class RemoteClaims(RemoteWorkers):
    """What a holder does with its claims."""

    async def hold_run(self, command: HoldRun) -> None:
        await self._asker.ask("HoldRun", command, of.Nothing)

    async def release_run(self, claim: Claim) -> None:
        await self._asker.ask("ReleaseRun", claim, of.Nothing)

    async def renew_claim(self, claim: Claim) -> None:
        await self._asker.ask("RenewClaim", claim, of.Nothing)

    async def read_history(self, claim: Claim) -> tuple[StepRecord, ...]:
        return await self._history(claim, [])

    async def send_to_child(self, claim: Claim, command: SendEvent) -> Sent:
        asked = of.SendToChild(
            namespace=claim.namespace,
            run_id=claim.run_id,
            token=claim.token,
            child=command.run_id,
            event=command.event,
            id=command.id,
            payload=command.payload,
            payload_hash=command.payload_hash,
        )
        sent: Sent = await self._asker.ask("SendToChild", asked, Sent, again=not_repeated)
        return sent

    async def cancel_child(self, claim: Claim, command: CancelRun) -> Cancelled:
        asked = of.CancelChild(namespace=claim.namespace, run_id=claim.run_id, token=claim.token, child=command.run_id)
        cancelled: Cancelled = await self._asker.ask("CancelChild", asked, Cancelled, again=_by_us)
        return cancelled

    async def look_at_claims(self, command: LookAtClaims) -> tuple[ClaimState, ...]:
        looked: of.Looked = await self._asker.ask("LookAtClaims", command, of.Looked)
        return looked.states

    async def add_jobs(self, command: AddJobs) -> Added:
        return await remote_graphs.add_jobs(self._asker, command)

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        return await remote_graphs.read_needs(self._asker, command)

    async def _history(self, claim: Claim, found: list[StepRecord]) -> tuple[StepRecord, ...]:
        while True:
            asked = of.ReadHistory(namespace=claim.namespace, run_id=claim.run_id, token=claim.token, skip=len(found))
            part: of.History = await self._asker.ask("ReadHistory", asked, of.History)
            found.extend(part.history)
            if not part.has_more:
                return tuple(found)


class RemoteWork(RemoteClaims, RemotePipelineWork):
    def __init__(self, channel: Channel, *, clock: Clock) -> None:
        RemoteClaims.__init__(self, channel, clock=clock)
        RemotePipelineWork.__init__(self, channel, clock=clock)
        self._begun = Batches(
            channel,
            _kind("BeginSteps", worker_pb2.BeginStepsRequest, "steps", BeginStep, worker_pb2.BeginStep),
        )
        self._completed = Batches(
            channel,
            _kind("CompleteSteps", worker_pb2.CompleteStepsRequest, "steps", CompleteStep, worker_pb2.CompleteStep),
        )
        self._finished = Batches(
            channel, _kind("FinishRuns", worker_pb2.FinishRunsRequest, "runs", FinishRun, worker_pb2.FinishRun)
        )
        doors: Doors[ClaimedRun] = Doors(self._poll, self._give_back, lambda run: f"Run {run.run_id}")
        self._polls = Polls(doors)

    async def close(self) -> None:
        await self._polls.close()
        await self.close_pipelines()
        for batches in (self._begun, self._completed, self._finished):
            await batches.close()

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        return await self._polls.claim(command)

    def begin_step(self, command: BeginStep) -> Answer[Instant]:
        return self._begun.submit(command.namespace, command)

    def complete_step(self, command: CompleteStep) -> Answer[Instant]:
        return self._completed.submit(command.namespace, command)

    async def suspend_run(self, command: Suspend) -> Suspended:
        *first, last = _parts(command)
        verdicts: list[Verdict] = []
        for part in first:  # larger than a server takes at once: the first parts only record
            suspended: Suspended = await self._asker.ask("Suspend", part, Suspended)
            verdicts.extend(suspended.verdicts)
        suspended = await self._asker.ask("Suspend", last, Suspended)
        if not verdicts or suspended.is_parked:
            return suspended
        return replace(suspended, verdicts=(*verdicts, *suspended.verdicts))

    def finish_run(self, command: FinishRun) -> Answer[Instant]:
        return self._finished.submit(command.namespace, command)

    # Behind them

    async def _poll(self, command: ClaimRuns) -> list[ClaimedRun]:
        sent_at = self._clock.monotonic()
        asked = replace(command, wait_for=longer(command.wait_for))
        answer = await self._asker.send("Poll", _POLL, asked, wait_for=asked.wait_for)
        # No claim is older than that: the server says how long it had waited when it asked for them.
        around = {"asked_at": sent_at + answer.claimed_after}
        claimed = []
        for message in answer.runs:
            run: ClaimedRun = _CLAIMED.to_struct(message, around)
            claimed.append(await self._whole(command, run) if message.has_more_history else run)
        return claimed

    async def _whole(self, command: ClaimRuns, run: ClaimedRun) -> ClaimedRun:
        """A run whose history was too large for the answer to the poll."""
        claim = Claim(namespace=command.namespace, run_id=run.run_id, token=run.token)
        return replace(run, history=await self._history(claim, list(run.history)))

    async def _give_back(self, command: ClaimRuns, run: ClaimedRun) -> None:
        await self.release_run(Claim(namespace=command.namespace, run_id=run.run_id, token=run.token))


def _by_us(told: Cancelled) -> Cancelled:
    return replace(told, is_done=told.is_done or told.status is RunStatus.CANCELLED)


def _kind(method: str, request: Any, field: str, struct: type[Any], item: Any) -> Kind:
    return Kind(SERVICE, method, request, field, mirror(struct, item.DESCRIPTOR), written)


def _parts(command: Suspend) -> Iterator[Suspend]:
    """As it is, or in parts that a server takes: children of one map may come with large arguments."""
    waits, size = list[Any](), 0
    for wait in command.waits:
        own = 500 + len(wait.detail or b"") + (0 if wait.child is None else len(wait.child.command.input))
        if waits and size + own > FILLED_REQUEST:
            yield replace(command, failures=(), waits=tuple(waits), open=(), dropped=(), park=False, together=False)
            waits, size = [], 0
        waits.append(wait)
        size += own
    yield command if len(waits) == len(command.waits) else replace(command, waits=tuple(waits))
