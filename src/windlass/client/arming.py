"""From what `app.when` is given to what the engine is asked: everything is checked before that."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from windlass.client.calls import Call
from windlass.client.graphs import JobInfo
from windlass.client.handle import Door, HeldRun
from windlass.define.event import Event
from windlass.define.options import shorten
from windlass.define.pipeline import Pipeline
from windlass.define.signal import (
    SUBJECTS,
    EveryItem,
    StateLike,
    declared_trigger,
    read_states,
    start_action,
    takes_firing,
)
from windlass.define.starting import start_command
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION, from_instant, to_duration, to_instant
from windlass.model.run import RunId
from windlass.model.signal import Action, ActionKind, CreateSignal, Trigger, TriggerKind
from windlass.rules.items import check_title
from windlass.rules.limits import check_flag, check_key, check_person
from windlass.rules.triggers import check_action, check_trigger, default_action

Watchable: TypeAlias = (
    HeldRun | JobInfo | Pipeline | EveryItem | type[EveryItem] | Callable[..., Any] | datetime | timedelta
)
Since: TypeAlias = Literal["now", "beginning"]

RUNS = (TriggerKind.RUN, TriggerKind.GRAPH, TriggerKind.JOB)
CALL_OPTIONS = ("queue", "timeout")  # what a signal keeps of a call


async def arming_command(
    door: Door,
    subject: Watchable,
    *,
    enters: StateLike | Collection[StateLike] | None,
    start: Callable[..., Any] | Call[Any] | None,
    send: tuple[HeldRun, Event[Any]] | None,
    task: str | None,
    payload: Any,
    key: str | None,
    since: Since,
    repeat: bool,
    by: str | None,
) -> CreateSignal:
    """Raises InvalidInput, and NotFound for a run that does not exist."""
    repeats = check_flag(repeat, what="repeat")
    trigger = check_trigger(await _trigger(door, subject, enters, repeats=repeats))
    chosen = [what for what, given in (("start", start), ("send", send), ("task", task)) if given is not None]
    if len(chosen) > 1:
        raise _refuse(f"when() does one thing, and got {' and '.join(chosen)}. Arm two signals.", path=chosen[1])
    if start is not None:
        action = _start(door, start, payload)
    elif send is not None:
        action = await _send(door, send, payload)
    elif task is not None:
        action = Action(kind=ActionKind.TASK, title=check_title(task, what="task"))
    else:
        action = default_action(trigger)
    if since not in ("now", "beginning"):
        raise _refuse(f"since must be 'now' or 'beginning', not {shorten(since)}.", path="since")
    return CreateSignal(
        namespace=door.namespace,
        trigger=trigger,
        action=check_action(action, trigger, repeats=repeats),
        payload=None if payload is None else door.codec.encode(payload),
        repeats=repeats,
        since_beginning=since == "beginning",
        key=None if key is None else check_key(key, what="key"),
        by=check_person(by),
        allow_unknown=True,  # this program has their code
    )


async def _trigger(
    door: Door, subject: Watchable, enters: StateLike | Collection[StateLike] | None, *, repeats: bool
) -> Trigger:
    if isinstance(subject, (datetime, timedelta)):
        if enters is not None:
            raise _refuse("A time enters no state: when(datetime), or when(timedelta, repeat=True).", path="enters")
        return _time(door, subject, repeats=repeats)
    if isinstance(subject, HeldRun):
        kind, run_id = await subject._watched()
        return Trigger(kind=kind, subject=run_id, to=read_states(kind, enters))
    if isinstance(subject, JobInfo):
        return Trigger(kind=TriggerKind.JOB, subject=subject.id, to=read_states(TriggerKind.JOB, enters))
    given: object = subject
    found = declared_trigger(given, enters, workflows=door.registry, verb="app.when")
    if found is None:
        known = f"a handle, {SUBJECTS}, an item, a datetime or a timedelta"
        hint = " Of a run by its id: app.handle('run_…')." if isinstance(given, str) else ""
        raise _refuse(f"app.when takes {known}, not {shorten(subject)}.{hint}", path="subject")
    return found


def _time(door: Door, moment: datetime | timedelta, *, repeats: bool) -> Trigger:
    if isinstance(moment, datetime):
        at = to_instant(moment, what="time")
        if at - door.clock.now() > MAX_DURATION:
            text = f"Invalid time {from_instant(at).isoformat()}: it is more than 10 years ahead."
            raise InvalidInput(text, reason="invalid_time", path="subject")
        return Trigger(kind=TriggerKind.TIME, at=at)
    if not repeats:
        text = "A timedelta is every so often: when(timedelta(hours=1), repeat=True). Once: when(datetime)."
        raise _refuse(text, path="repeat")
    return Trigger(kind=TriggerKind.TIME, every=to_duration(moment, what="every"))


def _start(door: Door, start: Callable[..., Any] | Call[Any], payload: Any) -> Action:
    if isinstance(start, Call):
        if payload is not None:
            text = "The payload is handed over with the firing, and start=windlass.call(…) has arguments of its own."
            raise _refuse(text, path="payload")
        return _called(door, start)
    definition = _workflow(door, start)
    instead = f"Or give it arguments of its own: start=windlass.call({definition.function.__name__}, …)."
    return start_action(definition, instead=instead)


def _called(door: Door, call: Call[Any]) -> Action:
    definition = _workflow(door, call.function)
    for option in call.options:
        if option not in CALL_OPTIONS:
            raise _refuse(f"A signal keeps {', '.join(CALL_OPTIONS)} of a call, and not {option!r}.", path=option)
    command = start_command(
        definition,
        call.args,
        call.options,
        namespace=door.namespace,
        codec=door.codec,
        verb="windlass.call",
        allowed=CALL_OPTIONS,
    )
    return Action(
        kind=ActionKind.START,
        workflow=command.name,
        version=command.version,
        queue=command.queue,
        timeout_for=command.timeout_for,
        input=command.input,
    )


def _workflow(door: Door, start: Callable[..., Any]) -> WorkflowDefinition:
    definition = door.registry.find_workflow(start, verb="app.when(start=…)")
    if definition.plan is not None:
        definition.plan(door.codec)  # refused here, before anything is stored, if it could not run
    return definition


async def _send(door: Door, send: object, payload: Any) -> Action:
    if not isinstance(send, tuple) or len(send) != 2 or not isinstance(send[0], HeldRun):
        raise _refuse(f"send takes a handle and an event, not {shorten(send)}: send=(handle, replied).", path="send")
    receiver, wanted = send
    event = door.registry.find_event(wanted, verb="app.when(send=…)")
    hashed = b""
    if payload is not None:
        door.codec.check_arguments((payload,), (event.type,), ("payload",), what=f"Event {event.name!r}")
        hashed = door.codec.hash_of(payload)
    elif not takes_firing(event.type):
        raise _refuse(
            f"{event!r} is sent the firing where when() has no payload, and takes none. Give it a payload, "
            f"or declare it for firings: app.event({event.name!r}, windlass.Firing).",
            path="payload",
        )
    _, run_id = await receiver._watched()
    return Action(kind=ActionKind.SEND, run_id=RunId(run_id), event=event.name, payload_hash=hashed)


def _refuse(text: str, *, path: str) -> InvalidInput:
    return InvalidInput(text, reason="invalid_trigger", path=path)
