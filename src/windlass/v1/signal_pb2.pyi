from windlass.v1 import model_pb2 as _model_pb2
from windlass.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ItemStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ITEM_STATUS_UNSPECIFIED: _ClassVar[ItemStatus]
    ITEM_STATUS_BACKLOG: _ClassVar[ItemStatus]
    ITEM_STATUS_READY: _ClassVar[ItemStatus]
    ITEM_STATUS_DOING: _ClassVar[ItemStatus]
    ITEM_STATUS_BLOCKED: _ClassVar[ItemStatus]
    ITEM_STATUS_DONE: _ClassVar[ItemStatus]
    ITEM_STATUS_FAILED: _ClassVar[ItemStatus]
    ITEM_STATUS_CANCELLED: _ClassVar[ItemStatus]

class ItemTaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ITEM_TASK_STATUS_UNSPECIFIED: _ClassVar[ItemTaskStatus]
    ITEM_TASK_STATUS_QUEUED: _ClassVar[ItemTaskStatus]
    ITEM_TASK_STATUS_COMPLETED: _ClassVar[ItemTaskStatus]
    ITEM_TASK_STATUS_FAILED: _ClassVar[ItemTaskStatus]
    ITEM_TASK_STATUS_CANCELLED: _ClassVar[ItemTaskStatus]
    ITEM_TASK_STATUS_SKIPPED: _ClassVar[ItemTaskStatus]

class ActionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_KIND_UNSPECIFIED: _ClassVar[ActionKind]
    ACTION_KIND_NONE: _ClassVar[ActionKind]
    ACTION_KIND_START: _ClassVar[ActionKind]
    ACTION_KIND_SEND: _ClassVar[ActionKind]
    ACTION_KIND_TASK: _ClassVar[ActionKind]

class SignalStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_STATUS_UNSPECIFIED: _ClassVar[SignalStatus]
    SIGNAL_STATUS_ARMED: _ClassVar[SignalStatus]
    SIGNAL_STATUS_PAUSED: _ClassVar[SignalStatus]
    SIGNAL_STATUS_FIRED: _ClassVar[SignalStatus]
    SIGNAL_STATUS_RESOLVED: _ClassVar[SignalStatus]
    SIGNAL_STATUS_CANCELLED: _ClassVar[SignalStatus]

class SignalVerb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_VERB_UNSPECIFIED: _ClassVar[SignalVerb]
    SIGNAL_VERB_PAUSE: _ClassVar[SignalVerb]
    SIGNAL_VERB_RESUME: _ClassVar[SignalVerb]
    SIGNAL_VERB_CANCEL: _ClassVar[SignalVerb]

class FiringStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIRING_STATUS_UNSPECIFIED: _ClassVar[FiringStatus]
    FIRING_STATUS_QUEUED: _ClassVar[FiringStatus]
    FIRING_STATUS_RUNNING: _ClassVar[FiringStatus]
    FIRING_STATUS_DONE: _ClassVar[FiringStatus]
    FIRING_STATUS_FAILED: _ClassVar[FiringStatus]
    FIRING_STATUS_SUPERSEDED: _ClassVar[FiringStatus]
ITEM_STATUS_UNSPECIFIED: ItemStatus
ITEM_STATUS_BACKLOG: ItemStatus
ITEM_STATUS_READY: ItemStatus
ITEM_STATUS_DOING: ItemStatus
ITEM_STATUS_BLOCKED: ItemStatus
ITEM_STATUS_DONE: ItemStatus
ITEM_STATUS_FAILED: ItemStatus
ITEM_STATUS_CANCELLED: ItemStatus
ITEM_TASK_STATUS_UNSPECIFIED: ItemTaskStatus
ITEM_TASK_STATUS_QUEUED: ItemTaskStatus
ITEM_TASK_STATUS_COMPLETED: ItemTaskStatus
ITEM_TASK_STATUS_FAILED: ItemTaskStatus
ITEM_TASK_STATUS_CANCELLED: ItemTaskStatus
ITEM_TASK_STATUS_SKIPPED: ItemTaskStatus
ACTION_KIND_UNSPECIFIED: ActionKind
ACTION_KIND_NONE: ActionKind
ACTION_KIND_START: ActionKind
ACTION_KIND_SEND: ActionKind
ACTION_KIND_TASK: ActionKind
SIGNAL_STATUS_UNSPECIFIED: SignalStatus
SIGNAL_STATUS_ARMED: SignalStatus
SIGNAL_STATUS_PAUSED: SignalStatus
SIGNAL_STATUS_FIRED: SignalStatus
SIGNAL_STATUS_RESOLVED: SignalStatus
SIGNAL_STATUS_CANCELLED: SignalStatus
SIGNAL_VERB_UNSPECIFIED: SignalVerb
SIGNAL_VERB_PAUSE: SignalVerb
SIGNAL_VERB_RESUME: SignalVerb
SIGNAL_VERB_CANCEL: SignalVerb
FIRING_STATUS_UNSPECIFIED: FiringStatus
FIRING_STATUS_QUEUED: FiringStatus
FIRING_STATUS_RUNNING: FiringStatus
FIRING_STATUS_DONE: FiringStatus
FIRING_STATUS_FAILED: FiringStatus
FIRING_STATUS_SUPERSEDED: FiringStatus

