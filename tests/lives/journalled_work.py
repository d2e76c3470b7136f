"""The door of a worker, with a journal beside it: every claim, and every write under a token with its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tests.lives.journal import Event, Journal
from tests.lives.journalled_pipelines import JournalledPipelines
from windlass.answers import Answer, answer_of
from windlass.api.service import Work
from windlass.errors import ClaimLost, WindlassError
from windlass.model.claims import Renewal, RenewClaims, RenewedClaims
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
)
from windlass.model.graph import Added, AddJobs, NeedsOf, ReadNeeds
from windlass.model.run import WorkerId
from windlass.model.step import StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns

T = TypeVar("T")

OK, PARKED = "ok", "parked"
CLAIM_LOST = ClaimLost.code


class Fenced(Protocol):
    """A write of a holder: it names the run and the token."""

    @property
    def run_id(self) -> Any: ...

    @property
    def token(self) -> int: ...


class JournalledPresence:
    """api.service.Workers, passed through: what a worker says about itself is not worth a line."""

    def __init__(self, work: Work, journal: Journal, *, who: str) -> None:
        self._work, self._journal, self._who = work, journal, who

    async def register_worker(self, command: RegisterWorker) -> Registration:
        return await self._work.register_worker(command)

    async def listen(self, namespace: str, worker: WorkerId, wait_for: Duration) -> bool:
        return await self._work.listen(namespace, worker, wait_for)

    async def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        return await self._work.heartbeat(command)

    async def deregister_worker(self, namespace: str, id: WorkerId, ended: EndedRuns | None = None) -> None:
        await self._work.deregister_worker(namespace, id, ended)

    async def probe_workers(self, command: ProbeWorkers) -> Probed:
        return await self._work.probe_workers(command)

    async def renew_claims(self, command: RenewClaims) -> RenewedClaims:
        items = [*command.runs, *command.pipelines]
        sent = [self._renewal(item, Event.SENT) for item in items]
        try:
            renewed = await self._work.renew_claims(command)
        except WindlassError as error:
            for fields in sent:
                self._journal.write(Event.ANSWERED, **fields, outcome=_outcome(error))
            raise
        lost = {*renewed.lost_runs, *renewed.lost_pipelines}
        for fields, item in zip(sent, items, strict=True):
            self._journal.write(Event.ANSWERED, **fields, outcome=CLAIM_LOST if item.id in lost else OK)
        return renewed

    def _renewal(self, item: Renewal, event: Event) -> dict[str, Any]:
        fields = {"who": self._who, "what": "renew_claim", "run_id": item.id, "token": item.token}
        fields |= {"key": "", "renew_for": item.visibility_for}
        self._journal.write(event, **fields)
        return fields


class JournalledJobs(JournalledPresence):
    """What workers do for graphs: what a job is given is written down, because it must be the same at every replay."""

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        found = await self._work.read_needs(command)
        for needs in found:
            value = [[met.job, met.status, _text(met.output)] for met in needs.needs]
            self._journal.write(Event.GIVEN, run_id=needs.run_id, what=needs.job, value=value)
        return found

    async def add_jobs(self, command: AddJobs) -> Added:
        added: Added = await self._awaited("add_jobs", command, self._work.add_jobs)
        return added

    async def _awaited(
        self,
        what: str,
        command: Fenced,
        call: Any,
        *,
        renew_for: Duration | None = None,
        done_as: Callable[[Any], str] = lambda answer: OK,
    ) -> Any:
        fields = self._sent(what, command, renew_for)
        try:
            answer = await call(command)
        except WindlassError as error:
            self._journal.write(Event.ANSWERED, **fields, outcome=_outcome(error))
            raise
        self._journal.write(Event.ANSWERED, **fields, outcome=done_as(answer))
        return answer

    def _sent(self, what: str, command: Fenced, renew_for: Duration | None) -> dict[str, Any]:
        fields = {"who": self._who, "what": what, "run_id": command.run_id, "token": command.token}
        fields |= {"key": getattr(command, "key", ""), "renew_for": renew_for}
        self._journal.write(Event.SENT, **fields)
        return fields


class JournalledWork(JournalledJobs, JournalledPipelines):
    """api.service.Work, passed through. `who` tells the writes of a real worker from those a test makes by hand."""

    async def look_at_claims(self, command: LookAtClaims) -> tuple[ClaimState, ...]:
        return await self._work.look_at_claims(command)

    async def read_history(self, claim: Claim) -> tuple[StepRecord, ...]:
        return await self._work.read_history(claim)

    async def send_to_child(self, claim: Claim, command: SendEvent) -> Sent:
        return await self._work.send_to_child(claim, command)

    async def cancel_child(self, claim: Claim, command: CancelRun) -> Cancelled:
        return await self._work.cancel_child(claim, command)

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        claimed = await self._work.claim_runs(command)
        if claimed:
            runs = [[run.run_id, run.token] for run in claimed]
            self._journal.write(Event.CLAIMED, who=command.worker, what=self._who, value=runs)
        return claimed

    def begin_step(self, command: BeginStep) -> Answer[Instant]:
        return self._submitted("begin_step", command, self._work.begin_step)

    def complete_step(self, command: CompleteStep) -> Answer[Instant]:
        return self._submitted("complete_step", command, self._work.complete_step, renew_for=command.renew_for)

    async def suspend_run(self, command: Suspend) -> Suspended:
        # A run with a failure for good is not parked, though that was asked for: then it is only suspended.
        suspended: Suspended = await self._awaited(
            "suspend_run", command, self._work.suspend_run, done_as=lambda answer: PARKED if answer.is_parked else OK
        )
        return suspended

    def finish_run(self, command: FinishRun) -> Answer[Instant]:
        return self._submitted("finish_run", command, self._work.finish_run)

    async def hold_run(self, command: HoldRun) -> None:
        await self._awaited("hold_run", command, self._work.hold_run)

    async def release_run(self, claim: Claim) -> None:
        await self._awaited("release_run", claim, self._work.release_run)

    async def renew_claim(self, claim: Claim) -> None:
        await self._awaited("renew_claim", claim, self._work.renew_claim, renew_for=claim.visibility_for)

    def _submitted(self, what: str, command: Fenced, call: Any, *, renew_for: Duration | None = None) -> Answer[Any]:
        """Written in a batch, and which one it joins is decided by when it is asked for."""
        fields = self._sent(what, command, renew_for)
        answer = answer_of(call(command))

        def answered(outcome: Any) -> None:
            error = outcome if isinstance(outcome, Exception) else None
            self._journal.write(Event.ANSWERED, **fields, outcome=_outcome(error))

        answer.then(answered)
        return answer


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return OK
    return error.code if isinstance(error, WindlassError) else type(error).__name__


def _text(output: bytes | None) -> str | None:
    return None if output is None else output.decode("latin-1")
