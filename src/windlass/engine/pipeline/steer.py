"""What people do to pipelines: pause, resume, run now, try again, approve and reject."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.pipeline.desk import Desk, open_desk
from windlass.engine.pipeline.waking import wake_all
from windlass.errors import NotFound, WrongState
from windlass.model.pipeline import (
    EffectOutcome,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerRunId,
    HandlerStatus,
    Issue,
    Pipeline,
    PipelineStatus,
)
from windlass.model.pipeline_commands import DecideHandler, SteerPipeline
from windlass.model.run import Deed
from windlass.rules import phases
from windlass.rules import pipelines as pipeline_rules
from windlass.rules import steered as rules
from windlass.rules.limits import check_note, check_person
from windlass.store.base import Tx

Steering = Callable[[Desk, Pipeline], Awaitable[str | None]]  # answers with what it has come to, if anything changed


async def steer(parts: Parts, command: SteerPipeline, action: str, steering: Steering) -> None:
    """One transaction under the lock of the pipeline, with a row of the audit where something was changed."""
    check_person(command.by)
    check_note(command.note)
    audit, woken = Audit.of_caller(action), set[tuple[str, str]]()

    async def run(tx: Tx) -> None:
        desk = await open_desk(tx, command.namespace, names=[command.name])
        pipeline = desk.pipelines.get(command.name)
        if pipeline is None:
            raise await not_found(tx, command.namespace, command.name)
        after = await steering(desk, pipeline)
        if after is not None:
            await desk.save()
            await audit.note(tx, command.namespace, subject=command.name, before=pipeline.status, after=after)
        woken.update(desk.woken)  # also of a try whose answer was lost

    await parts.run_tx(action, run)
    wake_all(parts, woken)


async def not_found(tx: Tx, namespace: str, name: str) -> NotFound:
    known = [item.name for item in await tx.pipelines.list(namespace)]
    close = difflib.get_close_matches(name, known, n=3)
    return NotFound("Pipeline", name, close=close, hint="" if close else "See: windlass pipelines")


async def pause_pipeline(parts: Parts, command: SteerPipeline) -> None:
    async def pause(desk: Desk, pipeline: Pipeline) -> str | None:
        paused = rules.pause(pipeline, now=desk.now, by=command.by, note=command.note)
        if paused == pipeline:
            return None
        desk.put(paused, cause="pause", deed=Deed(by=command.by, note=command.note))
        return "paused"

    await steer(parts, command, "pause_pipeline", pause)


async def resume_pipeline(parts: Parts, command: SteerPipeline) -> None:
    held_by: list[HandlerRunId | None] = []  # the attempt it stood at when this was asked first

    async def resume(desk: Desk, pipeline: Pipeline) -> str | None:
        if held_by and held_by != [pipeline.run_id]:
            return None  # the answer was lost, and it went on since: what holds it now is something else
        if pipeline.status is PipelineStatus.ATTENTION:
            held_by[:] = [pipeline.run_id]
        resumed = rules.resume(pipeline, now=desk.now)
        if resumed == pipeline:
            return None
        desk.put(resumed, cause="resume", deed=Deed(by=command.by, note=command.note))
        if resumed.status is not PipelineStatus.RUNNING:
            await desk.release(resumed)
        return "resumed"

    await steer(parts, command, "resume_pipeline", resume)


async def run_now(parts: Parts, command: SteerPipeline) -> None:
    # Each one's last attempt when this was asked first: if the answer was lost, they may be at work by now, or done.
    asked: dict[str, HandlerRunId | None] = {}

    async def run(desk: Desk, pipeline: Pipeline) -> str | None:
        producers = [
            handler
            for handler in await desk.roster.of(pipeline.name)
            if handler.is_declared and handler.spec.kind is HandlerKind.PRODUCER
        ]
        try:
            rules.check_run_now(pipeline, has_producers=bool(producers))
        except WrongState:
            if asked:
                return None
            raise
        last = {handler.name: await _last_attempt(desk, handler) for handler in producers}
        wanted = [item for item in producers if asked.setdefault(item.name, last[item.name]) == last[item.name]]
        if all(handler.is_queued for handler in wanted):
            return None  # they were asked for already, perhaps by this call
        for handler in wanted:
            desk.roster.put(replace(handler, is_queued=True))
        desk.put(pipeline, cause="run_now", deed=Deed(by=command.by, note=command.note))
        await desk.release(pipeline)
        return f"run now: {', '.join(handler.name for handler in producers)}"

    await steer(parts, command, "run_now", run)


async def _last_attempt(desk: Desk, handler: Handler) -> HandlerRunId | None:
    last = await desk.tx.handler_runs.last(desk.namespace, pipeline=handler.pipeline, handler=handler.name)
    return None if last is None else last.id


async def retry_pipeline(parts: Parts, command: SteerPipeline) -> None:
    # What is to be tried again: if the answer was lost, that may be at work by now, or have stopped once more.
    meant: list[HandlerRunId | None] = []

    async def retry(desk: Desk, pipeline: Pipeline) -> str | None:
        if meant and meant != [pipeline.run_id]:
            return None
        try:
            freed = rules.retry(pipeline, desk.current(pipeline), now=desk.now)
        except WrongState:
            if meant:
                return None
            raise
        meant[:] = [pipeline.run_id]
        if freed == pipeline:
            return None
        desk.put(freed, cause="retry", deed=Deed(by=command.by, note=command.note))
        await desk.release(freed)
        return "retried"

    await steer(parts, command, "retry_pipeline", retry)


async def decide_handler(parts: Parts, command: DecideHandler) -> None:
    """Approve or reject what a pipeline is about to do, for good."""
    meant = command.run_id  # else the attempt that waits: asked again after a lost answer, it is still about that one

    async def decide(desk: Desk, pipeline: Pipeline) -> str | None:
        nonlocal meant
        run = desk.current(pipeline)
        if _is_repeat(run, command) or await _is_decided(desk, meant, command):
            return None
        if run is None or pipeline.issue is not Issue.APPROVAL or meant not in (None, run.id):
            raise _nothing_to_approve(pipeline)
        meant = run.id
        by, note = command.by or "somebody", command.note
        if command.is_approved:
            desk.book.put(replace(run, decided_by=by, note=note, updated_at=desk.now))
        elif command.releases:
            pipeline = await _put_back(desk, pipeline, run, by=by, note=note)
        else:
            desk.book.put(phases.skipped(run, now=desk.now, by=by, note=note))
        freed = phases.freed(pipeline, now=desk.now)
        cause = "approve" if command.is_approved else "reject"
        desk.put(freed, cause=cause, deed=Deed(by=command.by, note=note))
        await desk.release(freed)
        return "approved" if command.is_approved else "rejected"

    steering = SteerPipeline(namespace=command.namespace, name=command.name, by=command.by, note=command.note)
    await steer(parts, steering, "decide_handler", decide)


async def _put_back(desk: Desk, pipeline: Pipeline, run: HandlerRun, *, by: str, note: str | None) -> Pipeline:
    """Rejected, and its events go back, behind the others: with these its consumer goes on."""
    handler = await desk.roster.find(run.pipeline, run.handler)
    if handler is not None:
        waiting = [
            event.seq  # the first of each topic
            for topic in handler.spec.topics
            for event in await desk.tx.events.pending(desk.namespace, pipeline=run.pipeline, topic=topic, limit=1)
        ]
        desk.roster.put(pipeline_rules.put_back(handler, run, waiting=waiting))
    events = await desk.tx.reserved.of_run(desk.namespace, run_id=run.id)
    await desk.tx.reserved.put_back(desk.namespace, pipeline=run.pipeline, events=events, after=pipeline.seq)
    rejected = phases.crash(run, now=desk.now, is_release=True)
    desk.book.put(replace(rejected, failure=None, decided_by=by, note=note))
    return replace(pipeline, run_id=None, seq=pipeline.seq + len(events))


def _is_repeat(run: HandlerRun | None, command: DecideHandler) -> bool:
    """The same decision once more, of an attempt that nobody has taken up yet."""
    if run is None or run.decided_by is None or command.run_id not in (None, run.id):
        return False
    is_decided = run.status is HandlerStatus.PAUSED_APPROVAL and run.failure is None
    return is_decided and (run.outcome is None) == command.is_approved and run.decided_by == (command.by or "somebody")


async def _is_decided(desk: Desk, run_id: HandlerRunId | None, command: DecideHandler) -> bool:
    """The same decision about this very attempt, however far it has come since."""
    if run_id is None:
        return False
    await desk.book.read({run_id} - desk.book.runs.keys())
    run = desk.book.runs.get(run_id)
    if run is None or run.pipeline != command.name or run.decided_by != (command.by or "somebody"):
        return False
    is_let_go = run.status is HandlerStatus.CRASHED and run.failure is None
    is_rejected = is_let_go or run.outcome is EffectOutcome.SKIPPED
    return is_rejected is not command.is_approved and is_let_go is (command.releases and not command.is_approved)


def _nothing_to_approve(pipeline: Pipeline) -> WrongState:
    return WrongState(
        "Pipeline",
        repr(pipeline.name),
        rules.standing(pipeline),
        wanted="one that waits for an approval",
        hint=f"See: windlass explain {pipeline.name}",
    )
