from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATUS_UNSPECIFIED: _ClassVar[RunStatus]
    RUN_STATUS_WAITING: _ClassVar[RunStatus]
    RUN_STATUS_PENDING: _ClassVar[RunStatus]
    RUN_STATUS_RUNNING: _ClassVar[RunStatus]
    RUN_STATUS_SLEEPING: _ClassVar[RunStatus]
    RUN_STATUS_PAUSED: _ClassVar[RunStatus]
    RUN_STATUS_COMPLETED: _ClassVar[RunStatus]
    RUN_STATUS_FAILED: _ClassVar[RunStatus]
    RUN_STATUS_CANCELLED: _ClassVar[RunStatus]
    RUN_STATUS_SKIPPED: _ClassVar[RunStatus]

class RunKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_KIND_UNSPECIFIED: _ClassVar[RunKind]
    RUN_KIND_WORKFLOW: _ClassVar[RunKind]
    RUN_KIND_GRAPH: _ClassVar[RunKind]
    RUN_KIND_JOB: _ClassVar[RunKind]
    RUN_KIND_GROUP: _ClassVar[RunKind]

class FailureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_KIND_UNSPECIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_TRANSIENT: _ClassVar[FailureKind]
    FAILURE_KIND_LOGIC: _ClassVar[FailureKind]
    FAILURE_KIND_AUTH: _ClassVar[FailureKind]
    FAILURE_KIND_PERMISSION: _ClassVar[FailureKind]
    FAILURE_KIND_INDETERMINATE: _ClassVar[FailureKind]
    FAILURE_KIND_TIMEOUT: _ClassVar[FailureKind]
    FAILURE_KIND_DRIFT: _ClassVar[FailureKind]
    FAILURE_KIND_CRASH_LOOP: _ClassVar[FailureKind]
    FAILURE_KIND_INTERNAL: _ClassVar[FailureKind]

class FailureReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_REASON_UNSPECIFIED: _ClassVar[FailureReason]
    FAILURE_REASON_WORKER_LOST: _ClassVar[FailureReason]
    FAILURE_REASON_CLAIM_RAN_OUT: _ClassVar[FailureReason]
    FAILURE_REASON_TOO_LONG: _ClassVar[FailureReason]

class StepKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_KIND_UNSPECIFIED: _ClassVar[StepKind]
    STEP_KIND_STEP: _ClassVar[StepKind]
    STEP_KIND_SLEEP: _ClassVar[StepKind]
    STEP_KIND_EVENT: _ClassVar[StepKind]
    STEP_KIND_APPROVAL: _ClassVar[StepKind]
    STEP_KIND_CHILD: _ClassVar[StepKind]
    STEP_KIND_START: _ClassVar[StepKind]

class StepStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_STATUS_UNSPECIFIED: _ClassVar[StepStatus]
    STEP_STATUS_RUNNING: _ClassVar[StepStatus]
    STEP_STATUS_WAITING: _ClassVar[StepStatus]
    STEP_STATUS_COMPLETED: _ClassVar[StepStatus]
    STEP_STATUS_FAILED: _ClassVar[StepStatus]

class LockKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOCK_KIND_UNSPECIFIED: _ClassVar[LockKind]
    LOCK_KIND_FILE: _ClassVar[LockKind]
    LOCK_KIND_SESSION: _ClassVar[LockKind]
