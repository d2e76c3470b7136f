"""The doors to pipelines: what people, programs and workers may ask about them. Part of api/service.py."""

from __future__ import annotations

from typing import Protocol

from windlass.answers import Answer
from windlass.model.effect import Effect
from windlass.model.explanation import Explanation
from windlass.model.pipeline import EventRow, HandlerRunId, InputId
from windlass.model.pipeline_commands import (
    DecideHandler,
    DeclarePipelines,
    EventPage,
    HandlerRunPage,
    HandlerRunView,
    InputPage,
    ListEvents,
    ListHandlerRuns,
    ListInputs,
    PipelineDetail,
    Publish,
    Published,
    ResolveEffect,
    SkipInput,
    Skipped,
    SteerPipeline,
    TopicView,
    Trace,
)
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


class Pipelines(Protocol):
    """For those who publish to pipelines and look at them."""

    def publish(self, command: Publish) -> Answer[Published]:
        """Give every subscribing pipeline its own event. The same id again replaces the payload, never the status."""
        ...

    async def list_pipelines(self, namespace: str) -> tuple[PipelineDetail, ...]:
        """All of a namespace, by name."""
        ...

    async def get_pipeline(self, namespace: str, name: str) -> PipelineDetail: ...

    async def list_handler_runs(self, query: ListHandlerRuns) -> HandlerRunPage: ...

    async def get_handler_run(self, namespace: str, run_id: HandlerRunId) -> HandlerRunView: ...

    async def list_topics(self, namespace: str) -> tuple[TopicView, ...]: ...

    async def list_events(self, query: ListEvents) -> EventPage: ...

    async def list_inputs(self, query: ListInputs) -> InputPage: ...

    async def trace_input(self, namespace: str, pipeline: str, input: InputId) -> Trace:
        """What became of an input, from its first event to the effects it led to."""
        ...

    async def explain_pipeline(self, namespace: str, name: str) -> Explanation:
        """Why it does nothing, or who executes it: what it waits for, since when, and what it would take."""
        ...

    async def list_open_effects(self, namespace: str) -> tuple[Effect, ...]:
        """Effects of pipelines and of runs of which nobody knows whether they happened."""
        ...


class PipelineControl(Protocol):
    """For those who steer pipelines. A call repeated after a lost answer has the effect of one."""

    async def declare_pipelines(self, command: DeclarePipelines) -> None:
        """Enter what the code of a program says. New and changed handlers run at once; what stays keeps its times."""
        ...

    async def pause_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        """Begin no handler until it is resumed. One that is at work goes on to its end."""
        ...

    async def resume_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        """Go on: if it was paused, and if it needed a person for something that is put right now."""
        ...

    async def run_now(self, command: SteerPipeline) -> PipelineDetail:
        """Make every producer due now. Raises WrongState while a handler is at work, or it is held by anything."""
        ...

    async def retry_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        """Try the handler that stopped again, now. Raises WrongState if none has, or it is for a person to decide."""
        ...

    async def decide_handler(self, command: DecideHandler) -> PipelineDetail:
        """Approve or reject. The same decision again is a repeat; another one, or none asked for, is WrongState."""
        ...

    async def resolve_effect(self, command: ResolveEffect) -> Effect:
        """Say whether an effect happened. Raises WrongState if there is none to resolve."""
        ...

    async def skip_input(self, command: SkipInput) -> Skipped: ...


class PipelineWork(Protocol):
    """For those who execute handlers and effects. Every method that takes a token raises ClaimLost when it is old."""

    async def claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        """Claim pipelines that have something to do, each with what that is; wait for some if there are none."""
        ...

    async def read_events(self, command: ReadEvents) -> tuple[EventRow, ...]: ...

    def reserve_events(self, command: ReserveEvents) -> Answer[Reserved]:
        """Raises InvalidInput, and reserves nothing, if one is not pending, or not in a topic of the consumer."""
        ...

    def begin_effect(self, command: BeginEffect) -> Answer[Begun]: ...

    def apply_effect(self, command: ApplyEffect) -> Answer[Instant]: ...

    def commit_handler(self, command: CommitHandler) -> Answer[Committed]:
        """Raises InvalidInput, and writes nothing, if something was published to a topic it has not declared."""
        ...

    def stop_handler(self, command: StopHandler) -> Answer[Stopped]: ...

    def reconcile_effect(self, command: ReconcileEffect) -> Answer[Reconciled]: ...

    def fail_effect(self, command: FailEffect) -> Answer[Begun]:
        """Of a run. Answers with what to do about it: reconcile, or, where it failed for certain, nothing."""
        ...

    def fix_handler(self, command: FixHandler) -> Answer[Instant]: ...

    async def renew_pipeline(self, claim: PipelineClaim) -> None: ...

    async def release_pipeline(self, claim: PipelineClaim) -> None:
        """Give it back. An attempt that is not over counts as crashed, but costs nothing."""
        ...
