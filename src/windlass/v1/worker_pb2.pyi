from windlass.v1 import graph_pb2 as _graph_pb2
from windlass.v1 import model_pb2 as _model_pb2
from windlass.v1 import pipeline_work_pb2 as _pipeline_work_pb2
from windlass.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RegisterRequest(_message.Message):
    __slots__ = ("namespace", "id", "host", "pid", "served", "slots", "is_return", "pipelines", "leaves_out")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    IS_RETURN_FIELD_NUMBER: _ClassVar[int]
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    LEAVES_OUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    host: str
    pid: int
    served: _containers.RepeatedCompositeFieldContainer[_model_pb2.Served]
    slots: int
    is_return: bool
    pipelines: _containers.RepeatedCompositeFieldContainer[_model_pb2.ServedPipeline]
    leaves_out: bool
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., served: _Optional[_Iterable[_Union[_model_pb2.Served, _Mapping]]] = ..., slots: _Optional[int] = ..., is_return: bool = ..., pipelines: _Optional[_Iterable[_Union[_model_pb2.ServedPipeline, _Mapping]]] = ..., leaves_out: bool = ...) -> None: ...

class RegisterResponse(_message.Message):
    __slots__ = ("left_out",)
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    left_out: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, left_out: _Optional[_Iterable[str]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("namespace", "id", "active", "completed", "failed", "is_draining")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    IS_DRAINING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    active: int
    completed: int
    failed: int
    is_draining: bool
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., active: _Optional[int] = ..., completed: _Optional[int] = ..., failed: _Optional[int] = ..., is_draining: bool = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("accepted", "should_drain")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    SHOULD_DRAIN_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    should_drain: bool
    def __init__(self, accepted: bool = ..., should_drain: bool = ...) -> None: ...

class WorkerRequest(_message.Message):
    __slots__ = ("namespace", "id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class DrainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EndedRuns(_message.Message):
    __slots__ = ("completed", "failed")
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    completed: int
    failed: int
    def __init__(self, completed: _Optional[int] = ..., failed: _Optional[int] = ...) -> None: ...

class DeregisterRequest(_message.Message):
    __slots__ = ("namespace", "id", "ended")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    ended: EndedRuns
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., ended: _Optional[_Union[EndedRuns, _Mapping]] = ...) -> None: ...

class DeregisterResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PollRequest(_message.Message):
    __slots__ = ("namespace", "worker", "poll_id", "served", "limit", "visibility_for", "visibilities", "wait_for", "expects_more", "is_called_off")
    class VisibilitiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    POLL_ID_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    VISIBILITIES_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FIELD_NUMBER: _ClassVar[int]
    EXPECTS_MORE_FIELD_NUMBER: _ClassVar[int]
    IS_CALLED_OFF_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    worker: str
    poll_id: int
    served: _containers.RepeatedCompositeFieldContainer[_model_pb2.Served]
    limit: int
    visibility_for: int
    visibilities: _containers.ScalarMap[str, int]
    wait_for: int
    expects_more: bool
    is_called_off: bool
    def __init__(self, namespace: _Optional[str] = ..., worker: _Optional[str] = ..., poll_id: _Optional[int] = ..., served: _Optional[_Iterable[_Union[_model_pb2.Served, _Mapping]]] = ..., limit: _Optional[int] = ..., visibility_for: _Optional[int] = ..., visibilities: _Optional[_Mapping[str, int]] = ..., wait_for: _Optional[int] = ..., expects_more: bool = ..., is_called_off: bool = ...) -> None: ...

class PollResponse(_message.Message):
    __slots__ = ("runs", "claimed_after")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AFTER_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[ClaimedRun]
    claimed_after: int
    def __init__(self, runs: _Optional[_Iterable[_Union[ClaimedRun, _Mapping]]] = ..., claimed_after: _Optional[int] = ...) -> None: ...

class ClaimedRun(_message.Message):
    __slots__ = ("run_id", "name", "version", "queue", "token", "attempts", "recoveries", "key", "input", "started_at", "visibility_for", "waited_for", "history", "expires_in", "parent", "origin", "begun_at", "schedule", "scheduled_at", "has_more_history", "kind", "job")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    WAITED_FOR_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    BEGUN_AT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_HISTORY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    version: str
    queue: str
    token: int
    attempts: int
    recoveries: int
    key: str
    input: bytes
    started_at: int
    visibility_for: int
    waited_for: int
    history: _containers.RepeatedCompositeFieldContainer[StepRecord]
    expires_in: int
    parent: str
    origin: str
    begun_at: int
    schedule: str
    scheduled_at: int
    has_more_history: bool
    kind: _model_pb2.RunKind
    job: str
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., token: _Optional[int] = ..., attempts: _Optional[int] = ..., recoveries: _Optional[int] = ..., key: _Optional[str] = ..., input: _Optional[bytes] = ..., started_at: _Optional[int] = ..., visibility_for: _Optional[int] = ..., waited_for: _Optional[int] = ..., history: _Optional[_Iterable[_Union[StepRecord, _Mapping]]] = ..., expires_in: _Optional[int] = ..., parent: _Optional[str] = ..., origin: _Optional[str] = ..., begun_at: _Optional[int] = ..., schedule: _Optional[str] = ..., scheduled_at: _Optional[int] = ..., has_more_history: bool = ..., kind: _Optional[_Union[_model_pb2.RunKind, str]] = ..., job: _Optional[str] = ...) -> None: ...

class ReadHistoryRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "skip")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    skip: int
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., skip: _Optional[int] = ...) -> None: ...

class ReadHistoryResponse(_message.Message):
    __slots__ = ("history", "has_more")
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    history: _containers.RepeatedCompositeFieldContainer[StepRecord]
    has_more: bool
    def __init__(self, history: _Optional[_Iterable[_Union[StepRecord, _Mapping]]] = ..., has_more: bool = ...) -> None: ...

class StepRecord(_message.Message):
    __slots__ = ("key", "kind", "attempt", "status", "order", "failures", "input_hash", "output", "failure", "due_in", "finished_at", "awaits", "is_copied")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    DUE_IN_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    IS_COPIED_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: _model_pb2.StepKind
    attempt: int
    status: _model_pb2.StepStatus
    order: int
    failures: int
    input_hash: bytes
    output: bytes
    failure: _model_pb2.Failure
    due_in: int
    finished_at: int
    awaits: str
    is_copied: bool
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[_Union[_model_pb2.StepKind, str]] = ..., attempt: _Optional[int] = ..., status: _Optional[_Union[_model_pb2.StepStatus, str]] = ..., order: _Optional[int] = ..., failures: _Optional[int] = ..., input_hash: _Optional[bytes] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., due_in: _Optional[int] = ..., finished_at: _Optional[int] = ..., awaits: _Optional[str] = ..., is_copied: bool = ...) -> None: ...

class ListenRequest(_message.Message):
    __slots__ = ("namespace", "worker", "wait_for")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    worker: str
    wait_for: int
    def __init__(self, namespace: _Optional[str] = ..., worker: _Optional[str] = ..., wait_for: _Optional[int] = ...) -> None: ...

class ListenResponse(_message.Message):
    __slots__ = ("should_drain",)
    SHOULD_DRAIN_FIELD_NUMBER: _ClassVar[int]
    should_drain: bool
    def __init__(self, should_drain: bool = ...) -> None: ...

class HeldClaim(_message.Message):
    __slots__ = ("run_id", "token")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    token: int
    def __init__(self, run_id: _Optional[str] = ..., token: _Optional[int] = ...) -> None: ...

class LookAtClaimsRequest(_message.Message):
    __slots__ = ("namespace", "claims")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    claims: _containers.RepeatedCompositeFieldContainer[HeldClaim]
    def __init__(self, namespace: _Optional[str] = ..., claims: _Optional[_Iterable[_Union[HeldClaim, _Mapping]]] = ...) -> None: ...

class ClaimState(_message.Message):
    __slots__ = ("run_id", "is_lost", "is_held", "has_news")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_LOST_FIELD_NUMBER: _ClassVar[int]
    IS_HELD_FIELD_NUMBER: _ClassVar[int]
    HAS_NEWS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    is_lost: bool
    is_held: bool
    has_news: bool
    def __init__(self, run_id: _Optional[str] = ..., is_lost: bool = ..., is_held: bool = ..., has_news: bool = ...) -> None: ...

