from windlass.v1 import model_pb2 as _model_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CatchUp(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATCH_UP_UNSPECIFIED: _ClassVar[CatchUp]
    CATCH_UP_NONE: _ClassVar[CatchUp]
    CATCH_UP_LATEST: _ClassVar[CatchUp]
    CATCH_UP_ALL: _ClassVar[CatchUp]

class Overlap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OVERLAP_UNSPECIFIED: _ClassVar[Overlap]
    OVERLAP_ALLOW: _ClassVar[Overlap]
    OVERLAP_SKIP: _ClassVar[Overlap]
    OVERLAP_QUEUE: _ClassVar[Overlap]

class ScheduleStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEDULE_STATUS_UNSPECIFIED: _ClassVar[ScheduleStatus]
    SCHEDULE_STATUS_ACTIVE: _ClassVar[ScheduleStatus]
    SCHEDULE_STATUS_PAUSED: _ClassVar[ScheduleStatus]
CATCH_UP_UNSPECIFIED: CatchUp
CATCH_UP_NONE: CatchUp
CATCH_UP_LATEST: CatchUp
CATCH_UP_ALL: CatchUp
OVERLAP_UNSPECIFIED: Overlap
OVERLAP_ALLOW: Overlap
OVERLAP_SKIP: Overlap
OVERLAP_QUEUE: Overlap
SCHEDULE_STATUS_UNSPECIFIED: ScheduleStatus
SCHEDULE_STATUS_ACTIVE: ScheduleStatus
SCHEDULE_STATUS_PAUSED: ScheduleStatus

class Timing(_message.Message):
    __slots__ = ("cron", "every", "tz")
    CRON_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    TZ_FIELD_NUMBER: _ClassVar[int]
    cron: str
    every: int
    tz: str
    def __init__(self, cron: _Optional[str] = ..., every: _Optional[int] = ..., tz: _Optional[str] = ...) -> None: ...

class PutScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "workflow", "version", "queue", "input", "input_hash", "timeout_for", "timing", "catch_up", "max_catch_up", "overlap", "jitter", "may_replace", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    MAX_CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    MAY_REPLACE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    workflow: str
    version: str
    queue: str
    input: bytes
    input_hash: bytes
    timeout_for: int
    timing: Timing
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: int
    may_replace: bool
    by: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., input: _Optional[bytes] = ..., input_hash: _Optional[bytes] = ..., timeout_for: _Optional[int] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., catch_up: _Optional[_Union[CatchUp, str]] = ..., max_catch_up: _Optional[int] = ..., overlap: _Optional[_Union[Overlap, str]] = ..., jitter: _Optional[int] = ..., may_replace: bool = ..., by: _Optional[str] = ...) -> None: ...

class Kept(_message.Message):
    __slots__ = ("workflow", "keep_for")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    KEEP_FOR_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    keep_for: int
    def __init__(self, workflow: _Optional[str] = ..., keep_for: _Optional[int] = ...) -> None: ...

class DeclareRequest(_message.Message):
    __slots__ = ("namespace", "program", "schedules", "kept")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    program: str
    schedules: _containers.RepeatedCompositeFieldContainer[PutScheduleRequest]
    kept: _containers.RepeatedCompositeFieldContainer[Kept]
    def __init__(self, namespace: _Optional[str] = ..., program: _Optional[str] = ..., schedules: _Optional[_Iterable[_Union[PutScheduleRequest, _Mapping]]] = ..., kept: _Optional[_Iterable[_Union[Kept, _Mapping]]] = ...) -> None: ...

class DeclareResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ListSchedulesRequest(_message.Message):
    __slots__ = ("namespace", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after: str
    def __init__(self, namespace: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class ListSchedulesResponse(_message.Message):
    __slots__ = ("schedules", "has_more")
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[ScheduleView]
    has_more: bool
    def __init__(self, schedules: _Optional[_Iterable[_Union[ScheduleView, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class ReadScheduleLogRequest(_message.Message):
    __slots__ = ("namespace", "name", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    after: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ReadScheduleLogResponse(_message.Message):
    __slots__ = ("entries", "has_more")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_model_pb2.LogEntry]
    has_more: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[_model_pb2.LogEntry, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("namespace", "name", "workflow", "version", "queue", "input", "input_hash", "timeout_for", "timing", "anchor", "catch_up", "max_catch_up", "overlap", "jitter", "status", "declared_in", "is_declared", "revision", "last_slot", "available_at", "error", "fired", "skipped", "dropped", "paused_by", "note", "paused_at", "created_at", "changed_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    MAX_CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DECLARED_IN_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    LAST_SLOT_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FIRED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    workflow: str
    version: str
    queue: str
    input: bytes
    input_hash: bytes
    timeout_for: int
    timing: Timing
    anchor: int
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: int
    status: ScheduleStatus
    declared_in: str
    is_declared: bool
    revision: int
    last_slot: int
    available_at: int
    error: str
    fired: int
    skipped: int
    dropped: int
    paused_by: str
    note: str
    paused_at: int
    created_at: int
    changed_at: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., input: _Optional[bytes] = ..., input_hash: _Optional[bytes] = ..., timeout_for: _Optional[int] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., anchor: _Optional[int] = ..., catch_up: _Optional[_Union[CatchUp, str]] = ..., max_catch_up: _Optional[int] = ..., overlap: _Optional[_Union[Overlap, str]] = ..., jitter: _Optional[int] = ..., status: _Optional[_Union[ScheduleStatus, str]] = ..., declared_in: _Optional[str] = ..., is_declared: bool = ..., revision: _Optional[int] = ..., last_slot: _Optional[int] = ..., available_at: _Optional[int] = ..., error: _Optional[str] = ..., fired: _Optional[int] = ..., skipped: _Optional[int] = ..., dropped: _Optional[int] = ..., paused_by: _Optional[str] = ..., note: _Optional[str] = ..., paused_at: _Optional[int] = ..., created_at: _Optional[int] = ..., changed_at: _Optional[int] = ...) -> None: ...

class ScheduleView(_message.Message):
    __slots__ = ("schedule", "next", "active", "queued", "last_run")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    next: _containers.RepeatedScalarFieldContainer[int]
    active: _containers.RepeatedScalarFieldContainer[str]
    queued: _containers.RepeatedScalarFieldContainer[str]
    last_run: str
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ..., next: _Optional[_Iterable[int]] = ..., active: _Optional[_Iterable[str]] = ..., queued: _Optional[_Iterable[str]] = ..., last_run: _Optional[str] = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ResumeScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "backfill", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BACKFILL_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    backfill: bool
    by: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., backfill: bool = ..., by: _Optional[str] = ...) -> None: ...

class TriggerScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "by", "run_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    by: str
    run_id: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., by: _Optional[str] = ..., run_id: _Optional[str] = ...) -> None: ...

class DeleteScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    by: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class DeleteScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
