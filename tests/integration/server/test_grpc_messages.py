"""Messages that no library would send: too large, cut off, full of nonsense, or of another version of the wire."""

from __future__ import annotations

import random
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from tests.integration.server.wire import (
    HASH,
    METHODS,
    NOBODY,
    SECOND,
    Code,
    Wire,
    WireWorker,
    begin,
    complete,
    finish,
    outcome,
    refusal_of,
)
from tests.scale import SCALE
from windlass.model.access import EVERY_NAMESPACE, Role
from windlass.v1 import model_pb2, worker_pb2, workflow_pb2

RUNS, WORK = "/windlass.v1.WorkflowService/", "/windlass.v1.WorkerService/"
MEBIBYTE = 1024 * 1024
UNKNOWN_FIELD = b"\xfa\x3f\x03new"  # number 1023, a text
SEED = 7_421
TRIES = 40 * SCALE  # of each method
TEXTS = (
    "", "a", "default", "order", "*", "x" * 201, "y" * 10_000, "a\x00b", "\x00", "a/b", "../..", "a\nb", "\u202eabc",
    "e\u0301", "'; drop table runs; --", "%", "$1", ":id", "{}", "now", NOBODY, "wrk_" + "0" * 26, "key_" + "0" * 26,
    "run_" + "z" * 26, "\U0001f9e8", "None", "NaN", "* * * * *", "0 0 30 2 *", "UTC", "Mars/Phobos", "a#b",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 500, 501, 1_001, 60 * SECOND, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 10**15)
DOUBLES = (0.0, -1.0, 1.0, 1e308, float("inf"), float("-inf"), float("nan"), 5e-324)
BLOBS = (b"", b"1", b"null", b"[]", HASH, b"\xff\xfe", b"\x00" * 17, b'{"$type":"os.system"}', b"[" * 5_000)
UNTRIED = ("DisableNamespace", "DeleteNamespace")  # of the one that all others are tried in
FINE = {
    Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.ALREADY_EXISTS, Code.OUT_OF_RANGE,
    Code.PERMISSION_DENIED,
}  # fmt: skip


def strange(descriptor: Descriptor, rng: random.Random, *, depth: int = 0) -> Any:
    """A message of this kind whose every field may be anything that can be written."""
    message = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if rng.random() < 0.25:
            continue
        if field.name == "namespace" and depth == 0 and rng.random() < 0.9:
            continue  # else hardly anything would get past the gate
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, field.name)[rng.choice(TEXTS)] = rng.choice(NUMBERS)
        elif field.is_repeated:
            for _ in range(rng.choice((0, 1, 2, 3))):
                _add(message, field, rng, depth)
        elif field.message_type is not None:
            if depth < 3:
                getattr(message, field.name).CopyFrom(strange(field.message_type, rng, depth=depth + 1))
        else:
            setattr(message, field.name, _value(field, rng))
    return message


def _add(message: Any, field: FieldDescriptor, rng: random.Random, depth: int) -> None:
    if field.message_type is None:
        getattr(message, field.name).append(_value(field, rng))
    elif depth < 3:
        getattr(message, field.name).append(strange(field.message_type, rng, depth=depth + 1))


def _value(field: FieldDescriptor, rng: random.Random) -> Any:
    if field.name == "wait_for":
        return rng.choice((0, -1))
    if (
        field.name in ("run_id", "parent", "child", "before")
        and field.type == FieldDescriptor.TYPE_STRING
        and rng.random() < 0.7
    ):
        return NOBODY
    if field.name in ("input_hash", "payload_hash") and rng.random() < 0.8:
        return HASH
    if field.enum_type is not None:
        return rng.choice([*field.enum_type.values_by_number, 999, -1])
    kinds: dict[int, tuple[Any, ...]] = {
        FieldDescriptor.TYPE_STRING: TEXTS,
        FieldDescriptor.TYPE_BYTES: BLOBS,
        FieldDescriptor.TYPE_BOOL: (True, False),
        FieldDescriptor.TYPE_DOUBLE: DOUBLES,
    }
    return rng.choice(kinds.get(field.type, NUMBERS))


