"""Routes for those who publish to pipelines and steer them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from windlass.answers import outcomes
from windlass.api.checks import check
from windlass.errors import InvalidInput
from windlass.model.effect import Resolution
from windlass.model.pipeline import HandlerRunId, InputId, NewInput
from windlass.model.pipeline_commands import (
    DecideHandler,
    PipelineDetail,
    Publish,
    Published,
    ResolveEffect,
    SkipInput,
    SteerPipeline,
)
from windlass.rules.inputs import new_input
from windlass.server.http import asked
from windlass.server.http import telling_of_pipelines as telling
from windlass.server.http import told_of_pipelines as told
from windlass.server.http.calls import Call, Row
from windlass.server.http.errors import detail_of
from windlass.server.http.pipelines import PIPELINE, TOPICS, name_of
from windlass.server.http.runs import RUN

EVENTS = f"{TOPICS}/{{topic}}/events"


async def publish(call: Call) -> told.PublishedAnswer:
    command = _event(call, call.body)
    found = await call.service.pipelines.publish(command)
    return told.PublishedAnswer(id=command.id, pipelines=found.pipelines, is_repeat=found.is_repeat)


async def publish_many(call: Call) -> told.PublishedManyAnswer:
    """All are checked before the first is published."""
    commands = []
    for position, wanted in enumerate(call.body.events):
        try:
            commands.append(_event(call, wanted))
        except InvalidInput as error:
            path = f"events[{position}].{error.path}" if error.path else f"events[{position}]"
            raise InvalidInput(f"events[{position}]: {error}", reason=error.reason, path=path) from None
    answers = await outcomes([call.service.pipelines.publish(command) for command in commands])
    results = [_item(call, command, answer) for command, answer in zip(commands, answers, strict=True)]
    return told.PublishedManyAnswer(results=results)


def _event(call: Call, wanted: asked.PublishRequest) -> Publish:
    return check(
        Publish(
            namespace=call.namespace,
            topic=call.path["topic"],
            id=wanted.id or call.site.ids.message(),
            payload=_encoded(call, wanted.payload, what="payload"),
            input=None if wanted.input is None else _input(wanted.input),
        )
    )


def _input(wanted: asked.InputBody) -> NewInput:
    return new_input(wanted.source, wanted.type, wanted.id, title=wanted.title)


def _encoded(call: Call, value: object, *, what: str) -> bytes:
    try:
        return call.site.codec.encode(value)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}", reason=error.reason, path=error.path.replace("$", what, 1)) from None


def _item(call: Call, command: Publish, answer: Published | Exception) -> told.PublishedItem:
    if isinstance(answer, Published):
        return told.PublishedItem(id=command.id, pipelines=answer.pipelines, is_repeat=answer.is_repeat)
    return told.PublishedItem(id=command.id, error=detail_of(answer, request_id=call.caller.request_id))


async def pause_pipeline(call: Call) -> told.PipelineDetail:
    return await _steered(call, call.service.pipeline_control.pause_pipeline)


async def resume_pipeline(call: Call) -> told.PipelineDetail:
    return await _steered(call, call.service.pipeline_control.resume_pipeline)


async def run_now(call: Call) -> told.PipelineDetail:
    return await _steered(call, call.service.pipeline_control.run_now)


async def retry_pipeline(call: Call) -> told.PipelineDetail:
    return await _steered(call, call.service.pipeline_control.retry_pipeline)


async def _steered(call: Call, steer: Callable[[SteerPipeline], Awaitable[PipelineDetail]]) -> told.PipelineDetail:
    command = SteerPipeline(namespace=call.namespace, name=name_of(call), by=call.body.by, note=call.body.note)
    return telling.pipeline(await steer(check(command)))


async def approve(call: Call) -> told.PipelineDetail:
    return await _decided(call, is_approved=True)


async def reject(call: Call) -> told.PipelineDetail:
    return await _decided(call, is_approved=False, releases=call.body.releases)


async def _decided(call: Call, *, is_approved: bool, releases: bool = False) -> told.PipelineDetail:
    command = DecideHandler(
        namespace=call.namespace,
        name=name_of(call),
        is_approved=is_approved,
        releases=releases,
        run_id=None if call.body.run_id is None else HandlerRunId(call.body.run_id),
        by=call.body.by,
        note=call.body.note,
    )
    return telling.pipeline(await call.service.pipeline_control.decide_handler(check(command)))


async def resolve_effect(call: Call) -> told.EffectDetail:
    return await _resolved(call, name_of(call), step=None)


async def resolve_run_effect(call: Call) -> told.EffectDetail:
    return await _resolved(call, call.run_id, step=call.body.step)


async def _resolved(call: Call, subject: str, *, step: str | None) -> told.EffectDetail:
    wanted: asked.ResolveRequest = call.body
    has_result = wanted.resolution is Resolution.HAPPENED or wanted.result is not None
    command = ResolveEffect(
        namespace=call.namespace,
        subject=subject,
        resolution=wanted.resolution,
        result=_encoded(call, wanted.result, what="result") if has_result else None,
        step=step,
        by=wanted.by,
        note=wanted.note,
    )
    return telling.effect(await call.service.pipeline_control.resolve_effect(check(command)))


async def skip_input(call: Call) -> told.SkippedAnswer:
    wanted: asked.SkipRequest = call.body
    command = SkipInput(
        namespace=call.namespace,
        pipeline=name_of(call),
        input=None if wanted.input is None else InputId(wanted.input),
        topic=wanted.topic,
        event=wanted.event,
        by=wanted.by,
        note=wanted.note,
    )
    return telling.skipped(await call.service.pipeline_control.skip_input(check(command)))


ROWS = (
    Row(
        method="POST",
        path=EVENTS,
        operation="publish",
        summary="Publish an event. The same id again replaces its payload, never its status.",
        handler=publish,
        body=asked.PublishRequest,
        answer=told.PublishedAnswer,
    ),
    Row(
        method="POST",
        path=f"{EVENTS}/batch",
        operation="publish",
        id="publish_many",
        summary="Publish up to 1,000 events. All are checked before the first is stored; then each stands for itself.",
        handler=publish_many,
        body=asked.PublishManyRequest,
        answer=told.PublishedManyAnswer,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/pause",
        operation="pause_pipeline",
        summary="Begin no handler until it is resumed. One that is at work goes on to its end.",
        handler=pause_pipeline,
        body=asked.DeedRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/resume",
        operation="resume_pipeline",
        summary="Go on: if it was paused, and if it needed a person for something that is put right now.",
        handler=resume_pipeline,
        body=asked.DeedRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/run-now",
        operation="run_now",
        summary="Make every producer due now. Refused while a handler is at work, or it is held by anything.",
        handler=run_now,
        body=asked.DeedRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/retry",
        operation="retry_pipeline",
        summary="Try the handler that stopped again, now.",
        handler=retry_pipeline,
        body=asked.DeedRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/approve",
        operation="decide_handler",
        id="approve_handler",
        summary="Approve what it is about to do. The same decision again is a repeat.",
        handler=approve,
        body=asked.ApproveRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/reject",
        operation="decide_handler",
        id="reject_handler",
        summary="Reject what it is about to do: its events are skipped, or with `releases` given back.",
        handler=reject,
        body=asked.RejectRequest,
        answer=told.PipelineDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/resolve",
        operation="resolve_effect",
        summary="Say whether its effect happened, of which nobody knows.",
        handler=resolve_effect,
        body=asked.ResolveRequest,
        answer=told.EffectDetail,
    ),
    Row(
        method="POST",
        path=f"{RUN}/resolve",
        operation="resolve_effect",
        id="resolve_run_effect",
        summary="Say whether an effect of a run happened, of which nobody knows.",
        handler=resolve_run_effect,
        body=asked.ResolveRunRequest,
        answer=told.EffectDetail,
    ),
    Row(
        method="POST",
        path=f"{PIPELINE}/skip",
        operation="skip_input",
        summary="Let go of everything an input has caused that is not done, or of one event.",
        handler=skip_input,
        body=asked.SkipRequest,
        answer=told.SkippedAnswer,
    ),
)
