"""What a signal may watch and do: refused here, before anything is written, with the list of what exists."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum

from msgspec.structs import replace

from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION, shown
from windlass.model.item import ItemStatus
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import RunStatus
from windlass.model.signal import ANY, Action, ActionKind, Trigger, TriggerKind
from windlass.model.time import SECOND
from windlass.rules.items import check_title
from windlass.rules.limits import (
    check_item_id,
    check_name,
    check_payload,
    check_pipeline_name,
    check_queue,
    check_run_id,
)
from windlass.rules.signal_words import any_of

STATES: dict[TriggerKind, type[StrEnum]] = {
    TriggerKind.ITEM: ItemStatus,
    TriggerKind.RUN: RunStatus,
    TriggerKind.JOB: RunStatus,
    TriggerKind.GRAPH: RunStatus,
    TriggerKind.PIPELINE: PipelineStatus,
    TriggerKind.WORKFLOW: RunStatus,
}


def check_trigger_kind(kind: str) -> TriggerKind:
    known = [member.value for member in TriggerKind]
    if kind not in known:
        raise _refuse("kind", kind, f"one of {', '.join(known)} was expected", known)
    return TriggerKind(kind)


def check_trigger(trigger: Trigger) -> Trigger:
    """The trigger with its states sorted, each once. Raises InvalidInput."""
    if trigger.kind is TriggerKind.TIME:
        return _check_time(trigger)
    if trigger.at is not None or trigger.every is not None:
        raise _refuse("at", trigger.kind, "only a trigger of the kind 'time' has a time")
    checked = _check_subject(trigger)
    return replace(trigger, subject=checked, to=check_states(trigger.kind, trigger.to))


def check_states(kind: TriggerKind, to: Sequence[str], *, what: str = "to") -> tuple[str, ...]:
    """Sorted, each once. Raises InvalidInput with the states there are; `what` is what the caller calls them."""
    if kind is TriggerKind.TIME:
        raise _refuse(what, list(to), "a time enters no state")
    known = [state.value for state in STATES[kind]]
    if not to:
        raise _refuse(what, list(to), f"it is empty; states are {', '.join(known)}")
    for state in to:
        if state not in known:
            raise _refuse(what, state, f"states are {', '.join(known)}", known)
    return tuple(sorted(set(to)))


def unknown_states(kind: str, states: Sequence[str]) -> tuple[str, ...]:
    """Those of them that nothing of this kind is ever in; of a kind that is not known itself, none."""
    known = {member.value: STATES[member] for member in STATES}.get(kind)
    return () if known is None else tuple(state for state in states if state not in {item.value for item in known})


def _check_subject(trigger: Trigger) -> str:
    match trigger.kind:
        case TriggerKind.ITEM:
            return trigger.subject if trigger.subject == ANY else check_item_id(trigger.subject, what="subject")
        case TriggerKind.PIPELINE:
            return check_pipeline_name(trigger.subject, what="subject")
        case TriggerKind.WORKFLOW:
            return check_name(trigger.subject, what="subject")
        case _:
            return check_run_id(trigger.subject, what="subject")


def _check_time(trigger: Trigger) -> Trigger:
    if trigger.to or trigger.subject:
        raise _refuse("kind", trigger.kind, "a trigger of this kind has neither subject nor states")
    if (trigger.at is None) == (trigger.every is None):
        raise _refuse("at", trigger.at, "a trigger of the kind 'time' has one of `at` and `every`")
    if trigger.every is not None and not SECOND <= trigger.every <= MAX_DURATION:
        raise _refuse("every", trigger.every, "from 1 s to 10 years is accepted")
    return trigger


def default_action(trigger: Trigger) -> Action:
    """What is done where nobody says what: a task for the work item that is watched; of all else it is only said."""
    if trigger.kind is not TriggerKind.ITEM:
        return Action()
    return Action(kind=ActionKind.TASK, title=f"Follow up: it entered {any_of(sorted(set(trigger.to)))}")


def check_action(action: Action, trigger: Trigger, *, repeats: bool) -> Action:
    """Raises InvalidInput."""
    check_payload(action.input, what="input")
    if trigger.at is not None and repeats:
        raise _refuse("repeats", repeats, "a point in time comes once; `every` repeats")
    match action.kind:
        case ActionKind.START:
            name = check_name(action.workflow, what="workflow")
            return replace(action, workflow=name, queue=check_queue(action.queue, what="queue"))
        case ActionKind.SEND:
            check_run_id(action.run_id or "", what="send.run_id")
            return replace(action, event=check_name(action.event, what="send.event"))
        case ActionKind.TASK:
            if trigger.kind is not TriggerKind.ITEM:
                raise _refuse("task", action.title, "only a signal on a work item records a task for it")
            check_title(action.title, what="task")
    return action


def _refuse(what: str, value: object, text: str, known: Sequence[str] = ()) -> InvalidInput:
    close = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return InvalidInput(f"Invalid trigger, {what} {shown(value)}: {text}.{hint}", reason="invalid_trigger", path=what)