RUN_STATUS_UNSPECIFIED: RunStatus
RUN_STATUS_WAITING: RunStatus
RUN_STATUS_PENDING: RunStatus
RUN_STATUS_RUNNING: RunStatus
RUN_STATUS_SLEEPING: RunStatus
RUN_STATUS_PAUSED: RunStatus
RUN_STATUS_COMPLETED: RunStatus
RUN_STATUS_FAILED: RunStatus
RUN_STATUS_CANCELLED: RunStatus
RUN_STATUS_SKIPPED: RunStatus
RUN_KIND_UNSPECIFIED: RunKind
RUN_KIND_WORKFLOW: RunKind
RUN_KIND_GRAPH: RunKind
RUN_KIND_JOB: RunKind
RUN_KIND_GROUP: RunKind
FAILURE_KIND_UNSPECIFIED: FailureKind
FAILURE_KIND_TRANSIENT: FailureKind
FAILURE_KIND_LOGIC: FailureKind
FAILURE_KIND_AUTH: FailureKind
FAILURE_KIND_PERMISSION: FailureKind
FAILURE_KIND_INDETERMINATE: FailureKind
FAILURE_KIND_TIMEOUT: FailureKind
FAILURE_KIND_DRIFT: FailureKind
FAILURE_KIND_CRASH_LOOP: FailureKind
FAILURE_KIND_INTERNAL: FailureKind
FAILURE_REASON_UNSPECIFIED: FailureReason
FAILURE_REASON_WORKER_LOST: FailureReason
FAILURE_REASON_CLAIM_RAN_OUT: FailureReason
FAILURE_REASON_TOO_LONG: FailureReason
STEP_KIND_UNSPECIFIED: StepKind
STEP_KIND_STEP: StepKind
STEP_KIND_SLEEP: StepKind
STEP_KIND_EVENT: StepKind
STEP_KIND_APPROVAL: StepKind
STEP_KIND_CHILD: StepKind
STEP_KIND_START: StepKind
STEP_STATUS_UNSPECIFIED: StepStatus
STEP_STATUS_RUNNING: StepStatus
STEP_STATUS_WAITING: StepStatus
STEP_STATUS_COMPLETED: StepStatus
STEP_STATUS_FAILED: StepStatus
LOCK_KIND_UNSPECIFIED: LockKind
LOCK_KIND_FILE: LockKind
LOCK_KIND_SESSION: LockKind

