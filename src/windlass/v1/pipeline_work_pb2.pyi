from windlass.v1 import model_pb2 as _model_pb2
from windlass.v1 import pipeline_pb2 as _pipeline_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_HANDLE: _ClassVar[TaskKind]
    TASK_KIND_RECONCILE: _ClassVar[TaskKind]
    TASK_KIND_FIX: _ClassVar[TaskKind]
    TASK_KIND_TELL: _ClassVar[TaskKind]

class ReserveOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESERVE_OUTCOME_UNSPECIFIED: _ClassVar[ReserveOutcome]
    RESERVE_OUTCOME_RESERVED: _ClassVar[ReserveOutcome]
    RESERVE_OUTCOME_CHANGED: _ClassVar[ReserveOutcome]
    RESERVE_OUTCOME_PARKED: _ClassVar[ReserveOutcome]

class BegunKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BEGUN_KIND_UNSPECIFIED: _ClassVar[BegunKind]
    BEGUN_KIND_ENTER: _ClassVar[BegunKind]
    BEGUN_KIND_APPLIED: _ClassVar[BegunKind]
    BEGUN_KIND_SKIPPED: _ClassVar[BegunKind]
    BEGUN_KIND_RECONCILE: _ClassVar[BegunKind]
    BEGUN_KIND_LATER: _ClassVar[BegunKind]
    BEGUN_KIND_PERSON: _ClassVar[BegunKind]
    BEGUN_KIND_CHANGED: _ClassVar[BegunKind]

class EffectVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_VERDICT_UNSPECIFIED: _ClassVar[EffectVerdict]
    EFFECT_VERDICT_FAILED: _ClassVar[EffectVerdict]
    EFFECT_VERDICT_UNKNOWN: _ClassVar[EffectVerdict]
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_HANDLE: TaskKind
TASK_KIND_RECONCILE: TaskKind
TASK_KIND_FIX: TaskKind
TASK_KIND_TELL: TaskKind
RESERVE_OUTCOME_UNSPECIFIED: ReserveOutcome
RESERVE_OUTCOME_RESERVED: ReserveOutcome
RESERVE_OUTCOME_CHANGED: ReserveOutcome
RESERVE_OUTCOME_PARKED: ReserveOutcome
BEGUN_KIND_UNSPECIFIED: BegunKind
BEGUN_KIND_ENTER: BegunKind
BEGUN_KIND_APPLIED: BegunKind
BEGUN_KIND_SKIPPED: BegunKind
BEGUN_KIND_RECONCILE: BegunKind
BEGUN_KIND_LATER: BegunKind
BEGUN_KIND_PERSON: BegunKind
BEGUN_KIND_CHANGED: BegunKind
EFFECT_VERDICT_UNSPECIFIED: EffectVerdict
EFFECT_VERDICT_FAILED: EffectVerdict
EFFECT_VERDICT_UNKNOWN: EffectVerdict

class ClaimPipelinesRequest(_message.Message):
    __slots__ = ("namespace", "worker", "poll", "served", "limit", "visibility_for", "wait_for", "is_called_off")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FIELD_NUMBER: _ClassVar[int]
    IS_CALLED_OFF_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    worker: str
    poll: int
    served: _containers.RepeatedCompositeFieldContainer[_model_pb2.ServedPipeline]
    limit: int
    visibility_for: int
    wait_for: int
    is_called_off: bool
    def __init__(self, namespace: _Optional[str] = ..., worker: _Optional[str] = ..., poll: _Optional[int] = ..., served: _Optional[_Iterable[_Union[_model_pb2.ServedPipeline, _Mapping]]] = ..., limit: _Optional[int] = ..., visibility_for: _Optional[int] = ..., wait_for: _Optional[int] = ..., is_called_off: bool = ...) -> None: ...

class ClaimPipelinesResponse(_message.Message):
    __slots__ = ("pipelines", "claimed_after")
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AFTER_FIELD_NUMBER: _ClassVar[int]
    pipelines: _containers.RepeatedCompositeFieldContainer[ClaimedPipeline]
    claimed_after: int
    def __init__(self, pipelines: _Optional[_Iterable[_Union[ClaimedPipeline, _Mapping]]] = ..., claimed_after: _Optional[int] = ...) -> None: ...

