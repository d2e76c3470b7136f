"""Let go of an input, or of one event: what is not done is skipped, what has happened goes on to its end."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.steer import steer
from windlass.errors import InvalidInput, NotFound
from windlass.model.pipeline import EventRow, EventStatus, HandlerRunId, Pipeline
from windlass.model.pipeline_commands import SkipInput, Skipped, SteerPipeline
from windlass.model.run import Deed
from windlass.rules import phases
from windlass.rules import steered as rules
from windlass.rules.pipelines import NEVER_LOOKED


async def skip_input(parts: Parts, command: SkipInput) -> Skipped:
    answer: list[Skipped] = []

    async def skip(desk: Desk, pipeline: Pipeline) -> str | None:
        events = await _events(desk, command)
        reserved = [event for event in events if event.status is EventStatus.RESERVED]
        aborted, finishing = None, 0
        if reserved:
            aborted = await _abort(desk, pipeline, command)
            finishing = 0 if aborted is not None else len(reserved)
        let_go = [event for event in events if event.status is EventStatus.PENDING]
        let_go += [] if aborted is None else [event for event in reserved if event.reserved_by == aborted]
        await desk.tx.reserved.skip(desk.namespace, pipeline=command.pipeline, events=let_go)
        is_marked = await _mark(desk, command)
        if let_go or not answer:  # else the try before, whose answer was lost, has let them go
            answer[:] = [Skipped(skipped=len(let_go), aborted=aborted, finishing=finishing)]
        if not let_go and not is_marked:
            return None  # nothing is left of it, perhaps because of this very call: there is nothing to note either
        desk.put(desk.pipelines[command.pipeline], cause="skip", deed=Deed(by=command.by, note=command.note))
        if aborted is not None:
            await desk.release(desk.pipelines[command.pipeline])
        return f"skipped {command.input or command.event}"

    steering = SteerPipeline(namespace=command.namespace, name=command.pipeline, by=command.by, note=command.note)
    await steer(parts, steering, "skip_input", skip)
    return answer[0]


async def _mark(desk: Desk, command: SkipInput) -> bool:
    """Has this let go of an input, of which nobody had let go before?"""
    if command.input is None:
        return False
    known = await desk.tx.inputs.load(desk.namespace, pipeline=command.pipeline, id=command.input)
    await desk.tx.inputs.mark_skipped(desk.namespace, pipeline=command.pipeline, id=command.input, by=command.by)
    return known is not None and known.skipped_at is None


async def _events(desk: Desk, command: SkipInput) -> Sequence[EventRow]:
    if command.input is not None:
        if await desk.tx.inputs.load(desk.namespace, pipeline=command.pipeline, id=command.input) is None:
            raise NotFound("Input", command.input, hint=f"See: windlass inputs {command.pipeline}")
        return await desk.tx.inputs.events(desk.namespace, pipeline=command.pipeline, input=command.input)
    if command.topic is None or command.event is None:
        raise InvalidInput("Say what to skip: an input, or a topic and an event.", path="input")
    found = await desk.tx.events.known(
        desk.namespace, pipeline=command.pipeline, topic=command.topic, ids=[command.event]
    )
    if command.event not in found:
        raise NotFound("Event", command.event, hint=f"See: windlass topics, windlass show {command.pipeline}")
    return list(found.values())


async def _abort(desk: Desk, pipeline: Pipeline, command: SkipInput) -> HandlerRunId | None:
    """End the attempt that is at these events, if it has done nothing yet: its other events go back.

    Whoever executes it finds its claim lost. None: its effect has happened, so it goes on to its end.
    """
    run = desk.current(pipeline)
    if run is None or not rules.may_end(pipeline, run):
        return None
    await desk.tx.reserved.release(desk.namespace, run_id=run.id)
    ended = phases.crash(run, now=desk.now, is_release=True)
    desk.book.put(replace(ended, decided_by=command.by or "somebody", note=command.note or "its input was skipped"))
    desk.put(rules.ended(pipeline, now=desk.now))
    handler = await desk.roster.find(run.pipeline, run.handler)
    if handler is not None:  # which looks anew at what is left
        desk.roster.put(replace(handler, seen=NEVER_LOOKED))
    return run.id
