"""Calls that come twice, late and out of order, as from a broken network: nothing changes any more."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.integration.server.wire import (
    HASH,
    SECOND,
    Caller,
    Wire,
    WireWorker,
    begin,
    complete,
    finish,
    refusal_of,
)
from windlass.model.access import Role
from windlass.model.page import ListRuns
from windlass.testing.clock import FakeClock
from windlass.v1 import model_pb2, worker_pb2, workflow_pb2

RUNS = "/windlass.v1.WorkflowService/"
RETRY = model_pb2.RetryPolicy(max_attempts=3, initial_for=SECOND, factor=1, max_for=SECOND)
BUSY = model_pb2.Failure(kind=model_pb2.FAILURE_KIND_TRANSIENT, type="Busy", message="later")
SEED = 20_261_116
FINE = {"", "claim_lost", "not_found", "wrong_state", "invalid_input", "already_exists"}


class Recorder(Caller):
    """Keeps what it has asked for."""

    calls: list[tuple[str, Any]]

    async def ask(self, path: str, request: Any = None, **options: Any) -> Any:
        kept = type(request).FromString(request.SerializeToString())
        self.calls.append((path, kept))
        return await super().ask(path, request, **options)


async def recorder(wire: Wire, *roles: Role) -> Recorder:
    _, token = await wire.key(*roles)
    found = Recorder(wire.address, token)
    found.calls = []
    return found


async def live(worker: WireWorker, client: Caller, clock: FakeClock, *, runs: int) -> None:
    """Runs with everything that may happen to one: attempts that fail, sleeps, events, releases, both endings."""
    work = worker.caller.work
    for number in range(runs):
        await client.begin_run(key=f"order-{number}-{client.metadata[0][1][-6:]!s}")
    left = runs
    while left:
        clock.advance("2s")
        for run in (await worker.poll(limit=5)).runs:
            left -= await advance(work, client, run)


async def advance(work: Any, client: Caller, run: Any) -> int:
    """One turn of a run; 1 if it was its last."""
    claim = {"run_id": run.run_id, "token": run.token}
    known = {record.key: record for record in run.history}
    if "pack" not in known:
        await work("BeginSteps", begin(run))
        failed = worker_pb2.FailStep(key="pack", kind=1, attempt=1, order=1, input_hash=HASH, failure=BUSY, retry=RETRY)
        await work("FailStep", worker_pb2.FailStepRequest(**claim, step=failed))
        return 0
    if known["pack"].order == 0:
        await work("BeginSteps", begin(run, attempt=2, failures=1))
        await work("CompleteSteps", complete(run, attempt=2, failures=1))
        await work("RenewClaim", worker_pb2.ClaimRequest(**claim, visibility_for=120 * SECOND))
    if "nap" not in known:
        await work("Sleep", worker_pb2.SleepRequest(**claim, key="nap", input_hash=HASH, sleep_for=SECOND))
        return 0
    if "mail" not in known:
        await work("CompleteSteps", complete(run, "nap", kind=model_pb2.STEP_KIND_SLEEP, order=2))
        wait = worker_pb2.WaitStep(key="mail", kind=model_pb2.STEP_KIND_EVENT, input_hash=HASH, awaits="mail")
        await work("Wait", worker_pb2.WaitRequest(**claim, step=wait, order=3))
        await client.ask(
            RUNS + "SendEvent", workflow_pb2.SendEventRequest(run_id=run.run_id, event="mail", id="1", payload=b"1")
        )
        return 0
    if run.attempts < 5:
        await work("ReleaseRun", worker_pb2.ClaimRequest(**claim))
        return 0
    opened = [worker_pb2.OpenWait(key="mail", order=3)]
    await work("Suspend", worker_pb2.SuspendRequest(**claim, open=opened, park=True))
    await work("FinishRuns", finish(run))
    return 1


async def everything(wire: Wire) -> list[Any]:
    runs = wire.opened.runs
    page = await runs.list_runs(ListRuns(namespace="default", limit=500))
    found: list[Any] = []
    for run in page.runs:
        found += [await runs.get_run("default", run.id), await runs.list_steps("default", run.id)]
        found += [await runs.list_messages("default", run.id), await runs.read_log("default", run.id)]
    return found


def shuffled(calls: list[tuple[str, Any]], rng: random.Random) -> list[tuple[str, Any]]:
    """Each of them twice, and where a call can say that it is a repeat, once more as that; in any order."""
    found = [*calls, *calls]
    for path, request in calls:
        if "is_again" in request.DESCRIPTOR.fields_by_name:
            repeat = type(request)()
            repeat.CopyFrom(request)
            repeat.is_again = True
            found.append((path, repeat))
    rng.shuffle(found)
    return found


@pytest.mark.spec("security:84", "invariants:I-57", "invariants:I-59")
async def test_what_was_said_once_changes_nothing_when_it_is_said_again_in_any_order(
    wire: Wire, clock: FakeClock, figures: list[str]
) -> None:
    worker = WireWorker(await recorder(wire, Role.WORKER), wire.opened.ids.worker())
    client = await recorder(wire, Role.CLIENT)
    await worker.register()
    await live(worker, client, clock, runs=6)
    ended = await everything(wire)
    assert {view.run.status for view in ended[::4]} == {"completed"}
    # Somebody else holds one, and one is due: neither may be touched.
    other = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await other.register()
    bystander = await wire.caller(Role.CLIENT)
    await bystander.begin_run()
    held = await other.claim(limit=1)
    await bystander.begin_run()
    before = await everything(wire)

    said = [*worker.caller.calls, *client.calls]  # type: ignore[attr-defined]
    replayed = shuffled(said, random.Random(SEED))
    for path, request in replayed:
        refused = await refusal_of(Caller.ask(_sender(path, worker, client), path, request))
        assert (refused.code if refused else "") in FINE, (path, refused)

    assert await everything(wire) == before
    assert await other.caller.work("FinishRuns", finish(held))
    figures.append(f"replays over gRPC: {len(said)} calls of 6 runs, replayed as {len(replayed)} in any order")
    for caller in (worker.caller, client):
        await caller.channel.close()


def _sender(path: str, worker: WireWorker, client: Caller) -> Caller:
    return worker.caller if "WorkerService" in path else client


@pytest.mark.spec("invariants:I-59")
async def test_a_worker_whose_every_call_is_sent_twice_does_everything_once(wire: Wire, clock: FakeClock) -> None:
    class Stutterer(Recorder):
        async def ask(self, path: str, request: Any = None, **options: Any) -> Any:
            first = await super().ask(path, request, **options)
            if "is_again" in request.DESCRIPTOR.fields_by_name:
                request.is_again = True
            again = await Caller.ask(self, path, request, **options)
            if isinstance(first, worker_pb2.PollResponse):
                claims = [sorted((run.run_id, run.token) for run in answer.runs) for answer in (first, again)]
                assert claims[0] == claims[1]
            return first

    callers = []
    for role in (Role.WORKER, Role.CLIENT):
        _, token = await wire.key(role)
        callers.append(Stutterer(wire.address, token))
        callers[-1].calls = []
    worker = WireWorker(callers[0], wire.opened.ids.worker())
    await worker.register()

    await live(worker, callers[1], clock, runs=4)

    found = await everything(wire)
    assert [view.run.status for view in found[::4]] == ["completed"] * 4
    for steps in found[1::4]:
        assert [(step.key, step.attempt) for step in steps] == [("pack", 1), ("pack", 2), ("nap", 1), ("mail", 1)]
    assert [len(messages) for messages in found[2::4]] == [1] * 4
    for caller in callers:
        await caller.channel.close()
