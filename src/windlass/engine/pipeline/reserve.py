"""T1: what `prepare` has chosen is reserved, all of it or nothing."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.pipeline.attempts import park_for_approval
from windlass.engine.pipeline.desk import Desk
from windlass.errors import ClaimLost, InvalidInput
from windlass.model.pipeline import EventRow, EventStatus, Handler, HandlerRun, HandlerStatus, Phase, Pipeline
from windlass.model.pipeline_work import Reserved, ReserveEvents, ReserveOutcome
from windlass.model.time import Duration, Instant
from windlass.rules import pipelines as rules
from windlass.rules.reservations import check_reservation, check_weight


async def reserve_events(desk: Desk, command: ReserveEvents) -> Reserved:
    repeat = _repeat(desk, command)
    if repeat is not None:
        return Reserved(outcome=repeat, at=desk.now)
    pipeline = desk.held(command.pipeline, token=command.token)
    run = active_run(desk, pipeline, command.run_id, token=command.token)
    if run.phase is not Phase.PREPARING:
        raise ClaimLost(command.run_id, token=command.token)
    handler = await desk.roster.find(pipeline.name, run.handler)
    if handler is None:
        raise ClaimLost(command.run_id, token=command.token)
    check_reservation(command)
    if not await _are_as_seen(desk, handler, run, command):
        return Reserved(outcome=ReserveOutcome.CHANGED, at=desk.now)
    if command.reserved:
        await desk.tx.reserved.take(desk.namespace, pipeline=pipeline.name, events=command.reserved, run_id=run.id)
    wake_at = rules.clamp_wake(wake_at=command.wake_at, wake_in=command.wake_in, now=desk.now)
    is_moved = rules.is_clamped(wake_at, wake_at=command.wake_at, wake_in=command.wake_in, now=desk.now)
    prepared = replace(
        run,
        phase=Phase.PREPARED,
        reserved=command.reserved,
        title=command.title,
        warning=command.warning or (rules.CLAMPED if is_moved else None),
        updated_at=desk.now,
    )
    desk.book.put(prepared)
    desk.book.keep_data(run.id, command.data)
    desk.roster.put(replace(handler, wake_at=wake_at))
    if handler.spec.needs_approval and command.reserved:
        park_for_approval(desk, prepared)
        return Reserved(outcome=ReserveOutcome.PARKED, at=desk.now)
    desk.put(renewed(pipeline, command.renew_for, now=desk.now))
    return Reserved(outcome=ReserveOutcome.RESERVED, at=desk.now)


def _repeat(desk: Desk, command: ReserveEvents) -> ReserveOutcome | None:
    """What the same call has come to, if its answer was lost on its way."""
    run = desk.book.runs.get(command.run_id)
    if run is None or run.token != command.token or run.phase not in (Phase.PREPARED, Phase.MUTATING):
        return None
    if run.reserved != command.reserved:
        return None
    if run.status is HandlerStatus.PAUSED_APPROVAL and run.failure is None:
        return ReserveOutcome.PARKED
    return ReserveOutcome.RESERVED if run.status is HandlerStatus.ACTIVE else None


async def _are_as_seen(desk: Desk, handler: Handler, run: HandlerRun, command: ReserveEvents) -> bool:
    """Raises InvalidInput for what cannot be reserved at all."""
    by_topic: dict[str, list[str]] = {}
    for item in command.reserved:
        if item.topic not in handler.spec.topics:
            raise _refused(f"it does not subscribe to topic {item.topic!r}", handler)
        if item.id in by_topic.setdefault(item.topic, []):
            raise _refused(f"event {item.id!r} of topic {item.topic!r} stands in it twice", handler)
        by_topic[item.topic].append(item.id)
    known: dict[tuple[str, str], EventRow] = {}
    for topic, ids in sorted(by_topic.items()):
        found = await desk.tx.events.known(desk.namespace, pipeline=handler.pipeline, topic=topic, ids=ids)
        known.update({(topic, id): event for id, event in found.items()})
    for item in command.reserved:
        event = known.get((item.topic, item.id))
        if event is None:
            raise _refused(f"there is no event {item.id!r} in topic {item.topic!r}", handler)
        if event.status is not EventStatus.PENDING and not _is_let_go(event, run):
            raise _refused(f"event {item.id!r} of topic {item.topic!r} is {event.status}, not pending", handler)
    check_weight(known.values(), command.data)
    chosen = [(known[item.topic, item.id], item.version) for item in command.reserved]
    return all(event.version == version and event.status is EventStatus.PENDING for event, version in chosen)


def _is_let_go(event: EventRow, run: HandlerRun) -> bool:
    """Did a person skip it while it was chosen? That is no fault of the code that chose it."""
    return event.status is EventStatus.SKIPPED and event.updated_at >= run.created_at


def _refused(why: str, handler: Handler) -> InvalidInput:
    text = (
        f"Consumer {handler.name!r} cannot reserve this: {why}. Reserve what ctx.peek() or ctx.get() showed as pending."
    )
    return InvalidInput(text, reason="invalid_reservation", path="events")


def active_run(desk: Desk, pipeline: Pipeline, run_id: str, *, token: int) -> HandlerRun:
    """The attempt that this claim is at. Raises ClaimLost if it is another one by now, or over."""
    run = desk.current(pipeline)
    if run is None or run.id != run_id or run.status is not HandlerStatus.ACTIVE:
        raise ClaimLost(run_id, token=token)
    return run


def renewed(pipeline: Pipeline, renew_for: Duration | None, *, now: Instant) -> Pipeline:
    """The claim, extended: absolutely, and never shortened."""
    if renew_for is None or pipeline.available_at is None:
        return pipeline
    return replace(pipeline, available_at=Instant(max(pipeline.available_at, now + renew_for)))