class LookAtClaimsResponse(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[ClaimState]
    def __init__(self, states: _Optional[_Iterable[_Union[ClaimState, _Mapping]]] = ...) -> None: ...

class BeginStep(_message.Message):
    __slots__ = ("run_id", "token", "key", "kind", "attempt", "failures", "input_hash")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    token: int
    key: str
    kind: _model_pb2.StepKind
    attempt: int
    failures: int
    input_hash: bytes
    def __init__(self, run_id: _Optional[str] = ..., token: _Optional[int] = ..., key: _Optional[str] = ..., kind: _Optional[_Union[_model_pb2.StepKind, str]] = ..., attempt: _Optional[int] = ..., failures: _Optional[int] = ..., input_hash: _Optional[bytes] = ...) -> None: ...

class BeginStepsRequest(_message.Message):
    __slots__ = ("namespace", "steps")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    steps: _containers.RepeatedCompositeFieldContainer[BeginStep]
    def __init__(self, namespace: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[BeginStep, _Mapping]]] = ...) -> None: ...

class CompleteStep(_message.Message):
    __slots__ = ("run_id", "token", "key", "kind", "attempt", "order", "failures", "input_hash", "output", "ran_for", "renew_for", "effect")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    RAN_FOR_FIELD_NUMBER: _ClassVar[int]
    RENEW_FOR_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    token: int
    key: str
    kind: _model_pb2.StepKind
    attempt: int
    order: int
    failures: int
    input_hash: bytes
    output: bytes
    ran_for: int
    renew_for: int
    effect: bool
    def __init__(self, run_id: _Optional[str] = ..., token: _Optional[int] = ..., key: _Optional[str] = ..., kind: _Optional[_Union[_model_pb2.StepKind, str]] = ..., attempt: _Optional[int] = ..., order: _Optional[int] = ..., failures: _Optional[int] = ..., input_hash: _Optional[bytes] = ..., output: _Optional[bytes] = ..., ran_for: _Optional[int] = ..., renew_for: _Optional[int] = ..., effect: bool = ...) -> None: ...

class CompleteStepsRequest(_message.Message):
    __slots__ = ("namespace", "steps")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    steps: _containers.RepeatedCompositeFieldContainer[CompleteStep]
    def __init__(self, namespace: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[CompleteStep, _Mapping]]] = ...) -> None: ...

