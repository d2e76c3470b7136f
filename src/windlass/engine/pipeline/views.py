"""Pipelines as people see them: where they stand, what waits, and what became of what came in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.pipeline.steer import not_found
from windlass.errors import NotFound
from windlass.model.effect import Effect
from windlass.model.explanation import Explanation
from windlass.model.pipeline import EventRow, Handler, HandlerKind, HandlerRun, HandlerRunId, InputId, Pipeline
from windlass.model.pipeline_commands import (
    EventPage,
    HandlerRunPage,
    HandlerRunView,
    HandlerView,
    InputPage,
    ListEvents,
    ListHandlerRuns,
    ListInputs,
    PipelineDetail,
    PipelineView,
    TopicView,
    Trace,
)
from windlass.model.time import Instant
from windlass.model.worker import ServedPipeline, Worker
from windlass.rules.explain.pipeline import explain
from windlass.rules.inputs import STALE_AFTER, judged
from windlass.rules.pipeline_words import summary
from windlass.store.base import Tx

T = TypeVar("T")

MOST_COUNTED = 10_000  # events that wait in one topic, or in one pipeline
MOST_SHOWN = 1_000  # events of one attempt, or of one input
ACTIVITY = 5


class Views:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def list(self, namespace: str) -> tuple[PipelineDetail, ...]:
        async def look(tx: Tx) -> tuple[PipelineDetail, ...]:
            workers = await tx.workers.live(namespace)
            found = await tx.pipelines.list(namespace)
            return tuple([await _detail(tx, item, workers=workers) for item in found])

        return await self._read("list_pipelines", look)

    async def get(self, namespace: str, name: str) -> PipelineDetail:
        async def look(tx: Tx) -> PipelineDetail:
            pipeline = await _existing(tx, namespace, name)
            return await _detail(tx, pipeline, workers=await tx.workers.live(namespace))

        return await self._read("get_pipeline", look)

    async def explain(self, namespace: str, name: str) -> Explanation:
        async def look(tx: Tx) -> Explanation:
            pipeline = await _existing(tx, namespace, name)
            detail = await _detail(tx, pipeline, workers=await tx.workers.live(namespace))
            return explain(detail.view, gates=await tx.gates.closed(namespace))

        return await self._read("explain_pipeline", look)

    async def runs(self, query: ListHandlerRuns) -> HandlerRunPage:
        async def look(tx: Tx) -> HandlerRunPage:
            await _existing(tx, query.namespace, query.pipeline)
            found = await tx.handler_runs.page(replace(query, limit=query.limit + 1))
            runs = tuple(found[: query.limit])
            return HandlerRunPage(runs=runs, next=runs[-1].id if len(found) > query.limit else None)

        return await self._read("list_handler_runs", look)

    async def run(self, namespace: str, run_id: HandlerRunId) -> HandlerRunView:
        async def look(tx: Tx) -> HandlerRunView:
            run = (await tx.handler_runs.load(namespace, ids=[run_id])).get(run_id)
            if run is None:
                raise NotFound("Attempt", run_id, hint="See: windlass show PIPELINE --runs")
            data, result = await tx.handler_runs.contents(namespace, id=run_id)
            effects = await tx.effects.of(namespace, owners=[run_id])
            return HandlerRunView(
                run=run,
                data=data,
                result=result,
                effect=effects.get((run_id, "")),
                events=tuple((await tx.reserved.of_run(namespace, run_id=run_id))[:MOST_SHOWN]),
                published=tuple(await tx.events.by_run(namespace, run_id=run_id, limit=MOST_SHOWN)),
                chain=tuple(await tx.handler_runs.chain(namespace, id=run_id)),
            )

        return await self._read("get_handler_run", look)

    async def topics(self, namespace: str) -> tuple[TopicView, ...]:
        async def look(tx: Tx) -> tuple[TopicView, ...]:
            found = await tx.handlers.topics(namespace)
            pipelines = {item.name: item for item in await tx.pipelines.list(namespace)}
            held = [item.run_id for item in pipelines.values() if item.run_id is not None]
            reserved = await tx.reserved.count(namespace, run_ids=held)
            views = []
            for name, uses in found.items():
                subscribed = sorted({use.pipeline for use in uses if use.is_subscribed})
                pending = {
                    item: await tx.events.count_pending(namespace, pipeline=item, topic=name, limit=MOST_COUNTED)
                    for item in subscribed
                }
                own = {item: reserved.get((item, name), 0) for item in subscribed}
                views.append(TopicView(name=name, uses=tuple(uses), pending=pending, reserved=own))
            return tuple(views)

        return await self._read("list_topics", look)

    async def events(self, query: ListEvents) -> EventPage:
        async def look(tx: Tx) -> EventPage:
            await _existing(tx, query.namespace, query.pipeline)
            found = await tx.events.page(replace(query, limit=query.limit + 1))
            events = tuple(found[: query.limit])
            return EventPage(events=events, next=events[-1].seq if len(found) > query.limit else None)

        return await self._read("list_events", look)

    async def inputs(self, query: ListInputs) -> InputPage:
        async def look(tx: Tx) -> InputPage:
            await _existing(tx, query.namespace, query.pipeline)
            found = await tx.inputs.page(replace(query, limit=query.limit + 1))
            now = await tx.now()
            inputs = [judged(row, now=now) for row in found[: query.limit]]
            shown = tuple(item for item in inputs if query.status is None or item.status is query.status)
            return InputPage(inputs=shown, next=inputs[-1].id if len(found) > query.limit else None)

        return await self._read("list_inputs", look)

    async def trace(self, namespace: str, pipeline: str, input: InputId) -> Trace:
        async def look(tx: Tx) -> Trace:
            await _existing(tx, namespace, pipeline)
            found = await tx.inputs.load(namespace, pipeline=pipeline, id=input)
            if found is None:
                raise NotFound("Input", input, hint=f"See: windlass inputs {pipeline}")
            events = (await tx.inputs.events(namespace, pipeline=pipeline, input=input))[:MOST_SHOWN]
            runs = await tx.handler_runs.load(namespace, ids=await _chains(tx, namespace, _runs_of(events)))
            effects = await tx.effects.of(namespace, owners=list(runs))
            return Trace(
                input=judged(found, now=await tx.now()),
                events=tuple(events),
                runs=tuple(runs[id] for id in sorted(runs)),
                effects=tuple(effects[key] for key in sorted(effects)),
            )

        return await self._read("trace_input", look)

    async def open_effects(self, namespace: str) -> tuple[Effect, ...]:
        return tuple(await self._read("list_open_effects", lambda tx: tx.effects.open(namespace)))

    async def _read(self, name: str, look: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, look))


async def _existing(tx: Tx, namespace: str, name: str) -> Pipeline:
    pipeline = await tx.pipelines.load(namespace, name)
    if pipeline is None:
        raise await not_found(tx, namespace, name)
    return pipeline


async def _detail(tx: Tx, pipeline: Pipeline, *, workers: Sequence[Worker]) -> PipelineDetail:
    view = await _view(tx, pipeline, workers=workers)
    return PipelineDetail(view=view, summary=summary(view))


def _serves_another(worker: Worker, served: ServedPipeline) -> bool:
    same = [item for item in worker.pipelines if (item.queue, item.name) == (served.queue, served.name)]
    return bool(same) and served not in same


async def _view(tx: Tx, pipeline: Pipeline, *, workers: Sequence[Worker]) -> PipelineView:
    namespace, name = pipeline.namespace, pipeline.name
    handlers = (await tx.handlers.of(namespace, pipelines=[name]))[name]
    run: HandlerRun | None = None
    effect: Effect | None = None
    if pipeline.run_id is not None:
        run = (await tx.handler_runs.load(namespace, ids=[pipeline.run_id])).get(pipeline.run_id)
        effect = (await tx.effects.of(namespace, owners=[pipeline.run_id])).get((pipeline.run_id, ""))
    served, now = ServedPipeline(pipeline.queue, name, pipeline.revision), await tx.now()
    waiting, stale = [
        await tx.inputs.count_pending(namespace, pipeline=name, before=before, limit=MOST_COUNTED)
        for before in (now, Instant(now - STALE_AFTER))
    ]
    return PipelineView(
        pipeline=pipeline,
        handlers=tuple([await _handler(tx, item) for item in handlers]),
        run=run,
        effect=effect,
        inputs_pending=waiting,
        inputs_stale=stale,
        activity=tuple(await tx.handler_runs.titled(namespace, pipeline=name, limit=ACTIVITY)),
        workers=sum(served in worker.pipelines for worker in workers),
        outdated=sum(_serves_another(worker, served) for worker in workers),
        now=now,
    )


async def _handler(tx: Tx, handler: Handler) -> HandlerView:
    namespace, pipeline = handler.namespace, handler.pipeline
    pending, oldest_at = 0, None
    if handler.spec.kind is HandlerKind.CONSUMER:
        for topic in handler.spec.topics:
            pending += await tx.events.count_pending(namespace, pipeline=pipeline, topic=topic, limit=MOST_COUNTED)
        ages = await tx.events.oldest(namespace, topics=[(pipeline, topic) for topic in handler.spec.topics])
        oldest_at = min(ages.values(), default=None)
    last = await tx.handler_runs.last(namespace, pipeline=pipeline, handler=handler.name)
    return HandlerView(handler=handler, pending=pending, oldest_at=oldest_at, last_run=last)


async def _chains(tx: Tx, namespace: str, run_ids: set[str]) -> set[str]:
    """These attempts, and all that they follow or that follow them: one of those may have called the effect."""
    found: set[str] = set()
    for run_id in sorted(run_ids):
        if run_id not in found:
            found.update(await tx.handler_runs.chain(namespace, id=HandlerRunId(run_id)))
    return found | run_ids


def _runs_of(events: Sequence[EventRow]) -> set[str]:
    taken = {event.reserved_by for event in events if event.reserved_by is not None}
    return taken | {event.created_by for event in events if event.created_by is not None}
