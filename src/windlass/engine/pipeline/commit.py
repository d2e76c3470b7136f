"""T4 and T5: a handler went well. What it consumed, kept and published is one commit, and so is what begins next."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.effects import apply_effect
from windlass.engine.pipeline.publish import Outgoing, Subscribers, causes_of, publish
from windlass.engine.pipeline.reserve import active_run, renewed, reserve_events
from windlass.errors import ClaimLost, InvalidInput
from windlass.model.pipeline import (
    EffectOutcome,
    EventStatus,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerStatus,
    NewEvent,
    NewInput,
    Phase,
    PipelineStatus,
)
from windlass.model.pipeline_work import ApplyEffect, CommitHandler, Committed, ReserveOutcome
from windlass.rules import phases
from windlass.rules import pipelines as rules


async def commit_handler(
    desk: Desk, attempts: Attempts, command: CommitHandler, *, subscribers: Subscribers
) -> Committed:
    repeat = desk.book.runs.get(command.run_id)
    if repeat is not None and repeat.status is HandlerStatus.COMMITTED and repeat.token == command.token:
        return await _again(desk, attempts, command)
    pipeline = desk.held(command.pipeline, token=command.token)
    run = active_run(desk, pipeline, command.run_id, token=command.token)
    handler = await desk.roster.find(pipeline.name, run.handler)
    if handler is None:
        raise ClaimLost(command.run_id, token=command.token)
    _check_topics(handler, command)
    if not await _catch_up(desk, command):
        return Committed(at=desk.now, is_changed=True)
    pipeline, run = desk.pipelines[pipeline.name], desk.book.runs[run.id]
    handler = await desk.roster.find(pipeline.name, run.handler) or handler
    committed = await _end(desk, run, command)
    await _publish(desk, run, handler, command, subscribers)
    pipeline = desk.pipelines[pipeline.name]
    desk.put(replace(pipeline, run_id=None, failures=0, fixes=0, recoveries=0, issue=None))
    if command.has_state:
        desk.roster.keep_state(handler, command.state)
    handler = await desk.roster.find(pipeline.name, run.handler) or handler  # it may have published to itself
    desk.roster.put(
        replace(await _looked(desk, attempts, handler, run), has_state=handler.has_state or command.has_state)
    )
    return await _go_on(desk, attempts, committed, command)


async def _catch_up(desk: Desk, command: CommitHandler) -> bool:
    """T1 and T3, where the worker has waited with them. False: events have changed since they were chosen."""
    if command.reserves is not None:
        reserved = await reserve_events(desk, command.reserves)
        if reserved.outcome is not ReserveOutcome.RESERVED:
            return False
    if command.result is not None:
        applied = ApplyEffect(
            namespace=command.namespace,
            pipeline=command.pipeline,
            token=command.token,
            run_id=command.run_id,
            result=command.result,
            is_found=command.is_found,
        )
        await apply_effect(desk, applied)
    run = desk.book.runs[command.run_id]
    is_ready = phases.reaches(run.phase, Phase.PREPARED) and run.phase is not Phase.MUTATING
    if run.kind is HandlerKind.CONSUMER and not is_ready:
        raise ClaimLost(command.run_id, token=command.token)
    return True


def _check_topics(handler: Handler, command: CommitHandler) -> None:
    """Raises InvalidInput before anything is written."""
    for event in command.events:
        if event.topic not in handler.spec.publishes:
            known = ", ".join(map(repr, handler.spec.publishes)) or "none"
            raise InvalidInput(
                f"Handler {handler.name!r} publishes to topic {event.topic!r}, which it does not declare "
                f"(it declares {known}). Add it: publishes=[…].",
                reason="undeclared_topic",
                path="topic",
            )


async def _end(desk: Desk, run: HandlerRun, command: CommitHandler) -> HandlerRun:
    outcome = run.outcome
    if run.kind is HandlerKind.CONSUMER:
        outcome = outcome or EffectOutcome.NONE
        if run.reserved:
            status = EventStatus.SKIPPED if outcome is EffectOutcome.SKIPPED else EventStatus.CONSUMED
            await desk.tx.reserved.end(desk.namespace, run_id=run.id, status=status)
    committed = replace(
        run,
        phase=Phase.COMMITTED,
        status=HandlerStatus.COMMITTED,
        outcome=outcome,
        title=command.title or run.title or phases.plain_title(run, published=len(command.events)),
        updated_at=desk.now,
        ended_at=desk.now,
    )
    desk.book.put(committed)
    return committed


async def _publish(
    desk: Desk, run: HandlerRun, handler: Handler, command: CommitHandler, subscribers: Subscribers
) -> None:
    if run.kind is HandlerKind.PRODUCER and command.inputs:
        await desk.tx.inputs.enter(desk.namespace, pipeline=run.pipeline, inputs=command.inputs)
    if not command.events:
        return
    events, inputs = command.events, command.inputs
    if run.kind is HandlerKind.CONSUMER:  # what it consumed has caused what it publishes, and it cannot say otherwise
        taken = await desk.tx.reserved.of_run(desk.namespace, run_id=run.id) if run.reserved else []
        causes = causes_of(taken)
        events = tuple(
            NewEvent(topic=event.topic, id=event.id, payload=event.payload, causes=causes) for event in command.events
        )
        inputs = await _inputs_elsewhere(desk, run, causes, subscribers)
    outgoing = [Outgoing(event=event, by=run.id) for event in events]
    await publish(desk, outgoing, subscribers=subscribers, inputs=inputs)


async def _inputs_elsewhere(
    desk: Desk, run: HandlerRun, causes: Sequence[str], subscribers: Subscribers
) -> tuple[NewInput, ...]:
    """What a pipeline that subscribes to this one has to know about what caused its events."""
    elsewhere = any(name != run.pipeline for names in subscribers.values() for name in names)
    if not causes or not elsewhere:
        return ()
    return tuple(await desk.tx.inputs.by_ids(desk.namespace, pipeline=run.pipeline, ids=causes))


async def _looked(desk: Desk, attempts: Attempts, handler: Handler, run: HandlerRun) -> Handler:
    """When a producer is due next, or what a consumer has seen."""
    is_outdated = rules.is_outdated(desk.pipelines[run.pipeline])
    if run.kind is HandlerKind.PRODUCER:
        timing = handler.spec.timing
        next_at = None if timing is None else rules.next_time(timing, now=desk.now)
        if is_outdated and rules.is_declared_since(handler, run, now=desk.now):
            next_at = handler.next_at
        return replace(handler, next_at=next_at, is_queued=False)
    if is_outdated and handler.seen == rules.NEVER_LOOKED:
        return handler  # this was other code than is to look
    oldest = await attempts.oldest([handler])
    return rules.looked(
        handler, begun_with=run.news, has_reserved=bool(run.reserved), has_pending=handler.name in oldest
    )


async def _go_on(desk: Desk, attempts: Attempts, run: HandlerRun, command: CommitHandler) -> Committed:
    pipeline = desk.pipelines[run.pipeline]
    if not command.continues:
        await desk.release(pipeline)
        return Committed(at=desk.now)
    desk.put(renewed(pipeline, command.visibility_for or None, now=desk.now))
    task = await attempts.advance(run.pipeline, before=PipelineStatus.IDLE)
    return Committed(at=desk.now, task=task)


async def _again(desk: Desk, attempts: Attempts, command: CommitHandler) -> Committed:
    """The same call, whose answer was lost: what began with it is told once more."""
    pipeline = desk.pipelines.get(command.pipeline)
    run = None if pipeline is None else desk.current(pipeline)
    is_held = pipeline is not None and rules.is_held(pipeline, token=command.token)
    if run is None or not is_held or run.token != command.token or run.status is not HandlerStatus.ACTIVE:
        return Committed(at=desk.now)
    return Committed(at=desk.now, task=await attempts.task_of(run))