class WriteOutcomes(_message.Message):
    __slots__ = ("at", "refused")
    AT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    at: _containers.RepeatedScalarFieldContainer[int]
    refused: _containers.RepeatedCompositeFieldContainer[Refused]
    def __init__(self, at: _Optional[_Iterable[int]] = ..., refused: _Optional[_Iterable[_Union[Refused, _Mapping]]] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("index", "error")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    index: int
    error: _model_pb2.ErrorDetail
    def __init__(self, index: _Optional[int] = ..., error: _Optional[_Union[_model_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class WriteOutcome(_message.Message):
    __slots__ = ("at",)
    AT_FIELD_NUMBER: _ClassVar[int]
    at: int
    def __init__(self, at: _Optional[int] = ...) -> None: ...

class FailStep(_message.Message):
    __slots__ = ("key", "kind", "attempt", "order", "failures", "input_hash", "failure", "retry", "ran_for")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    RAN_FOR_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: _model_pb2.StepKind
    attempt: int
    order: int
    failures: int
    input_hash: bytes
    failure: _model_pb2.Failure
    retry: _model_pb2.RetryPolicy
    ran_for: int
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[_Union[_model_pb2.StepKind, str]] = ..., attempt: _Optional[int] = ..., order: _Optional[int] = ..., failures: _Optional[int] = ..., input_hash: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., retry: _Optional[_Union[_model_pb2.RetryPolicy, _Mapping]] = ..., ran_for: _Optional[int] = ...) -> None: ...

class WaitStep(_message.Message):
    __slots__ = ("key", "kind", "input_hash", "due_for", "due_at", "awaits", "detail", "child")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    DUE_FOR_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: _model_pb2.StepKind
    input_hash: bytes
    due_for: int
    due_at: int
    awaits: str
    detail: bytes
    child: StartChild
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[_Union[_model_pb2.StepKind, str]] = ..., input_hash: _Optional[bytes] = ..., due_for: _Optional[int] = ..., due_at: _Optional[int] = ..., awaits: _Optional[str] = ..., detail: _Optional[bytes] = ..., child: _Optional[_Union[StartChild, _Mapping]] = ...) -> None: ...

class StartChild(_message.Message):
    __slots__ = ("command", "follows_parent")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    FOLLOWS_PARENT_FIELD_NUMBER: _ClassVar[int]
    command: _workflow_pb2.StartRun
    follows_parent: bool
    def __init__(self, command: _Optional[_Union[_workflow_pb2.StartRun, _Mapping]] = ..., follows_parent: bool = ...) -> None: ...

class OpenWait(_message.Message):
    __slots__ = ("key", "order")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    key: str
    order: int
    def __init__(self, key: _Optional[str] = ..., order: _Optional[int] = ...) -> None: ...

class Unretrieved(_message.Message):
    __slots__ = ("failure", "place")
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    failure: _model_pb2.Failure
    place: str
    def __init__(self, failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., place: _Optional[str] = ...) -> None: ...

class SuspendRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "failures", "waits", "open", "dropped", "park", "together", "is_again", "unretrieved")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    WAITS_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    PARK_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    UNRETRIEVED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    failures: _containers.RepeatedCompositeFieldContainer[FailStep]
    waits: _containers.RepeatedCompositeFieldContainer[WaitStep]
    open: _containers.RepeatedCompositeFieldContainer[OpenWait]
    dropped: _containers.RepeatedScalarFieldContainer[str]
    park: bool
    together: bool
    is_again: bool
    unretrieved: Unretrieved
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., failures: _Optional[_Iterable[_Union[FailStep, _Mapping]]] = ..., waits: _Optional[_Iterable[_Union[WaitStep, _Mapping]]] = ..., open: _Optional[_Iterable[_Union[OpenWait, _Mapping]]] = ..., dropped: _Optional[_Iterable[str]] = ..., park: bool = ..., together: bool = ..., is_again: bool = ..., unretrieved: _Optional[_Union[Unretrieved, _Mapping]] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("due_in", "at")
    DUE_IN_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    due_in: int
    at: int
    def __init__(self, due_in: _Optional[int] = ..., at: _Optional[int] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ("key", "order", "awaits", "output", "failure", "at")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    key: str
    order: int
    awaits: str
    output: bytes
    failure: _model_pb2.Failure
    at: int
    def __init__(self, key: _Optional[str] = ..., order: _Optional[int] = ..., awaits: _Optional[str] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., at: _Optional[int] = ...) -> None: ...

class SuspendResponse(_message.Message):
    __slots__ = ("is_parked", "verdicts", "settled")
    IS_PARKED_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    is_parked: bool
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    settled: _containers.RepeatedCompositeFieldContainer[Settled]
    def __init__(self, is_parked: bool = ..., verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., settled: _Optional[_Iterable[_Union[Settled, _Mapping]]] = ...) -> None: ...

class FailStepRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "step", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    step: FailStep
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., step: _Optional[_Union[FailStep, _Mapping]] = ..., is_again: bool = ...) -> None: ...

class SleepRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "key", "input_hash", "sleep_for", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    SLEEP_FOR_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    key: str
    input_hash: bytes
    sleep_for: int
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., key: _Optional[str] = ..., input_hash: _Optional[bytes] = ..., sleep_for: _Optional[int] = ..., is_again: bool = ...) -> None: ...

class WaitRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "step", "order", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    step: WaitStep
    order: int
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., step: _Optional[_Union[WaitStep, _Mapping]] = ..., order: _Optional[int] = ..., is_again: bool = ...) -> None: ...

class FinishRun(_message.Message):
    __slots__ = ("run_id", "token", "status", "output", "failure", "result_hash")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RESULT_HASH_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    token: int
    status: _model_pb2.RunStatus
    output: bytes
    failure: _model_pb2.Failure
    result_hash: bytes
    def __init__(self, run_id: _Optional[str] = ..., token: _Optional[int] = ..., status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., result_hash: _Optional[bytes] = ...) -> None: ...

