from windlass.v1 import model_pb2 as _model_pb2
from windlass.v1 import schedule_pb2 as _schedule_pb2
from windlass.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HandlerKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HANDLER_KIND_UNSPECIFIED: _ClassVar[HandlerKind]
    HANDLER_KIND_PRODUCER: _ClassVar[HandlerKind]
    HANDLER_KIND_CONSUMER: _ClassVar[HandlerKind]

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_UNSPECIFIED: _ClassVar[Phase]
    PHASE_EXECUTING: _ClassVar[Phase]
    PHASE_PREPARING: _ClassVar[Phase]
    PHASE_PREPARED: _ClassVar[Phase]
    PHASE_MUTATING: _ClassVar[Phase]
    PHASE_MUTATED: _ClassVar[Phase]
    PHASE_EMITTING: _ClassVar[Phase]
    PHASE_COMMITTED: _ClassVar[Phase]

class HandlerStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HANDLER_STATUS_UNSPECIFIED: _ClassVar[HandlerStatus]
    HANDLER_STATUS_ACTIVE: _ClassVar[HandlerStatus]
    HANDLER_STATUS_PAUSED_TRANSIENT: _ClassVar[HandlerStatus]
    HANDLER_STATUS_PAUSED_APPROVAL: _ClassVar[HandlerStatus]
    HANDLER_STATUS_PAUSED_RECONCILIATION: _ClassVar[HandlerStatus]
    HANDLER_STATUS_FAILED_LOGIC: _ClassVar[HandlerStatus]
    HANDLER_STATUS_FAILED_INTERNAL: _ClassVar[HandlerStatus]
    HANDLER_STATUS_COMMITTED: _ClassVar[HandlerStatus]
    HANDLER_STATUS_CRASHED: _ClassVar[HandlerStatus]

class EffectOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_OUTCOME_UNSPECIFIED: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_SUCCESS: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_FAILURE: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_NONE: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_SKIPPED: _ClassVar[EffectOutcome]

class EventStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_STATUS_UNSPECIFIED: _ClassVar[EventStatus]
    EVENT_STATUS_PENDING: _ClassVar[EventStatus]
    EVENT_STATUS_RESERVED: _ClassVar[EventStatus]
    EVENT_STATUS_CONSUMED: _ClassVar[EventStatus]
    EVENT_STATUS_SKIPPED: _ClassVar[EventStatus]

class PipelineStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PIPELINE_STATUS_UNSPECIFIED: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_IDLE: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_RUNNING: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_BACKOFF: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_RECONCILING: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_FIXING: _ClassVar[PipelineStatus]
    PIPELINE_STATUS_ATTENTION: _ClassVar[PipelineStatus]

