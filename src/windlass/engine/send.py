"""Put an event into a run's inbox: kept until it is received, and received once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.release import save_run
from windlass.errors import AlreadyExists, InvalidInput, WrongState
from windlass.model.commands import SendEvent, Sent
from windlass.model.message import MessageKind
from windlass.model.run import Run, RunId, RunKind, RunStatus
from windlass.notify.local import queue_topic, worker_topic
from windlass.rules import runs as rules
from windlass.rules.limits import MOST_EVENTS
from windlass.store.base import Tx

Guard = Callable[[Tx], Awaitable[None]]  # raises where something must not be done


async def send_event(parts: Parts, command: SendEvent, *, guard: Guard | None = None) -> Sent:
    is_new = False  # when it was first looked at: found by a later try, it is what the first has written

    async def send(tx: Tx) -> tuple[Sent, Run]:
        nonlocal is_new
        if guard is not None:
            await guard(tx)
        # Under the lock that parking takes: it sees this event, or this sees the run parked.
        run = await lock_existing(tx, command.namespace, command.run_id)
        known = await tx.inbox.find(command.namespace, run_id=run.id, kind=MessageKind.EVENT, id=command.id)
        if known is not None:
            if (known.name, known.payload_hash) != (command.event, command.payload_hash):
                raise AlreadyExists(
                    f"Id {command.id!r} was used for another message to {run.id}. The same id is the same message.",
                    reason="message_conflict",
                    owner=run.id,
                )
            return Sent(is_repeat=not is_new), run
        is_new = True
        run = await deliver(tx, run, command)
        return Sent(is_repeat=False), run

    sent, run = await parts.run_tx("send_event", send)
    tell_of_news(parts, run)
    return sent


async def deliver(tx: Tx, run: Run, command: SendEvent) -> Run:
    """Put an event that is new into the inbox of a run under its lock, and let the run go on that waits for it.

    Raises WrongState or InvalidInput if the run cannot receive it, before anything is written.
    """
    if run.status.is_terminal:
        raise WrongState("Run", run.id, run.status, wanted="one that can still receive an event")
    if run.kind is RunKind.GRAPH:
        hint = "Send it to the job that waits for it: windlass show GRAPH names the jobs, GRAPH/JOB is one of them."
        raise WrongState("Run", run.id, "a graph, whose jobs receive events", wanted="a job", hint=hint)
    if await tx.inbox.count(command.namespace, run_id=run.id) >= MOST_EVENTS:
        raise InvalidInput(f"A run takes at most {MOST_EVENTS:,} messages.", reason="too_many_events")
    await tx.inbox.add(
        command.namespace,
        run_id=run.id,
        kind=MessageKind.EVENT,
        name=command.event,
        id=command.id,
        payload=command.payload,
        payload_hash=command.payload_hash,
    )
    if run.status is RunStatus.WAITING and await tx.steps.awaits_event(
        command.namespace, run_id=run.id, event=command.event
    ):
        return await save_run(tx, rules.wake(run, now=await tx.now()), was=run, cause="event")
    return run


async def lock_existing(tx: Tx, namespace: str, run_id: RunId) -> Run:
    """The run under its lock. Raises NotFound."""
    run = await tx.runs.lock(namespace, id=run_id)
    if run is None:
        raise no_run(run_id)
    return run


def tell_of_news(parts: Parts, run: Run) -> None:
    """Something has come for a run: whoever holds it looks, or whoever may claim it does."""
    if run.status is RunStatus.PENDING:
        parts.hub.publish(queue_topic(run.namespace, run.queue))
    elif run.worker is not None:
        parts.hub.publish(worker_topic(run.namespace, run.worker))
