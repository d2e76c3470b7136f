"""Claim pipelines that have something to do, each with what that is; a claim that was never given back is recovered.

look   at each that is served here, without locks ─► the first of those that are due
claim  one transaction: lock them, skip what others are at ─► recover ─► token + 1 ─► what is next
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.never_lost import Asking, never_lost
from windlass.engine.parts import Parts
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.release import release_pipeline
from windlass.engine.pipeline.stop import crash_loop, cut_off
from windlass.engine.pipeline.waking import wake_all
from windlass.errors import ClaimLost, NotFound, Unavailable
from windlass.model.gate import GateKind
from windlass.model.pipeline import Pipeline, PipelineStatus
from windlass.model.pipeline_work import ClaimedPipeline, ClaimPipelines, PipelineClaim, Task
from windlass.model.time import Duration, Instant
from windlass.model.worker import ServedPipeline
from windlass.notify.local import gates_topic, pipelines_topic
from windlass.rules import phases
from windlass.rules import pipelines as rules
from windlass.rules.workers import is_live
from windlass.runtime import SystemClock
from windlass.store.base import Tx

LOGGER = logging.getLogger("windlass.engine")

PACE = SystemClock()  # of a machine, also under a test's clock
PAUSE = 5_000  # microseconds until one that others are at is asked for again

Told = tuple[list[ClaimedPipeline], Desk | None]


async def claim_pipelines(parts: Parts, command: ClaimPipelines) -> list[ClaimedPipeline]:
    deadline = parts.clock.monotonic() + command.wait_for
    topics = [pipelines_topic(command.namespace, queue) for queue in sorted({item.queue for item in command.served})]
    if command.is_remote:
        await _keep_older_away(parts, command)
    with parts.hub.subscribe(*topics, gates_topic(command.namespace)) as subscription:
        is_repeat = command.is_remote  # perhaps: and a look does not see what the first one has claimed
        while True:
            subscription.clear()
            looked_at = parts.clock.monotonic()
            names, due_in = await _look(parts, command)
            if names or is_repeat:
                is_repeat = False
                claimed = await _claim(parts, command, names)
                if claimed or command.is_called_off:
                    return claimed
            now = parts.clock.monotonic()
            if now >= deadline:
                return []
            wake_at = min(deadline, looked_at + parts.settings.poll_for)
            pause = (wake_at if due_in is None else min(wake_at, looked_at + due_in)) - now
            if names:  # others are at them just now; without a pause they would be asked for in a loop
                await PACE.sleep(PAUSE)
            else:
                await subscription.wait(parts.clock, pause)


async def _look(parts: Parts, command: ClaimPipelines) -> tuple[list[str], int | None]:
    """What is due and served here, as many as there is room for; and how long until the next one is due.

    Asks for each that is served by its name: they are few, and others may have any number in the same queues.
    """

    async def look(tx: Tx) -> tuple[list[str], int | None]:
        gates = await tx.gates.closed(command.namespace)
        if any(gate.kind is GateKind.NAMESPACE for gate in gates):
            return [], None
        closed = {gate.name for gate in gates if gate.kind is GateKind.QUEUE}
        served = {item for item in command.served if item.queue not in closed}
        found = await tx.pipelines.look(command.namespace, names={item.name for item in served})
        ours = [item for item in found if ServedPipeline(item.queue, item.name, item.revision) in served]
        due = sorted((item.available_at, item.name) for item in ours if item.available_at <= item.now)
        later = [item.available_at - item.now for item in ours if item.available_at > item.now]
        return [name for _, name in due[: command.limit]], min(later, default=None)

    return await until_answered(parts.clock, lambda: parts.store.read("look_at_pipelines", look))


async def _claim(parts: Parts, command: ClaimPipelines, names: Sequence[str]) -> list[ClaimedPipeline]:
    asked, asked_at, asking = 0, parts.clock.monotonic(), Asking(is_remote=command.is_remote)

    async def claim(tx: Tx) -> Told:
        nonlocal asked
        asked += 1
        if command.is_remote:
            return await _claim_in_turn(parts, tx, command, claim_anew, asked_at=asked_at)
        if asked > 1:
            before = await _claimed_before(parts, tx, command, asked_at=asked_at)
            if before[0]:
                return before
        return await claim_anew(tx)

    async def claim_anew(tx: Tx) -> Told:
        wanted = () if asking.is_gone or command.is_called_off else names
        claimed, desk = await _claim_anew(parts, tx, command, wanted, asked_at=asked_at)
        asking.note(claimed)
        return claimed, desk

    async def claim_and_wake() -> list[ClaimedPipeline]:
        claimed, desk = await parts.run_tx("claim_pipelines", claim)
        if desk is not None:
            wake_all(parts, desk.woken)
        return claimed

    return await never_lost(parts, asking, claim_and_wake(), lambda item: _give_back(parts, command, item))


async def _claim_in_turn(
    parts: Parts, tx: Tx, command: ClaimPipelines, claim_anew: Callable[[Tx], Awaitable[Told]], *, asked_at: int
) -> Told:
    """Of the polls of one worker, wherever they arrive, the newest claims; the same again hears what it has claimed."""
    last = await _last_poll(tx, command)
    if command.poll < last:
        return [], None
    if command.poll == last:
        return await _claimed_before(parts, tx, command, asked_at=asked_at)
    claimed, desk = await claim_anew(tx)
    if claimed or command.is_called_off:  # else it may claim yet
        await tx.polls.note_for_pipelines(command.namespace, id=command.worker, poll=command.poll)
    return claimed, desk


async def _keep_older_away(parts: Parts, command: ClaimPipelines) -> None:
    """From now on no older poll claims, also if this one finds nothing: it may stand in a server that was stopped."""

    async def enter(tx: Tx) -> None:
        if await _last_poll(tx, command) < command.poll - 1:
            await tx.polls.note_for_pipelines(command.namespace, id=command.worker, poll=command.poll - 1)

    await parts.run_tx("enter_poll", enter)


async def _last_poll(tx: Tx, command: ClaimPipelines) -> int:
    last = await tx.polls.lock_for_pipelines(command.namespace, id=command.worker)
    if last is None:
        raise NotFound("worker", command.worker, hint="It left, or was silent for too long: register it again.")
    return last


async def _claim_anew(
    parts: Parts, tx: Tx, command: ClaimPipelines, names: Sequence[str], *, asked_at: int
) -> tuple[list[ClaimedPipeline], Desk]:
    served = frozenset(command.served)
    locked = {
        item.name: item
        for item in await tx.pipelines.lock_due(command.namespace, names=names)
        if ServedPipeline(item.queue, item.name, item.revision) in served
    }
    desk = Desk(tx, command.namespace, now=await tx.now())
    await desk.read(locked)
    attempts = Attempts(desk, parts.ids)
    claimed = []
    for name in sorted(locked):
        was = desk.pipelines[name]
        if await desk.is_closed(was):
            continue
        task = await _take(parts, tx, desk, attempts, was, command)
        if task is not None:
            waited_for = 0 if was.available_at is None else desk.now - was.available_at
            held = desk.pipelines[name]
            claimed.append(_told(held, task, command, asked_at=asked_at, waited_for=waited_for))
    await desk.save()
    return claimed, desk


async def _take(
    parts: Parts, tx: Tx, desk: Desk, attempts: Attempts, was: Pipeline, command: ClaimPipelines
) -> Task | None:
    """Claim one, recovering it first if its last holder never gave it back."""
    is_recovery = was.status is PipelineStatus.RUNNING
    recoveries = was.recoveries + 1 if is_recovery else was.recoveries
    held = replace(
        was,
        status=PipelineStatus.RUNNING,
        issue=None,
        token=was.token + 1,
        worker=command.worker,
        poll=command.poll,
        recoveries=recoveries,
        available_at=Instant(desk.now + visibility_of(was, command)),
        changed_at=was.changed_at if is_recovery else desk.now,
    )
    desk.put(held, cause="claim")
    if is_recovery:
        await cut_off(desk, attempts, held, is_release=False)
        if recoveries > parts.settings.max_recoveries:
            silent_for = visibility_of(was, command) if await _lives(tx, was, command, now=desk.now) else None
            return crash_loop(desk, desk.pipelines[was.name], recoveries=recoveries, silent_for=silent_for)
    return await attempts.advance(was.name, before=phases.stood(was))


async def _lives(tx: Tx, was: Pipeline, command: ClaimPipelines, *, now: Instant) -> bool:
    """Did the last holder live when its claim ran out? Else it was lost."""
    if was.worker is None or was.worker == command.worker:
        return was.worker is not None
    holder = await tx.workers.find(command.namespace, id=was.worker)
    return holder is not None and is_live(holder, now=now)


def visibility_of(pipeline: Pipeline, command: ClaimPipelines) -> Duration:
    return command.visibility_for if pipeline.visibility_for is None else pipeline.visibility_for


async def _claimed_before(
    parts: Parts, tx: Tx, command: ClaimPipelines, *, asked_at: int
) -> tuple[list[ClaimedPipeline], Desk]:
    """What this very poll has claimed, should its answer have been lost; renewed, because time has passed since.

    If other code was declared since, it says so by its revision, and whoever asked gives it back.
    """
    held = await tx.pipelines.lock_held_by(command.namespace, worker=command.worker)
    locked = {name: item for name, item in held.items() if rules.is_claimed_by(item, poll=command.poll)}
    desk = Desk(tx, command.namespace, now=await tx.now())
    await desk.read(locked)
    attempts, claimed = Attempts(desk, parts.ids), []
    for pipeline in locked.values():
        run = desk.current(pipeline)
        if run is None:
            continue
        task = await attempts.told_again(pipeline, run)
        if task is not None:
            until = Instant(desk.now + visibility_of(pipeline, command))
            desk.put(replace(pipeline, available_at=until))
            claimed.append(_told(pipeline, task, command, asked_at=asked_at))
    await desk.save()
    return claimed, desk


def _told(
    pipeline: Pipeline, task: Task, command: ClaimPipelines, *, asked_at: int, waited_for: int = 0
) -> ClaimedPipeline:
    return ClaimedPipeline(
        name=pipeline.name,
        queue=pipeline.queue,
        revision=pipeline.revision,
        token=pipeline.token,
        recoveries=pipeline.recoveries,
        visibility_for=visibility_of(pipeline, command),
        asked_at=asked_at,
        task=task,
        waited_for=Duration(max(0, waited_for)),
    )


async def _give_back(parts: Parts, command: ClaimPipelines, item: ClaimedPipeline) -> None:
    claim = PipelineClaim(namespace=command.namespace, pipeline=item.name, token=item.token)
    try:
        await release_pipeline(parts, claim)
    except (ClaimLost, Unavailable):
        return  # it comes back by itself when the claim ends
    except Exception:
        LOGGER.exception("Pipeline %r could not be given back", item.name)