class Issue(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISSUE_UNSPECIFIED: _ClassVar[Issue]
    ISSUE_APPROVAL: _ClassVar[Issue]
    ISSUE_AUTH: _ClassVar[Issue]
    ISSUE_PERMISSION: _ClassVar[Issue]
    ISSUE_LOGIC: _ClassVar[Issue]
    ISSUE_EXHAUSTED: _ClassVar[Issue]
    ISSUE_INDETERMINATE: _ClassVar[Issue]
    ISSUE_INTERNAL: _ClassVar[Issue]
    ISSUE_CRASH_LOOP: _ClassVar[Issue]

class InputStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INPUT_STATUS_UNSPECIFIED: _ClassVar[InputStatus]
    INPUT_STATUS_PENDING: _ClassVar[InputStatus]
    INPUT_STATUS_DONE: _ClassVar[InputStatus]
    INPUT_STATUS_SKIPPED: _ClassVar[InputStatus]

class EffectStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_STATUS_UNSPECIFIED: _ClassVar[EffectStatus]
    EFFECT_STATUS_IN_FLIGHT: _ClassVar[EffectStatus]
    EFFECT_STATUS_APPLIED: _ClassVar[EffectStatus]
    EFFECT_STATUS_FAILED: _ClassVar[EffectStatus]
    EFFECT_STATUS_NEEDS_RECONCILE: _ClassVar[EffectStatus]
    EFFECT_STATUS_INDETERMINATE: _ClassVar[EffectStatus]

class SubjectKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUBJECT_KIND_UNSPECIFIED: _ClassVar[SubjectKind]
    SUBJECT_KIND_RUN: _ClassVar[SubjectKind]
    SUBJECT_KIND_PIPELINE: _ClassVar[SubjectKind]

class Resolution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLUTION_UNSPECIFIED: _ClassVar[Resolution]
    RESOLUTION_HAPPENED: _ClassVar[Resolution]
    RESOLUTION_DID_NOT_HAPPEN: _ClassVar[Resolution]
    RESOLUTION_SKIP: _ClassVar[Resolution]
    RESOLUTION_TRY_AGAIN: _ClassVar[Resolution]
HANDLER_KIND_UNSPECIFIED: HandlerKind
HANDLER_KIND_PRODUCER: HandlerKind
HANDLER_KIND_CONSUMER: HandlerKind
PHASE_UNSPECIFIED: Phase
PHASE_EXECUTING: Phase
PHASE_PREPARING: Phase
PHASE_PREPARED: Phase
PHASE_MUTATING: Phase
PHASE_MUTATED: Phase
PHASE_EMITTING: Phase
PHASE_COMMITTED: Phase
HANDLER_STATUS_UNSPECIFIED: HandlerStatus
HANDLER_STATUS_ACTIVE: HandlerStatus
HANDLER_STATUS_PAUSED_TRANSIENT: HandlerStatus
HANDLER_STATUS_PAUSED_APPROVAL: HandlerStatus
HANDLER_STATUS_PAUSED_RECONCILIATION: HandlerStatus
HANDLER_STATUS_FAILED_LOGIC: HandlerStatus
HANDLER_STATUS_FAILED_INTERNAL: HandlerStatus
HANDLER_STATUS_COMMITTED: HandlerStatus
HANDLER_STATUS_CRASHED: HandlerStatus
EFFECT_OUTCOME_UNSPECIFIED: EffectOutcome
EFFECT_OUTCOME_SUCCESS: EffectOutcome
EFFECT_OUTCOME_FAILURE: EffectOutcome
EFFECT_OUTCOME_NONE: EffectOutcome
EFFECT_OUTCOME_SKIPPED: EffectOutcome
EVENT_STATUS_UNSPECIFIED: EventStatus
EVENT_STATUS_PENDING: EventStatus
EVENT_STATUS_RESERVED: EventStatus
EVENT_STATUS_CONSUMED: EventStatus
EVENT_STATUS_SKIPPED: EventStatus
PIPELINE_STATUS_UNSPECIFIED: PipelineStatus
PIPELINE_STATUS_IDLE: PipelineStatus
PIPELINE_STATUS_RUNNING: PipelineStatus
PIPELINE_STATUS_BACKOFF: PipelineStatus
PIPELINE_STATUS_RECONCILING: PipelineStatus
PIPELINE_STATUS_FIXING: PipelineStatus
PIPELINE_STATUS_ATTENTION: PipelineStatus
ISSUE_UNSPECIFIED: Issue
ISSUE_APPROVAL: Issue
ISSUE_AUTH: Issue
ISSUE_PERMISSION: Issue
ISSUE_LOGIC: Issue
ISSUE_EXHAUSTED: Issue
ISSUE_INDETERMINATE: Issue
ISSUE_INTERNAL: Issue
ISSUE_CRASH_LOOP: Issue
INPUT_STATUS_UNSPECIFIED: InputStatus
INPUT_STATUS_PENDING: InputStatus
INPUT_STATUS_DONE: InputStatus
INPUT_STATUS_SKIPPED: InputStatus
EFFECT_STATUS_UNSPECIFIED: EffectStatus
EFFECT_STATUS_IN_FLIGHT: EffectStatus
EFFECT_STATUS_APPLIED: EffectStatus
EFFECT_STATUS_FAILED: EffectStatus
EFFECT_STATUS_NEEDS_RECONCILE: EffectStatus
EFFECT_STATUS_INDETERMINATE: EffectStatus
SUBJECT_KIND_UNSPECIFIED: SubjectKind
SUBJECT_KIND_RUN: SubjectKind
SUBJECT_KIND_PIPELINE: SubjectKind
RESOLUTION_UNSPECIFIED: Resolution
RESOLUTION_HAPPENED: Resolution
RESOLUTION_DID_NOT_HAPPEN: Resolution
RESOLUTION_SKIP: Resolution
RESOLUTION_TRY_AGAIN: Resolution

class HandlerSpec(_message.Message):
    __slots__ = ("name", "kind", "topics", "publishes", "timing", "batch", "prepares", "mutates", "emits", "needs_approval", "timeout_for", "code")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHES_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    PREPARES_FIELD_NUMBER: _ClassVar[int]
    MUTATES_FIELD_NUMBER: _ClassVar[int]
    EMITS_FIELD_NUMBER: _ClassVar[int]
    NEEDS_APPROVAL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: HandlerKind
    topics: _containers.RepeatedScalarFieldContainer[str]
    publishes: _containers.RepeatedScalarFieldContainer[str]
    timing: _schedule_pb2.Timing
    batch: int
    prepares: bool
    mutates: bool
    emits: bool
    needs_approval: bool
    timeout_for: int
    code: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[HandlerKind, str]] = ..., topics: _Optional[_Iterable[str]] = ..., publishes: _Optional[_Iterable[str]] = ..., timing: _Optional[_Union[_schedule_pb2.Timing, _Mapping]] = ..., batch: _Optional[int] = ..., prepares: bool = ..., mutates: bool = ..., emits: bool = ..., needs_approval: bool = ..., timeout_for: _Optional[int] = ..., code: _Optional[str] = ...) -> None: ...

