"""What may be sent about work items and signals over HTTP. Part of `asked`.

States and kinds are text here, with their list in the document: what is none of them is refused with that list.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from windlass.model.item import ItemStatus, TaskStatus
from windlass.model.signal import SUBJECT_KINDS, FiringStatus, SignalStatus, TriggerKind
from windlass.rules.items import HIGHEST_ITEM_PRIORITY
from windlass.rules.limits import MAX_NAME, MAX_TITLE
from windlass.server.http.asked import (
    PAGE,
    TEN_YEARS,
    Asked,
    CursorText,
    Key,
    Limit,
    Name,
    Note,
    Person,
    RunIdText,
    Span,
    Time,
)

LONGEST_STATE = 50
MOST_STATES = 20


def _listed(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


def _members(kind: type[StrEnum]) -> dict[str, Any]:
    return _listed(*(member.value for member in kind))


ItemIdText = Annotated[str, Meta(pattern="^itm_[0-9A-HJKMNP-TV-Z]{26}$")]
TaskIdText = Annotated[str, Meta(pattern="^tsk_[0-9A-HJKMNP-TV-Z]{26}$")]
SignalIdText = Annotated[str, Meta(pattern="^sig_[0-9A-HJKMNP-TV-Z]{26}$")]
WatchedItem = Annotated[str, Meta(pattern=r"^(itm_[0-9A-HJKMNP-TV-Z]{26}|\*)$")]
Title = Annotated[str, Meta(min_length=1, max_length=MAX_TITLE)]
ItemPriority = Annotated[int, Meta(ge=0, le=HIGHEST_ITEM_PRIORITY)]
State = Annotated[str, Meta(max_length=LONGEST_STATE)]
States = Annotated[list[State], Meta(max_length=MOST_STATES, extra_json_schema={"minItems": 1})]
ItemState = Annotated[str, Meta(max_length=LONGEST_STATE, extra_json_schema=_members(ItemStatus))]
TaskEnd = Annotated[
    str,
    Meta(
        max_length=LONGEST_STATE,
        extra_json_schema=_listed(*(status.value for status in TaskStatus if status.is_terminal)),
    ),
]
TriggerKindText = Annotated[str, Meta(max_length=100, extra_json_schema=_members(TriggerKind))]
SubjectKind = Annotated[
    str, Meta(max_length=LONGEST_STATE, extra_json_schema=_listed(*sorted(set(SUBJECT_KINDS.values()))))
]
EverySeconds = Annotated[float, Meta(ge=1, le=TEN_YEARS)]


# Work items


class ItemRequest(Asked, frozen=True, kw_only=True):
    """Something to work on. The same key with the same title, priority and data is the same item."""

    title: Title
    priority: ItemPriority = 0
    data: Any | UnsetType = UNSET  # whatever belongs to it
    key: Key | None = None
    by: Person | None = None
    item_id: ItemIdText | None = None  # the same again is the same item


class ItemsQuery(Asked, frozen=True, kw_only=True):
    status: ItemStatus | None = None
    before: ItemIdText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class TransitionRequest(Asked, frozen=True, kw_only=True):
    to: ItemState
    expected: ItemState | None = None  # refused if it is in another state by now
    by: Person | None = None
    note: Note | None = None


class TaskRequest(Asked, frozen=True, kw_only=True):
    title: Title
    data: Any | UnsetType = UNSET
    by: Person | None = None
    task_id: TaskIdText | None = None  # the same again is the same task


class EndTaskRequest(Asked, frozen=True, kw_only=True):
    status: TaskEnd
    by: Person | None = None
    note: Note | None = None


# Signals


class TriggerBody(Asked, frozen=True, kw_only=True):
    """When to fire. Which fields there are depends on the kind: what is watched and `to`, or a time."""

    kind: TriggerKindText
    item_id: WatchedItem | None = None  # work_item.status.transition; "*": any item
    run_id: RunIdText | None = None  # run., job. and graph.status.transition
    pipeline: Name | None = None  # pipeline.status.transition
    workflow: Name | None = None  # workflow.status.transition: any run of it
    to: States | None = None  # one of these states
    at: Time | None = None  # time: then, once
    every_secs: EverySeconds | None = None  # time: so often


class StartAction(Asked, frozen=True, kw_only=True):
    """Start a workflow. Without arguments it is given the firing."""

    workflow: Name
    args: list[Any] | None = None
    queue: Name | None = None
    version: Annotated[str, Meta(max_length=MAX_NAME)] | None = None
    timeout_secs: Span | None = None


class SendAction(Asked, frozen=True, kw_only=True):
    """Send an event to a run: the payload of the signal, or without one the firing."""

    run_id: RunIdText
    event: Name


class TaskAction(Asked, frozen=True, kw_only=True):
    """Record a task for the work item that is watched."""

    title: Title


class ActionBody(Asked, frozen=True, kw_only=True):
    """What to do: one of these. An empty object only announces it."""

    start: StartAction | None = None
    send: SendAction | None = None
    task: TaskAction | None = None


class SignalRequest(Asked, frozen=True, kw_only=True):
    """When something enters a state, or a time has come, do something. The same key is the same signal.

    Without an action a signal on a work item records a task for it, and any other one only announces it.
    """

    trigger: TriggerBody
    action: ActionBody | None = None
    payload: Any | UnsetType = UNSET
    repeats: bool = False
    since_beginning: bool = False  # what the log already holds counts, too
    key: Key | None = None
    by: Person | None = None
    signal_id: SignalIdText | None = None  # the same again is the same signal
    allow_unknown: bool = False  # no worker has served the workflows it names yet, and that is no mistake


class UpdateSignalRequest(Asked, frozen=True, kw_only=True):
    """What is not given stays as it is."""

    to: States | None = None
    payload: Any | UnsetType = UNSET
    repeats: bool | None = None
    by: Person | None = None


class SignalsQuery(Asked, frozen=True, kw_only=True):
    subject_kind: SubjectKind | None = None
    subject: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None = None  # only with its kind
    status: SignalStatus | None = None
    before: SignalIdText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class FiringsQuery(Asked, frozen=True, kw_only=True):
    signal_id: SignalIdText | None = None
    status: FiringStatus | None = None
    before: CursorText | None = None  # what the page before came with as `next`
    limit: Limit = PAGE


class SignalStreamQuery(Asked, frozen=True, kw_only=True):
    cursor: CursorText | None = None  # none: from the beginning of what is kept; "now": from now on
    signal_id: SignalIdText | None = None  # only this one