class FinishRunsRequest(_message.Message):
    __slots__ = ("namespace", "runs")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    runs: _containers.RepeatedCompositeFieldContainer[FinishRun]
    def __init__(self, namespace: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[FinishRun, _Mapping]]] = ...) -> None: ...

class CompleteRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "output")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    output: bytes
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., output: _Optional[bytes] = ...) -> None: ...

class FailRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "failure")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    failure: _model_pb2.Failure
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class HoldRunRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "reason", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    reason: _model_pb2.Failure
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., reason: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ..., is_again: bool = ...) -> None: ...

class HoldRunResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClaimRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "visibility_for", "delay_for", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    DELAY_FOR_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    visibility_for: int
    delay_for: int
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., visibility_for: _Optional[int] = ..., delay_for: _Optional[int] = ..., is_again: bool = ...) -> None: ...

class ReleaseRunResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenewClaimResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Renewal(_message.Message):
    __slots__ = ("id", "token", "visibility_for")
    ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    token: int
    visibility_for: int
    def __init__(self, id: _Optional[str] = ..., token: _Optional[int] = ..., visibility_for: _Optional[int] = ...) -> None: ...

class RenewClaimsRequest(_message.Message):
    __slots__ = ("namespace", "runs", "pipelines")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    runs: _containers.RepeatedCompositeFieldContainer[Renewal]
    pipelines: _containers.RepeatedCompositeFieldContainer[Renewal]
    def __init__(self, namespace: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[Renewal, _Mapping]]] = ..., pipelines: _Optional[_Iterable[_Union[Renewal, _Mapping]]] = ...) -> None: ...

class RenewClaimsResponse(_message.Message):
    __slots__ = ("lost_runs", "lost_pipelines")
    LOST_RUNS_FIELD_NUMBER: _ClassVar[int]
    LOST_PIPELINES_FIELD_NUMBER: _ClassVar[int]
    lost_runs: _containers.RepeatedScalarFieldContainer[str]
    lost_pipelines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, lost_runs: _Optional[_Iterable[str]] = ..., lost_pipelines: _Optional[_Iterable[str]] = ...) -> None: ...

class SendToChildRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "child", "event", "id", "payload", "payload_hash")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    child: str
    event: str
    id: str
    payload: bytes
    payload_hash: bytes
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., child: _Optional[str] = ..., event: _Optional[str] = ..., id: _Optional[str] = ..., payload: _Optional[bytes] = ..., payload_hash: _Optional[bytes] = ...) -> None: ...

class CancelChildRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "child", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    child: str
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., child: _Optional[str] = ..., is_again: bool = ...) -> None: ...

class AddJobsRequest(_message.Message):
    __slots__ = ("namespace", "run_id", "token", "jobs", "output", "is_again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    IS_AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    run_id: str
    token: int
    jobs: _containers.RepeatedCompositeFieldContainer[_graph_pb2.NewJob]
    output: bytes
    is_again: bool
    def __init__(self, namespace: _Optional[str] = ..., run_id: _Optional[str] = ..., token: _Optional[int] = ..., jobs: _Optional[_Iterable[_Union[_graph_pb2.NewJob, _Mapping]]] = ..., output: _Optional[bytes] = ..., is_again: bool = ...) -> None: ...

class AddJobsResponse(_message.Message):
    __slots__ = ("status", "at", "failure")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    status: _model_pb2.RunStatus
    at: int
    failure: _model_pb2.Failure
    def __init__(self, status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., at: _Optional[int] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class ReadNeedsRequest(_message.Message):
    __slots__ = ("namespace", "claims", "skip")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    claims: _containers.RepeatedCompositeFieldContainer[HeldClaim]
    skip: int
    def __init__(self, namespace: _Optional[str] = ..., claims: _Optional[_Iterable[_Union[HeldClaim, _Mapping]]] = ..., skip: _Optional[int] = ...) -> None: ...

class ReadNeedsResponse(_message.Message):
    __slots__ = ("needs", "has_more")
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    needs: _containers.RepeatedCompositeFieldContainer[_graph_pb2.NeedsOf]
    has_more: bool
    def __init__(self, needs: _Optional[_Iterable[_Union[_graph_pb2.NeedsOf, _Mapping]]] = ..., has_more: bool = ...) -> None: ...