class PipelineSpec(_message.Message):
    __slots__ = ("name", "queue", "revision", "handlers", "retry", "visibility_for", "has_fixer")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    HANDLERS_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    HAS_FIXER_FIELD_NUMBER: _ClassVar[int]
    name: str
    queue: str
    revision: str
    handlers: _containers.RepeatedCompositeFieldContainer[HandlerSpec]
    retry: _model_pb2.RetryPolicy
    visibility_for: int
    has_fixer: bool
    def __init__(self, name: _Optional[str] = ..., queue: _Optional[str] = ..., revision: _Optional[str] = ..., handlers: _Optional[_Iterable[_Union[HandlerSpec, _Mapping]]] = ..., retry: _Optional[_Union[_model_pb2.RetryPolicy, _Mapping]] = ..., visibility_for: _Optional[int] = ..., has_fixer: bool = ...) -> None: ...

class Pipeline(_message.Message):
    __slots__ = ("namespace", "name", "queue", "revision", "status", "issue", "run_id", "available_at", "token", "worker", "poll", "recoveries", "seq", "failures", "fixes", "streak", "retry", "visibility_for", "has_fixer", "is_paused", "paused_by", "note", "paused_at", "declared_in", "is_declared", "created_at", "changed_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ISSUE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    FIXES_FIELD_NUMBER: _ClassVar[int]
    STREAK_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    HAS_FIXER_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AT_FIELD_NUMBER: _ClassVar[int]
    DECLARED_IN_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    queue: str
    revision: str
    status: PipelineStatus
    issue: Issue
    run_id: str
    available_at: int
    token: int
    worker: str
    poll: int
    recoveries: int
    seq: int
    failures: int
    fixes: int
    streak: int
    retry: _model_pb2.RetryPolicy
    visibility_for: int
    has_fixer: bool
    is_paused: bool
    paused_by: str
    note: str
    paused_at: int
    declared_in: str
    is_declared: bool
    created_at: int
    changed_at: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., queue: _Optional[str] = ..., revision: _Optional[str] = ..., status: _Optional[_Union[PipelineStatus, str]] = ..., issue: _Optional[_Union[Issue, str]] = ..., run_id: _Optional[str] = ..., available_at: _Optional[int] = ..., token: _Optional[int] = ..., worker: _Optional[str] = ..., poll: _Optional[int] = ..., recoveries: _Optional[int] = ..., seq: _Optional[int] = ..., failures: _Optional[int] = ..., fixes: _Optional[int] = ..., streak: _Optional[int] = ..., retry: _Optional[_Union[_model_pb2.RetryPolicy, _Mapping]] = ..., visibility_for: _Optional[int] = ..., has_fixer: bool = ..., is_paused: bool = ..., paused_by: _Optional[str] = ..., note: _Optional[str] = ..., paused_at: _Optional[int] = ..., declared_in: _Optional[str] = ..., is_declared: bool = ..., created_at: _Optional[int] = ..., changed_at: _Optional[int] = ...) -> None: ...

