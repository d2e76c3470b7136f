"""The doors Pipelines and PipelineControl, at the other end of the wire.

Whatever is not answered is asked again, and has the effect of one call: an event is known by its id, a decision and a
resolution are the same when they say the same, and to pause, resume or declare what is so already changes nothing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.answers import Answer
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_pipelines as of_pipelines
from windlass.api.grpc.asking import Asker
from windlass.api.grpc.batches import Batches, Kind
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.errors import from_detail
from windlass.api.grpc.mirror import mirror
from windlass.model.effect import Effect
from windlass.model.explanation import Explanation
from windlass.model.pipeline import EventRow, HandlerRun, HandlerRunId, InputId
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
from windlass.v1 import pipeline_pb2

SERVICE = "PipelineService"

_PUBLISHED = mirror(Published, pipeline_pb2.PublishedEvent.DESCRIPTOR)


class RemotePipelines:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, SERVICE)
        self.published = Batches(
            channel,
            Kind(
                SERVICE,
                "PublishEvents",
                pipeline_pb2.PublishEventsRequest,
                "events",
                mirror(Publish, pipeline_pb2.PublishEvent.DESCRIPTOR),
                _outcomes,
            ),
        )

    def publish(self, command: Publish) -> Answer[Published]:
        return self.published.submit(command.namespace, command)

    async def list_pipelines(self, namespace: str) -> tuple[PipelineDetail, ...]:
        found: list[PipelineDetail] = []
        while True:
            asked = of_pipelines.ListByName(namespace=namespace, after=found[-1].view.pipeline.name if found else None)
            part: of_pipelines.PipelineDetails = await self._asker.ask(
                "ListPipelines", asked, of_pipelines.PipelineDetails
            )
            found.extend(part.pipelines)
            if not part.has_more:
                return tuple(found)

    async def get_pipeline(self, namespace: str, name: str) -> PipelineDetail:
        asked = of_pipelines.OfPipeline(namespace=namespace, name=name)
        found: PipelineDetail = await self._asker.ask("GetPipeline", asked, PipelineDetail)
        return found

    async def list_handler_runs(self, query: ListHandlerRuns) -> HandlerRunPage:
        found: HandlerRunPage = await self._asker.ask("ListHandlerRuns", query, HandlerRunPage)
        return found

    async def get_handler_run(self, namespace: str, run_id: HandlerRunId) -> HandlerRunView:
        """In as many parts as it takes: the first has its payloads, and each a piece of the rest."""
        asked = of_pipelines.GetHandlerRun(namespace=namespace, run_id=run_id)
        first: HandlerRunView | None = None
        effect: Effect | None = None
        events, published = list[EventRow](), list[EventRow]()
        while True:
            part: of_pipelines.HandlerRunPart = await self._asker.ask(
                "GetHandlerRun", asked, of_pipelines.HandlerRunPart
            )
            first, effect = first or part.view, part.view.effect or effect
            events.extend(part.view.events)
            published.extend(part.view.published)
            if not part.has_more:
                return replace(first, effect=effect, events=tuple(events), published=tuple(published))
            asked = replace(
                asked,
                is_rest=True,
                has_effect=effect is not None,
                skip_events=len(events),
                skip_published=len(published),
            )

    async def list_topics(self, namespace: str) -> tuple[TopicView, ...]:
        found: list[TopicView] = []
        while True:
            asked = of_pipelines.ListByName(namespace=namespace, after=found[-1].name if found else None)
            part: of_pipelines.Topics = await self._asker.ask("ListTopics", asked, of_pipelines.Topics)
            found.extend(part.topics)
            if not part.has_more:
                return tuple(found)

    async def list_events(self, query: ListEvents) -> EventPage:
        found: EventPage = await self._asker.ask("ListEvents", query, EventPage)
        return found

    async def list_inputs(self, query: ListInputs) -> InputPage:
        found: InputPage = await self._asker.ask("ListInputs", query, InputPage)
        return found

    async def trace_input(self, namespace: str, pipeline: str, input: InputId) -> Trace:
        events, runs, effects = list[EventRow](), list[HandlerRun](), list[Effect]()
        while True:
            asked = of_pipelines.TraceInput(
                namespace=namespace,
                pipeline=pipeline,
                input=input,
                skip_events=len(events),
                skip_runs=len(runs),
                skip_effects=len(effects),
            )
            part: of_pipelines.TracePart = await self._asker.ask("TraceInput", asked, of_pipelines.TracePart)
            events.extend(part.trace.events)
            runs.extend(part.trace.runs)
            effects.extend(part.trace.effects)
            if not part.has_more:
                return Trace(input=part.trace.input, events=tuple(events), runs=tuple(runs), effects=tuple(effects))

    async def explain_pipeline(self, namespace: str, name: str) -> Explanation:
        asked = of_pipelines.OfPipeline(namespace=namespace, name=name)
        found: Explanation = await self._asker.ask("ExplainPipeline", asked, Explanation)
        return found

    async def list_open_effects(self, namespace: str) -> tuple[Effect, ...]:
        return await open_effects(self._asker, namespace)


async def open_effects(asker: Asker, namespace: str) -> tuple[Effect, ...]:
    found: list[Effect] = []
    asked = of_pipelines.ListOpenEffects(namespace=namespace)
    while True:
        part: of_pipelines.OpenEffects = await asker.ask("ListOpenEffects", asked, of_pipelines.OpenEffects)
        found.extend(part.effects)
        if not part.has_more:
            return tuple(found)
        last = found[-1]
        asked = replace(asked, after_owner=last.owner, after_step=last.step_key, after_attempt=last.attempt)


def _outcomes(answer: Any) -> list[Any]:
    return [
        from_detail(item.error) if item.HasField("error") else _PUBLISHED.to_struct(item.published)
        for item in answer.outcomes
    ]


class RemotePipelineControl:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, SERVICE)

    async def declare_pipelines(self, command: DeclarePipelines) -> None:
        await self._asker.ask("DeclarePipelines", command, of.Nothing)

    async def pause_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        return await self._steer("PausePipeline", command)

    async def resume_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        return await self._steer("ResumePipeline", command)

    async def run_now(self, command: SteerPipeline) -> PipelineDetail:
        return await self._steer("RunNow", command)

    async def retry_pipeline(self, command: SteerPipeline) -> PipelineDetail:
        return await self._steer("RetryPipeline", command)

    async def _steer(self, method: str, command: SteerPipeline) -> PipelineDetail:
        found: PipelineDetail = await self._asker.ask(method, command, PipelineDetail)
        return found

    async def decide_handler(self, command: DecideHandler) -> PipelineDetail:
        """About the attempt that waits now: asked again after a lost answer, it is still about that one."""
        if command.run_id is None:
            asked = of_pipelines.OfPipeline(namespace=command.namespace, name=command.name)
            now: PipelineDetail = await self._asker.ask("GetPipeline", asked, PipelineDetail)
            command = replace(command, run_id=None if now.view.run is None else now.view.run.id)
        found: PipelineDetail = await self._asker.ask("DecideHandler", command, PipelineDetail)
        return found

    async def resolve_effect(self, command: ResolveEffect) -> Effect:
        """About the call that is open now: asked again after a lost answer, it is still about that one."""
        if command.owner is None:
            open = [
                effect
                for effect in await open_effects(self._asker, command.namespace)
                if effect.subject == command.subject and command.step in (None, effect.step_key)
            ]
            if len(open) == 1:
                command = replace(command, owner=open[0].owner, attempt=open[0].attempt)
        found: Effect = await self._asker.ask("ResolveEffect", command, Effect)
        return found

    async def skip_input(self, command: SkipInput) -> Skipped:
        found: Skipped = await self._asker.ask("SkipInput", command, Skipped)
        return found
