"""A walk over every method of gRPC: without a key, with every bad one, with every role. All are refused, in one way."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.message_factory import GetMessageClass

from tests.integration.server.wire import METHODS, Code, Metadata, Wire
from windlass.api.operations import OPERATIONS
from windlass.model.access import EVERY_NAMESPACE, Role
from windlass.model.namespace import CreateNamespace
from windlass.model.time import MINUTE, Duration

VIEWER, CLIENT, WORKER, OPERATOR, ADMIN = Role
READ, CALL = {VIEWER, CLIENT, OPERATOR, ADMIN}, {CLIENT, OPERATOR, ADMIN}
STEER, WORK, RULE = {OPERATOR, ADMIN}, {WORKER, ADMIN}, {ADMIN}

# Who may ask what, written down a second time: a method that is not here is a method that nobody has thought of.
LISTED: dict[str, dict[str, set[Role]]] = {
    "WorkflowService": dict.fromkeys(("StartRun", "StartRuns", "CancelRun", "RetryRun", "PauseRun", "ResumeRun"), CALL)
    | dict.fromkeys(("SendEvent", "Decide"), CALL)
    | dict.fromkeys(("GetRun", "FindRun", "ListRuns", "ListSteps", "ListMessages", "ReadLog", "ExplainRun"), READ)
    | {"WaitForResult": READ},
    "WorkerService": dict.fromkeys(("Register", "Heartbeat", "Drain", "Deregister", "Poll", "ReadHistory"), WORK)
    | dict.fromkeys(("Listen", "LookAtClaims", "BeginSteps", "CompleteSteps", "Suspend", "FailStep", "Sleep"), WORK)
    | dict.fromkeys(
        ("Wait", "FinishRuns", "CompleteRun", "FailRun", "HoldRun", "ReleaseRun", "RenewClaim", "RenewClaims"), WORK
    )
    | dict.fromkeys(("RenewClaims", "SendToChild", "CancelChild", "AddJobs", "ReadNeeds"), WORK)
    | dict.fromkeys(("ClaimPipelines", "ReadEvents", "ReserveEvents", "BeginEffect", "ApplyEffect"), WORK)
    | dict.fromkeys(("CommitHandler", "StopHandler", "ReconcileEffect", "FailEffect", "FixHandler"), WORK)
    | dict.fromkeys(("RenewPipeline", "ReleasePipeline"), WORK),
    "ScheduleService": dict.fromkeys(("GetSchedule", "ListSchedules", "ReadScheduleLog"), READ)
    | dict.fromkeys(("Declare", "PutSchedule", "PauseSchedule", "ResumeSchedule", "TriggerSchedule"), STEER)
    | {"DeleteSchedule": STEER},
    "GraphService": dict.fromkeys(("ListGraphs", "GetGraph", "ListJobs"), READ),
    "PipelineService": dict.fromkeys(("ListPipelines", "GetPipeline", "ListHandlerRuns", "GetHandlerRun"), READ)
    | dict.fromkeys(("ListTopics", "ListEvents", "ListInputs", "TraceInput", "ExplainPipeline"), READ)
    | {"ListOpenEffects": READ}
    | dict.fromkeys(("PublishEvents", "DecideHandler", "ResolveEffect"), CALL)
    | dict.fromkeys(("DeclarePipelines", "PausePipeline", "ResumePipeline", "RunNow", "RetryPipeline"), STEER)
    | {"SkipInput": STEER},
    "SignalService": dict.fromkeys(("GetItem", "ListItems", "ReadItemLog", "GetSignal", "ListSignals"), READ)
    | dict.fromkeys(("ReadSignalLog", "ListFirings", "ExplainSignal"), READ)
    | dict.fromkeys(("CreateItem", "TransitionItem", "DeleteItem", "AddTask", "EndTask"), CALL)
    | dict.fromkeys(("CreateSignal", "UpdateSignal", "SteerSignal", "DeleteSignal"), CALL)
    | {"DeclareSignals": STEER},
    "NamespaceService": dict.fromkeys(("CreateNamespace", "DisableNamespace", "EnableNamespace"), RULE)
    | dict.fromkeys(("DeleteNamespace", "CreateKey", "ListKeys", "RevokeKey"), RULE)
    | {"GetNamespace": READ, "ListNamespaces": READ, "ListAudit": STEER},
    "AdminService": dict.fromkeys(("ListWorkers", "ListQueues", "ListGates", "ReadFeed", "FollowFeed"), READ)
    | dict.fromkeys(("DrainWorker", "SetGate", "MoveCursor", "DropCursor"), STEER)
    | {"GetServerInfo": set(Role), "CheckUp": RULE},
}
ROLES = {f"/windlass.v1.{service}/{name}": roles for service, found in LISTED.items() for name, roles in found.items()}
OF_ALL = {  # only with a key for all namespaces
    f"/windlass.v1.NamespaceService/{name}"
    for name in (
        "CreateNamespace", "ListNamespaces", "DisableNamespace", "EnableNamespace", "DeleteNamespace", "CreateKey",
        "ListKeys", "RevokeKey",
    )
} | {"/windlass.v1.AdminService/CheckUp"}  # fmt: skip
UNKNOWN = (
    "/windlass.v1.WorkflowService/DropEverything", "/windlass.v1.WorkflowService/", "/windlass.v1.Nothing/At", "/x",
    "/windlass.v1.workflowservice/GetRun", "/WINDLASS.V1.WorkflowService/GetRun", "//windlass.v1.AdminService/CheckUp",
    "/windlass.v1.WorkflowService/GetRun/", "/windlass.v1.WorkflowService//GetRun", "/grpc.health.v1.Health/../GetRun",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.channelz.v1.Channelz/GetServers",
)  # fmt: skip
FINE = {Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.ALREADY_EXISTS}


def naming(path: str, namespace: str) -> Any:
    """A request that says no more than which namespace it is about."""
    message = GetMessageClass(METHODS[path].input_type)()
    if "namespace" in message.DESCRIPTOR.fields_by_name:
        message.namespace = namespace
    return message


def pause(wire: Wire, number: int) -> None:
    if number % 10 == 0:
        wire.clock.advance("1m")  # type: ignore[attr-defined]  # else the throttle would answer


@pytest.mark.spec("security:S-04", "security:S-07")
async def test_every_method_is_listed_here_and_no_other_is_served(memory_wire: Wire) -> None:
    pool = descriptor_pool.Default()
    names = ("workflow", "worker", "schedule", "graph", "pipeline", "signal", "namespace", "admin", "model")
    files = [f"windlass/v1/{name}.proto" for name in names]
    written = {
        f"/{service.full_name}/{method.name}"
        for file in files
        for service in pool.FindFileByName(file).services_by_name.values()
        for method in service.methods
    }

    assert written == set(ROLES)
    assert {row.path: set(OPERATIONS[row.operation].roles) for row in memory_wire.server.rows} == ROLES
    assert {row.path for row in memory_wire.server.rows if not OPERATIONS[row.operation].of_namespace} == OF_ALL


async def bad_credentials(wire: Wire) -> dict[str, Metadata]:
    _, good = await wire.key(ADMIN, namespace=EVERY_NAMESPACE)
    revoked_key, revoked = await wire.key(ADMIN, namespace=EVERY_NAMESPACE)
    _, expired = await wire.key(ADMIN, namespace=EVERY_NAMESPACE, expires_for=Duration(MINUTE))
    await wire.opened.access.revoke_key(revoked_key)
    wire.clock.advance("2m")  # type: ignore[attr-defined]

    def bearer(token: str) -> tuple[str, str]:
        return ("authorization", f"Bearer {token}")

    return {
        "none": (),
        "malformed": (bearer("wl_nonsense"),),
        "of nobody": (bearer("wl_" + "0" * 26 + "_" + "A" * 43),),
        "another secret": (bearer(good[:-43] + "A" * 43),),
        "with more behind it": (bearer(good + "A"),),
        "another scheme": (("authorization", f"Basic {good}"),),
        "without a scheme": (("authorization", good),),
        "expired": (bearer(expired),),
        "revoked": (bearer(revoked),),
        "twice": (bearer(good), bearer(good)),
        "binary": (("authorization-bin", f"Bearer {good}".encode()),),
        "elsewhere": (("x-authorization", f"Bearer {good}"), ("token", good), ("cookie", f"token={good}")),
    }


@pytest.mark.spec("security:S-04", "security:90", "security:S-16", "security:S-30")
async def test_no_method_is_reached_without_a_good_key_and_all_are_refused_alike(memory_wire: Wire) -> None:
    credentials = await bad_credentials(memory_wire)
    stranger = memory_wire.asker()
    told = set()

    for number, (path, what) in enumerate((path, what) for path in ROLES for what in credentials):
        pause(memory_wire, number)
        refused = await stranger.refusal(path, naming(path, "default"), metadata=credentials[what])
        assert (refused.status, refused.code) == (Code.UNAUTHENTICATED, "not_authenticated"), (path, what)
        told.add(str(refused.told))

    assert len(told) == 1, told


@pytest.mark.spec("security:S-04")
async def test_nobody_without_a_key_learns_which_methods_there_are_or_what_is_wrong_with_a_message(
    memory_wire: Wire,
) -> None:
    stranger, known = memory_wire.asker(), await memory_wire.caller(CLIENT)

    for number, path in enumerate((*UNKNOWN, "/windlass.v1.WorkflowService/GetRun")):
        pause(memory_wire, number)
        for data in (b"", b"\xff\xff"):
            refused = await stranger.refusal(path, data)
            assert (refused.status, refused.code) == (Code.UNAUTHENTICATED, "not_authenticated"), path
    for path in UNKNOWN:
        assert (await known.refusal(path)).status is Code.UNIMPLEMENTED, path
    refused = await known.refusal("/windlass.v1.WorkflowService/GetRun", b"\xff\xff")
    assert (refused.status, refused.code) == (Code.INVALID_ARGUMENT, "invalid_input")


@pytest.mark.spec("security:S-07", "security:S-08", "security:90")
@pytest.mark.parametrize("role", Role)
async def test_every_role_reaches_what_is_listed_for_it_and_nothing_else(memory_wire: Wire, role: Role) -> None:
    of_all = await memory_wire.caller(role, namespace=EVERY_NAMESPACE)
    of_one = await memory_wire.caller(role)

    for path, roles in ROLES.items():
        if path.endswith("/DisableNamespace"):
            continue  # it would be, and the others refused for that
        for caller in (of_all, of_one):
            is_allowed = role in roles and (caller is of_all or path not in OF_ALL)
            call = caller.start(path, naming(path, "default"), timeout=10)
            code = await _code_of(call)
            assert (code is not Code.PERMISSION_DENIED) == is_allowed, (role, path, code)
            assert code in FINE | {Code.PERMISSION_DENIED}, (path, code)


async def _code_of(call: Any) -> Any:
    if hasattr(call, "read"):
        await _first(call)
        if not call.done():
            call.cancel()
            return Code.OK
    return await call.code()


async def _first(call: Any) -> None:
    try:
        await call.read()
    except Exception as error:
        assert type(error).__name__ == "AioRpcError", error


@pytest.mark.spec("security:S-09", "invariants:I-58", "security:S-30")
async def test_a_key_of_another_namespace_does_not_even_learn_that_one_exists(wire: Wire) -> None:
    await wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await wire.caller(*Role, namespace="other")

    for path in ROLES:
        if "namespace" not in METHODS[path].input_type.fields_by_name:
            continue
        there = await stranger.refusal(path, naming(path, "default"))
        nowhere = await stranger.refusal(path, naming(path, "never-was"))
        assert (there.status, there.code) == (Code.PERMISSION_DENIED, "forbidden"), path
        assert there.told == nowhere.told, path
    for name in ("DEFAULT", "default ", "*", "../default", "def\u200bault", "x" * 5_000):
        path = "/windlass.v1.WorkflowService/ListRuns"
        assert (await stranger.refusal(path, naming(path, name))).status is Code.PERMISSION_DENIED, name


async def test_a_namespace_that_is_not_named_is_the_one_of_the_key(wire: Wire) -> None:
    await wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    here, there = await wire.caller(CLIENT), await wire.caller(CLIENT, namespace="other")
    run_id = await there.begin_run()

    assert await there.status_of(run_id) > 0
    path = "/windlass.v1.WorkflowService/ListRuns"
    assert [len((await caller.ask(path)).runs) for caller in (here, there)] == [0, 1]