class Handler(_message.Message):
    __slots__ = ("namespace", "pipeline", "name", "position", "spec", "next_at", "is_queued", "wake_at", "news", "seen", "is_declared", "has_state")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    NEXT_AT_FIELD_NUMBER: _ClassVar[int]
    IS_QUEUED_FIELD_NUMBER: _ClassVar[int]
    WAKE_AT_FIELD_NUMBER: _ClassVar[int]
    NEWS_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_FIELD_NUMBER: _ClassVar[int]
    HAS_STATE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    name: str
    position: int
    spec: HandlerSpec
    next_at: int
    is_queued: bool
    wake_at: int
    news: int
    seen: int
    is_declared: bool
    has_state: bool
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., name: _Optional[str] = ..., position: _Optional[int] = ..., spec: _Optional[_Union[HandlerSpec, _Mapping]] = ..., next_at: _Optional[int] = ..., is_queued: bool = ..., wake_at: _Optional[int] = ..., news: _Optional[int] = ..., seen: _Optional[int] = ..., is_declared: bool = ..., has_state: bool = ...) -> None: ...

class Reservation(_message.Message):
    __slots__ = ("topic", "id", "version")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    id: str
    version: int
    def __init__(self, topic: _Optional[str] = ..., id: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class HandlerRun(_message.Message):
    __slots__ = ("namespace", "id", "pipeline", "handler", "kind", "retry_of", "attempt", "phase", "status", "outcome", "token", "worker", "news", "reserved", "title", "warning", "failure", "decided_by", "note", "created_at", "updated_at", "ended_at", "effect")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RETRY_OF_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    NEWS_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    pipeline: str
    handler: str
    kind: HandlerKind
    retry_of: str
    attempt: int
    phase: Phase
    status: HandlerStatus
    outcome: EffectOutcome
    token: int
    worker: str
    news: int
    reserved: _containers.RepeatedCompositeFieldContainer[Reservation]
    title: str
    warning: str
    failure: _model_pb2.Failure
    decided_by: str
    note: str
    created_at: int
    updated_at: int
    ended_at: int
    effect: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., pipeline: _Optional[str] = ..., handler: _Optional[str] = ..., kind: _Optional[_Union[HandlerKind, str]] = ..., retry_of: _Optional[str] = ..., attempt: _Optional[int] = ..., phase: _Optional[_Union[Phase, str]] = ..., status: _Optional[_Union[HandlerStatus, str]] = ..., outcome: _Optional[_Union[EffectOutcome, str]] = ..., token: _Optional[int] = ..., worker: _Optional[str] = ..., news: _Optional[int] = ..., reserved: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ..., title: _Optional[str] = ..., warning: _Optional[str] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., decided_by: _Optional[str] = ..., note: _Optional[str] = ..., created_at: _Optional[int] = ..., updated_at: _Optional[int] = ..., ended_at: _Optional[int] = ..., effect: _Optional[str] = ...) -> None: ...

