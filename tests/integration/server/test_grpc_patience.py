"""Those who wait, those who do not read, and those whose key is taken away meanwhile. Here the time is the real one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import eventually
from tests.integration.server.frames import HELLO, call, line
from tests.integration.server.wire import (
    NOBODY,
    PATIENCE,
    SECOND,
    Caller,
    Code,
    Wire,
    WireWorker,
    ended_within,
    refusal_of,
)
from windlass.api.grpc.patience import RECHECK_FOR
from windlass.model.access import Role
from windlass.model.time import Duration
from windlass.server.gate import BELIEVED_FOR
from windlass.testing.clock import FakeClock
from windlass.v1 import admin_pb2, namespace_pb2, worker_pb2, workflow_pb2

RUNS, WORK, ADMIN = "/windlass.v1.WorkflowService/", "/windlass.v1.WorkerService/", "/windlass.v1.AdminService/"
IDLE = 300
LONG = 25 * SECOND  # longer than our patience: what ends sooner was cut short


async def waiting_calls(wire: Wire, caller: Caller) -> list[Any]:
    """One of each kind that waits, all of them waiting."""
    run_id = await (await wire.caller(Role.CLIENT)).begin_run()
    worker = WireWorker(caller, wire.opened.ids.worker())
    worker.served[0].name = "nothing"
    await worker.register()
    following = caller.start(ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest(cursor="now"))
    await following.read()
    return [
        caller.start(WORK + "Poll", worker.poll_request(wait_for=LONG)),
        caller.start(WORK + "Listen", worker_pb2.ListenRequest(worker=worker.id, wait_for=LONG)),
        caller.start(RUNS + "WaitForResult", workflow_pb2.WaitForResultRequest(run_id=run_id, wait_for=LONG)),
        _rest(following),
    ]


async def _rest(following: Any) -> None:
    while True:
        await following.read()


@pytest.mark.spec("security:S-06")
async def test_a_revoked_key_waits_no_longer_than_five_seconds_for_anything(live_wire: Wire) -> None:
    key, token = await live_wire.key(*Role)
    calls = await waiting_calls(live_wire, live_wire.asker(token))
    admin = await live_wire.caller(Role.ADMIN, namespace="*")

    await admin.ask("/windlass.v1.NamespaceService/RevokeKey", namespace_pb2.RevokeKeyRequest(id=key))
    found = await asyncio.gather(*(ended_within(PATIENCE, waiting) for waiting in calls))

    assert {(refused.status, refused.code) for refused in found} == {(Code.UNAUTHENTICATED, "not_authenticated")}
    # The seconds are those between two looks: by a watch, a machine that has much else to do would be late.
    assert RECHECK_FOR + BELIEVED_FOR <= 5 * SECOND


@pytest.mark.spec("security:S-06")
async def test_a_key_that_expires_is_out_as_well_and_a_good_one_waits_on(wire: Wire, clock: FakeClock) -> None:
    """Its time passes when all of them wait, and not on their way."""
    _, token = await wire.key(*Role, expires_for=Duration(SECOND))
    calls = [asyncio.ensure_future(waiting) for waiting in await waiting_calls(wire, wire.asker(token))]
    others = [asyncio.ensure_future(waiting) for waiting in await waiting_calls(wire, await wire.caller(*Role))]

    clock.advance("6s")
    found = await asyncio.gather(*(ended_within(PATIENCE, waiting) for waiting in calls))

    assert {refused.status for refused in found} == {Code.UNAUTHENTICATED}
    assert not any(other.done() for other in others)
    for other in others:
        other.cancel()


@pytest.mark.spec("security:S-06")
async def test_whoever_reads_the_log_without_ever_waiting_is_looked_at_too(live_wire: Wire) -> None:
    """There is so much to send that the call never comes to a wait."""
    client = await live_wire.caller(Role.CLIENT)
    await start_many(client, times=10)
    key, token = await live_wire.key(Role.VIEWER)
    following = live_wire.asker(token).start(ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest(limit=1))
    pages = 0

    async def read() -> None:
        nonlocal pages
        while True:
            await following.read()
            pages += 1

    await following.read()
    await live_wire.opened.access.revoke_key(key)
    refused = await ended_within(PATIENCE, read())

    assert (refused.status, refused.code) == (Code.UNAUTHENTICATED, "not_authenticated")
    assert pages < 10_000


async def start_many(client: Caller, *, times: int) -> None:
    """A thousand runs, so many times."""
    runs = [workflow_pb2.StartRun(name="order", queue="default", input=b"[1]") for _ in range(1_000)]
    for _ in range(times):
        await client.ask(RUNS + "StartRuns", workflow_pb2.StartRunsRequest(runs=runs, allow_unknown=True))


@pytest.mark.spec("security:S-06", "security:S-15")
async def test_whoever_never_reads_the_log_holds_one_page_of_it_and_is_cut_off_with_their_key(live_wire: Wire) -> None:
    client = await live_wire.caller(Role.CLIENT)
    await start_many(client, times=2)  # far more than a connection takes without being read
    key, token = await live_wire.key(Role.VIEWER)

    async with line(live_wire.address) as somebody:
        await somebody.say(HELLO + call(("authorization", f"Bearer {token}"), path=ADMIN + "FollowFeed"))
        await eventually(lambda: _followers() == 1, what="somebody who follows")
        heard = await somebody.heard()
        assert len(heard) < 100_000  # what fits into the window of HTTP/2, and nothing else was sent
        await live_wire.opened.access.revoke_key(key)
        await eventually(lambda: _followers() == 0, what="the end of a call that nobody reads")
    assert await live_wire.is_serving()


def _followers() -> int:
    return sum("FollowFeed" in task.get_name() for task in asyncio.all_tasks())


@pytest.mark.spec("security:S-15")
async def test_hundreds_of_idle_polls_keep_nobody_waiting_and_one_of_them_gets_the_run(live_wire: Wire) -> None:
    workers = []
    for number in range(IDLE):
        if number % 100 == 0:
            caller = await live_wire.caller(Role.WORKER)
        worker = WireWorker(caller, live_wire.opened.ids.worker())
        workers.append(worker)
    await asyncio.gather(*(worker.register() for worker in workers))
    polls = [
        asyncio.ensure_future(
            _answer(worker.caller.start(WORK + "Poll", worker.poll_request(wait_for=LONG), timeout=60))
        )
        for worker in workers
    ]
    client = await live_wire.caller(Role.CLIENT)
    for _ in range(20):
        await client.ask(RUNS + "ListRuns")
    assert not any(poll.done() for poll in polls)  # nobody had to wait for their end

    run_id = await client.begin_run()
    async with asyncio.timeout(PATIENCE):
        done, waiting = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)

    claimed = [run.run_id for poll in done for run in poll.result().runs]
    assert claimed == [run_id]
    assert len(waiting) == IDLE - 1
    # A server that leaves sends them all to another one, at once.
    leaving = asyncio.ensure_future(live_wire.server.drain(Duration(60 * SECOND)))
    refused = await asyncio.gather(*(ended_within(25.0, poll) for poll in waiting))
    assert {found.status for found in refused} == {Code.UNAVAILABLE}
    await leaving


async def _answer(call: Any) -> Any:
    return await call


@pytest.mark.spec("security:S-15")
async def test_callers_who_hang_up_leave_nothing_behind(live_wire: Wire) -> None:
    before = len(asyncio.all_tasks())
    caller = await live_wire.caller(*Role)
    for _ in range(20):
        worker = WireWorker(caller, live_wire.opened.ids.worker())
        await worker.register()
        for path, request in (
            (WORK + "Poll", worker.poll_request(wait_for=LONG)),
            (ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest(cursor="now")),
            (RUNS + "WaitForResult", workflow_pb2.WaitForResultRequest(run_id=NOBODY, wait_for=LONG)),
        ):
            caller.start(path, request).cancel()
    late = caller.start(WORK + "Poll", worker.poll_request(wait_for=LONG), timeout=0.2)
    refused = await refusal_of(late)
    assert refused is not None
    assert refused.status is Code.DEADLINE_EXCEEDED
    await caller.channel.close()

    await eventually(lambda: len(asyncio.all_tasks()) <= before + 2, what="the end of calls that nobody waits for")
    client = await live_wire.caller(Role.CLIENT, Role.WORKER)
    run_id = await client.begin_run()
    last = WireWorker(client, live_wire.opened.ids.worker())
    await last.register()
    assert (await last.claim()).run_id == run_id  # it went to nobody who had gone
