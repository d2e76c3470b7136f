"""The part of a mortal worker's door that leads to pipelines and effects: every write there is a place to die too."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

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
from windlass.model.time import Instant

T = TypeVar("T")

WHAT = {
    "claim_pipelines": "claim",
    "reserve_events": "reservation",
    "begin_effect": "begin of the effect",
    "apply_effect": "result of the effect",
    "commit_handler": "end of the handler",
    "stop_handler": "failure of the handler",
    "reconcile_effect": "answer of reconcile",
    "fail_effect": "failure of the effect",
    "fix_handler": "answer of on_logic_error",
    "renew_pipeline": "renewal of the claim",
    "release_pipeline": "release",
}


class MortalPipelines(ABC):
    """api.service.PipelineWork, for as long as the worker lives."""

    _work: Work

    @abstractmethod
    def _submitted(
        self, write: str, call: Callable[[Any], Awaitable[T]], command: Any, keys: tuple[str, ...] = ()
    ) -> Answer[T]:
        """Send a write, unless the worker dies before or behind it."""

    @abstractmethod
    async def _while_alive(self, call: Callable[..., Awaitable[T]], *arguments: Any) -> T: ...

    @abstractmethod
    def _reach(self, write: str, subject: str, keys: tuple[str, ...] = (), *, is_after: bool) -> bool:
        """True: the worker is dead."""

    async def claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        claimed = await self._while_alive(self._work.claim_pipelines, command)
        if claimed and any([self._reach("claim_pipelines", item.name, is_after=True) for item in claimed]):
            await asyncio.get_running_loop().create_future()  # no answer comes
        return claimed

    async def read_events(self, command: ReadEvents) -> tuple[EventRow, ...]:
        return await self._while_alive(self._work.read_events, command)

    def reserve_events(self, command: ReserveEvents) -> Answer[Reserved]:
        return self._submitted("reserve_events", self._work.reserve_events, command)

    def begin_effect(self, command: BeginEffect) -> Answer[Begun]:
        return self._submitted("begin_effect", self._work.begin_effect, command, _keys(command.step_key))

    def apply_effect(self, command: ApplyEffect) -> Answer[Instant]:
        return self._submitted("apply_effect", self._work.apply_effect, command)

    def commit_handler(self, command: CommitHandler) -> Answer[Committed]:
        return self._submitted("commit_handler", self._work.commit_handler, command)

    def stop_handler(self, command: StopHandler) -> Answer[Stopped]:
        return self._submitted("stop_handler", self._work.stop_handler, command)

    def reconcile_effect(self, command: ReconcileEffect) -> Answer[Reconciled]:
        return self._submitted("reconcile_effect", self._work.reconcile_effect, command, _keys(command.step_key))

    def fail_effect(self, command: FailEffect) -> Answer[Begun]:
        return self._submitted("fail_effect", self._work.fail_effect, command, _keys(command.step_key))

    def fix_handler(self, command: FixHandler) -> Answer[Instant]:
        return self._submitted("fix_handler", self._work.fix_handler, command)

    async def renew_pipeline(self, claim: PipelineClaim) -> None:
        await self._submitted("renew_pipeline", self._work.renew_pipeline, claim)

    async def release_pipeline(self, claim: PipelineClaim) -> None:
        await self._submitted("release_pipeline", self._work.release_pipeline, claim)


def _keys(step_key: str) -> tuple[str, ...]:
    return (step_key,) if step_key else ()
