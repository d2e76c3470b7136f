from windlass.v1 import model_pb2 as _model_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListGraphsRequest(_message.Message):
    __slots__ = ("namespace", "name", "is_open", "before", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_OPEN_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    is_open: bool
    before: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., is_open: bool = ..., before: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListGraphsResponse(_message.Message):
    __slots__ = ("graphs", "next")
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    graphs: _containers.RepeatedCompositeFieldContainer[GraphView]
    next: str
    def __init__(self, graphs: _Optional[_Iterable[_Union[GraphView, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class GraphRequest(_message.Message):
    __slots__ = ("namespace", "graph")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    graph: str
    def __init__(self, namespace: _Optional[str] = ..., graph: _Optional[str] = ...) -> None: ...

class GraphView(_message.Message):
    __slots__ = ("graph", "run", "failure")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    graph: Graph
    run: _model_pb2.Run
    failure: _model_pb2.Failure
    def __init__(self, graph: _Optional[_Union[Graph, _Mapping]] = ..., run: _Optional[_Union[_model_pb2.Run, _Mapping]] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("namespace", "id", "name", "jobs", "open", "completed", "failed", "cancelled", "skipped", "held", "is_paused", "ending", "parent", "schedule", "created_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    name: str
    jobs: int
    open: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    held: int
    is_paused: bool
    ending: _model_pb2.RunStatus
    parent: str
    schedule: str
    created_at: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., name: _Optional[str] = ..., jobs: _Optional[int] = ..., open: _Optional[int] = ..., completed: _Optional[int] = ..., failed: _Optional[int] = ..., cancelled: _Optional[int] = ..., skipped: _Optional[int] = ..., held: _Optional[int] = ..., is_paused: bool = ..., ending: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., parent: _Optional[str] = ..., schedule: _Optional[str] = ..., created_at: _Optional[int] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("namespace", "graph", "after", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    graph: str
    after: int
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., graph: _Optional[str] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobView]
    next: int
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobView, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class JobView(_message.Message):
    __slots__ = ("state", "needs", "failure")
    STATE_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    state: JobState
    needs: _containers.RepeatedCompositeFieldContainer[Edge]
    failure: _model_pb2.Failure
    def __init__(self, state: _Optional[_Union[JobState, _Mapping]] = ..., needs: _Optional[_Iterable[_Union[Edge, _Mapping]]] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class JobState(_message.Message):
    __slots__ = ("run", "name", "is_group", "is_cleanup", "group", "matrix", "position", "max_parallel", "fail_fast", "is_held", "timeout_for", "decided_by")
    RUN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_GROUP_FIELD_NUMBER: _ClassVar[int]
    IS_CLEANUP_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MATRIX_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    MAX_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    FAIL_FAST_FIELD_NUMBER: _ClassVar[int]
    IS_HELD_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    run: _model_pb2.Run
    name: str
    is_group: bool
    is_cleanup: bool
    group: str
    matrix: str
    position: int
    max_parallel: int
    fail_fast: bool
    is_held: bool
    timeout_for: int
    decided_by: str
    def __init__(self, run: _Optional[_Union[_model_pb2.Run, _Mapping]] = ..., name: _Optional[str] = ..., is_group: bool = ..., is_cleanup: bool = ..., group: _Optional[str] = ..., matrix: _Optional[str] = ..., position: _Optional[int] = ..., max_parallel: _Optional[int] = ..., fail_fast: bool = ..., is_held: bool = ..., timeout_for: _Optional[int] = ..., decided_by: _Optional[str] = ...) -> None: ...

class Edge(_message.Message):
    __slots__ = ("job", "upstream", "accepts", "is_group", "is_resolved")
    JOB_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    IS_GROUP_FIELD_NUMBER: _ClassVar[int]
    IS_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    job: str
    upstream: str
    accepts: _containers.RepeatedScalarFieldContainer[_model_pb2.RunStatus]
    is_group: bool
    is_resolved: bool
    def __init__(self, job: _Optional[str] = ..., upstream: _Optional[str] = ..., accepts: _Optional[_Iterable[_Union[_model_pb2.RunStatus, str]]] = ..., is_group: bool = ..., is_resolved: bool = ...) -> None: ...

class NewJob(_message.Message):
    __slots__ = ("name", "workflow", "version", "queue", "priority", "input", "needs", "is_group", "is_cleanup", "timeout_for", "matrix", "max_parallel", "fail_fast")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    IS_GROUP_FIELD_NUMBER: _ClassVar[int]
    IS_CLEANUP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FOR_FIELD_NUMBER: _ClassVar[int]
    MATRIX_FIELD_NUMBER: _ClassVar[int]
    MAX_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    FAIL_FAST_FIELD_NUMBER: _ClassVar[int]
    name: str
    workflow: str
    version: str
    queue: str
    priority: int
    input: bytes
    needs: _containers.RepeatedCompositeFieldContainer[Need]
    is_group: bool
    is_cleanup: bool
    timeout_for: int
    matrix: str
    max_parallel: int
    fail_fast: bool
    def __init__(self, name: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., input: _Optional[bytes] = ..., needs: _Optional[_Iterable[_Union[Need, _Mapping]]] = ..., is_group: bool = ..., is_cleanup: bool = ..., timeout_for: _Optional[int] = ..., matrix: _Optional[str] = ..., max_parallel: _Optional[int] = ..., fail_fast: bool = ...) -> None: ...

class Need(_message.Message):
    __slots__ = ("upstream", "accepts", "is_group")
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    IS_GROUP_FIELD_NUMBER: _ClassVar[int]
    upstream: str
    accepts: _containers.RepeatedScalarFieldContainer[_model_pb2.RunStatus]
    is_group: bool
    def __init__(self, upstream: _Optional[str] = ..., accepts: _Optional[_Iterable[_Union[_model_pb2.RunStatus, str]]] = ..., is_group: bool = ...) -> None: ...

class Met(_message.Message):
    __slots__ = ("job", "workflow", "version", "status", "is_group", "group", "matrix", "output", "failure")
    JOB_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    IS_GROUP_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MATRIX_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    job: str
    workflow: str
    version: str
    status: _model_pb2.RunStatus
    is_group: bool
    group: str
    matrix: str
    output: bytes
    failure: _model_pb2.Failure
    def __init__(self, job: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[str] = ..., status: _Optional[_Union[_model_pb2.RunStatus, str]] = ..., is_group: bool = ..., group: _Optional[str] = ..., matrix: _Optional[str] = ..., output: _Optional[bytes] = ..., failure: _Optional[_Union[_model_pb2.Failure, _Mapping]] = ...) -> None: ...

class NeedsOf(_message.Message):
    __slots__ = ("run_id", "graph", "job", "input", "needs", "name", "version")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    graph: str
    job: str
    input: bytes
    needs: _containers.RepeatedCompositeFieldContainer[Met]
    name: str
    version: str
    def __init__(self, run_id: _Optional[str] = ..., graph: _Optional[str] = ..., job: _Optional[str] = ..., input: _Optional[bytes] = ..., needs: _Optional[_Iterable[_Union[Met, _Mapping]]] = ..., name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...