class PipelineEvent(_message.Message):
    __slots__ = ("topic", "id", "seq", "version", "payload", "status", "attempt", "reserved_by", "created_by", "causes", "created_at", "updated_at")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    RESERVED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    topic: str
    id: str
    seq: int
    version: int
    payload: bytes
    status: EventStatus
    attempt: int
    reserved_by: str
    created_by: str
    causes: _containers.RepeatedScalarFieldContainer[str]
    created_at: int
    updated_at: int
    def __init__(self, topic: _Optional[str] = ..., id: _Optional[str] = ..., seq: _Optional[int] = ..., version: _Optional[int] = ..., payload: _Optional[bytes] = ..., status: _Optional[_Union[EventStatus, str]] = ..., attempt: _Optional[int] = ..., reserved_by: _Optional[str] = ..., created_by: _Optional[str] = ..., causes: _Optional[_Iterable[str]] = ..., created_at: _Optional[int] = ..., updated_at: _Optional[int] = ...) -> None: ...

class NewInput(_message.Message):
    __slots__ = ("id", "source", "type", "external_id", "title")
    ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    source: str
    type: str
    external_id: str
    title: str
    def __init__(self, id: _Optional[str] = ..., source: _Optional[str] = ..., type: _Optional[str] = ..., external_id: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class Input(_message.Message):
    __slots__ = ("namespace", "pipeline", "id", "source", "type", "external_id", "title", "status", "pending", "events", "created_at", "skipped_by", "is_stale")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_BY_FIELD_NUMBER: _ClassVar[int]
    IS_STALE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    id: str
    source: str
    type: str
    external_id: str
    title: str
    status: InputStatus
    pending: int
    events: int
    created_at: int
    skipped_by: str
    is_stale: bool
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., id: _Optional[str] = ..., source: _Optional[str] = ..., type: _Optional[str] = ..., external_id: _Optional[str] = ..., title: _Optional[str] = ..., status: _Optional[_Union[InputStatus, str]] = ..., pending: _Optional[int] = ..., events: _Optional[int] = ..., created_at: _Optional[int] = ..., skipped_by: _Optional[str] = ..., is_stale: bool = ...) -> None: ...

class Effect(_message.Message):
    __slots__ = ("namespace", "subject_kind", "subject", "owner", "step_key", "attempt", "name", "params", "idempotency_key", "status", "result", "failure", "token", "asked", "has_reconcile", "reconcile_after", "next_at", "title", "resolved_by", "resolution", "note", "created_at", "updated_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STEP_KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    HAS_RECONCILE_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_AFTER_FIELD_NUMBER: _ClassVar[int]
    NEXT_AT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_BY_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject_kind: SubjectKind
    subject: str
    owner: str
    step_key: str
    attempt: int
    name: str
    params: bytes
    idempotency_key: str
    status: EffectStatus
    result: bytes
    failure: _model_pb2.Failure
    token: int
    asked: int
    has_reconcile: bool
    reconcile_after: int
    next_at: int
    title: str
    resolved_by: str
    resolution: Resolution
    note: str
    created_at: int
    updated_at: int
    def __init__(self, namespace: _Optional[str] = ..., subject_kind: _Optional[_Union[SubjectKind, str]] = ..., subject: _Optional[str] = ..., owner: _Optional[str] = ..., step_key: _Optional[str] = ..., attempt: _Optional[int] = ..., name: _Optional[str] = ..., params: _Optional[bytes] = ..., idempotency_key: _Optional[str] = ..., status: _Optional[_Union[EffectStatus, str]] = ..., result: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., token: _Optional[int] = ..., asked: _Optional[int] = ..., has_reconcile: bool = ..., reconcile_after: _Optional[int] = ..., next_at: _Optional[int] = ..., title: _Optional[str] = ..., resolved_by: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., note: _Optional[str] = ..., created_at: _Optional[int] = ..., updated_at: _Optional[int] = ...) -> None: ...

class PublishEventsRequest(_message.Message):
    __slots__ = ("namespace", "events")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    events: _containers.RepeatedCompositeFieldContainer[PublishEvent]
    def __init__(self, namespace: _Optional[str] = ..., events: _Optional[_Iterable[_Union[PublishEvent, _Mapping]]] = ...) -> None: ...

class PublishEvent(_message.Message):
    __slots__ = ("topic", "id", "payload", "input")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    topic: str
    id: str
    payload: bytes
    input: NewInput
    def __init__(self, topic: _Optional[str] = ..., id: _Optional[str] = ..., payload: _Optional[bytes] = ..., input: _Optional[_Union[NewInput, _Mapping]] = ...) -> None: ...

class PublishEventsResponse(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[PublishOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[PublishOutcome, _Mapping]]] = ...) -> None: ...

