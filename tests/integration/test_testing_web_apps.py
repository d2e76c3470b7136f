"""Does a test with a harness touch nothing real, whatever of the program it calls first, and from wherever?

The program has a database of its own: a file that is not there, or a server that waits for somebody to connect. Neither
may hear of any test. What is asked must be done by the harness, on its clock and with its fakes.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from windlass import App, Context, NotAllowed, RunFailed
from windlass.settings import Settings
from windlass.testing import CrashNeverCame, Harness, Stuck

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # newer ones would rather stand on another client library
    from starlette.testclient import TestClient

WEEK = 7 * 86_400_000_000


def pack(id: str) -> str:
    raise AssertionError("The real one was called.")


async def order(ctx: Context, id: str) -> str:
    packed = await ctx.step(pack, id)
    await ctx.sleep("7d")
    return f"{packed} at {ctx.now().isoformat()}"


DONE = "fake 7 at 2026-01-08T00:00:00+00:00"  # a week after the beginning of every test


@pytest.fixture(params=["file", "server"])
def app(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """The program's app, whose database nobody may have touched when the test is over."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        url = None if request.param == "file" else f"postgresql://ann@127.0.0.1:{port}/shop"
        if url is not None:
            monkeypatch.setenv("WINDLASS_URL", url)
        app = App(settings=replace(Settings(), url=url))
        app.workflow(order)
        before = dict(vars(app))
        yield app
        assert list(here.iterdir()) == []
        with pytest.raises(BlockingIOError):  # what a socket says that nobody has called
            server.accept()
        assert vars(app) == before
        assert app._sync._portal._loop is None


@pytest.fixture
def harness(app: App, windlass_harness: Harness) -> Harness:
    windlass_harness.use(app)
    windlass_harness.replace(pack, lambda id: f"fake {id}")
    return windlass_harness


