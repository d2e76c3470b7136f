"""What people and programs ask about work items and signals: the same question as in `checks`.

Here is decided whether each value can be at all. Whether a move is allowed, a subject is there, or a signal may enter
the states it is given, the engine decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from windlass.api.fields import check_duration, check_hash, check_instant, check_version, refused
from windlass.errors import InvalidInput
from windlass.model.duration import shown
from windlass.model.item import AddTask, CreateItem, DeleteItem, EndTask, ListItems, TaskStatus, TransitionItem
from windlass.model.signal import (
    ANY,
    SUBJECT_KINDS,
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    DeleteSignal,
    ListFirings,
    ListSignals,
    SteerSignal,
    Trigger,
    UpdateSignal,
)
from windlass.rules.items import check_item_priority, check_title
from windlass.rules.limits import (
    check_item_id,
    check_key,
    check_limit,
    check_name,
    check_namespace,
    check_note,
    check_payload,
    check_person,
    check_pipeline_name,
    check_run_id,
    check_signal_id,
    check_task_id,
)
from windlass.rules.triggers import check_action, check_trigger

PAGE_LIMIT = 500
MOST_DECLARED = 1_000  # of one program
MOST_STATES = 20  # of one trigger
LONGEST_STATE = 50
LAST_INSTANT = 2**63 - 1

# When a firing was created, and its id, which is that of its signal and what caused it.
FIRING_CURSOR = re.compile(r"([0-9]{1,19}):sig_[0-9A-HJKMNP-TV-Z]{26}\.[A-Za-z0-9_.:-]{1,100}")

# What each action says, beside its kind: anything else would be kept, and never looked at.
FIELDS_OF_ACTION = {
    ActionKind.NONE: frozenset[str](),
    ActionKind.START: frozenset({"workflow", "version", "queue", "timeout_for", "input"}),
    ActionKind.SEND: frozenset({"run_id", "event", "payload_hash"}),
    ActionKind.TASK: frozenset({"title"}),
}
_NO_ACTION = Action()


# Work items


def _create_item(command: CreateItem) -> dict[str, Any]:
    check_title(command.title)
    check_item_priority(command.priority)
    check_payload(command.data, what="data")
    check_person(command.by)
    if command.key is not None:
        check_key(command.key)
    if command.item_id is not None:
        check_item_id(command.item_id)
    return _in_namespace(command)


def _deed_to_item(command: TransitionItem | DeleteItem) -> dict[str, Any]:
    check_item_id(command.item_id)
    if isinstance(command, TransitionItem) and command.deed_id:
        check_key(command.deed_id, what="deed_id")
    return _deed(command)


def _add_task(command: AddTask) -> dict[str, Any]:
    check_title(command.title)
    check_payload(command.data, what="data")
    check_item_id(command.item_id)
    if command.task_id is not None:
        check_task_id(command.task_id)
    return _deed(command)


def _end_task(command: EndTask) -> dict[str, Any]:
    check_task_id(command.task_id)
    if command.status is TaskStatus.QUEUED:
        ends = ", ".join(end.value for end in TaskStatus if end.is_terminal)
        raise refused(command.status.value, "status", f"a task ends as one of {ends}", reason="invalid_status")
    return _deed(command)


def _list_items(command: ListItems) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.before is not None:
        check_item_id(command.before, what="before")
    return _in_namespace(command)


# Signals


def _create_signal(command: CreateSignal) -> dict[str, Any]:
    check_payload(command.payload, what="payload")
    check_person(command.by)
    if command.key is not None:
        check_key(command.key)
    if command.signal_id is not None:
        check_signal_id(command.signal_id)
    trigger = check_watched(command.trigger)
    action = _action(command.action, trigger, repeats=command.repeats)
    _check_sent(action, command.payload)
    return _in_namespace(command) | {"trigger": trigger, "action": action}


def check_watched(trigger: Trigger) -> Trigger:
    """What is watched, with its states sorted, each once."""
    check_limit(len(trigger.to), what="number of states", low=0, high=MOST_STATES)
    check_instant(trigger.at, what="at")
    return check_trigger(trigger)


def _action(action: Action, trigger: Trigger, *, repeats: bool) -> Action:
    said = FIELDS_OF_ACTION[action.kind]
    for field in Action.__struct_fields__:
        value = getattr(action, field)
        if field != "kind" and field not in said and value != getattr(_NO_ACTION, field):
            text = f"an action of the kind '{action.kind.value}' has none"
            raise refused(value, field, text, reason="invalid_option")
    check_duration(action.timeout_for, what="timeout", low=1)
    checked = check_action(action, trigger, repeats=repeats)
    return replace(checked, version=check_version(checked.version))


def _check_sent(action: Action, payload: bytes | None) -> None:
    """Without a payload it is the firing that is sent, whose hash nobody knows yet."""
    if action.kind is ActionKind.SEND and (payload is not None or action.payload_hash):
        check_hash(action.payload_hash, what="payload_hash")


def _update_signal(command: UpdateSignal) -> dict[str, Any]:
    """Which states there are depends on what is watched: the engine knows."""
    check_signal_id(command.signal_id)
    check_person(command.by)
    check_payload(command.payload, what="payload")
    if command.to is not None:
        check_limit(len(command.to), what="number of states", low=0, high=MOST_STATES)
        for state in command.to:
            check_note(state, what="to", longest=LONGEST_STATE)
    return _in_namespace(command)


def _deed_to_signal(command: SteerSignal | DeleteSignal) -> dict[str, Any]:
    check_signal_id(command.signal_id)
    if isinstance(command, SteerSignal) and command.deed_id:
        check_key(command.deed_id, what="deed_id")
    return _deed(command)


def _declare(command: DeclareSignals) -> dict[str, Any]:
    check_key(command.program, what="program")
    check_limit(len(command.signals), what="number of signals", low=0, high=MOST_DECLARED)
    signals = tuple([_declared(signal) for signal in command.signals])
    _check_once([signal.name for signal in signals])
    return _in_namespace(command) | {"signals": signals}


def _declared(signal: DeclaredSignal) -> DeclaredSignal:
    name = check_name(signal.name, what="signal name")
    try:
        trigger = check_watched(signal.trigger)
        action = _action(signal.action, trigger, repeats=signal.repeats)
        _check_sent(action, None)
    except InvalidInput as error:
        raise InvalidInput(f"Signal {shown(name)}: {error}", reason=error.reason, path=error.path) from None
    return replace(signal, name=name, trigger=trigger, action=action)


def _check_once(names: Sequence[str]) -> None:
    met: set[str] = set()
    for name in names:
        if name in met:
            raise refused(name, "signal name", "it is declared twice", reason="invalid_trigger")
        met.add(name)


def _list_signals(command: ListSignals) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.before is not None:
        check_signal_id(command.before, what="before")
    subject = _subject(command.subject_kind, command.subject)
    return _in_namespace(command) | {"subject": subject}


def _subject(kind: str | None, subject: str | None) -> str | None:
    known = sorted(set(SUBJECT_KINDS.values()))
    if kind is not None and kind not in known:
        raise refused(kind, "subject_kind", f"one of {', '.join(known)} was expected", reason="invalid_filter")
    if subject is None:
        return None
    match kind:
        case None:
            text = "the kind of the subject is missing: the id of one kind may be the name of another"
            raise refused(subject, "subject", text, reason="invalid_filter")
        case "item":
            return subject if subject == ANY else check_item_id(subject, what="subject")
        case "run":
            return check_run_id(subject, what="subject")
        case "pipeline":
            return check_pipeline_name(subject, what="subject")
        case "workflow":
            return check_name(subject, what="subject")
        case _:
            raise refused(subject, "subject", "a time has none", reason="invalid_filter")


def _list_firings(command: ListFirings) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.signal_id is not None:
        check_signal_id(command.signal_id)
    if command.before is not None:
        _check_cursor(command.before)
    return _in_namespace(command)


def _check_cursor(before: str) -> None:
    found = FIRING_CURSOR.fullmatch(before)
    if found is None or int(found.group(1)) > LAST_INSTANT:
        text = "what the page before came with as `next` was expected"
        raise refused(before, "before", text, reason="invalid_cursor")


def _deed(command: Any) -> dict[str, Any]:
    check_person(command.by)
    check_note(getattr(command, "note", None))
    return _in_namespace(command)


def _in_namespace(command: Any) -> dict[str, Any]:
    return {"namespace": check_namespace(command.namespace)}


SIGNALS: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    CreateItem: _create_item,
    TransitionItem: _deed_to_item,
    DeleteItem: _deed_to_item,
    AddTask: _add_task,
    EndTask: _end_task,
    ListItems: _list_items,
    CreateSignal: _create_signal,
    UpdateSignal: _update_signal,
    SteerSignal: _deed_to_signal,
    DeleteSignal: _deed_to_signal,
    DeclareSignals: _declare,
    ListSignals: _list_signals,
    ListFirings: _list_firings,
}