class Item(_message.Message):
    __slots__ = ("namespace", "id", "title", "status", "priority", "data", "key", "created_at", "changed_at", "ended_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    title: str
    status: ItemStatus
    priority: int
    data: bytes
    key: str
    created_at: int
    changed_at: int
    ended_at: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., title: _Optional[str] = ..., status: _Optional[_Union[ItemStatus, str]] = ..., priority: _Optional[int] = ..., data: _Optional[bytes] = ..., key: _Optional[str] = ..., created_at: _Optional[int] = ..., changed_at: _Optional[int] = ..., ended_at: _Optional[int] = ...) -> None: ...

class ItemTask(_message.Message):
    __slots__ = ("namespace", "id", "item_id", "title", "status", "data", "firing_id", "created_at", "ended_at", "ended_by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    FIRING_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    item_id: str
    title: str
    status: ItemTaskStatus
    data: bytes
    firing_id: str
    created_at: int
    ended_at: int
    ended_by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., item_id: _Optional[str] = ..., title: _Optional[str] = ..., status: _Optional[_Union[ItemTaskStatus, str]] = ..., data: _Optional[bytes] = ..., firing_id: _Optional[str] = ..., created_at: _Optional[int] = ..., ended_at: _Optional[int] = ..., ended_by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class CreateItemRequest(_message.Message):
    __slots__ = ("namespace", "title", "priority", "data", "key", "by", "item_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    title: str
    priority: int
    data: bytes
    key: str
    by: str
    item_id: str
    def __init__(self, namespace: _Optional[str] = ..., title: _Optional[str] = ..., priority: _Optional[int] = ..., data: _Optional[bytes] = ..., key: _Optional[str] = ..., by: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class GetItemRequest(_message.Message):
    __slots__ = ("namespace", "item_id", "after_task")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_TASK_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    item_id: str
    after_task: str
    def __init__(self, namespace: _Optional[str] = ..., item_id: _Optional[str] = ..., after_task: _Optional[str] = ...) -> None: ...

class GetItemResponse(_message.Message):
    __slots__ = ("view", "has_more")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    view: ItemView
    has_more: bool
    def __init__(self, view: _Optional[_Union[ItemView, _Mapping]] = ..., has_more: bool = ...) -> None: ...

class ItemView(_message.Message):
    __slots__ = ("item", "tasks", "signals")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    item: Item
    tasks: _containers.RepeatedCompositeFieldContainer[ItemTask]
    signals: int
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[ItemTask, _Mapping]]] = ..., signals: _Optional[int] = ...) -> None: ...