class ErrorDetail(_message.Message):
    __slots__ = ("code", "message", "reason", "path", "request_id", "kind", "name", "state", "wanted", "owner", "close")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    reason: str
    path: str
    request_id: str
    kind: str
    name: str
    state: str
    wanted: str
    owner: str
    close: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., reason: _Optional[str] = ..., path: _Optional[str] = ..., request_id: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[str] = ..., wanted: _Optional[str] = ..., owner: _Optional[str] = ..., close: _Optional[_Iterable[str]] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("kind", "type", "message", "traceback", "data", "retry_after", "is_final", "is_declared", "step", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    IS_FINAL_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: FailureKind
    type: str
    message: str
    traceback: str
    data: bytes
    retry_after: int
    is_final: bool
    is_declared: bool
    step: str
    reason: FailureReason
    def __init__(self, kind: _Optional[_Union[FailureKind, str]] = ..., type: _Optional[str] = ..., message: _Optional[str] = ..., traceback: _Optional[str] = ..., data: _Optional[bytes] = ..., retry_after: _Optional[int] = ..., is_final: bool = ..., is_declared: bool = ..., step: _Optional[str] = ..., reason: _Optional[_Union[FailureReason, str]] = ...) -> None: ...

class RetryPolicy(_message.Message):
    __slots__ = ("max_attempts", "initial_for", "factor", "max_for")
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FOR_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    MAX_FOR_FIELD_NUMBER: _ClassVar[int]
    max_attempts: int
    initial_for: int
    factor: float
    max_for: int
    def __init__(self, max_attempts: _Optional[int] = ..., initial_for: _Optional[int] = ..., factor: _Optional[float] = ..., max_for: _Optional[int] = ...) -> None: ...

class Served(_message.Message):
    __slots__ = ("queue", "name", "version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    name: str
    version: str
    def __init__(self, queue: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class ServedPipeline(_message.Message):
    __slots__ = ("queue", "name", "revision")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    name: str
    revision: str
    def __init__(self, queue: _Optional[str] = ..., name: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("namespace", "id", "name", "version", "queue", "priority", "status", "available_at", "token", "worker", "poll", "attempts", "recoveries", "created_at", "started_at", "finished_at", "expires_at", "is_held", "parent", "parent_step", "unmet", "starts_at", "retry_of", "origin", "begun_at", "schedule", "slot", "scheduled_at", "kind", "ready_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    IS_HELD_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PARENT_STEP_FIELD_NUMBER: _ClassVar[int]
    UNMET_FIELD_NUMBER: _ClassVar[int]
    STARTS_AT_FIELD_NUMBER: _ClassVar[int]
    RETRY_OF_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    BEGUN_AT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    READY_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    name: str
    version: str
    queue: str
    priority: int
    status: RunStatus
    available_at: int
    token: int
    worker: str
    poll: int
    attempts: int
    recoveries: int
    created_at: int
    started_at: int
    finished_at: int
    expires_at: int
    is_held: bool
    parent: str
    parent_step: str
    unmet: int
    starts_at: int
    retry_of: str
    origin: str
    begun_at: int
    schedule: str
    slot: int
    scheduled_at: int
    kind: RunKind
    ready_at: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., status: _Optional[_Union[RunStatus, str]] = ..., available_at: _Optional[int] = ..., token: _Optional[int] = ..., worker: _Optional[str] = ..., poll: _Optional[int] = ..., attempts: _Optional[int] = ..., recoveries: _Optional[int] = ..., created_at: _Optional[int] = ..., started_at: _Optional[int] = ..., finished_at: _Optional[int] = ..., expires_at: _Optional[int] = ..., is_held: bool = ..., parent: _Optional[str] = ..., parent_step: _Optional[str] = ..., unmet: _Optional[int] = ..., starts_at: _Optional[int] = ..., retry_of: _Optional[str] = ..., origin: _Optional[str] = ..., begun_at: _Optional[int] = ..., schedule: _Optional[str] = ..., slot: _Optional[int] = ..., scheduled_at: _Optional[int] = ..., kind: _Optional[_Union[RunKind, str]] = ..., ready_at: _Optional[int] = ...) -> None: ...

class RunView(_message.Message):
    __slots__ = ("run", "key", "input", "output", "failure")
    RUN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    run: Run
    key: str
    input: bytes
    output: bytes
    failure: Failure
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., key: _Optional[str] = ..., input: _Optional[bytes] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("namespace", "run_id", "key", "attempt", "kind", "status", "order", "token", "failures", "input_hash", "output", "failure", "due_at", "started_at", "finished_at", "awaits", "detail", "is_dropped")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    IS_DROPPED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    key: str
    attempt: int
    kind: StepKind
    status: StepStatus
    order: int
    token: int
    failures: int
    input_hash: bytes
    output: bytes
    failure: Failure
    due_at: int
    started_at: int
    finished_at: int
    awaits: str
    detail: bytes
    is_dropped: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., key: _Optional[str] = ..., attempt: _Optional[int] = ..., kind: _Optional[_Union[StepKind, str]] = ..., status: _Optional[_Union[StepStatus, str]] = ..., order: _Optional[int] = ..., token: _Optional[int] = ..., failures: _Optional[int] = ..., input_hash: _Optional[bytes] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., due_at: _Optional[int] = ..., started_at: _Optional[int] = ..., finished_at: _Optional[int] = ..., awaits: _Optional[str] = ..., detail: _Optional[bytes] = ..., is_dropped: bool = ...) -> None: ...

class LogEntry(_message.Message):
    __slots__ = ("seq", "namespace", "subject_kind", "subject_id", "from_status", "to_status", "cause", "at", "data")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_STATUS_FIELD_NUMBER: _ClassVar[int]
    TO_STATUS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    seq: int
    namespace: str
    subject_kind: str
    subject_id: str
    from_status: str
    to_status: str
    cause: str
    at: int
    data: bytes
    def __init__(self, seq: _Optional[int] = ..., namespace: _Optional[str] = ..., subject_kind: _Optional[str] = ..., subject_id: _Optional[str] = ..., from_status: _Optional[str] = ..., to_status: _Optional[str] = ..., cause: _Optional[str] = ..., at: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("namespace", "id", "host", "pid", "served", "slots", "active", "completed", "failed", "started_at", "seen_at", "stopped_at", "lock", "is_draining", "pipelines")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    STOPPED_AT_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    IS_DRAINING_FIELD_NUMBER: _ClassVar[int]
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    host: str
    pid: int
    served: _containers.RepeatedCompositeFieldContainer[Served]
    slots: int
    active: int
    completed: int
    failed: int
    started_at: int
    seen_at: int
    stopped_at: int
    lock: LockKind
    is_draining: bool
    pipelines: _containers.RepeatedCompositeFieldContainer[ServedPipeline]
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., served: _Optional[_Iterable[_Union[Served, _Mapping]]] = ..., slots: _Optional[int] = ..., active: _Optional[int] = ..., completed: _Optional[int] = ..., failed: _Optional[int] = ..., started_at: _Optional[int] = ..., seen_at: _Optional[int] = ..., stopped_at: _Optional[int] = ..., lock: _Optional[_Union[LockKind, str]] = ..., is_draining: bool = ..., pipelines: _Optional[_Iterable[_Union[ServedPipeline, _Mapping]]] = ...) -> None: ...

class StartedRun(_message.Message):
    __slots__ = ("run_id", "is_repeat")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_REPEAT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    is_repeat: bool
    def __init__(self, run_id: _Optional[str] = ..., is_repeat: bool = ...) -> None: ...