class PublishOutcome(_message.Message):
    __slots__ = ("published", "error")
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    published: PublishedEvent
    error: _model_pb2.ErrorDetail
    def __init__(self, published: _Optional[_Union[PublishedEvent, _Mapping]] = ..., error: _Optional[_Union[_model_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class PublishedEvent(_message.Message):
    __slots__ = ("pipelines", "is_repeat")
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    IS_REPEAT_FIELD_NUMBER: _ClassVar[int]
    pipelines: int
    is_repeat: bool
    def __init__(self, pipelines: _Optional[int] = ..., is_repeat: bool = ...) -> None: ...

class PipelineRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ListPipelinesRequest(_message.Message):
    __slots__ = ("namespace", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after: str
    def __init__(self, namespace: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class ListPipelinesResponse(_message.Message):
    __slots__ = ("pipelines", "has_more")
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    pipelines: _containers.RepeatedCompositeFieldContainer[PipelineDetail]
    has_more: bool
    def __init__(self, pipelines: _Optional[_Iterable[_Union[PipelineDetail, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class PipelineDetail(_message.Message):
    __slots__ = ("view", "summary")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    view: PipelineView
    summary: PipelineSummary
    def __init__(self, view: _Optional[_Union[PipelineView, _Mapping]] = ..., summary: _Optional[_Union[PipelineSummary, _Mapping]] = ...) -> None: ...

class PipelineView(_message.Message):
    __slots__ = ("pipeline", "handlers", "run", "effect", "inputs_pending", "activity", "workers", "now", "inputs_stale", "outdated")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    HANDLERS_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    INPUTS_PENDING_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    INPUTS_STALE_FIELD_NUMBER: _ClassVar[int]
    OUTDATED_FIELD_NUMBER: _ClassVar[int]
    pipeline: Pipeline
    handlers: _containers.RepeatedCompositeFieldContainer[HandlerView]
    run: HandlerRun
    effect: Effect
    inputs_pending: int
    activity: _containers.RepeatedCompositeFieldContainer[HandlerRun]
    workers: int
    now: int
    inputs_stale: int
    outdated: int
    def __init__(self, pipeline: _Optional[_Union[Pipeline, _Mapping]] = ..., handlers: _Optional[_Iterable[_Union[HandlerView, _Mapping]]] = ..., run: _Optional[_Union[HandlerRun, _Mapping]] = ..., effect: _Optional[_Union[Effect, _Mapping]] = ..., inputs_pending: _Optional[int] = ..., activity: _Optional[_Iterable[_Union[HandlerRun, _Mapping]]] = ..., workers: _Optional[int] = ..., now: _Optional[int] = ..., inputs_stale: _Optional[int] = ..., outdated: _Optional[int] = ...) -> None: ...

class HandlerView(_message.Message):
    __slots__ = ("handler", "pending", "oldest_at", "last_run")
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_FIELD_NUMBER: _ClassVar[int]
    handler: Handler
    pending: int
    oldest_at: int
    last_run: HandlerRun
    def __init__(self, handler: _Optional[_Union[Handler, _Mapping]] = ..., pending: _Optional[int] = ..., oldest_at: _Optional[int] = ..., last_run: _Optional[_Union[HandlerRun, _Mapping]] = ...) -> None: ...

class PipelineSummary(_message.Message):
    __slots__ = ("name", "status", "issue", "schedule", "next_check", "activity", "pending")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ISSUE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    NEXT_CHECK_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    name: str
    status: str
    issue: str
    schedule: str
    next_check: int
    activity: _containers.RepeatedScalarFieldContainer[str]
    pending: str
    def __init__(self, name: _Optional[str] = ..., status: _Optional[str] = ..., issue: _Optional[str] = ..., schedule: _Optional[str] = ..., next_check: _Optional[int] = ..., activity: _Optional[_Iterable[str]] = ..., pending: _Optional[str] = ...) -> None: ...

class ListHandlerRunsRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "handler", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    handler: str
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., handler: _Optional[str] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListHandlerRunsResponse(_message.Message):
    __slots__ = ("runs", "next")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[HandlerRun]
    next: str
    def __init__(self, runs: _Optional[_Iterable[_Union[HandlerRun, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class GetHandlerRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "is_rest", "has_effect", "skip_events", "skip_published")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_REST_FIELD_NUMBER: _ClassVar[int]
    HAS_EFFECT_FIELD_NUMBER: _ClassVar[int]
    SKIP_EVENTS_FIELD_NUMBER: _ClassVar[int]
    SKIP_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    is_rest: bool
    has_effect: bool
    skip_events: int
    skip_published: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., is_rest: bool = ..., has_effect: bool = ..., skip_events: _Optional[int] = ..., skip_published: _Optional[int] = ...) -> None: ...

class GetHandlerRunResponse(_message.Message):
    __slots__ = ("view", "has_more")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    view: HandlerRunView
    has_more: bool
    def __init__(self, view: _Optional[_Union[HandlerRunView, _Mapping]] = ..., has_more: bool = ...) -> None: ...

class HandlerRunView(_message.Message):
    __slots__ = ("run", "data", "result", "effect", "events", "published", "chain")
    RUN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    run: HandlerRun
    data: bytes
    result: bytes
    effect: Effect
    events: _containers.RepeatedCompositeFieldContainer[PipelineEvent]
    published: _containers.RepeatedCompositeFieldContainer[PipelineEvent]
    chain: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run: _Optional[_Union[HandlerRun, _Mapping]] = ..., data: _Optional[bytes] = ..., result: _Optional[bytes] = ..., effect: _Optional[_Union[Effect, _Mapping]] = ..., events: _Optional[_Iterable[_Union[PipelineEvent, _Mapping]]] = ..., published: _Optional[_Iterable[_Union[PipelineEvent, _Mapping]]] = ..., chain: _Optional[_Iterable[str]] = ...) -> None: ...

class ListTopicsRequest(_message.Message):
    __slots__ = ("namespace", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after: str
    def __init__(self, namespace: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class ListTopicsResponse(_message.Message):
    __slots__ = ("topics", "has_more")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[TopicView]
    has_more: bool
    def __init__(self, topics: _Optional[_Iterable[_Union[TopicView, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class TopicView(_message.Message):
    __slots__ = ("name", "uses", "pending", "reserved")
    class PendingEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ReservedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    name: str
    uses: _containers.RepeatedCompositeFieldContainer[TopicUse]
    pending: _containers.ScalarMap[str, int]
    reserved: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., uses: _Optional[_Iterable[_Union[TopicUse, _Mapping]]] = ..., pending: _Optional[_Mapping[str, int]] = ..., reserved: _Optional[_Mapping[str, int]] = ...) -> None: ...

class TopicUse(_message.Message):
    __slots__ = ("pipeline", "handler", "is_subscribed")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    IS_SUBSCRIBED_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    handler: str
    is_subscribed: bool
    def __init__(self, pipeline: _Optional[str] = ..., handler: _Optional[str] = ..., is_subscribed: bool = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "topic", "status", "after", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    topic: str
    status: EventStatus
    after: int
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., topic: _Optional[str] = ..., status: _Optional[_Union[EventStatus, str]] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "next")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[PipelineEvent]
    next: int
    def __init__(self, events: _Optional[_Iterable[_Union[PipelineEvent, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class ListInputsRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "status", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    status: InputStatus
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., status: _Optional[_Union[InputStatus, str]] = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListInputsResponse(_message.Message):
    __slots__ = ("inputs", "next")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    next: str
    def __init__(self, inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class TraceInputRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "input", "skip_events", "skip_runs", "skip_effects")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    SKIP_EVENTS_FIELD_NUMBER: _ClassVar[int]
    SKIP_RUNS_FIELD_NUMBER: _ClassVar[int]
    SKIP_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    input: str
    skip_events: int
    skip_runs: int
    skip_effects: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., input: _Optional[str] = ..., skip_events: _Optional[int] = ..., skip_runs: _Optional[int] = ..., skip_effects: _Optional[int] = ...) -> None: ...

class TraceInputResponse(_message.Message):
    __slots__ = ("trace", "has_more")
    TRACE_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    trace: Trace
    has_more: bool
    def __init__(self, trace: _Optional[_Union[Trace, _Mapping]] = ..., has_more: bool = ...) -> None: ...

class Trace(_message.Message):
    __slots__ = ("input", "events", "runs", "effects")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    input: Input
    events: _containers.RepeatedCompositeFieldContainer[PipelineEvent]
    runs: _containers.RepeatedCompositeFieldContainer[HandlerRun]
    effects: _containers.RepeatedCompositeFieldContainer[Effect]
    def __init__(self, input: _Optional[_Union[Input, _Mapping]] = ..., events: _Optional[_Iterable[_Union[PipelineEvent, _Mapping]]] = ..., runs: _Optional[_Iterable[_Union[HandlerRun, _Mapping]]] = ..., effects: _Optional[_Iterable[_Union[Effect, _Mapping]]] = ...) -> None: ...

class ListOpenEffectsRequest(_message.Message):
    __slots__ = ("namespace", "after_owner", "after_step", "after_attempt")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_OWNER_FIELD_NUMBER: _ClassVar[int]
    AFTER_STEP_FIELD_NUMBER: _ClassVar[int]
    AFTER_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after_owner: str
    after_step: str
    after_attempt: int
    def __init__(self, namespace: _Optional[str] = ..., after_owner: _Optional[str] = ..., after_step: _Optional[str] = ..., after_attempt: _Optional[int] = ...) -> None: ...

class ListOpenEffectsResponse(_message.Message):
    __slots__ = ("effects", "has_more")
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    effects: _containers.RepeatedCompositeFieldContainer[Effect]
    has_more: bool
    def __init__(self, effects: _Optional[_Iterable[_Union[Effect, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class DeclarePipelinesRequest(_message.Message):
    __slots__ = ("namespace", "program", "pipelines", "only_new")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    ONLY_NEW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    program: str
    pipelines: _containers.RepeatedCompositeFieldContainer[PipelineSpec]
    only_new: bool
    def __init__(self, namespace: _Optional[str] = ..., program: _Optional[str] = ..., pipelines: _Optional[_Iterable[_Union[PipelineSpec, _Mapping]]] = ..., only_new: bool = ...) -> None: ...

class DeclarePipelinesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SteerPipelineRequest(_message.Message):
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

class DecideHandlerRequest(_message.Message):
    __slots__ = ("namespace", "name", "is_approved", "releases", "run_id", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_APPROVED_FIELD_NUMBER: _ClassVar[int]
    RELEASES_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    is_approved: bool
    releases: bool
    run_id: str
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., is_approved: bool = ..., releases: bool = ..., run_id: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ResolveEffectRequest(_message.Message):
    __slots__ = ("namespace", "subject", "resolution", "result", "step", "by", "note", "owner", "attempt")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject: str
    resolution: Resolution
    result: bytes
    step: str
    by: str
    note: str
    owner: str
    attempt: int
    def __init__(self, namespace: _Optional[str] = ..., subject: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., result: _Optional[bytes] = ..., step: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ..., owner: _Optional[str] = ..., attempt: _Optional[int] = ...) -> None: ...

class SkipInputRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "input", "topic", "event", "by", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    input: str
    topic: str
    event: str
    by: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., input: _Optional[str] = ..., topic: _Optional[str] = ..., event: _Optional[str] = ..., by: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class SkipInputResponse(_message.Message):
    __slots__ = ("skipped", "aborted", "finishing")
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    FINISHING_FIELD_NUMBER: _ClassVar[int]
    skipped: int
    aborted: str
    finishing: int
    def __init__(self, skipped: _Optional[int] = ..., aborted: _Optional[str] = ..., finishing: _Optional[int] = ...) -> None: ...
