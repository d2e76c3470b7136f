"""A server over an open database: both doors behind one gate, and how it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.programs import echo, passes_to, sleeps
from windlass import App, Context
from windlass.assembly import Opened, open_engine
from windlass.errors import InvalidInput
from windlass.model.time import HOUR, SECOND, Duration
from windlass.runtime import SystemClock, system_rng
from windlass.server.first_key import make_first_key
from windlass.server.listening import bind
from windlass.server.server import Server, ServerOptions
from windlass.settings import Secret, Settings

CLOCK = SystemClock()
ANYWHERE = ServerOptions(grpc_port=0, http_port=0, grace_for=Duration(10 * SECOND))


@pytest.fixture
async def opened(shared_url: str, give_up: None) -> AsyncIterator[Opened]:
    opened = await open_engine(shared_url, Settings(), clock=CLOCK, rng=system_rng())
    yield opened
    await opened.close()


async def first_token(opened: Opened) -> str:
    token = await make_first_key(opened.access, clock=CLOCK, ids=opened.ids)
    assert token is not None
    return token


async def test_a_program_works_through_a_server_as_it_does_with_a_database(opened: Opened) -> None:
    token = await first_token(opened)
    async with Server(opened, ANYWHERE, clock=CLOCK) as server:
        app = App(server.grpc_url, settings=Settings(token=Secret(token)))

        async def double(number: int) -> int:
            return 2 * number

        order = app.workflow(passes_to(double))

        async with app, app.worker():
            handle = await app.start(order, 21)
            assert await handle.result() == 42

        async with httpx.AsyncClient(base_url=server.http_url, headers={"Authorization": f"Bearer {token}"}) as client:
            (run,) = (await client.get("/v1/namespaces/default/runs")).json()["runs"]
        assert run["status"] == "completed"


async def test_it_is_not_ready_first_then_lets_calls_end_then_shuts_its_doors(opened: Opened) -> None:
    token = await first_token(opened)
    server = Server(opened, ANYWHERE, clock=CLOCK)
    await server.__aenter__()
    app = App(server.grpc_url, settings=Settings(token=Secret(token)))
    forever = app.workflow(sleeps("1d"))

    async with app, grpc.aio.insecure_channel(server.grpc_url.removeprefix("grpc://")) as channel:
        async with app.worker():
            handle = await app.start(forever)
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
        assert await server.health.is_ready()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=server.http_url, headers=headers, timeout=30) as client:
            path = f"/v1/namespaces/default/runs/{handle.id}/result?wait_secs=25"
            waiting = asyncio.ensure_future(client.get(path))
            assert (await client.get("/readyz")).status_code == 200

            leaving = asyncio.ensure_future(server.__aexit__())
            assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            watching.cancel()
            assert not await server.health.is_ready()
            assert (await waiting).status_code in (200, 503)
            await leaving

            with pytest.raises(httpx.TransportError):
                await client.get("/healthz")
        with pytest.raises(grpc.RpcError):
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)


async def test_a_server_that_cannot_start_leaves_nothing_behind(opened: Opened) -> None:
    with bind("127.0.0.1", 0, setting="server.http_port") as taken:
        options = ServerOptions(grpc_port=0, http_port=taken.getsockname()[1])
        with pytest.raises(InvalidInput, match="is in use"):
            Server(opened, options, clock=CLOCK)

    server = Server(opened, ANYWHERE, clock=CLOCK)
    with bind("127.0.0.1", 0, setting="server.http_port") as late:  # taken after it had looked
        port = late.getsockname()[1]
        server.options = ServerOptions(grpc_port=0, http_port=port)
        with pytest.raises(InvalidInput, match="is in use"):
            await server.__aenter__()
        assert server._grpc is not None
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server._grpc.port)

    async with Server(opened, ANYWHERE, clock=CLOCK) as again:  # and the database is as it was
        assert await again.health.is_ready()


@pytest.mark.parametrize("host", ["::1", "localhost"])
async def test_other_names_of_this_machine_do_as_well(opened: Opened, host: str) -> None:
    options = ServerOptions(host=host, grpc_port=0, http_port=0)
    async with Server(opened, options, clock=CLOCK) as server, httpx.AsyncClient() as client:
        assert (await client.get(f"{server.http_url}/healthz")).status_code == 200


async def test_what_one_server_was_told_goes_on_at_another(shared_url: str, opened: Opened) -> None:
    token = await first_token(opened)
    settings = Settings(token=Secret(token))
    other = await open_engine(shared_url, Settings(), clock=CLOCK, rng=system_rng())

    async def order(ctx: Context, number: int) -> int:
        return number

    try:
        async with Server(opened, ANYWHERE, clock=CLOCK) as first:
            app = App(first.grpc_url, settings=settings)
            app.workflow(order)
            async with app:
                started = await app.start(order, 7, key="seven")
        async with Server(other, ANYWHERE, clock=CLOCK) as second:
            app = App(second.grpc_url, settings=settings)
            app.workflow(order)
            async with app, app.worker():
                repeated = await app.start(order, 7, key="seven")
                result = await repeated.result()
    finally:
        await other.close()

    assert (repeated.id, result) == (started.id, 7)


async def test_workers_that_wait_for_work_do_not_hold_a_server_up_and_find_it_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever they ask they wait for as long as a server lets them, which is half a minute.
    monkeypatch.setattr("windlass.app.heartbeat_every", lambda silent_for: Duration(HOUR))
    token, patient = await first_token(opened), ServerOptions(grpc_port=0, http_port=0, grace_for=Duration(60 * SECOND))
    server = await Server(opened, patient, clock=CLOCK).__aenter__()
    port = int(server.grpc_url.rpartition(":")[2])
    app = App(server.grpc_url, settings=Settings(token=Secret(token), poll_for=Duration(HOUR)))
    order = app.workflow(echo)

    async with app, app.worker():
        assert await (await app.start(order, 1)).result() == 1
        began = CLOCK.monotonic()
        await server.__aexit__()
        took = CLOCK.monotonic() - began

        again = ServerOptions(grpc_port=port, http_port=0, grace_for=ANYWHERE.grace_for)
        server = await Server(opened, again, clock=CLOCK).__aenter__()
        assert await (await app.start(order, 2)).result() == 2
    await server.__aexit__()

    assert took < 20 * SECOND  # and neither until they have waited enough, nor the whole grace