def starlette_app(app: App, lifespan: Any = None) -> Starlette:
    async def take(request: Request) -> JSONResponse:
        id = request.path_params["id"]
        handle = await app.start(order, id, key=f"order-{id}")
        return JSONResponse({"run": handle.id}, status_code=202)

    async def look(request: Request) -> JSONResponse:
        return JSONResponse({"status": await app.handle(order, key=f"order-{request.path_params['id']}").status()})

    async def wait(request: Request) -> JSONResponse:
        return JSONResponse({"result": await app.handle(order, key=f"order-{request.path_params['id']}").result()})

    routes = [
        Route("/orders/{id}", take, methods=["POST"]),
        Route("/orders/{id}", look),
        Route("/orders/{id}/result", wait),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def fastapi_app(app: App, lifespan: Any = None) -> FastAPI:
    """Handlers that block: they are called in threads."""
    web = FastAPI(lifespan=lifespan)

    @web.post("/orders/{id}", status_code=202)
    def take(id: str) -> dict[str, str]:
        return {"run": app.sync.start(order, id, key=f"order-{id}").id}

    @web.get("/orders/{id}")
    async def look(id: str) -> dict[str, str]:
        return {"status": await app.handle(order, key=f"order-{id}").status()}

    @web.get("/orders/{id}/result")
    def wait(id: str) -> dict[str, str]:
        return {"result": app.sync.handle(order, key=f"order-{id}").result()}

    return web


WEB_APPS = {"starlette": starlette_app, "fastapi": fastapi_app}
MakeWebApp = Callable[..., Any]


@pytest.fixture(params=WEB_APPS)
def make_web_app(request: pytest.FixtureRequest) -> MakeWebApp:
    return WEB_APPS[request.param]


def take_an_order(client: TestClient, harness: Harness) -> None:
    """As a user of a web app does: order, wait for a week, look."""
    assert client.post("/orders/7").status_code == 202
    harness.sync.idle()
    assert client.get("/orders/7").json() == {"status": "sleeping"}
    harness.sync.advance("7d")
    assert client.get("/orders/7").json() == {"status": "completed"}
    assert client.get("/orders/7/result").json() == {"result": DONE}


# Tests that do not await


def test_a_web_handler_may_be_called_first(app: App, harness: Harness, make_web_app: MakeWebApp) -> None:
    take_an_order(TestClient(make_web_app(app)), harness)


def test_a_web_app_may_begin_with_its_lifespan(app: App, harness: Harness, make_web_app: MakeWebApp) -> None:
    with TestClient(make_web_app(app, app.lifespan)) as client:
        take_an_order(client, harness)

    assert [entry.key for entry in harness.sync.steps(app.sync.handle(order, key="order-7"))] == ["pack", "sleep"]


def test_a_web_app_that_only_asks_begins_with_its_database(
    app: App, harness: Harness, make_web_app: MakeWebApp
) -> None:
    @asynccontextmanager
    async def lifespan(web: object) -> AsyncIterator[None]:
        async with app:
            yield

    for _ in range(2):  # one client after the other: the orders of the first are there
        with TestClient(make_web_app(app, lifespan)) as client:
            assert client.post("/orders/7").status_code == 202

    harness.sync.idle()
    harness.sync.advance("7d")
    assert app.sync.handle(order, key="order-7").result() == DONE


def test_the_lifespan_that_the_web_app_was_made_with_leads_to_the_harness_of_each_test(
    app: App, harness: Harness
) -> None:
    web = starlette_app(app, functools.partial(app.lifespan, queues=["mail"], slots=3))
    for _ in range(2):
        with TestClient(web) as client:
            client.post("/orders/7")
    harness.sync.idle()

    assert app.sync.handle(order, key="order-7").status() == "sleeping"


def test_blocking_code_may_be_called_first(app: App, harness: Harness) -> None:
    handle = app.sync.start(order, "7")
    harness.sync.idle()
    harness.sync.advance("7d")

    assert handle.result() == DONE


def test_what_was_taken_from_the_app_before_leads_to_the_harness_too(app: App, windlass_harness: Harness) -> None:
    sync, start, handle = app.sync, app.start, app.handle(order, key="order-7")
    windlass_harness.use(app)
    windlass_harness.replace(pack, lambda id: f"fake {id}")

    with sync:
        started = sync.start(order, "7", key="order-7")
        again = asyncio.run(start(order, "7", key="order-7"))

    windlass_harness.sync.until(started, "completed", within="8d")
    assert (started.id, asyncio.run(handle.result())) == (again.id, DONE)


@pytest.mark.parametrize("first", ["app.sync.worker", "app.worker", "asyncio.run", "threads", "app.run"])
def test_whatever_is_called_first_is_done_by_the_harness(app: App, harness: Harness, first: str) -> None:
    async def start() -> str:
        return (await app.start(order, "7", key="order-7")).id

    async def work() -> str:
        async with app.worker():
            return await start()

    if first == "app.run":
        assert app.run(order, "7", key="order-7") == DONE  # taken to its end, without waiting
    elif first == "app.sync.worker":
        with app.sync.worker():
            app.sync.start(order, "7", key="order-7")
    elif first == "threads":
        with ThreadPoolExecutor(8) as threads:
            handles = list(threads.map(lambda _: app.sync.start(order, "7", key="order-7"), range(16)))
        assert len({handle.id for handle in handles}) == 1
    else:
        ids = [asyncio.run(work() if first == "app.worker" else start()) for _ in range(2)]
        assert len(set(ids)) == 1
    harness.sync.idle()
    harness.sync.advance("7d")

    assert app.sync.handle(order, key="order-7").result() == DONE


def test_everything_an_app_can_be_asked_for_is_asked_of_the_harness(app: App, harness: Harness) -> None:
    lines = app.topic("lines", str)

    assert app.sync.publish(lines, "one", id="1").pipelines == 0
    item = app.sync.items.create("parcel 7")
    app.sync.schedules.create(order, "8", name="nightly", cron="0 9 * * *")
    app.sync.pause(workflow=order)
    handles = app.sync.start_many([])
    harness.sync.idle()

    assert handles == []
    assert [found.id for found in app.sync.items.list()] == [item.id]
    assert [found.name for found in app.sync.schedules.list()] == ["nightly"]
    assert app.sync.pipelines.list() == []


def test_the_harness_itself_answers_code_that_blocks(app: App, harness: Harness) -> None:
    started_at = harness.clock.now()

    assert harness.sync.run(order, "7") == DONE

    assert harness.clock.now() - started_at == WEEK
    handle = harness.sync.start(order, "8")
    harness.sync.until(handle, "sleeping")
    assert [(step.key, step.attempt) for step in harness.sync.steps(handle)] == [("pack", 1), ("sleep", 1)]
    harness.sync.idle()
    harness.sync.advance("7d")
    assert handle.result().startswith("fake 8 at")
    assert len(harness.sync.crash_everywhere(order, "9").points) > 5
    with pytest.raises(RunFailed, match="no parcels"):
        harness.replace(pack, refuse)
        harness.sync.run(order, "10")


def refuse(id: str) -> str:
    raise TypeError("no parcels")


def test_a_test_that_blocks_may_let_workers_die(app: App, harness: Harness) -> None:
    packed: list[str] = []
    harness.replace(pack, lambda id: packed.append(id) or f"fake {id}")  # type: ignore[func-returns-value]
    harness.crash(before="pack")

    handle = app.sync.start(order, "7")
    harness.sync.idle()
    harness.crash()
    harness.sync.advance("7d")

    assert (handle.result(), packed) == (DONE, ["7", "7"])


def test_a_test_that_blocks_may_use_any_database(app: App, shared_url: str) -> None:
    with Harness(shared_url, app=app).sync as harness:
        harness.replace(pack, lambda id: f"fake {id}")
        take_an_order(TestClient(starlette_app(app)), harness)


def test_several_harnesses_are_opened_and_closed_by_hand(app: App) -> None:
    first, second = Harness(), Harness()
    first.use(app)
    second.use(app)
    second.replace(pack, lambda id: f"fake {id}")

    with second.sync:
        app.sync.start(order, "7", key="order-7")
        first.sync.close()  # the older one: the app stays with the other
        assert second.sync.run(order, "7", key="order-7") == DONE

    with pytest.raises(CrashNeverCame), Harness(app=app).sync as third:
        third.crash(after="nothing")


def test_a_run_that_the_test_does_not_let_go_on_is_said_to_be_stuck(app: App, harness: Harness) -> None:
    harness._home.patience = 0.1
    client = TestClient(starlette_app(app))
    client.post("/orders/7")

    with pytest.raises(Stuck, match=r"no answer for 0.1 s, and the clock stood still.*harness\.sync\.advance"):
        client.get("/orders/7/result")
    with pytest.raises(Stuck, match="no answer"):
        app.sync.handle(order, key="order-7").result()

    harness.sync.idle()
    harness.sync.advance("7d")
    assert client.get("/orders/7/result").json() == {"result": DONE}


def test_a_web_app_in_a_test_takes_no_port_for_its_metrics(app: App, windlass_harness: Harness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        other = App(settings=replace(app._settings, metrics_port=taken.getsockname()[1]))
        other.workflow(order)
        windlass_harness.use(other)

        with TestClient(starlette_app(other, other.lifespan)) as client:
            assert client.post("/orders/7").status_code == 202


def test_a_worker_that_never_ends_is_refused(app: App, harness: Harness) -> None:
    with pytest.raises(NotAllowed, match="In a test the harness executes the runs"):
        app.serve(queues=["mail"])


async def wait_for_ever(id: str) -> str:
    await asyncio.Event().wait()
    return "never"


def test_a_test_may_end_while_a_body_is_at_work(app: App, harness: Harness) -> None:
    harness.replace(pack, wait_for_ever)

    harness.sync.until(app.sync.start(order, "7"), "running")


async def test_an_async_test_may_end_while_a_body_is_at_work(app: App, harness: Harness) -> None:
    harness.replace(pack, wait_for_ever)

    await harness.until(await app.start(order, "7"), "running")


def test_a_harness_is_for_one_app(app: App, harness: Harness) -> None:
    harness.use(app)  # as often as fixtures like

    with pytest.raises(NotAllowed, match="is for another app already"):
        harness.use(App(settings=Settings()))


def test_a_harness_that_is_closed_leads_to_nothing_real(app: App, harness: Harness) -> None:
    async def main() -> str:
        async with harness:
            return await harness.run(order, "7")

    assert asyncio.run(main()) == DONE

    for ask in (lambda: app.sync.start(order, "8"), lambda: asyncio.run(app.start(order, "8"))):
        with pytest.raises(NotAllowed, match="harness of this test is closed"):
            ask()


@pytest.fixture
def client_of_a_fixture(app: App, windlass_harness: Harness) -> Iterator[TestClient]:
    """A web app that asks for something more when it is shut down, behind the test."""

    @asynccontextmanager
    async def lifespan(web: object) -> AsyncIterator[None]:
        async with app.lifespan(web):
            yield
        with suppress(NotAllowed):  # an async test has closed its harness by then
            await app.start(order, "last")

    windlass_harness.use(app)
    with TestClient(starlette_app(app, lifespan)) as client:
        yield client


def test_a_web_app_is_shut_down_behind_the_test(client_of_a_fixture: TestClient) -> None:
    assert client_of_a_fixture.post("/orders/7").status_code == 202


async def test_a_web_app_is_shut_down_behind_an_async_test(client_of_a_fixture: TestClient) -> None:
    assert client_of_a_fixture.post("/orders/7").status_code == 202


# Tests that await


async def over_httpx(web: Any, work: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://shop.test") as client:
        await work(client)


async def test_an_async_test_asks_over_httpx(app: App, harness: Harness, make_web_app: MakeWebApp) -> None:
    async def take(client: httpx.AsyncClient) -> None:
        assert (await client.post("/orders/7")).status_code == 202
        await harness.idle()
        assert (await client.get("/orders/7")).json() == {"status": "sleeping"}
        await harness.advance("7d")
        assert (await client.get("/orders/7/result")).json() == {"result": DONE}

    await over_httpx(make_web_app(app), take)


async def test_the_bodies_of_an_async_test_are_on_its_loop(app: App, harness: Harness) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def note(id: str) -> str:
        loops.append(asyncio.get_running_loop())
        return f"fake {id}"

    harness.replace(pack, note)
    async with app.lifespan():
        handle = await app.start(order, "7")
        await harness.idle()
        await harness.advance("7d")

    assert (await handle.result(), loops) == (DONE, [asyncio.get_running_loop()])


async def test_a_thread_of_an_async_test_may_ask_first(app: App, harness: Harness) -> None:
    handle = await asyncio.to_thread(app.sync.start, order, "7")
    await harness.idle()
    await harness.advance("7d")

    assert await asyncio.to_thread(handle.result) == DONE
    assert await app.handle(handle.id).result() == DONE
    assert await harness.run(order, "7") == "fake 7 at 2026-01-15T00:00:00+00:00"


async def test_a_client_that_blocks_may_ask_first_in_an_async_test(
    app: App, harness: Harness, make_web_app: MakeWebApp
) -> None:
    client = TestClient(make_web_app(app))

    client.post("/orders/7")
    await harness.idle()
    await harness.advance("7d")
    harness.crash()
    await harness.idle()

    assert client.get("/orders/7/result").json() == {"result": DONE}
    assert [step.key for step in await harness.steps(app.handle(order, key="order-7"))] == ["pack", "sleep"]


async def test_a_client_that_blocks_the_loop_of_the_harness_is_told_so(app: App, harness: Harness) -> None:
    await app.start(order, "7", key="order-7")
    harness._home.patience = 0.1
    client = TestClient(starlette_app(app))

    with pytest.raises(
        Stuck, match=r"got no turn for 0.1 s: something blocks it, such as a TestClient in an async test"
    ):
        client.get("/orders/7")

    await harness.idle()
    assert (await asyncio.to_thread(client.get, "/orders/7")).json() == {"status": "sleeping"}


async def test_blocking_names_are_refused_where_they_would_block_the_loop(app: App, harness: Harness) -> None:
    with pytest.raises(NotAllowed, match=r"Use: await harness\.idle\("):
        harness.sync.idle()


async def test_a_question_that_is_given_up_is_given_up_by_the_harness_too(app: App, harness: Harness) -> None:
    started = await asyncio.to_thread(app.sync.start, order, "7")  # the harness has a loop of its own
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await app.handle(started.id).result()

    await harness.idle()
    await harness.advance("7d")
    assert await app.handle(started.id).result() == DONE


async def test_an_async_fixture_may_ask_first(app: App, harness: Harness, run_of_a_fixture: str) -> None:
    await harness.idle()
    await harness.advance("7d")

    assert await app.handle(run_of_a_fixture).result() == DONE
    assert harness._home._thread is None


@pytest.fixture
async def run_of_a_fixture(app: App, harness: Harness) -> str:
    return (await app.start(order, "7")).id
