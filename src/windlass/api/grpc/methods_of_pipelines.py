"""PipelineService: how each of its calls is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from windlass.answers import Answer, outcomes
from windlass.api.checks import check
from windlass.api.checks_of_pipelines import check_pipeline
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_pipelines as of_pipelines
from windlass.api.grpc.errors import to_detail
from windlass.api.grpc.mirror import mirror
from windlass.api.grpc.table import PAGE_BYTES, Call, Row, page
from windlass.api.sizes_of_pipelines import (
    LEAST_PART,
    size_of_detail,
    size_of_effect,
    size_of_event,
    size_of_run,
    size_of_topic,
    within,
)
from windlass.errors import WindlassError
from windlass.model.effect import Effect
from windlass.model.explanation import Explanation
from windlass.model.pipeline_commands import (
    DecideHandler,
    DeclarePipelines,
    EventPage,
    HandlerRunPage,
    InputPage,
    ListEvents,
    ListHandlerRuns,
    ListInputs,
    PipelineDetail,
    Published,
    ResolveEffect,
    SkipInput,
    Skipped,
    SteerPipeline,
)
from windlass.rules.limits import check_handler_run_id, check_input_id, check_limit
from windlass.v1 import pipeline_pb2

T = TypeVar("T")

SERVICE = "PipelineService"
DEFAULT_PAGE = 50
MOST_EVENTS = 1_000  # of one call

_PUBLISHED = mirror(Published, pipeline_pb2.PublishedEvent.DESCRIPTOR)


async def _publish(call: Call, asked: of_pipelines.PublishMany) -> Any:
    """Each has an outcome of its own: one that is refused does not keep its neighbours from being published."""
    check_limit(len(asked.events), what="number of events", low=1, high=MOST_EVENTS)
    answers: list[Answer[Published]] = []
    for event in asked.events:
        try:
            answers.append(call.service.pipelines.publish(check(event)))
        except WindlassError as refused:
            refusal: Answer[Published] = Answer()
            refusal.settle(refused)
            answers.append(refusal)
    answer = pipeline_pb2.PublishEventsResponse()
    for found in await outcomes(answers):
        if isinstance(found, Exception):
            answer.outcomes.add(error=to_detail(found, request_id=call.caller.request_id))
        else:
            answer.outcomes.add(published=_PUBLISHED.to_message(found))
    return answer


# Looking


async def _list_pipelines(call: Call, asked: of_pipelines.ListByName) -> of_pipelines.PipelineDetails:
    found = await call.service.pipelines.list_pipelines(asked.namespace)
    left = [_told(detail) for detail in found if asked.after is None or detail.view.pipeline.name > asked.after]
    pipelines, has_more = page(left, size_of_detail)
    return of_pipelines.PipelineDetails(pipelines=pipelines, has_more=has_more)


async def _get_pipeline(call: Call, asked: of_pipelines.OfPipeline) -> PipelineDetail:
    return _told(await call.service.pipelines.get_pipeline(asked.namespace, check_pipeline(asked.name)))


def _told(detail: PipelineDetail) -> PipelineDetail:
    return within(detail, PAGE_BYTES)


async def _list_runs(call: Call, asked: ListHandlerRuns) -> HandlerRunPage:
    found = await call.service.pipelines.list_handler_runs(check(_limited(asked)))
    runs, has_more = page(found.runs, size_of_run)
    return HandlerRunPage(runs=runs, next=runs[-1].id) if has_more else found


async def _get_run(call: Call, asked: of_pipelines.GetHandlerRun) -> of_pipelines.HandlerRunPart:
    """What does not fit into one answer comes in several: the attempt itself in each, its payloads in the first."""
    check_handler_run_id(asked.run_id)
    _check_skips(asked.skip_events, asked.skip_published)
    view = await call.service.pipelines.get_handler_run(asked.namespace, asked.run_id)
    if asked.is_rest:
        view = replace(view, data=None, result=None, chain=())
    own = sum(len(part or b"") for part in (view.data, view.result)) + LEAST_PART * len(view.chain)
    parts = _Parts(PAGE_BYTES - size_of_run(view.run) - own, has_told=not asked.is_rest)
    effects = parts.take([] if view.effect is None or asked.has_effect else [view.effect], size_of_effect)
    events = parts.take(view.events[asked.skip_events :], size_of_event)
    published = parts.take(view.published[asked.skip_published :], size_of_event)
    view = replace(view, effect=effects[0] if effects else None, events=events, published=published)
    return of_pipelines.HandlerRunPart(view=view, has_more=parts.has_more)


async def _trace(call: Call, asked: of_pipelines.TraceInput) -> of_pipelines.TracePart:
    check_input_id(asked.input)
    _check_skips(asked.skip_events, asked.skip_runs, asked.skip_effects)
    name = check_pipeline(asked.pipeline)
    trace = await call.service.pipelines.trace_input(asked.namespace, name, asked.input)
    parts = _Parts(PAGE_BYTES)
    events = parts.take(trace.events[asked.skip_events :], size_of_event)
    runs = parts.take(trace.runs[asked.skip_runs :], size_of_run)
    effects = parts.take(trace.effects[asked.skip_effects :], size_of_effect)
    return of_pipelines.TracePart(
        trace=replace(trace, events=events, runs=runs, effects=effects), has_more=parts.has_more
    )


class _Parts:
    """Several lists that share the room of one answer: what comes behind one that was cut is left for the next."""

    def __init__(self, room: int, *, has_told: bool = False) -> None:
        self._room, self._has_told = room, has_told
        self.has_more = False

    def take(self, items: Sequence[T], size: Callable[[T], int]) -> tuple[T, ...]:
        """At least one item in all answers but one that says something else: so that each brings something new."""
        if not items or self.has_more:
            self.has_more = self.has_more or bool(items)
            return ()
        if self._has_told and size(items[0]) > self._room:
            self.has_more = True
            return ()
        taken, self.has_more = page(items, size, room=max(1, self._room))
        self._room -= sum(map(size, taken))
        self._has_told = True
        return taken


def _check_skips(*skips: int) -> None:
    for skip in skips:
        check_limit(skip, what="skip", low=0, high=2**31 - 1)


async def _list_topics(call: Call, asked: of_pipelines.ListByName) -> of_pipelines.Topics:
    found = await call.service.pipelines.list_topics(asked.namespace)
    left = sorted([topic for topic in found if asked.after is None or topic.name > asked.after], key=lambda it: it.name)
    topics, has_more = page(left, size_of_topic)
    return of_pipelines.Topics(topics=topics, has_more=has_more)


async def _list_events(call: Call, asked: ListEvents) -> EventPage:
    found = await call.service.pipelines.list_events(check(_limited(asked)))
    events, has_more = page(found.events, size_of_event)
    return EventPage(events=events, next=events[-1].seq) if has_more else found


async def _list_inputs(call: Call, asked: ListInputs) -> InputPage:
    return await call.service.pipelines.list_inputs(check(_limited(asked)))


def _limited(asked: Any) -> Any:
    return asked if asked.limit else replace(asked, limit=DEFAULT_PAGE)


async def _explain(call: Call, asked: of_pipelines.OfPipeline) -> Explanation:
    return await call.service.pipelines.explain_pipeline(asked.namespace, check_pipeline(asked.name))


async def _list_open_effects(call: Call, asked: of_pipelines.ListOpenEffects) -> of_pipelines.OpenEffects:
    found = await call.service.pipelines.list_open_effects(asked.namespace)
    effects, has_more = page(found, size_of_effect)
    if has_more or asked.after_owner is not None:
        # By what never changes: one that is resolved between two answers must not hide another.
        last = (asked.after_owner or "", asked.after_step, asked.after_attempt)
        left = sorted([effect for effect in found if _place(effect) > last], key=_place)
        effects, has_more = page(left, size_of_effect)
    return of_pipelines.OpenEffects(effects=effects, has_more=has_more)


def _place(effect: Effect) -> tuple[str, str, int]:
    return effect.owner, effect.step_key, effect.attempt


# Steering


async def _declare(call: Call, asked: DeclarePipelines) -> of.Nothing:
    await call.service.pipeline_control.declare_pipelines(check(asked))
    return of.Nothing()


async def _pause(call: Call, asked: SteerPipeline) -> PipelineDetail:
    return _told(await call.service.pipeline_control.pause_pipeline(check(asked)))


async def _resume(call: Call, asked: SteerPipeline) -> PipelineDetail:
    return _told(await call.service.pipeline_control.resume_pipeline(check(asked)))


async def _run_now(call: Call, asked: SteerPipeline) -> PipelineDetail:
    return _told(await call.service.pipeline_control.run_now(check(asked)))


async def _retry(call: Call, asked: SteerPipeline) -> PipelineDetail:
    return _told(await call.service.pipeline_control.retry_pipeline(check(asked)))


async def _decide(call: Call, asked: DecideHandler) -> PipelineDetail:
    return _told(await call.service.pipeline_control.decide_handler(check(asked)))


async def _resolve(call: Call, asked: ResolveEffect) -> Effect:
    return await call.service.pipeline_control.resolve_effect(check(asked))


async def _skip(call: Call, asked: SkipInput) -> Skipped:
    return await call.service.pipeline_control.skip_input(check(asked))


ROWS = [
    Row(SERVICE, "PublishEvents", "publish", of_pipelines.PublishMany, None, _publish),
    Row(
        SERVICE,
        "ListPipelines",
        "list_pipelines",
        of_pipelines.ListByName,
        of_pipelines.PipelineDetails,
        _list_pipelines,
    ),
    Row(SERVICE, "GetPipeline", "get_pipeline", of_pipelines.OfPipeline, PipelineDetail, _get_pipeline),
    Row(SERVICE, "ListHandlerRuns", "list_handler_runs", ListHandlerRuns, HandlerRunPage, _list_runs),
    Row(SERVICE, "GetHandlerRun", "get_handler_run", of_pipelines.GetHandlerRun, of_pipelines.HandlerRunPart, _get_run),
    Row(SERVICE, "ListTopics", "list_topics", of_pipelines.ListByName, of_pipelines.Topics, _list_topics),
    Row(SERVICE, "ListEvents", "list_events", ListEvents, EventPage, _list_events),
    Row(SERVICE, "ListInputs", "list_inputs", ListInputs, InputPage, _list_inputs),
    Row(SERVICE, "TraceInput", "trace_input", of_pipelines.TraceInput, of_pipelines.TracePart, _trace),
    Row(SERVICE, "ExplainPipeline", "explain_pipeline", of_pipelines.OfPipeline, Explanation, _explain),
    Row(
        SERVICE,
        "ListOpenEffects",
        "list_open_effects",
        of_pipelines.ListOpenEffects,
        of_pipelines.OpenEffects,
        _list_open_effects,
    ),
    Row(SERVICE, "DeclarePipelines", "declare_pipelines", DeclarePipelines, of.Nothing, _declare),
    Row(SERVICE, "PausePipeline", "pause_pipeline", SteerPipeline, PipelineDetail, _pause),
    Row(SERVICE, "ResumePipeline", "resume_pipeline", SteerPipeline, PipelineDetail, _resume),
    Row(SERVICE, "RunNow", "run_now", SteerPipeline, PipelineDetail, _run_now),
    Row(SERVICE, "RetryPipeline", "retry_pipeline", SteerPipeline, PipelineDetail, _retry),
    Row(SERVICE, "DecideHandler", "decide_handler", DecideHandler, PipelineDetail, _decide),
    Row(SERVICE, "ResolveEffect", "resolve_effect", ResolveEffect, Effect, _resolve),
    Row(SERVICE, "SkipInput", "skip_input", SkipInput, Skipped, _skip),
]