@pytest.mark.spec("security:88", "security:S-30", "security:S-22", "security:21", "security:93")
async def test_no_message_makes_the_server_fail_or_say_too_much(wire: Wire, figures: list[str]) -> None:
    caller = await wire.caller(*Role, namespace=EVERY_NAMESPACE)
    worker = WireWorker(caller, "wrk_" + "0" * 26)
    await worker.register()
    rng = random.Random(SEED)
    answered = refused = 0

    for path, method in METHODS.items():
        if method.name in UNTRIED:
            continue
        for _ in range(TRIES):
            request = strange(method.input_type, rng)
            found = await caller.tried(path, request)
            if found is None:
                answered += 1
            else:
                refused += 1
                assert found.status in FINE, (found, path, request)
                assert found.code, (found, path)

    assert await wire.is_serving()
    assert answered > 100
    figures.append(f"strange messages over gRPC: {answered} were answered, {refused} refused, none failed")


@pytest.mark.spec("security:88")
async def test_fields_of_a_newer_wire_are_ignored(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(Role.CLIENT, Role.WORKER)
    run = workflow_pb2.StartRun.FromString(
        workflow_pb2.StartRun(name="order", queue="default", input=b"[1]").SerializeToString() + UNKNOWN_FIELD
    )
    request = workflow_pb2.StartRunRequest(run=run, allow_unknown=True).SerializeToString() + UNKNOWN_FIELD

    started = await caller.ask(RUNS + "StartRun", request)

    assert await caller.status_of(started.run_id) == model_pb2.RUN_STATUS_PENDING


@pytest.mark.spec("security:88")
async def test_values_of_a_newer_wire_are_refused_by_name(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(*Role)
    worker = WireWorker(caller, memory_wire.opened.ids.worker())
    await worker.register()
    await caller.begin_run()
    run = await worker.claim()
    writes = (
        ("BeginSteps", begin(run, kind=99), "kind"),
        ("BeginSteps", begin(run, kind=0), "kind"),
        ("CompleteSteps", complete(run, kind=-1), "kind"),
        ("FinishRuns", finish(run, status=model_pb2.RUN_STATUS_UNSPECIFIED), "status"),
        ("FinishRuns", finish(run, status=77), "status"),
    )

    for method, request, path in writes:
        refused = await refusal_of(caller.work(method, request))
        assert refused is not None, method
        assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, path), method
    listed = await caller.refusal(RUNS + "ListRuns", workflow_pb2.ListRunsRequest(status=55))
    assert (listed.status, listed.detail.path) == (Code.INVALID_ARGUMENT, "status")
    # Known, and yet not how a run is finished: an outcome of its own.
    assert outcome(await caller.work("FinishRuns", finish(run, status=model_pb2.RUN_STATUS_PAUSED))) == "invalid_input"
    assert outcome(await caller.work("FinishRuns", finish(run))) == "written"


@pytest.mark.spec("security:88")
async def test_what_a_message_must_say_and_does_not_is_named(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(*Role, namespace=EVERY_NAMESPACE)
    claim: dict[str, Any] = {"run_id": NOBODY, "token": 1}
    cases = (
        (RUNS + "StartRun", workflow_pb2.StartRunRequest(), "run"),
        (WORK + "FailStep", worker_pb2.FailStepRequest(**claim), "step"),
        (WORK + "FailStep", worker_pb2.FailStepRequest(**claim, step=worker_pb2.FailStep(key="a", kind=1)), "failure"),
        (WORK + "Wait", worker_pb2.WaitRequest(**claim), "step"),
        (WORK + "FailRun", worker_pb2.FailRunRequest(**claim), "failure"),
        (WORK + "HoldRun", worker_pb2.HoldRunRequest(**claim), "reason"),
        (RUNS + "GetRun", None, "run id"),
    )

    for path, request, missing in cases:
        refused = await caller.refusal(path, request)
        assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, missing), path


@pytest.mark.spec("security:89", "security:S-13")
async def test_a_message_is_as_large_as_the_limit_says_and_no_larger(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(Role.CLIENT)

    def sized(total: int) -> bytes:
        run = workflow_pb2.StartRun(name="order", queue="default", input=b"[1]")
        known = workflow_pb2.StartRunRequest(run=run, allow_unknown=True).SerializeToString()
        room = total - len(known) - 2
        length = room - (3 if room - 3 < 2**21 else 4)  # what says how long it is takes room too
        filler = b"\xfa\x3f" + _varint(length) + b"x" * length
        assert len(known + filler) == total
        return known + filler

    assert (await caller.ask(RUNS + "StartRun", sized(4 * MEBIBYTE))).run_id
    for size in (4 * MEBIBYTE + 1, 5 * MEBIBYTE, 64 * MEBIBYTE):
        refused = await caller.refusal(RUNS + "StartRun", sized(size))
        assert refused.status is Code.RESOURCE_EXHAUSTED, size
    large = workflow_pb2.StartRun(name="order", queue="default", input=b"x" * (3 * MEBIBYTE + 1), input_hash=HASH)
    refused = await caller.refusal(RUNS + "StartRun", workflow_pb2.StartRunRequest(run=large, allow_unknown=True))
    assert (refused.status, refused.detail.reason) == (Code.INVALID_ARGUMENT, "payload_too_large")
    assert await memory_wire.is_serving()


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


@pytest.mark.spec("security:89")
async def test_bytes_that_are_no_message_are_the_caller_s_mistake(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(*Role, namespace=EVERY_NAMESPACE)
    rng = random.Random(SEED)
    run = workflow_pb2.StartRun(name="order", queue="default", input=b"[1]")
    whole = workflow_pb2.StartRunRequest(run=run).SerializeToString()
    nested = b""
    for _ in range(300):
        nested = b"\x12" + _varint(len(nested)) + nested
    cases = [whole[:-1], whole[: len(whole) // 2], b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x02\xc3\x28", b"\x00", b"\x07"]

    for data in cases:
        refused = await caller.refusal(RUNS + "StartRun", data)
        assert (refused.status, refused.code) == (Code.INVALID_ARGUMENT, "invalid_input"), data
    for path in METHODS:
        for data in (b"\xff" * 20, rng.randbytes(60), nested):
            found = await caller.tried(path, data)
            assert found is None or found.status in FINE, (path, data, found)
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:S-14")
@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_what_is_compressed_is_not_unpacked(memory_wire: Wire, compression: grpc.Compression) -> None:
    """2 MiB that are small on the wire: refused for being compressed, before anybody looks how large it is."""
    caller = await memory_wire.caller(Role.CLIENT)
    run = workflow_pb2.StartRun(name="order", queue="default", input=b"0" * (2 * MEBIBYTE), input_hash=HASH)
    request = workflow_pb2.StartRunRequest(run=run, allow_unknown=True)

    refused = await caller.refusal(RUNS + "StartRun", request, compression=compression)

    assert refused.status is Code.UNIMPLEMENTED
    assert not (await caller.ask(RUNS + "ListRuns")).runs


@pytest.mark.spec("security:S-13")
async def test_metadata_is_small(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(Role.CLIENT)

    few = [*caller.metadata, ("x-note", "n" * 4_000)]
    many = [*caller.metadata, *((f"x-{number}", "n" * 1_000) for number in range(30))]
    assert await caller.ask(RUNS + "ListRuns", metadata=few)
    for metadata in (many, [*caller.metadata, ("x-note", "n" * 20_000)]):
        assert (await caller.refusal(RUNS + "ListRuns", metadata=metadata)).status is Code.RESOURCE_EXHAUSTED
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:92")
async def test_a_page_has_a_size_and_a_place_to_go_on_from(wire: Wire) -> None:
    caller = await wire.caller(Role.VIEWER, Role.CLIENT)
    ids = [await caller.begin_run() for _ in range(5)]

    for limit in (-1, 501, 10**9, 2**63 - 1):
        refused = await caller.refusal(RUNS + "ListRuns", workflow_pb2.ListRunsRequest(limit=limit))
        assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, "limit")
    for before in ("", "x", "run_", "run_" + "a" * 26, NOBODY + "' or '1'='1"):
        refused = await caller.refusal(RUNS + "ListRuns", workflow_pb2.ListRunsRequest(before=before))
        assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, "before")
    seen: list[str] = []
    page = workflow_pb2.ListRunsRequest(limit=2)
    while True:
        answer = await caller.ask(RUNS + "ListRuns", page)
        seen += [run.id for run in answer.runs]
        if not answer.HasField("next"):
            break
        page = workflow_pb2.ListRunsRequest(limit=2, before=answer.next)
    assert sorted(seen) == sorted(ids)
    assert len(seen) == 5
