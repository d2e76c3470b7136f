"""Does the wire say all that the doors say, and do its parts agree: proto/, the table, structs and errors?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.unit.server.wire_values import Whole, mirrors, rows, structs, wholes
from windlass import errors
from windlass.api.grpc.errors import TABLE, from_detail, status_of, to_detail
from windlass.api.grpc.mirror import Mirror
from windlass.api.grpc.table import SERVICES
from windlass.api.operations import OPERATIONS
from windlass.api.statuses import HIDDEN, HTTP_STATUS
from windlass.errors import WindlassError
from windlass.model.graph import ListJobs, NewJob
from windlass.model.run import Run, RunKind, RunStatus
from windlass.v1 import (
    admin_pb2,
    graph_pb2,
    model_pb2,
    namespace_pb2,
    pipeline_pb2,
    pipeline_work_pb2,
    schedule_pb2,
    signal_pb2,
    worker_pb2,
    workflow_pb2,
)
from windlass.v1.model_pb2 import ErrorDetail

ROOT = Path(__file__).parents[3]
FILES = (
    admin_pb2, graph_pb2, model_pb2, namespace_pb2, pipeline_pb2, pipeline_work_pb2, schedule_pb2, signal_pb2,
    worker_pb2, workflow_pb2,
)  # fmt: skip

# Only over HTTP, only of gRPC's own service, and only of a WebSocket: here FollowFeed tells of signals, too.
NOT_CALLED = {"read_metrics", "reflect", "follow_signals"}

# What a message does not say of its struct, and why that is enough.
UNSAID = {
    "StartRun": {"namespace"},  # of the request
    "BeginStep": {"namespace"},
    "CompleteStep": {"namespace"},
    "FinishRun": {"namespace", "parent", "schedule", "job", "knows_family"},  # the server looks them up itself
    "FailStep": {"namespace", "run_id", "token"},  # of the request, which is about one run
    "WaitStep": {"namespace", "run_id", "token"},
    "Unretrieved": {"token"},
    "RegisterRequest": {"lock", "is_remote"},  # there is no lock that a server could probe
    "RegisterResponse": {"lock"},
    "PollRequest": {"is_remote"},  # every poll of the wire is
    "ClaimedRun": {"asked_at"},  # by the clock of the worker
    "PublishEvent": {"namespace"},
    "ClaimPipelinesRequest": {"is_remote"},
    "ClaimedPipeline": {"asked_at"},
    "Key": {"secret_hash"},  # never leaves the server
}
# What a message says beyond its struct: under another name, or for the answer it stands in.
BEYOND = {"PollRequest": {"poll_id"}, "ClaimedRun": {"has_more_history"}}
# Messages that are made by hand, and those that stand for a pair of values.
WITHOUT_STRUCT = {
    "ClaimPipelinesResponse", "ErrorDetail", "HeldClaim", "Kept", "PollResponse", "PublishEventsResponse",
    "PublishOutcome", "Refused", "StartOutcome", "StartRunsResponse", "Unserved", "WriteOutcomes",
}  # fmt: skip

# Raised where user code runs or a result is read, from what a run has recorded: no server raises them.
NOT_OF_A_SERVER = {
    errors.WindlassError,
    errors.Rejected,
    errors.WaitTimeout,
    errors.RunCancelled,
    errors.UserCodeError,
    errors.StepFailed,
    errors.RunFailed,
}
SAMPLES: list[WindlassError] = [
    errors.InvalidInput("limit is 0.", reason="too_small", path="limit"),
    errors.NotFound("workflow", "ordr", close=("order", "orders"), hint="Start a worker."),
    errors.AlreadyExists("That key is taken.", reason="key_conflict", owner="run_1"),
    errors.WrongState("run", "run_1", "completed", wanted="running", hint="Retry it."),
    errors.NotAllowed("Not here."),
    errors.CursorExpired("That is gone."),
    errors.AmbiguousStep("pack"),
    errors.ClaimLost("run_1"),
    errors.NotAuthenticated("Who asks?"),
    errors.Forbidden("Not with this key."),
    errors.Busy("Too often."),
    errors.Unavailable(HIDDEN["unavailable"]),
    errors.StoreRefused(HIDDEN["store_refused"]),
    errors.ReplayMismatch("The code has changed.", step="pack", recorded="step", found="sleep"),
    errors.ResultTimeout("run_1", "sleeping"),
]


# Methods and operations


def test_every_method_of_the_contract_has_one_row_and_every_row_a_method() -> None:
    methods = [(service, name) for service, found in SERVICES.items() for name in found.methods_by_name]

    assert sorted((row.service, row.name) for row in rows()) == sorted(methods)


def test_every_service_of_the_contract_is_in_the_table() -> None:
    assert set(SERVICES) == {name for file in FILES for name in file.DESCRIPTOR.services_by_name}


def test_every_operation_can_be_asked_by_grpc() -> None:
    asked = {row.operation for row in rows()}

    assert asked <= set(OPERATIONS)
    assert set(OPERATIONS) - asked == NOT_CALLED


# Structs and messages


def test_what_messages_do_not_say_is_listed() -> None:
    unsaid = {one.descriptor.name: set(one.unsaid) for one in mirrors() if one.unsaid}

    assert unsaid == UNSAID


def test_messages_say_nothing_that_nobody_reads() -> None:
    beyond = {one.descriptor.name: _beyond(one) for one in mirrors() if _beyond(one)}

    assert beyond == BEYOND


def _beyond(one: Mirror) -> set[str]:
    return set(one.descriptor.fields_by_name) - {field.name for field in msgspec.structs.fields(one.struct)}


def test_every_message_belongs_to_a_struct() -> None:
    messages = {name for file in FILES for name in file.DESCRIPTOR.message_types_by_name}

    assert messages - {one.descriptor.name for one in mirrors()} == WITHOUT_STRUCT


@pytest.mark.parametrize("whole", wholes(), ids=lambda whole: whole.name)
def test_what_goes_over_the_wire_comes_back_the_same(whole: Whole) -> None:
    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(structs(whole.mirror, whole.around))
    def comes_back(value: Any) -> None:
        data = whole.mirror.to_message(value).SerializeToString()

        assert whole.mirror.to_struct(whole.mirror.message.FromString(data), whole.around) == value

    comes_back()


def test_a_status_has_a_number_and_a_number_a_status() -> None:
    """Every value of every enumeration but the one that says nothing."""
    for file in FILES:
        for enumeration in file.DESCRIPTOR.enum_types_by_name.values():
            assert enumeration.values_by_number[0].name.endswith("_UNSPECIFIED")
    statuses: EnumDescriptor = model_pb2.DESCRIPTOR.enum_types_by_name["RunStatus"]
    told = {value.name.removeprefix("RUN_STATUS_") for value in statuses.values if value.number}
    assert told == {status.name for status in RunStatus}


def test_what_is_left_out_is_what_the_struct_says() -> None:
    """Also by a server or a worker of a version that did not know it."""
    job = Mirror(NewJob, graph_pb2.NewJob.DESCRIPTOR)
    asked = Mirror(ListJobs, graph_pb2.ListJobsRequest.DESCRIPTOR)
    run = Mirror(Run, model_pb2.Run.DESCRIPTOR).to_struct(model_pb2.Run(status=model_pb2.RUN_STATUS_PENDING))

    assert job.to_struct(graph_pb2.NewJob(name="a", workflow="b")) == NewJob(name="a", workflow="b")
    assert asked.to_struct(graph_pb2.ListJobsRequest(limit=9)).after == ListJobs(namespace="", graph=run.id).after == -1
    assert (run.kind, run.ready_at) == (RunKind.WORKFLOW, None)


# Times to try again


@pytest.mark.spec("runs:P6.4", "runs:P4.8")
def test_no_message_carries_a_time_to_retry_at() -> None:
    """The run's own `available_at` is the only one, and only those who look at the run itself read it."""
    fields = {
        f"{message.name}.{field.name}"
        for file in FILES
        for message in file.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    }
    answers = {message for row in rows() if row.service == "WorkerService" for message in _within(row)}

    assert not {name for name in fields if "retry_at" in name or "next_attempt" in name}
    # The pipeline that a worker has stopped at is told with the answer, and is the row itself.
    assert {message.name for message in answers if "available_at" in message.fields_by_name} == {"Pipeline"}


