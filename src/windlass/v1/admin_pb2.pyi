from windlass.v1 import model_pb2 as _model_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GateKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GATE_KIND_UNSPECIFIED: _ClassVar[GateKind]
    GATE_KIND_NAMESPACE: _ClassVar[GateKind]
    GATE_KIND_QUEUE: _ClassVar[GateKind]
    GATE_KIND_WORKFLOW: _ClassVar[GateKind]

class Grade(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRADE_UNSPECIFIED: _ClassVar[Grade]
    GRADE_GOOD: _ClassVar[Grade]
    GRADE_WARNING: _ClassVar[Grade]
    GRADE_FAILED: _ClassVar[Grade]
    GRADE_SKIPPED: _ClassVar[Grade]
GATE_KIND_UNSPECIFIED: GateKind
GATE_KIND_NAMESPACE: GateKind
GATE_KIND_QUEUE: GateKind
GATE_KIND_WORKFLOW: GateKind
GRADE_UNSPECIFIED: Grade
GRADE_GOOD: Grade
GRADE_WARNING: Grade
GRADE_FAILED: Grade
GRADE_SKIPPED: Grade

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerInfo(_message.Message):
    __slots__ = ("version", "api_version", "features")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    version: str
    api_version: str
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[str] = ..., api_version: _Optional[str] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ("namespace", "stopped_since")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STOPPED_SINCE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    stopped_since: int
    def __init__(self, namespace: _Optional[str] = ..., stopped_since: _Optional[int] = ...) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[_model_pb2.Worker]
    def __init__(self, workers: _Optional[_Iterable[_Union[_model_pb2.Worker, _Mapping]]] = ...) -> None: ...

class DrainWorkerRequest(_message.Message):
    __slots__ = ("namespace", "id", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    by: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class Gate(_message.Message):
    __slots__ = ("namespace", "kind", "name", "is_paused", "paused_by", "note", "paused_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kind: GateKind
    name: str
    is_paused: bool
    paused_by: str
    note: str
    paused_at: int
    def __init__(self, namespace: _Optional[str] = ..., kind: _Optional[_Union[GateKind, str]] = ..., name: _Optional[str] = ..., is_paused: bool = ..., paused_by: _Optional[str] = ..., note: _Optional[str] = ..., paused_at: _Optional[int] = ...) -> None: ...

class SetGateRequest(_message.Message):
    __slots__ = ("namespace", "kind", "name", "is_paused", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kind: GateKind
    name: str
    is_paused: bool
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., kind: _Optional[_Union[GateKind, str]] = ..., name: _Optional[str] = ..., is_paused: bool = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ListGatesRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ListGatesResponse(_message.Message):
    __slots__ = ("gates",)
    GATES_FIELD_NUMBER: _ClassVar[int]
    gates: _containers.RepeatedCompositeFieldContainer[Gate]
    def __init__(self, gates: _Optional[_Iterable[_Union[Gate, _Mapping]]] = ...) -> None: ...

class ListQueuesRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class Unserved(_message.Message):
    __slots__ = ("lane", "runs")
    LANE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    lane: _model_pb2.Served
    runs: int
    def __init__(self, lane: _Optional[_Union[_model_pb2.Served, _Mapping]] = ..., runs: _Optional[int] = ...) -> None: ...

class QueueView(_message.Message):
    __slots__ = ("namespace", "name", "at", "due", "running", "later", "waiting", "paused", "oldest_due_at", "ended_per_minute", "workers", "slots", "gate", "unserved", "ended_is_estimate")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    LATER_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    OLDEST_DUE_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_PER_MINUTE_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    UNSERVED_FIELD_NUMBER: _ClassVar[int]
    ENDED_IS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    at: int
    due: int
    running: int
    later: int
    waiting: int
    paused: int
    oldest_due_at: int
    ended_per_minute: float
    workers: int
    slots: int
    gate: Gate
    unserved: _containers.RepeatedCompositeFieldContainer[Unserved]
    ended_is_estimate: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., at: _Optional[int] = ..., due: _Optional[int] = ..., running: _Optional[int] = ..., later: _Optional[int] = ..., waiting: _Optional[int] = ..., paused: _Optional[int] = ..., oldest_due_at: _Optional[int] = ..., ended_per_minute: _Optional[float] = ..., workers: _Optional[int] = ..., slots: _Optional[int] = ..., gate: _Optional[_Union[Gate, _Mapping]] = ..., unserved: _Optional[_Iterable[_Union[Unserved, _Mapping]]] = ..., ended_is_estimate: bool = ...) -> None: ...

class ListQueuesResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueView]
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueView, _Mapping]]] = ...) -> None: ...

class ReadFeedRequest(_message.Message):
    __slots__ = ("namespace", "cursor", "subject_kind", "subject_id", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cursor: str
    subject_kind: str
    subject_id: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., cursor: _Optional[str] = ..., subject_kind: _Optional[str] = ..., subject_id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class FeedEntry(_message.Message):
    __slots__ = ("cursor", "entry")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    entry: _model_pb2.LogEntry
    def __init__(self, cursor: _Optional[str] = ..., entry: _Optional[_Union[_model_pb2.LogEntry, _Mapping]] = ...) -> None: ...

class ReadFeedResponse(_message.Message):
    __slots__ = ("entries", "cursor", "has_more")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[FeedEntry]
    cursor: str
    has_more: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[FeedEntry, _Mapping]]] = ..., cursor: _Optional[str] = ..., has_more: bool = ...) -> None: ...

class MoveCursorRequest(_message.Message):
    __slots__ = ("namespace", "name", "seq")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    seq: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class MoveCursorResponse(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class DropCursorRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DropCursorResponse(_message.Message):
    __slots__ = ("is_dropped",)
    IS_DROPPED_FIELD_NUMBER: _ClassVar[int]
    is_dropped: bool
    def __init__(self, is_dropped: bool = ...) -> None: ...

class CheckUpRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Check(_message.Message):
    __slots__ = ("name", "grade", "text", "details")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    name: str
    grade: Grade
    text: str
    details: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., grade: _Optional[_Union[Grade, str]] = ..., text: _Optional[str] = ..., details: _Optional[_Iterable[str]] = ...) -> None: ...

class Checkup(_message.Message):
    __slots__ = ("checks",)
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    def __init__(self, checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ...) -> None: ...
