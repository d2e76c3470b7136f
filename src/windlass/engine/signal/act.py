"""What firings do: rows only. A run is created, an event put into an inbox, a task recorded; no user code runs here.

Whatever an action touches is locked before its signal: runs and items are the subjects of signals, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.send import deliver, tell_of_news
from windlass.errors import NotFound
from windlass.model.commands import SendEvent
from windlass.model.item import Item, ItemId, Task, TaskId, TaskStatus
from windlass.model.run import Run, RunId
from windlass.model.signal import Action, ActionKind, FiringRow, Signal
from windlass.model.time import Instant
from windlass.notify.local import queue_topic
from windlass.rules.firing_inputs import firing_input, firing_payload, payload_hash
from windlass.store.base import Tx
from windlass.store.queries.runs import NewRun


class Deed(Struct, frozen=True, kw_only=True):
    """What one firing is to do, decided and not written yet."""

    firing: FiringRow
    signal: Signal
    run: NewRun | None = None
    task: Task | None = None
    event: SendEvent | None = None


class Targets(Struct, frozen=True, kw_only=True):
    """What the actions of a batch touch, locked."""

    runs: dict[RunId, Run]
    items: dict[ItemId, Item]


async def lock_targets(tx: Tx, namespace: str, pairs: Sequence[tuple[FiringRow, Action]]) -> Targets:
    items = sorted({ItemId(firing.subject_id) for firing, action in pairs if action.kind is ActionKind.TASK})
    runs = [action.run_id for _, action in pairs if action.kind is ActionKind.SEND and action.run_id is not None]
    locked = {id: await tx.items.lock(namespace, id) for id in items}
    return Targets(
        items={id: item for id, item in locked.items() if item is not None},
        runs=await tx.runs.lock_all(namespace, runs) if runs else {},
    )


def plan(firing: FiringRow, signal: Signal, targets: Targets, *, new_id: str, now: Instant) -> Deed:
    """What a firing does. Raises NotFound if what it is about is gone."""
    action = signal.action
    match action.kind:
        case ActionKind.START:
            return Deed(firing=firing, signal=signal, run=_run(firing, signal, RunId(f"run_{new_id}")))
        case ActionKind.TASK:
            if ItemId(firing.subject_id) not in targets.items:
                raise NotFound("item", firing.subject_id, hint="It was deleted before the task could be added.")
            return Deed(firing=firing, signal=signal, task=_task(firing, signal, TaskId(f"tsk_{new_id}"), now=now))
        case ActionKind.SEND:
            if action.run_id not in targets.runs:
                raise no_run(RunId(action.run_id or ""))
            return Deed(firing=firing, signal=signal, event=_event(firing, signal))
        case ActionKind.NONE:
            return Deed(firing=firing, signal=signal)


def _run(firing: FiringRow, signal: Signal, run_id: RunId) -> NewRun:
    action = signal.action
    return NewRun(
        namespace=firing.namespace,
        id=run_id,
        name=action.workflow,
        version=action.version,
        queue=action.queue,
        priority=0,
        input=firing_input(firing, signal.payload) if action.input is None else action.input,
        timeout_for=action.timeout_for,
    )


def _task(firing: FiringRow, signal: Signal, task_id: TaskId, *, now: Instant) -> Task:
    return Task(
        namespace=firing.namespace,
        id=task_id,
        item_id=ItemId(firing.subject_id),
        title=signal.action.title,
        status=TaskStatus.QUEUED,
        data=signal.payload,
        firing_id=firing.id,
        created_at=now,
    )


def _event(firing: FiringRow, signal: Signal) -> SendEvent:
    action = signal.action
    if signal.payload is None:
        payload, hashed = firing_payload(firing)
    else:
        payload, hashed = signal.payload, action.payload_hash or payload_hash(signal.payload)
    return SendEvent(
        namespace=firing.namespace,
        run_id=RunId(action.run_id or ""),
        event=action.event,
        payload=payload,
        payload_hash=hashed,
        id=firing.id,
    )


async def send_one(tx: Tx, deed: Deed, targets: Targets) -> Run:
    """The run as it stands then. Raises WrongState if it cannot receive anything, before anything is written."""
    assert deed.event is not None
    run = await deliver(tx, targets.runs[deed.event.run_id], deed.event)
    targets.runs[run.id] = run  # the next event finds it so
    return run


def tell(parts: Parts, deeds: Sequence[Deed], sent: Sequence[Run]) -> None:
    """After the commit: whoever may execute what was started, or received something."""
    for namespace, queue in sorted({(deed.run.namespace, deed.run.queue) for deed in deeds if deed.run is not None}):
        parts.hub.publish(queue_topic(namespace, queue))
    for run in sent:
        tell_of_news(parts, run)