class ClaimedPipeline(_message.Message):
    __slots__ = ("name", "queue", "revision", "token", "recoveries", "visibility_for", "task", "waited_for")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    WAITED_FOR_FIELD_NUMBER: _ClassVar[int]
    name: str
    queue: str
    revision: str
    token: int
    recoveries: int
    visibility_for: int
    task: Task
    waited_for: int
    def __init__(self, name: _Optional[str] = ..., queue: _Optional[str] = ..., revision: _Optional[str] = ..., token: _Optional[int] = ..., recoveries: _Optional[int] = ..., visibility_for: _Optional[int] = ..., task: _Optional[_Union[Task, _Mapping]] = ..., waited_for: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("kind", "run_id", "handler", "phase", "attempt", "state", "events", "data", "title", "outcome", "result", "effect", "failure", "scheduled_at", "effect_name")
    KIND_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_NAME_FIELD_NUMBER: _ClassVar[int]
    kind: TaskKind
    run_id: str
    handler: str
    phase: _pipeline_pb2.Phase
    attempt: int
    state: bytes
    events: _containers.RepeatedCompositeFieldContainer[_pipeline_pb2.PipelineEvent]
    data: bytes
    title: str
    outcome: _pipeline_pb2.EffectOutcome
    result: bytes
    effect: _pipeline_pb2.Effect
    failure: _model_pb2.Failure
    scheduled_at: int
    effect_name: str
    def __init__(self, kind: _Optional[_Union[TaskKind, str]] = ..., run_id: _Optional[str] = ..., handler: _Optional[str] = ..., phase: _Optional[_Union[_pipeline_pb2.Phase, str]] = ..., attempt: _Optional[int] = ..., state: _Optional[bytes] = ..., events: _Optional[_Iterable[_Union[_pipeline_pb2.PipelineEvent, _Mapping]]] = ..., data: _Optional[bytes] = ..., title: _Optional[str] = ..., outcome: _Optional[_Union[_pipeline_pb2.EffectOutcome, str]] = ..., result: _Optional[bytes] = ..., effect: _Optional[_Union[_pipeline_pb2.Effect, _Mapping]] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., scheduled_at: _Optional[int] = ..., effect_name: _Optional[str] = ...) -> None: ...

class PipelineClaimRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "visibility_for")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    visibility_for: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., visibility_for: _Optional[int] = ...) -> None: ...

class RenewPipelineResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReleasePipelineResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReadEventsRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "topic", "ids", "limit", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    topic: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    after: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., topic: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class ReadEventsResponse(_message.Message):
    __slots__ = ("events", "has_more")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_pipeline_pb2.PipelineEvent]
    has_more: bool
    def __init__(self, events: _Optional[_Iterable[_Union[_pipeline_pb2.PipelineEvent, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class ReserveEventsRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "run_id", "reserved", "data", "title", "wake_at", "wake_in", "warning", "renew_for")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    WAKE_AT_FIELD_NUMBER: _ClassVar[int]
    WAKE_IN_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    RENEW_FOR_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    run_id: str
    reserved: _containers.RepeatedCompositeFieldContainer[_pipeline_pb2.Reservation]
    data: bytes
    title: str
    wake_at: int
    wake_in: int
    warning: str
    renew_for: int
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., reserved: _Optional[_Iterable[_Union[_pipeline_pb2.Reservation, _Mapping]]] = ..., data: _Optional[bytes] = ..., title: _Optional[str] = ..., wake_at: _Optional[int] = ..., wake_in: _Optional[int] = ..., warning: _Optional[str] = ..., renew_for: _Optional[int] = ...) -> None: ...

class ReserveEventsResponse(_message.Message):
    __slots__ = ("outcome", "at")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    outcome: ReserveOutcome
    at: int
    def __init__(self, outcome: _Optional[_Union[ReserveOutcome, str]] = ..., at: _Optional[int] = ...) -> None: ...

class BeginEffectRequest(_message.Message):
    __slots__ = ("namespace", "subject", "token", "run_id", "step_key", "name", "params", "idempotency_key", "has_reconcile", "title", "timeout_for", "renew_for", "reserves")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    HAS_RECONCILE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    RENEW_FOR_FIELD_NUMBER: _ClassVar[int]
    RESERVES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject: str
    token: int
    run_id: str
    step_key: str
    name: str
    params: bytes
    idempotency_key: str
    has_reconcile: bool
    title: str
    timeout_for: int
    renew_for: int
    reserves: ReserveEventsRequest
    def __init__(self, namespace: _Optional[str] = ..., subject: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., step_key: _Optional[str] = ..., name: _Optional[str] = ..., params: _Optional[bytes] = ..., idempotency_key: _Optional[str] = ..., has_reconcile: bool = ..., title: _Optional[str] = ..., timeout_for: _Optional[int] = ..., renew_for: _Optional[int] = ..., reserves: _Optional[_Union[ReserveEventsRequest, _Mapping]] = ...) -> None: ...

class BeginEffectResponse(_message.Message):
    __slots__ = ("kind", "idempotency_key", "attempt", "result", "due_in", "asked")
    KIND_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DUE_IN_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    kind: BegunKind
    idempotency_key: str
    attempt: int
    result: bytes
    due_in: int
    asked: int
    def __init__(self, kind: _Optional[_Union[BegunKind, str]] = ..., idempotency_key: _Optional[str] = ..., attempt: _Optional[int] = ..., result: _Optional[bytes] = ..., due_in: _Optional[int] = ..., asked: _Optional[int] = ...) -> None: ...

class ApplyEffectRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "run_id", "result", "renew_for", "is_found")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RENEW_FOR_FIELD_NUMBER: _ClassVar[int]
    IS_FOUND_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    run_id: str
    result: bytes
    renew_for: int
    is_found: bool
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., result: _Optional[bytes] = ..., renew_for: _Optional[int] = ..., is_found: bool = ...) -> None: ...

