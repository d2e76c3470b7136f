"""api.pipeline_service, in process."""

from __future__ import annotations

from windlass.answers import Answer
from windlass.engine import effects as run_effects
from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.pipeline import claim, declare, release, resolve, skip, steer
from windlass.engine.pipeline.views import Views
from windlass.errors import ClaimLost
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
from windlass.rules.limits import is_run_id
from windlass.rules.pipelines import is_held
from windlass.store.base import Tx

OPERATIONS, PUBLISH = "handler_operations", "publish_events"  # kinds of batches


class EnginePipelines:
    def __init__(self, parts: Parts) -> None:
        self._parts, self._views = parts, Views(parts)

    def publish(self, command: Publish) -> Answer[Published]:
        return self._parts.batcher.submit(PUBLISH, command)

    async def list_pipelines(self, namespace: str) -> tuple[PipelineDetail, ...]:
        return await self._views.list(namespace)

    async def get_pipeline(self, namespace: str, name: str) -> PipelineDetail:
        return await self._views.get(namespace, name)

    async def list_handler_runs(self, query: ListHandlerRuns) -> HandlerRunPage:
        return await self._views.runs(query)

    async def get_handler_run(self, namespace: str, run_id: HandlerRunId) -> HandlerRunView:
        return await self._views.run(namespace, run_id)

    async def list_topics(self, namespace: str) -> tuple[TopicView, ...]:
        return await self._views.topics(namespace)

    async def list_events(self, query: ListEvents) -> EventPage:
        return await self._views.events(query)

    async def list_inputs(self, query: ListInputs) -> InputPage:
        return await self._views.inputs(query)

    async def trace_input(self, namespace: str, pipeline: str, input: InputId) -> Trace:
        return await self._views.trace(namespace, pipeline, input)

    async def explain_pipeline(self, namespace: str, name: str) -> Explanation:
        return await self._views.explain(namespace, name)

    async def list_open_effects(self, namespace: str) -> tuple[Effect, ...]:
        return await self._views.open_effects(namespace)


class EnginePipelineControl:
    def __init__(self, parts: Parts) -> None:
        self._parts, self._views = parts, Views(parts)

    async def declare_pipelines(self, command: DeclarePipelines) -> None:
        await declare.declare_pipelines(self._parts, command)

    async def pause_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        await steer.pause_pipeline(self._parts, command)
        return await self._views.get(command.namespace, command.name)

    async def resume_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        await steer.resume_pipeline(self._parts, command)
        return await self._views.get(command.namespace, command.name)

    async def run_now(self, command: SteerPipeline) -> PipelineDetail:
        await steer.run_now(self._parts, command)
        return await self._views.get(command.namespace, command.name)

    async def retry_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        await steer.retry_pipeline(self._parts, command)
        return await self._views.get(command.namespace, command.name)

    async def decide_handler(self, command: DecideHandler) -> PipelineDetail:
        await steer.decide_handler(self._parts, command)
        return await self._views.get(command.namespace, command.name)

    async def resolve_effect(self, command: ResolveEffect) -> Effect:
        if is_run_id(command.subject):
            return await run_effects.resolve_of_run(self._parts, command)
        return await resolve.resolve_of_pipeline(self._parts, command)

    async def skip_input(self, command: SkipInput) -> Skipped:
        return await skip.skip_input(self._parts, command)


class EnginePipelineWork:
    _parts: Parts

    async def claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        return await claim.claim_pipelines(self._parts, command)

    async def read_events(self, command: ReadEvents) -> tuple[EventRow, ...]:
        async def read(tx: Tx) -> tuple[EventRow, ...]:
            pipeline = await tx.pipelines.load(command.namespace, command.pipeline)
            if pipeline is None or not is_held(pipeline, token=command.token):
                raise ClaimLost(command.pipeline, token=command.token)
            place = {"pipeline": command.pipeline, "topic": command.topic}
            if command.ids is None:
                return tuple(await tx.events.pending(command.namespace, **place, limit=command.limit))
            found = await tx.events.known(command.namespace, **place, ids=dict.fromkeys(command.ids))
            return tuple(found[id] for id in dict.fromkeys(command.ids) if id in found)

        return await until_answered(self._parts.clock, lambda: self._parts.store.read("read_events", read, single=True))

    def reserve_events(self, command: ReserveEvents) -> Answer[Reserved]:
        return self._parts.batcher.submit(OPERATIONS, command)

    def begin_effect(self, command: BeginEffect) -> Answer[Begun]:
        if is_run_id(command.subject):
            return run_effects.answered(self._parts, run_effects.begin_effect(self._parts, command))
        return self._parts.batcher.submit(OPERATIONS, command)

    def apply_effect(self, command: ApplyEffect) -> Answer[Instant]:
        return self._parts.batcher.submit(OPERATIONS, command)

    def commit_handler(self, command: CommitHandler) -> Answer[Committed]:
        return self._parts.batcher.submit(OPERATIONS, command)

    def stop_handler(self, command: StopHandler) -> Answer[Stopped]:
        return self._parts.batcher.submit(OPERATIONS, command)

    def reconcile_effect(self, command: ReconcileEffect) -> Answer[Reconciled]:
        if is_run_id(command.subject):
            return run_effects.answered(self._parts, run_effects.reconcile_effect(self._parts, command))
        return self._parts.batcher.submit(OPERATIONS, command)

    def fail_effect(self, command: FailEffect) -> Answer[Begun]:
        return run_effects.answered(self._parts, run_effects.fail_effect(self._parts, command))

    def fix_handler(self, command: FixHandler) -> Answer[Instant]:
        return self._parts.batcher.submit(OPERATIONS, command)

    async def renew_pipeline(self, claim: PipelineClaim) -> None:
        await release.renew_pipeline(self._parts, claim)

    async def release_pipeline(self, claim: PipelineClaim) -> None:
        await release.release_pipeline(self._parts, claim)
