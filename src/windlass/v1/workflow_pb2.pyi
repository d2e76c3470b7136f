from windlass.v1 import model_pb2 as _model_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MessageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_KIND_UNSPECIFIED: _ClassVar[MessageKind]
    MESSAGE_KIND_EVENT: _ClassVar[MessageKind]
    MESSAGE_KIND_APPROVAL: _ClassVar[MessageKind]
MESSAGE_KIND_UNSPECIFIED: MessageKind
MESSAGE_KIND_EVENT: MessageKind
MESSAGE_KIND_APPROVAL: MessageKind

class StartRunRequest(_message.Message):
    __slots__ = ("namespace", "run", "allow_unknown")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ALLOW_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run: StartRun
    allow_unknown: bool
    def __init__(self, namespace: _Optional[str] = ..., run: _Optional[_Union[StartRun, _Mapping]] = ..., allow_unknown: bool = ...) -> None: ...

class StartRunsRequest(_message.Message):
    __slots__ = ("namespace", "runs", "allow_unknown")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    runs: _containers.RepeatedCompositeFieldContainer[StartRun]
    allow_unknown: bool
    def __init__(self, namespace: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[StartRun, _Mapping]]] = ..., allow_unknown: bool = ...) -> None: ...

class StartRun(_message.Message):
    __slots__ = ("name", "version", "queue", "priority", "input", "input_hash", "key", "delay_for", "at", "timeout_for", "run_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    DELAY_FOR_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    queue: str
    priority: int
    input: bytes
    input_hash: bytes
    key: str
    delay_for: int
    at: int
    timeout_for: int
    run_id: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., input: _Optional[bytes] = ..., input_hash: _Optional[bytes] = ..., key: _Optional[str] = ..., delay_for: _Optional[int] = ..., at: _Optional[int] = ..., timeout_for: _Optional[int] = ..., run_id: _Optional[str] = ...) -> None: ...

class StartRunsResponse(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[StartOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[StartOutcome, _Mapping]]] = ...) -> None: ...

class StartOutcome(_message.Message):
    __slots__ = ("started", "error")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    started: _model_pb2.StartedRun
    error: _model_pb2.ErrorDetail
    def __init__(self, started: _Optional[_Union[_model_pb2.StartedRun, _Mapping]] = ..., error: _Optional[_Union[_model_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("namespace", "run_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ...) -> None: ...

class FindRunRequest(_message.Message):
    __slots__ = ("namespace", "key")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("namespace", "status", "name", "queue", "created_after", "parent", "schedule", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AFTER_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    status: _model_pb2.RunStatus
    name: str
    queue: str
    created_after: int
    parent: str
    schedule: str
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., name: _Optional[str] = ..., queue: _Optional[str] = ..., created_after: _Optional[int] = ..., parent: _Optional[str] = ..., schedule: _Optional[str] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_model_pb2.Run]
    next: str
    def __init__(self, runs: _Optional[_Iterable[_Union[_model_pb2.Run, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class ListStepsRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "after_key", "after_attempt")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_KEY_FIELD_NUMBER: _ClassVar[int]
    AFTER_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    after_key: str
    after_attempt: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., after_key: _Optional[str] = ..., after_attempt: _Optional[int] = ...) -> None: ...

class ListStepsResponse(_message.Message):
    __slots__ = ("steps", "has_more")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[_model_pb2.Step]
    has_more: bool
    def __init__(self, steps: _Optional[_Iterable[_Union[_model_pb2.Step, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("namespace", "run_id", "seq", "kind", "name", "id", "payload", "payload_hash", "sent_at", "taken_by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    TAKEN_BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    seq: int
    kind: MessageKind
    name: str
    id: str
    payload: bytes
    payload_hash: bytes
    sent_at: int
    taken_by: str
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., seq: _Optional[int] = ..., kind: _Optional[_Union[MessageKind, str]] = ..., name: _Optional[str] = ..., id: _Optional[str] = ..., payload: _Optional[bytes] = ..., payload_hash: _Optional[bytes] = ..., sent_at: _Optional[int] = ..., taken_by: _Optional[str] = ...) -> None: ...

class ListMessagesRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    after: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ListMessagesResponse(_message.Message):
    __slots__ = ("messages", "has_more")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    has_more: bool
    def __init__(self, messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class ReadLogRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    after: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ReadLogResponse(_message.Message):
    __slots__ = ("entries", "has_more")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_model_pb2.LogEntry]
    has_more: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[_model_pb2.LogEntry, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("run_id", "name", "status", "code", "text", "at", "since", "until", "worker", "step", "brief", "signal")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    BRIEF_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    status: _model_pb2.RunStatus
    code: str
    text: str
    at: int
    since: int
    until: int
    worker: str
    step: str
    brief: str
    signal: str
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., code: _Optional[str] = ..., text: _Optional[str] = ..., at: _Optional[int] = ..., since: _Optional[int] = ..., until: _Optional[int] = ..., worker: _Optional[str] = ..., step: _Optional[str] = ..., brief: _Optional[str] = ..., signal: _Optional[str] = ...) -> None: ...

class WaitForResultRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "wait_for")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    wait_for: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., wait_for: _Optional[int] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("status", "output", "failure")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    status: _model_pb2.RunStatus
    output: bytes
    failure: _model_pb2.Failure
    def __init__(self, status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class CancelRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "by", "note", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    by: str
    note: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class CancelRunResponse(_message.Message):
    __slots__ = ("status", "is_done", "children")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    IS_DONE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    status: _model_pb2.RunStatus
    is_done: bool
    children: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., is_done: bool = ..., children: _Optional[_Iterable[str]] = ...) -> None: ...

class RetryRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "from_step", "by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    from_step: str
    by: str
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., from_step: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class PauseRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class PauseRunResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _model_pb2.RunStatus
    def __init__(self, status: _Optional[_Union[_model_pb2.RunStatus, str]] = ...) -> None: ...

class ResumeRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "by", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    by: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., by: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class SendEventRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "event", "id", "payload", "payload_hash")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    event: str
    id: str
    payload: bytes
    payload_hash: bytes
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., event: _Optional[str] = ..., id: _Optional[str] = ..., payload: _Optional[bytes] = ..., payload_hash: _Optional[bytes] = ...) -> None: ...

class SendEventResponse(_message.Message):
    __slots__ = ("is_repeat",)
    IS_REPEAT_FIELD_NUMBER: _ClassVar[int]
    is_repeat: bool
    def __init__(self, is_repeat: bool = ...) -> None: ...

class DecideRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "is_approved", "by", "note", "step")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_APPROVED_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    is_approved: bool
    by: str
    note: str
    step: str
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., is_approved: bool = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., step: _Optional[str] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("outcome", "by", "note", "at")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    by: str
    note: str
    at: int
    def __init__(self, outcome: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., at: _Optional[int] = ...) -> None: ...
