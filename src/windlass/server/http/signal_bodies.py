"""From the JSON of a signal to what the door is asked, and back to the JSON with what is refused.

A trigger has the fields of its kind and no others; an action is one of three, and its workflow one that somebody knows.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from windlass.api.checks import check
from windlass.errors import InvalidInput
from windlass.model.commands import StartRun
from windlass.model.duration import to_duration, to_instant
from windlass.model.run import RunId
from windlass.model.signal import Action, ActionKind, CreateSignal, SignalId, Trigger, TriggerKind
from windlass.rules.limits import check_name
from windlass.rules.triggers import check_trigger_kind, default_action
from windlass.server.http import asked_of_signals as asked
from windlass.server.http.calls import Call
from windlass.server.http.items import encoded
from windlass.server.http.telling_of_signals import SUBJECTS

FIELDS = ("item_id", "run_id", "pipeline", "workflow", "to", "at", "every_secs")
ACTIONS = ("start", "send", "task")
# Where in the JSON it stands what the rules call so.
PATHS = {
    "kind": "trigger.kind",
    "to": "trigger.to",
    "number of states": "trigger.to",
    "at": "trigger.at",
    "every": "trigger.every_secs",
    "since": "since_beginning",
    "workflow": "action.start.workflow",
    "workflow name": "action.start.workflow",
    "version": "action.start.version",
    "queue": "action.start.queue",
    "timeout": "action.start.timeout_secs",
    "timeout_secs": "action.start.timeout_secs",
    "input": "action.start.args",
    "send.run_id": "action.send.run_id",
    "send.event": "action.send.event",
    "task": "action.task.title",
}


async def create_command(call: Call) -> CreateSignal:
    """Raises InvalidInput, and NotFound for a workflow that nobody knows."""
    wanted: asked.SignalRequest = call.body
    trigger = _trigger(wanted.trigger)
    action = default_action(trigger)
    if wanted.action is not None:
        action = _action(call, wanted.action)
    payload = encoded(call, wanted.payload, what="payload")
    if action.kind is ActionKind.SEND and payload is not None:
        action = replace(action, payload_hash=call.site.codec.encode_hashed(wanted.payload)[1])
    command = CreateSignal(
        namespace=call.namespace,
        trigger=trigger,
        action=action,
        payload=payload,
        repeats=wanted.repeats,
        since_beginning=wanted.since_beginning,
        key=wanted.key,
        by=wanted.by,
        signal_id=None if wanted.signal_id is None else SignalId(wanted.signal_id),
        allow_unknown=wanted.allow_unknown,
    )
    start = None if wanted.action is None else wanted.action.start
    if start is None:
        return check(command)
    command = check(await _placed(call, command, start))
    if not command.allow_unknown:
        await _check_known(call, command)
    return command


def _trigger(wanted: asked.TriggerBody) -> Trigger:
    kind = check_trigger_kind(wanted.kind)
    own = ("at", "every_secs") if kind is TriggerKind.TIME else (SUBJECTS[kind], "to")
    for field in FIELDS:
        if field not in own and getattr(wanted, field) is not None:
            text = f"Invalid trigger: one of the kind {kind.value!r} has no {field}, only {' and '.join(own)}."
            raise InvalidInput(text, reason="invalid_trigger", path=f"trigger.{field}")
    if kind is TriggerKind.TIME:
        return Trigger(
            kind=kind,
            at=None if wanted.at is None else to_instant(wanted.at, what="at"),
            every=None if wanted.every_secs is None else to_duration(wanted.every_secs, what="every"),
        )
    subject: str | None = getattr(wanted, own[0])
    if subject is None:
        text = f"Invalid trigger: one of the kind {kind.value!r} says in {own[0]} what is watched."
        raise InvalidInput(text, reason="invalid_trigger", path=f"trigger.{own[0]}")
    return Trigger(kind=kind, subject=subject, to=tuple(wanted.to or ()))


def _action(call: Call, wanted: asked.ActionBody) -> Action:
    given = [name for name in ACTIONS if getattr(wanted, name) is not None]
    if len(given) > 1:
        text = f"Invalid action: a signal does one thing, not both {' and '.join(given)}."
        raise InvalidInput(text, reason="invalid_trigger", path="action")
    if wanted.start is not None:
        return _start(call, wanted.start)
    if wanted.send is not None:
        return Action(kind=ActionKind.SEND, run_id=RunId(wanted.send.run_id), event=wanted.send.event)
    return Action() if wanted.task is None else Action(kind=ActionKind.TASK, title=wanted.task.title)


def _start(call: Call, wanted: asked.StartAction) -> Action:
    timeout, args = wanted.timeout_secs, wanted.args
    return Action(
        kind=ActionKind.START,
        workflow=check_name(wanted.workflow, what="workflow"),
        version=wanted.version or "",
        queue=wanted.queue or "",
        timeout_for=None if timeout is None else to_duration(timeout, what="timeout_secs", allow_zero=False),
        input=encoded(call, UNSET if args is None else tuple(args), what="action.start.args"),
    )


async def _placed(call: Call, command: CreateSignal, wanted: asked.StartAction) -> CreateSignal:
    """In the queue where workers serve the workflow, as a start is."""
    action = command.action
    if wanted.queue is not None and wanted.version is not None:
        return command
    place = await call.site.lanes.place(command.namespace, action.workflow, queue=wanted.queue, version=wanted.version)
    return replace(command, action=replace(action, queue=place.queue, version=place.version))


async def _check_known(call: Call, command: CreateSignal) -> None:
    """Raises NotFound, with names that look alike."""
    start = StartRun(
        namespace=command.namespace,
        name=command.action.workflow,
        version=command.action.version,
        queue=command.action.queue,
        priority=0,
        input=b"",
        input_hash=b"",
    )
    await call.site.lanes.check(start)


def located(error: InvalidInput, trigger: asked.TriggerBody) -> InvalidInput:
    """The same, with the path of the value as it stands in the JSON."""
    path = PATHS.get(error.path, error.path)
    if error.path == "subject":
        path = f"trigger.{SUBJECTS[TriggerKind(trigger.kind)]}"
    return InvalidInput(str(error), reason=error.reason, path=path)
