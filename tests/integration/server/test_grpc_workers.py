"""What a worker must not get away with: old tokens, foreign runs, strange numbers, strange names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import eventually
from tests.integration.server.wire import (
    HASH,
    NOBODY,
    SECOND,
    Caller,
    Code,
    Wire,
    WireWorker,
    begin,
    complete,
    finish,
    outcome,
    refusal_of,
)
from windlass.model.access import Role
from windlass.model.run import RunId
from windlass.testing.clock import FakeClock
from windlass.v1 import graph_pb2, model_pb2, worker_pb2, workflow_pb2

LAST = 2**63 - 1
RUNS = "/windlass.v1.WorkflowService/"


class Shop:
    """A client, a worker, and what is on record between them."""

    def __init__(self, wire: Wire, client: Caller, worker: WireWorker) -> None:
        self.wire, self.client, self.worker = wire, client, worker

    async def claimed(self, **fields: Any) -> Any:
        run_id = await self.client.begin_run(**fields)
        run = await self.worker.claim(limit=1)
        assert run.run_id == run_id
        return run

    async def record(self, run_id: str) -> list[Any]:
        runs, id = self.wire.opened.runs, RunId(run_id)
        return [await runs.get_run("default", id), await runs.list_steps("default", id)]


@pytest.fixture
async def shop(wire: Wire) -> Shop:
    worker = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await worker.register()
    return Shop(wire, await wire.caller(Role.CLIENT), worker)


def with_token(run: Any, token: int) -> list[tuple[str, Any]]:
    """Every call of a worker about a run, under this token."""
    claim = {"run_id": run.run_id, "token": token}
    failure = model_pb2.Failure(kind=model_pb2.FAILURE_KIND_LOGIC, type="E", message="no")
    retry = model_pb2.RetryPolicy(max_attempts=2, initial_for=SECOND, factor=1, max_for=SECOND)
    step: dict[str, Any] = {"key": "pack", "kind": 1, "input_hash": HASH}
    failed = worker_pb2.FailStep(**step, attempt=1, order=1, failure=failure, retry=retry)
    wait = worker_pb2.WaitStep(key="w", kind=model_pb2.STEP_KIND_EVENT, input_hash=HASH, awaits="e")
    child = {**claim, "child": NOBODY}
    return [
        ("BeginSteps", begin(run, token=token)),
        ("CompleteSteps", complete(run, token=token)),
        ("FinishRuns", finish(run, token=token)),
        ("CompleteRun", worker_pb2.CompleteRunRequest(**claim, output=b'"stolen"')),
        ("FailRun", worker_pb2.FailRunRequest(**claim, failure=failure)),
        ("FailStep", worker_pb2.FailStepRequest(**claim, step=failed)),
        ("Sleep", worker_pb2.SleepRequest(**claim, key="s", input_hash=HASH, sleep_for=SECOND)),
        ("Wait", worker_pb2.WaitRequest(**claim, step=wait, order=1)),
        ("Suspend", worker_pb2.SuspendRequest(**claim, waits=[wait], park=True)),
        ("HoldRun", worker_pb2.HoldRunRequest(**claim, reason=failure)),
        ("ReleaseRun", worker_pb2.ClaimRequest(**claim)),
        ("RenewClaim", worker_pb2.ClaimRequest(**claim, visibility_for=60 * SECOND)),
        ("ReadHistory", worker_pb2.ReadHistoryRequest(**claim)),
        ("SendToChild", worker_pb2.SendToChildRequest(**child, event="e", id="1", payload=b"1", payload_hash=HASH)),
        ("CancelChild", worker_pb2.CancelChildRequest(**child)),
        ("AddJobs", worker_pb2.AddJobsRequest(**claim, jobs=[graph_pb2.NewJob(name="a", workflow="order")])),
    ]


async def code_of(worker: WireWorker, method: str, request: Any) -> str:
    found: list[Any] = []

    async def ask() -> None:
        found.append(await worker.caller.work(method, request))

    refused = await refusal_of(ask())
    if refused is not None:
        expected = {"claim_lost": Code.FAILED_PRECONDITION, "invalid_input": Code.INVALID_ARGUMENT}
        assert refused.status is expected[refused.code]
        return refused.code
    return outcome(found[0]) if isinstance(found[0], worker_pb2.WriteOutcomes) else "answered"


@pytest.mark.spec("security:83", "security:S-08")
async def test_no_call_changes_anything_without_the_token_of_the_claim(shop: Shop, wire: Wire) -> None:
    run = await shop.claimed()
    assert outcome(await shop.worker.caller.work("BeginSteps", begin(run))) == "written"
    await shop.worker.caller.work("ReleaseRun", worker_pb2.ClaimRequest(run_id=run.run_id, token=run.token))
    again = await shop.worker.claim(limit=1)  # by the same worker: the token is another one all the same
    assert again.token > run.token
    before = await shop.record(run.run_id)

    for token in (run.token, again.token + 1, LAST):  # of before, and of times to come
        for method, request in with_token(run, token):
            assert await code_of(shop.worker, method, request) == "claim_lost", (method, token)
    for token in (0, -1, -LAST - 1):
        for method, request in with_token(run, token):
            assert await code_of(shop.worker, method, request) == "invalid_input", (method, token)

    assert await shop.record(run.run_id) == before
    looked = await shop.worker.caller.work(
        "LookAtClaims",
        worker_pb2.LookAtClaimsRequest(claims=[worker_pb2.HeldClaim(run_id=run.run_id, token=run.token)]),
    )
    assert looked.states[0].is_lost
    assert outcome(await shop.worker.caller.work("FinishRuns", finish(again))) == "written"


@pytest.mark.spec("security:84", "invariants:I-59")
async def test_what_is_completed_twice_counts_once(shop: Shop) -> None:
    run = await shop.claimed()
    work = shop.worker.caller.work
    assert outcome(await work("CompleteSteps", complete(run))) == "written"
    first = await shop.record(run.run_id)

    assert outcome(await work("CompleteSteps", complete(run))) == "written"  # the answer was lost
    assert (await shop.record(run.run_id))[1] == first[1]
    assert outcome(await work("CompleteSteps", complete(run, output=b"2"))) == "claim_lost"
    assert (await shop.record(run.run_id))[1] == first[1]

    assert outcome(await work("FinishRuns", finish(run))) == "written"
    assert outcome(await work("FinishRuns", finish(run))) == "written"
    ended = await shop.record(run.run_id)
    assert outcome(await work("FinishRuns", finish(run, output=b"2"))) == "claim_lost"
    assert outcome(await work("CompleteSteps", complete(run, key="late"))) == "claim_lost"
    assert await shop.record(run.run_id) == ended


@pytest.mark.spec("security:85")
async def test_a_step_is_completed_in_the_run_that_is_held_and_in_no_other(shop: Shop) -> None:
    mine = await shop.claimed()
    other = WireWorker(await shop.wire.caller(Role.WORKER), shop.wire.opened.ids.worker())
    await other.register()
    await shop.client.begin_run()
    theirs = await other.claim(limit=1)
    untouched = await shop.client.begin_run()

    for run_id in (untouched, NOBODY):
        for method, request in with_token(worker_pb2.ClaimedRun(run_id=run_id, token=mine.token), mine.token):
            assert await code_of(shop.worker, method, request) == "claim_lost", (method, run_id)
    cancelled = workflow_pb2.CancelRunRequest(run_id=mine.run_id)
    await shop.client.ask(RUNS + "CancelRun", cancelled)
    for method, request in with_token(mine, mine.token):
        assert await code_of(shop.worker, method, request) == "claim_lost", method
    assert outcome(await other.caller.work("FinishRuns", finish(theirs))) == "written"
    # Of a batch, what is refused does not take its neighbours with it.
    good = await shop.worker.claim(limit=1)
    mixed = worker_pb2.CompleteStepsRequest(
        steps=[*complete(mine).steps, *complete(good).steps, *complete(good, key="").steps]
    )
    answer = await shop.worker.caller.work("CompleteSteps", mixed)
    assert [(refused.index, refused.error.code) for refused in answer.refused] == [
        (0, "claim_lost"),
        (2, "invalid_input"),
    ]
    assert [at > 0 for at in answer.at] == [False, True, False]


@pytest.mark.spec("security:86")
@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"limit": 0}, "slots"),
        ({"limit": -1}, "slots"),
        ({"limit": 10**9}, "slots"),
        ({"limit": LAST}, "slots"),
        ({"poll_id": -1}, "poll"),
        ({"served": [model_pb2.Served(queue="default", name=f"w{n}") for n in range(10_000)]}, "number of lanes"),
        ({"served": [model_pb2.Served(queue="default", name="")]}, "workflow name"),
        ({"served": [model_pb2.Served(queue="a/b", name="order")]}, "queue"),
        ({"served": [model_pb2.Served(queue="default", name="x" * 201)]}, "workflow name"),
        ({"served": [model_pb2.Served(queue="default", name="order", version="v" * 300)]}, "version"),
        ({"visibility_for": 0}, "visibility"),
        ({"visibility_for": -SECOND}, "visibility"),
        ({"visibility_for": LAST}, "visibility"),
        ({"visibilities": {"order": 1}}, "visibility"),
        ({"visibilities": {f"w{n}": 60 * SECOND for n in range(1_001)}}, "number of visibilities"),
        ({"worker": ""}, "worker id"),
        ({"worker": "wrk_x"}, "worker id"),
        ({"worker": "wrk_" + "0" * 10_000}, "worker id"),
        ({"worker": "wrk_" + "0" * 25 + "\u0660"}, "worker id"),
    ],
)
async def test_a_poll_asks_for_something_that_can_be_given(
    memory_wire: Wire, changes: dict[str, Any], path: str
) -> None:
    worker = WireWorker(await memory_wire.caller(Role.WORKER), memory_wire.opened.ids.worker())
    await worker.register()

    refused = await refusal_of(worker.poll(**changes))

    assert refused is not None
    assert (refused.status, refused.code) == (Code.INVALID_ARGUMENT, "invalid_input")
    assert refused.detail.path == path


@pytest.mark.spec("security:86")
async def test_a_wait_that_is_too_long_is_cut_and_one_below_nothing_is_none(
    memory_wire: Wire, clock: FakeClock
) -> None:
    worker = WireWorker(await memory_wire.caller(Role.WORKER), memory_wire.opened.ids.worker())
    await worker.register()

    assert not (await worker.poll(wait_for=-LAST)).runs
    waiting = worker.caller.start("/windlass.v1.WorkerService/Poll", worker.poll_request(wait_for=LAST))
    began_at = clock.now()

    def is_over() -> bool:  # it looks again now and then: each look has a time of its own
        if not waiting.done():
            clock.advance("1s")
        return bool(waiting.done())

    await eventually(is_over, what="the end of the poll")
    assert not (await waiting).runs
    assert clock.now() - began_at >= 30 * SECOND


@pytest.mark.spec("security:87")
async def test_a_worker_has_a_name_of_its_own(wire: Wire) -> None:
    caller = await wire.caller(Role.WORKER)
    for id in ("", "worker", "wrk_", "wrk_" + "0" * 10_000, "wrk_" + "o" * 26, "key_" + "0" * 26, "wrk_\n" + "0" * 25):
        refused = await refusal_of(WireWorker(caller, id).register())
        assert refused is not None, id
        assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, "worker id"), id


@pytest.mark.spec("security:87", "security:83")
async def test_two_workers_of_one_name_have_different_tokens(shop: Shop) -> None:
    await shop.client.begin_run()
    await shop.client.begin_run()
    twin = WireWorker(await shop.wire.caller(Role.WORKER), shop.worker.id)
    first = await shop.worker.claim(limit=1)
    await twin.register()
    twin.polls = shop.worker.polls
    second = await twin.claim(limit=1)

    assert first.run_id != second.run_id
    for method, request in with_token(second, second.token + 1):
        assert await code_of(twin, method, request) == "claim_lost", method
    assert outcome(await twin.caller.work("FinishRuns", finish(second))) == "written"


@pytest.mark.spec("security:91")
async def test_a_version_that_nobody_knows_is_served_and_gets_no_other(shop: Shop) -> None:
    await shop.client.begin_run()
    shop.worker.served = [model_pb2.Served(queue="default", name="order", version="from-the-future")]

    await shop.worker.register()

    assert not (await shop.worker.poll()).runs
    with_version = await shop.client.begin_run(version="from-the-future")
    assert (await shop.worker.claim()).run_id == with_version


async def test_a_poll_asked_again_hears_what_it_has_claimed_though_nothing_is_due_any_more(shop: Shop) -> None:
    run_id = await shop.client.begin_run()
    request = shop.worker.poll_request(wait_for=20 * SECOND)
    (first,) = (await shop.worker.caller.work("Poll", request)).runs

    (again,) = (await shop.worker.caller.work("Poll", request)).runs  # at once: nobody has to wait for it
    older = worker_pb2.PollRequest()
    older.CopyFrom(request)
    older.poll_id, older.wait_for = 0, 0
    await shop.client.begin_run()

    assert (first.run_id, again.run_id, again.token) == (run_id, run_id, first.token)
    assert not (await shop.worker.caller.work("Poll", older)).runs  # it was overtaken, and claims nothing


async def test_a_poll_that_claimed_only_what_was_over_is_answered_and_the_next_one_gets_work(memory_wire: Wire) -> None:
    """It has had its turn, and claims nothing more: waiting on would keep the worker from its work."""
    client = await memory_wire.caller(Role.CLIENT)
    worker = WireWorker(await memory_wire.caller(Role.WORKER), memory_wire.opened.ids.worker())
    await worker.register()
    late = await client.begin_run(timeout_for=SECOND)
    memory_wire.clock.advance("2s")  # type: ignore[attr-defined]

    first = await worker.poll(wait_for=20 * SECOND)  # by the clock that stands still
    run_id = await client.begin_run()

    assert (list(first.runs), await client.status_of(late)) == ([], model_pb2.RUN_STATUS_FAILED)
    assert (await worker.claim()).run_id == run_id
