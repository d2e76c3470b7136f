"""Routes for those who look at pipelines, their topics and their effects."""

from __future__ import annotations

from windlass.api.checks import check
from windlass.api.checks_of_pipelines import check_pipeline
from windlass.api.grpc.table import page
from windlass.api.sizes_of_pipelines import size_of_event, size_of_run
from windlass.errors import NotFound
from windlass.model.pipeline import HandlerRunId, InputId
from windlass.model.pipeline_commands import ListEvents, ListHandlerRuns, ListInputs
from windlass.rules.limits import check_handler_run_id, check_input_id
from windlass.server.http import asked
from windlass.server.http import telling_of_pipelines as telling
from windlass.server.http import told_of_pipelines as told
from windlass.server.http.calls import NAMESPACE, Call, Row

PIPELINES = f"{NAMESPACE}/pipelines"
PIPELINE = f"{PIPELINES}/{{name}}"
TOPICS = f"{NAMESPACE}/topics"


async def list_pipelines(call: Call) -> told.PipelinesAnswer:
    found = await call.service.pipelines.list_pipelines(call.namespace)
    return told.PipelinesAnswer(pipelines=[telling.pipeline(detail) for detail in found])


async def get_pipeline(call: Call) -> told.PipelineDetail:
    return telling.pipeline(await call.service.pipelines.get_pipeline(call.namespace, name_of(call)))


async def explain_pipeline(call: Call) -> told.PipelineExplanation:
    return telling.explanation(await call.service.pipelines.explain_pipeline(call.namespace, name_of(call)))


async def list_handler_runs(call: Call) -> told.HandlerRunsAnswer:
    query: asked.HandlerRunsQuery = call.query
    command = ListHandlerRuns(
        namespace=call.namespace,
        pipeline=name_of(call),
        handler=query.handler,
        before=query.before,
        limit=query.limit,
    )
    found = await call.service.pipelines.list_handler_runs(check(command))
    runs, has_more = page(found.runs, size_of_run)  # large ones make a shorter page
    return told.HandlerRunsAnswer(runs=[telling.run(run) for run in runs], next=runs[-1].id if has_more else found.next)


async def get_handler_run(call: Call) -> told.HandlerRunDetail:
    run_id = HandlerRunId(check_handler_run_id(call.path["handler_run_id"]))
    found = await call.service.pipelines.get_handler_run(call.namespace, run_id)
    if found.run.pipeline != name_of(call):
        raise NotFound("handler run", run_id, hint=f"It is none of pipeline {name_of(call)!r}.")
    return telling.view(found)


async def list_events(call: Call) -> told.EventsAnswer:
    query: asked.PipelineEventsQuery = call.query
    command = ListEvents(
        namespace=call.namespace,
        pipeline=name_of(call),
        topic=query.topic,
        status=query.status,
        after=query.after,
        limit=query.limit,
    )
    found = await call.service.pipelines.list_events(check(command))
    events, has_more = page(found.events, size_of_event)  # large ones make a shorter page
    return told.EventsAnswer(
        events=[telling.event(event) for event in events], next=events[-1].seq if has_more else found.next
    )


async def list_inputs(call: Call) -> told.InputsAnswer:
    query: asked.InputsQuery = call.query
    command = ListInputs(
        namespace=call.namespace,
        pipeline=name_of(call),
        status=query.status,
        before=None if query.before is None else InputId(query.before),
        limit=query.limit,
    )
    found = await call.service.pipelines.list_inputs(check(command))
    return told.InputsAnswer(inputs=[telling.input(item) for item in found.inputs], next=found.next)


async def trace_input(call: Call) -> told.TraceAnswer:
    input = InputId(check_input_id(call.path["input_id"]))
    return telling.trace(await call.service.pipelines.trace_input(call.namespace, name_of(call), input))


async def list_topics(call: Call) -> told.TopicsAnswer:
    found = await call.service.pipelines.list_topics(call.namespace)
    return told.TopicsAnswer(topics=[telling.topic(topic) for topic in found])


async def list_open_effects(call: Call) -> told.EffectsAnswer:
    found = await call.service.pipelines.list_open_effects(call.namespace)
    return told.EffectsAnswer(effects=[telling.effect(effect) for effect in found])


def name_of(call: Call) -> str:
    return check_pipeline(call.path["name"])


ROWS = (
    Row(
        method="GET",
        path=PIPELINES,
        operation="list_pipelines",
        op="pipelines.list",
        summary="All pipelines, by name: their handlers, what they are at, and the same in the words of a person.",
        handler=list_pipelines,
        answer=told.PipelinesAnswer,
    ),
    Row(
        method="GET",
        path=PIPELINE,
        operation="get_pipeline",
        op="pipelines.get",
        summary="A pipeline, its handlers, what it is at, and the same in the words of a person.",
        handler=get_pipeline,
        answer=told.PipelineDetail,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/explanation",
        operation="explain_pipeline",
        op="pipelines.explain",
        summary="Why a pipeline does nothing, or who executes it.",
        handler=explain_pipeline,
        answer=told.PipelineExplanation,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/runs",
        operation="list_handler_runs",
        op="pipelines.runs",
        summary="Attempts of its handlers, the newest first, page by page.",
        handler=list_handler_runs,
        query=asked.HandlerRunsQuery,
        answer=told.HandlerRunsAnswer,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/runs/{{handler_run_id}}",
        operation="get_handler_run",
        op="pipelines.run",
        summary="An attempt with what it was given and found, its effect, its events, and the chain it belongs to.",
        handler=get_handler_run,
        answer=told.HandlerRunDetail,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/events",
        operation="list_events",
        op="pipelines.events",
        summary="Its events with their payloads, the oldest first, page by page.",
        handler=list_events,
        query=asked.PipelineEventsQuery,
        answer=told.EventsAnswer,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/inputs",
        operation="list_inputs",
        op="pipelines.inputs",
        summary="What outside has caused its events, the newest first, page by page.",
        handler=list_inputs,
        query=asked.InputsQuery,
        answer=told.InputsAnswer,
    ),
    Row(
        method="GET",
        path=f"{PIPELINE}/inputs/{{input_id}}",
        operation="trace_input",
        op="pipelines.trace",
        summary="What became of an input, from its first event to the effects it led to.",
        handler=trace_input,
        answer=told.TraceAnswer,
    ),
    Row(
        method="GET",
        path=TOPICS,
        operation="list_topics",
        op="topics.list",
        summary="Topics by name: who publishes to them, who subscribes, and what waits in them.",
        handler=list_topics,
        answer=told.TopicsAnswer,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/effects",
        operation="list_open_effects",
        op="effects.list",
        summary="Effects of pipelines and of runs of which nobody knows whether they happened.",
        handler=list_open_effects,
        answer=told.EffectsAnswer,
    ),
)
