"""What a deploy changes about a pipeline: new and changed handlers begin at once, a mere restart changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from windlass.model.pipeline import (
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerSpec,
    HandlerStatus,
    Issue,
    Pipeline,
    PipelineSpec,
    PipelineStatus,
)
from windlass.model.time import Instant
from windlass.rules.phases import Beginning, beginning, freed
from windlass.rules.pipelines import NEVER_LOOKED, outdated


def new_pipeline(namespace: str, spec: PipelineSpec, *, program: str, now: Instant) -> Pipeline:
    return Pipeline(
        namespace=namespace,
        name=spec.name,
        queue=spec.queue,
        revision=spec.revision,
        status=PipelineStatus.IDLE,
        issue=None,
        run_id=None,
        available_at=None,
        token=0,
        worker=None,
        poll=0,
        recoveries=0,
        seq=0,
        failures=0,
        fixes=0,
        streak=0,
        retry=spec.retry,
        visibility_for=spec.visibility_for,
        has_fixer=spec.has_fixer,
        is_paused=False,
        paused_by=None,
        note=None,
        paused_at=None,
        declared_in=program,
        is_declared=True,
        created_at=now,
        changed_at=now,
    )


def redefined(was: Pipeline, spec: PipelineSpec, *, program: str) -> Pipeline:
    return replace(
        was,
        queue=spec.queue,
        revision=spec.revision,
        retry=spec.retry,
        visibility_for=spec.visibility_for,
        has_fixer=spec.has_fixer,
        declared_in=program,
        is_declared=True,
        # Whoever holds it has other code: what is next is for those who have this one.
        poll=was.poll if spec.revision == was.revision else outdated(was.poll),
    )


def declared_handlers(namespace: str, spec: PipelineSpec, known: Sequence[Handler], *, now: Instant) -> list[Handler]:
    """The handlers as the code has them, those that are unchanged as they stand, and behind them what is gone."""
    before = {handler.name: handler for handler in known}
    named = {item.name for item in spec.handlers}
    handlers = [
        _declared(namespace, spec.name, item, before.get(item.name), position=position, now=now)
        for position, item in enumerate(spec.handlers)
    ]
    gone = [replace(handler, is_declared=False, is_queued=False) for handler in known if handler.name not in named]
    return handlers + gone


def _declared(
    namespace: str, pipeline: str, spec: HandlerSpec, was: Handler | None, *, position: int, now: Instant
) -> Handler:
    if was is not None and was.spec == spec and was.is_declared:
        return replace(was, position=position)
    is_producer = spec.kind is HandlerKind.PRODUCER
    return Handler(
        namespace=namespace,
        pipeline=pipeline,
        name=spec.name,
        position=position,
        spec=spec,
        next_at=now if is_producer else None,
        is_queued=False,
        wake_at=was.wake_at if was is not None and spec.prepares else None,  # code that does not choose is never woken
        news=0 if was is None else was.news,
        seen=0 if is_producer else NEVER_LOOKED,
        is_declared=True,
        has_state=was is not None and was.has_state,
    )


def changed_handlers(handlers: Sequence[Handler], *, before: Mapping[str, Handler]) -> frozenset[str]:
    """Those whose code or options are others than before. Another place among them is no change."""
    kept = {name: item.spec for name, item in before.items() if item.is_declared}
    return frozenset(item.name for item in handlers if item.is_declared and kept.get(item.name) != item.spec)


def is_fix(pipeline: Pipeline, run: HandlerRun | None, *, changed: frozenset[str]) -> bool:
    """Is this deploy what the pipeline was waiting for: other code of the handler that failed?"""
    held = pipeline.status is PipelineStatus.FIXING or pipeline.issue is Issue.LOGIC
    return run is not None and held and run.status is HandlerStatus.FAILED_LOGIC and run.handler in changed


def without_lost(pipeline: Pipeline, run: HandlerRun | None, *, gone: frozenset[str], now: Instant) -> Pipeline:
    """Let go of an attempt whose handler is no longer in the code, and that has done nothing."""
    if run is None or run.handler not in gone or run.status is HandlerStatus.ACTIVE:
        return pipeline
    if run.status is HandlerStatus.PAUSED_APPROVAL or beginning(run, None) is not Beginning.FRESH:
        return pipeline
    if run.status is HandlerStatus.PAUSED_RECONCILIATION:
        return pipeline
    return replace(freed(pipeline, now=now), run_id=None)