def _within(row: Any) -> set[Descriptor]:
    """The answer of a method, and every message inside it."""
    found: set[Descriptor] = set()
    left = [row.descriptor.output_type]
    while left:
        message = left.pop()
        if message not in found:
            found.add(message)
            left.extend(field.message_type for field in message.fields if field.message_type is not None)
    return found


# Errors


def test_every_error_has_a_status_on_both_wires() -> None:
    known = set(_subclasses(WindlassError)) | {WindlassError}

    assert set(TABLE) == known - NOT_OF_A_SERVER
    assert {cls.code for cls in known} <= set(HTTP_STATUS)
    assert {type(sample) for sample in SAMPLES} == set(TABLE)


def _subclasses(cls: type[WindlassError]) -> set[type[WindlassError]]:
    """Of errors.py: others belong to whoever raises them, such as the testing package."""
    found = {item for item in cls.__subclasses__() if item.__module__ == errors.__name__}
    return found.union(*map(_subclasses, found))


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_what_it_was(error: WindlassError) -> None:
    data = to_detail(error, request_id="req_1").SerializeToString()
    detail = ErrorDetail.FromString(data)
    arrived = from_detail(detail)

    assert (type(arrived), str(arrived), vars(arrived)) == (type(error), str(error), vars(error))
    assert arrived.args == error.args
    assert status_of(detail) is TABLE[type(error)][0]


@pytest.mark.parametrize(
    "error",
    [
        errors.Unavailable("could not connect to db.internal:5432 as windlass"),
        errors.StoreRefused("database /srv/windlass.db is corrupt"),
        KeyError("db.internal"),
        errors.RunFailed("ValueError", "db.internal"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_an_error_says_of_the_database_stays_on_the_server(error: Exception) -> None:
    detail = to_detail(error, request_id="req_1")

    assert "db" not in detail.message and "windlass" not in detail.message
    assert detail.request_id == "req_1"


@given(message=some.text(max_size=20), reason=some.text(max_size=20), path=some.text(max_size=20))
def test_any_text_of_a_refusal_arrives(message: str, reason: str, path: str) -> None:
    arrived = from_detail(to_detail(errors.InvalidInput(message, reason=reason, path=path)))

    assert (str(arrived), vars(arrived)) == (message, {"reason": reason, "path": path})
