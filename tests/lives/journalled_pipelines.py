"""The part of a journalled worker's door that leads to pipelines: in the journal, a pipeline stands by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from tests.lives.journal import Event, Journal
from windlass.answers import Answer
from windlass.api.service import Work
from windlass.model.pipeline import EventRow
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    Begun,
    ClaimedPipeline,
    ClaimPipelines,
    CommitHandler,
    Committed,
    FailEffect,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    Reconciled,
    ReconcileEffect,
    Reserved,
    ReserveEvents,
    StopHandler,
    Stopped,
)
from windlass.model.time import Duration, Instant


class Held(NamedTuple):
    """A pipeline, or a run, under a token."""

    run_id: str
    token: int
    key: str = ""


class JournalledPipelines(ABC):
    """api.service.PipelineWork, passed through."""

    _work: Work
    _journal: Journal
    _who: str

    @abstractmethod
    def _submitted(self, what: str, command: Any, call: Any, *, renew_for: Duration | None = None) -> Answer[Any]: ...

    async def claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        claimed = await self._work.claim_pipelines(command)
        if claimed:
            pipelines = [[item.name, item.token] for item in claimed]
            self._journal.write(Event.CLAIMED, who=command.worker, what=self._who, value=pipelines)
        return claimed

    async def read_events(self, command: ReadEvents) -> tuple[EventRow, ...]:
        return await self._work.read_events(command)

    def reserve_events(self, command: ReserveEvents) -> Answer[Reserved]:
        return self._of_pipeline("reserve_events", command)

    def begin_effect(self, command: BeginEffect) -> Answer[Begun]:
        return self._of_subject("begin_effect", command)

    def apply_effect(self, command: ApplyEffect) -> Answer[Instant]:
        return self._of_pipeline("apply_effect", command)

    def commit_handler(self, command: CommitHandler) -> Answer[Committed]:
        return self._of_pipeline("commit_handler", command)

    def stop_handler(self, command: StopHandler) -> Answer[Stopped]:
        return self._of_pipeline("stop_handler", command)

    def reconcile_effect(self, command: ReconcileEffect) -> Answer[Reconciled]:
        return self._of_subject("reconcile_effect", command)

    def fail_effect(self, command: FailEffect) -> Answer[Begun]:
        held = Held(command.run_id, command.token, command.step_key)
        return self._submitted("fail_effect", held, lambda _: self._work.fail_effect(command))

    def fix_handler(self, command: FixHandler) -> Answer[Instant]:
        return self._of_pipeline("fix_handler", command)

    async def renew_pipeline(self, claim: PipelineClaim) -> None:
        await self._of_pipeline("renew_pipeline", claim)

    async def release_pipeline(self, claim: PipelineClaim) -> None:
        await self._of_pipeline("release_pipeline", claim)

    def _of_pipeline(self, what: str, command: Any) -> Answer[Any]:
        held = Held(command.pipeline, command.token)
        return self._submitted(what, held, lambda _: getattr(self._work, what)(command))

    def _of_subject(self, what: str, command: BeginEffect | ReconcileEffect) -> Answer[Any]:
        held = Held(command.subject, command.token, command.step_key)
        return self._submitted(what, held, lambda _: getattr(self._work, what)(command))
