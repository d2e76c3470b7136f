"""Pipelines in the words of a person, the inputs of one and what became of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from windlass.api.checks import check
from windlass.dashboard import first
from windlass.dashboard.asking import Ask, Page, Redirect, View, queried
from windlass.dashboard.attention import held
from windlass.dashboard.pages.run_actions import resolve_effect
from windlass.dashboard.payloads import payload
from windlass.model.pipeline import EventStatus, HandlerRunId, InputId, PipelineStatus
from windlass.model.pipeline_commands import (
    DecideHandler,
    ListEvents,
    ListHandlerRuns,
    ListInputs,
    PipelineDetail,
    PipelineView,
    SkipInput,
    SteerPipeline,
    TopicView,
    Trace,
)
from windlass.rules.limits import check_name
from windlass.rules.pipeline_words import needed_from_person

MOST_ROWS = 25
MOST_EVENTS, MOST_BYTES = 200, 4 * 1024  # of an input, and of the payload of each


async def show_all(ask: Ask) -> Page:
    values = {
        "title": "Pipelines",
        "place": "pipelines",
        "pipelines": [_told(item) for item in await ask.service.pipelines.list_pipelines(ask.namespace)],
        "first_pipeline": first.PIPELINE,
        "topics": [_topic(topic) for topic in await ask.service.pipelines.list_topics(ask.namespace)],
    }
    return Page("pipelines.html", values)


def _told(item: PipelineDetail) -> dict[str, Any]:
    """Where a person is needed, what to type is left out: the buttons stand beside it."""
    is_asking = item.view.pipeline.status is PipelineStatus.ATTENTION
    told = needed_from_person(item.view)[0] if is_asking else item.summary.issue
    if is_asking:
        told = f"{told} {held(item.view)}".strip()
    return {"view": item.view, "summary": item.summary, "told": told}


def _topic(topic: TopicView) -> dict[str, Any]:
    published = sorted({f"{use.pipeline}.{use.handler}" for use in topic.uses if not use.is_subscribed})
    read = sorted({f"{use.pipeline}.{use.handler}" for use in topic.uses if use.is_subscribed})
    return {
        "name": topic.name,
        "pending": sum(topic.pending.values()),
        "reserved": sum(topic.reserved.values()),
        "published_by": ", ".join(published) or "from outside",
        "read_by": ", ".join(read) or "nobody",
    }


async def show(ask: Ask) -> Page:
    pipelines, name = ask.service.pipelines, _name(ask)
    found = await pipelines.get_pipeline(ask.namespace, name)
    before = ask.query.get("before")
    inputs = await pipelines.list_inputs(
        check(
            ListInputs(
                namespace=ask.namespace,
                pipeline=name,
                before=InputId(before) if before else None,
                limit=MOST_ROWS,
            )
        )
    )
    attempts = await pipelines.list_handler_runs(
        ListHandlerRuns(namespace=ask.namespace, pipeline=name, limit=MOST_ROWS)
    )
    values = {
        "title": name,
        "place": "pipelines",
        "every": 5_000,
        "view": found.view,
        "summary": found.summary,
        "explanation": await pipelines.explain_pipeline(ask.namespace, name),
        "failure": None if found.view.run is None or not found.summary.issue else found.view.run.failure,
        "held": await _held(ask, found.view),
        "inputs": inputs.inputs,
        "next": None if inputs.next is None else ask.to("pipelines", name) + queried({"before": inputs.next}),
        "attempts": attempts.runs,
        "no_inputs": "These are all." if before else "Nothing from outside has come yet.",
    }
    return Page("pipeline.html", values)


async def _held(ask: Ask, view: PipelineView) -> list[dict[str, Any]]:
    """What somebody decides about: the events that the attempt holds which stopped."""
    if view.pipeline.status is not PipelineStatus.ATTENTION or view.run is None or not view.run.reserved:
        return []
    query = ListEvents(
        namespace=ask.namespace, pipeline=view.pipeline.name, status=EventStatus.RESERVED, limit=MOST_ROWS
    )
    page = await ask.service.pipelines.list_events(check(query))
    return [
        {"topic": event.topic, "id": event.id, "payload": payload(event.payload[:MOST_BYTES], size=len(event.payload))}
        for event in page.events
        if event.reserved_by == view.run.id
    ]


async def show_input(ask: Ask) -> Page:
    trace = await ask.service.pipelines.trace_input(ask.namespace, _name(ask), InputId(ask.path["input"]))
    events = await asyncio.to_thread(_events, trace)
    values = {"title": "Input", "place": "pipelines", "pipeline": _name(ask), "trace": trace, "events": events}
    return Page("input.html", values)


def _events(trace: Trace) -> list[dict[str, Any]]:
    return [
        {
            "status": event.status,
            "topic": event.topic,
            "id": event.id,
            "payload": payload(event.payload[:MOST_BYTES], size=len(event.payload)),
            "at": event.updated_at,
        }
        for event in trace.events[:MOST_EVENTS]
    ]


def _name(ask: Ask) -> str:
    return check_name(ask.path["name"], what="pipeline")


def _steering(verb: str, done: str) -> Callable[[Ask], Awaitable[Redirect]]:
    async def steer(ask: Ask) -> Redirect:
        command = SteerPipeline(namespace=ask.namespace, name=_name(ask), by=ask.caller.key, note=ask.typed("note"))
        method: Callable[[SteerPipeline], Awaitable[PipelineDetail]] = getattr(ask.service.pipeline_control, verb)
        await method(check(command))
        return Redirect(ask.to("pipelines", _name(ask)), done)

    return steer


def _deciding(*, is_approved: bool) -> Callable[[Ask], Awaitable[Redirect]]:
    async def decide(ask: Ask) -> Redirect:
        attempt = ask.typed("attempt")
        command = DecideHandler(
            namespace=ask.namespace,
            name=_name(ask),
            is_approved=is_approved,
            run_id=None if attempt is None else HandlerRunId(attempt),
            by=ask.caller.key,
            note=ask.typed("note"),
        )
        await ask.service.pipeline_control.decide_handler(check(command))
        return Redirect(ask.to("pipelines", _name(ask)), "approved" if is_approved else "rejected")

    return decide


async def resolve(ask: Ask) -> Redirect:
    await resolve_effect(ask, subject=_name(ask))
    return Redirect(ask.to("pipelines", _name(ask)), "resolved")


async def skip(ask: Ask) -> Redirect:
    command = SkipInput(
        namespace=ask.namespace,
        pipeline=_name(ask),
        input=InputId(ask.path["input"]),
        by=ask.caller.key,
        note=ask.typed("note"),
    )
    await ask.service.pipeline_control.skip_input(check(command))
    return Redirect(ask.to("pipelines", _name(ask), "inputs", ask.path["input"]), "skipped")


PIPELINE = "/pipelines/{name}"
VIEWS = (
    View(path="/pipelines", operation="list_pipelines", handler=show_all),
    View(path=PIPELINE, operation="get_pipeline", handler=show),
    View(path=f"{PIPELINE}/inputs/{{input}}", operation="trace_input", handler=show_input),
    View(path=f"{PIPELINE}/inputs/{{input}}/skip", operation="skip_input", handler=skip, method="POST"),
    *(
        View(path=f"{PIPELINE}/{verb}", operation=operation, handler=handler, method="POST")
        for verb, operation, handler in (
            ("pause", "pause_pipeline", _steering("pause_pipeline", "paused")),
            ("resume", "resume_pipeline", _steering("resume_pipeline", "resumed")),
            ("run-now", "run_now", _steering("run_now", "due-now")),
            ("retry", "retry_pipeline", _steering("retry_pipeline", "due-now")),
            ("approve", "decide_handler", _deciding(is_approved=True)),
            ("reject", "decide_handler", _deciding(is_approved=False)),
            ("resolve", "resolve_effect", resolve),
        )
    ),
)