class ListItemsRequest(_message.Message):
    __slots__ = ("namespace", "status", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    status: ItemStatus
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., status: _Optional[_Union[ItemStatus, str]] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListItemsResponse(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class ReadItemLogRequest(_message.Message):
    __slots__ = ("namespace", "item_id", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    item_id: str
    after: int
    def __init__(self, namespace: _Optional[str] = ..., item_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ReadItemLogResponse(_message.Message):
    __slots__ = ("entries", "has_more")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_model_pb2.LogEntry]
    has_more: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[_model_pb2.LogEntry, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class TransitionItemRequest(_message.Message):
    __slots__ = ("namespace", "item_id", "to", "expected", "by", "note", "is_again", "deed_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    DEED_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    item_id: str
    to: ItemStatus
    expected: ItemStatus
    by: str
    note: str
    is_again: bool
    deed_id: str
    def __init__(self, namespace: _Optional[str] = ..., item_id: _Optional[str] = ..., to: _Optional[_Union[ItemStatus, str]] = ..., expected: _Optional[_Union[ItemStatus, str]] = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., is_again: bool = ..., deed_id: _Optional[str] = ...) -> None: ...

class DeleteItemRequest(_message.Message):
    __slots__ = ("namespace", "item_id", "by", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    item_id: str
    by: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., item_id: _Optional[str] = ..., by: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class DeleteItemResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AddTaskRequest(_message.Message):
    __slots__ = ("namespace", "item_id", "title", "data", "by", "task_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    item_id: str
    title: str
    data: bytes
    by: str
    task_id: str
    def __init__(self, namespace: _Optional[str] = ..., item_id: _Optional[str] = ..., title: _Optional[str] = ..., data: _Optional[bytes] = ..., by: _Optional[str] = ..., task_id: _Optional[str] = ...) -> None: ...

class EndTaskRequest(_message.Message):
    __slots__ = ("namespace", "task_id", "status", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    task_id: str
    status: ItemTaskStatus
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., task_id: _Optional[str] = ..., status: _Optional[_Union[ItemTaskStatus, str]] = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class SignalTrigger(_message.Message):
    __slots__ = ("kind", "subject", "to", "at", "every")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    kind: str
    subject: str
    to: _containers.RepeatedScalarFieldContainer[str]
    at: int
    every: int
    def __init__(self, kind: _Optional[str] = ..., subject: _Optional[str] = ..., to: _Optional[_Iterable[str]] = ..., at: _Optional[int] = ..., every: _Optional[int] = ...) -> None: ...

class SignalAction(_message.Message):
    __slots__ = ("kind", "workflow", "version", "queue", "timeout_for", "input", "run_id", "event", "payload_hash", "title")
    KIND_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    kind: ActionKind
    workflow: str
    version: str
    queue: str
    timeout_for: int
    input: bytes
    run_id: str
    event: str
    payload_hash: bytes
    title: str
    def __init__(self, kind: _Optional[_Union[ActionKind, str]] = ..., workflow: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., timeout_for: _Optional[int] = ..., input: _Optional[bytes] = ..., run_id: _Optional[str] = ..., event: _Optional[str] = ..., payload_hash: _Optional[bytes] = ..., title: _Optional[str] = ...) -> None: ...

class Signal(_message.Message):
    __slots__ = ("namespace", "id", "key", "trigger", "action", "payload", "repeats", "status", "reason", "fired", "last_fired_at", "available_at", "declared_in", "is_declared", "armed_xid", "armed_seq", "changed_by", "created_at", "changed_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FIRED_FIELD_NUMBER: _ClassVar[int]
    LAST_FIRED_AT_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    DECLARED_IN_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_FIELD_NUMBER: _ClassVar[int]
    ARMED_XID_FIELD_NUMBER: _ClassVar[int]
    ARMED_SEQ_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    key: str
    trigger: SignalTrigger
    action: SignalAction
    payload: bytes
    repeats: bool
    status: SignalStatus
    reason: str
    fired: int
    last_fired_at: int
    available_at: int
    declared_in: str
    is_declared: bool
    armed_xid: int
    armed_seq: int
    changed_by: str
    created_at: int
    changed_at: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., key: _Optional[str] = ..., trigger: _Optional[_Union[SignalTrigger, _Mapping]] = ..., action: _Optional[_Union[SignalAction, _Mapping]] = ..., payload: _Optional[bytes] = ..., repeats: bool = ..., status: _Optional[_Union[SignalStatus, str]] = ..., reason: _Optional[str] = ..., fired: _Optional[int] = ..., last_fired_at: _Optional[int] = ..., available_at: _Optional[int] = ..., declared_in: _Optional[str] = ..., is_declared: bool = ..., armed_xid: _Optional[int] = ..., armed_seq: _Optional[int] = ..., changed_by: _Optional[str] = ..., created_at: _Optional[int] = ..., changed_at: _Optional[int] = ...) -> None: ...

class SignalView(_message.Message):
    __slots__ = ("signal", "state", "already", "has_changed", "queued", "failed")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ALREADY_FIELD_NUMBER: _ClassVar[int]
    HAS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    signal: Signal
    state: str
    already: bool
    has_changed: bool
    queued: int
    failed: int
    def __init__(self, signal: _Optional[_Union[Signal, _Mapping]] = ..., state: _Optional[str] = ..., already: bool = ..., has_changed: bool = ..., queued: _Optional[int] = ..., failed: _Optional[int] = ...) -> None: ...

class CreateSignalRequest(_message.Message):
    __slots__ = ("namespace", "trigger", "action", "payload", "repeats", "since_beginning", "key", "by", "signal_id", "allow_unknown")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    SINCE_BEGINNING_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    trigger: SignalTrigger
    action: SignalAction
    payload: bytes
    repeats: bool
    since_beginning: bool
    key: str
    by: str
    signal_id: str
    allow_unknown: bool
    def __init__(self, namespace: _Optional[str] = ..., trigger: _Optional[_Union[SignalTrigger, _Mapping]] = ..., action: _Optional[_Union[SignalAction, _Mapping]] = ..., payload: _Optional[bytes] = ..., repeats: bool = ..., since_beginning: bool = ..., key: _Optional[str] = ..., by: _Optional[str] = ..., signal_id: _Optional[str] = ..., allow_unknown: bool = ...) -> None: ...

class SignalRequest(_message.Message):
    __slots__ = ("namespace", "signal_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ...) -> None: ...

class ListSignalsRequest(_message.Message):
    __slots__ = ("namespace", "subject_kind", "subject", "status", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject_kind: str
    subject: str
    status: SignalStatus
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., subject_kind: _Optional[str] = ..., subject: _Optional[str] = ..., status: _Optional[_Union[SignalStatus, str]] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSignalsResponse(_message.Message):
    __slots__ = ("signals", "next")
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    signals: _containers.RepeatedCompositeFieldContainer[Signal]
    next: str
    def __init__(self, signals: _Optional[_Iterable[_Union[Signal, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class ReadSignalLogRequest(_message.Message):
    __slots__ = ("namespace", "signal_id", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    after: int
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ReadSignalLogResponse(_message.Message):
    __slots__ = ("entries", "has_more")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_model_pb2.LogEntry]
    has_more: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[_model_pb2.LogEntry, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class UpdateSignalRequest(_message.Message):
    __slots__ = ("namespace", "signal_id", "to", "payload", "repeats", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    to: _containers.RepeatedScalarFieldContainer[str]
    payload: bytes
    repeats: bool
    by: str
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ..., to: _Optional[_Iterable[str]] = ..., payload: _Optional[bytes] = ..., repeats: bool = ..., by: _Optional[str] = ...) -> None: ...

class SteerSignalRequest(_message.Message):
    __slots__ = ("namespace", "signal_id", "verb", "by", "note", "deed_id", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    VERB_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    DEED_ID_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    verb: SignalVerb
    by: str
    note: str
    deed_id: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ..., verb: _Optional[_Union[SignalVerb, str]] = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., deed_id: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class DeleteSignalRequest(_message.Message):
    __slots__ = ("namespace", "signal_id", "by", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    by: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ..., by: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class DeleteSignalResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeclaredSignal(_message.Message):
    __slots__ = ("name", "trigger", "action", "repeats")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    name: str
    trigger: SignalTrigger
    action: SignalAction
    repeats: bool
    def __init__(self, name: _Optional[str] = ..., trigger: _Optional[_Union[SignalTrigger, _Mapping]] = ..., action: _Optional[_Union[SignalAction, _Mapping]] = ..., repeats: bool = ...) -> None: ...

class DeclareSignalsRequest(_message.Message):
    __slots__ = ("namespace", "program", "signals")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    program: str
    signals: _containers.RepeatedCompositeFieldContainer[DeclaredSignal]
    def __init__(self, namespace: _Optional[str] = ..., program: _Optional[str] = ..., signals: _Optional[_Iterable[_Union[DeclaredSignal, _Mapping]]] = ...) -> None: ...

class DeclareSignalsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Firing(_message.Message):
    __slots__ = ("namespace", "id", "signal_id", "cause", "subject_kind", "subject_id", "from_status", "to_status", "happened_at", "status", "available_at", "token", "worker", "attempt", "error", "depth", "run_id", "task_id", "created_at", "ended_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_STATUS_FIELD_NUMBER: _ClassVar[int]
    TO_STATUS_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_AT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    signal_id: str
    cause: str
    subject_kind: str
    subject_id: str
    from_status: str
    to_status: str
    happened_at: int
    status: FiringStatus
    available_at: int
    token: int
    worker: str
    attempt: int
    error: str
    depth: int
    run_id: str
    task_id: str
    created_at: int
    ended_at: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., signal_id: _Optional[str] = ..., cause: _Optional[str] = ..., subject_kind: _Optional[str] = ..., subject_id: _Optional[str] = ..., from_status: _Optional[str] = ..., to_status: _Optional[str] = ..., happened_at: _Optional[int] = ..., status: _Optional[_Union[FiringStatus, str]] = ..., available_at: _Optional[int] = ..., token: _Optional[int] = ..., worker: _Optional[str] = ..., attempt: _Optional[int] = ..., error: _Optional[str] = ..., depth: _Optional[int] = ..., run_id: _Optional[str] = ..., task_id: _Optional[str] = ..., created_at: _Optional[int] = ..., ended_at: _Optional[int] = ...) -> None: ...

class ListFiringsRequest(_message.Message):
    __slots__ = ("namespace", "signal_id", "status", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    signal_id: str
    status: FiringStatus
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., signal_id: _Optional[str] = ..., status: _Optional[_Union[FiringStatus, str]] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListFiringsResponse(_message.Message):
    __slots__ = ("firings", "next")
    FIRINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    firings: _containers.RepeatedCompositeFieldContainer[Firing]
    next: str
    def __init__(self, firings: _Optional[_Iterable[_Union[Firing, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...