class NewEvent(_message.Message):
    __slots__ = ("topic", "id", "payload", "causes")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    topic: str
    id: str
    payload: bytes
    causes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, topic: _Optional[str] = ..., id: _Optional[str] = ..., payload: _Optional[bytes] = ..., causes: _Optional[_Iterable[str]] = ...) -> None: ...

class CommitHandlerRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "run_id", "has_state", "state", "events", "inputs", "title", "continues", "visibility_for", "reserves", "result", "is_found")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    HAS_STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    RESERVES_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    IS_FOUND_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    run_id: str
    has_state: bool
    state: bytes
    events: _containers.RepeatedCompositeFieldContainer[NewEvent]
    inputs: _containers.RepeatedCompositeFieldContainer[_pipeline_pb2.NewInput]
    title: str
    continues: bool
    visibility_for: int
    reserves: ReserveEventsRequest
    result: bytes
    is_found: bool
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., has_state: bool = ..., state: _Optional[bytes] = ..., events: _Optional[_Iterable[_Union[NewEvent, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[_pipeline_pb2.NewInput, _Mapping]]] = ..., title: _Optional[str] = ..., continues: bool = ..., visibility_for: _Optional[int] = ..., reserves: _Optional[_Union[ReserveEventsRequest, _Mapping]] = ..., result: _Optional[bytes] = ..., is_found: bool = ...) -> None: ...

class CommitHandlerResponse(_message.Message):
    __slots__ = ("at", "task", "is_changed")
    AT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    IS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    at: int
    task: Task
    is_changed: bool
    def __init__(self, at: _Optional[int] = ..., task: _Optional[_Union[Task, _Mapping]] = ..., is_changed: bool = ...) -> None: ...

class StopHandlerRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "run_id", "phase", "failure", "verdict", "is_inside", "is_found", "is_cut")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    IS_INSIDE_FIELD_NUMBER: _ClassVar[int]
    IS_FOUND_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    run_id: str
    phase: _pipeline_pb2.Phase
    failure: _model_pb2.Failure
    verdict: EffectVerdict
    is_inside: bool
    is_found: bool
    is_cut: bool
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., phase: _Optional[_Union[_pipeline_pb2.Phase, str]] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., verdict: _Optional[_Union[EffectVerdict, str]] = ..., is_inside: bool = ..., is_found: bool = ..., is_cut: bool = ...) -> None: ...

class StopHandlerResponse(_message.Message):
    __slots__ = ("run", "pipeline", "retry_in")
    RUN_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    RETRY_IN_FIELD_NUMBER: _ClassVar[int]
    run: _pipeline_pb2.HandlerRun
    pipeline: _pipeline_pb2.Pipeline
    retry_in: int
    def __init__(self, run: _Optional[_Union[_pipeline_pb2.HandlerRun, _Mapping]] = ..., pipeline: _Optional[_Union[_pipeline_pb2.Pipeline, _Mapping]] = ..., retry_in: _Optional[int] = ...) -> None: ...

class ReconcileEffectRequest(_message.Message):
    __slots__ = ("namespace", "subject", "token", "run_id", "step_key", "result", "did_not_happen", "failure", "continues", "attempt")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_KEY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DID_NOT_HAPPEN_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject: str
    token: int
    run_id: str
    step_key: str
    result: bytes
    did_not_happen: bool
    failure: _model_pb2.Failure
    continues: bool
    attempt: int
    def __init__(self, namespace: _Optional[str] = ..., subject: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., step_key: _Optional[str] = ..., result: _Optional[bytes] = ..., did_not_happen: bool = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., continues: bool = ..., attempt: _Optional[int] = ...) -> None: ...

class ReconcileEffectResponse(_message.Message):
    __slots__ = ("task", "due_in", "needs_person")
    TASK_FIELD_NUMBER: _ClassVar[int]
    DUE_IN_FIELD_NUMBER: _ClassVar[int]
    NEEDS_PERSON_FIELD_NUMBER: _ClassVar[int]
    task: Task
    due_in: int
    needs_person: bool
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., due_in: _Optional[int] = ..., needs_person: bool = ...) -> None: ...

class FailEffectRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "step_key", "verdict", "failure", "is_inside", "attempt", "is_cut")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STEP_KEY_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    IS_INSIDE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    step_key: str
    verdict: EffectVerdict
    failure: _model_pb2.Failure
    is_inside: bool
    attempt: int
    is_cut: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., step_key: _Optional[str] = ..., verdict: _Optional[_Union[EffectVerdict, str]] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., is_inside: bool = ..., attempt: _Optional[int] = ..., is_cut: bool = ...) -> None: ...

class FixHandlerRequest(_message.Message):
    __slots__ = ("namespace", "pipeline", "token", "run_id", "is_fixed", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_FIXED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pipeline: str
    token: int
    run_id: str
    is_fixed: bool
    note: str
    def __init__(self, namespace: _Optional[str] = ..., pipeline: _Optional[str] = ..., token: _Optional[int] = ..., run_id: _Optional[str] = ..., is_fixed: bool = ..., note: _Optional[str] = ...) -> None: ...
