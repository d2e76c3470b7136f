"""Does a web app that is given `app.lifespan` execute runs for as long as it lives, with real ASGI frameworks?"""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.architecture.source import ROOT
from tests.programs import sleeps
from windlass import App, Context, InvalidInput, StoreRefused
from windlass.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # newer ones would rather stand on another client library
    from starlette.testclient import TestClient


async def order(ctx: Context, id: str) -> str:
    return f"order {id} done"


@pytest.fixture
def app(shared_url: str) -> App:
    app = App(shared_url, settings=Settings())
    app.workflow(order)
    return app


def web_app(app: App, lifespan: Any) -> Starlette:
    async def take(request: Request) -> PlainTextResponse:
        handle = await app.start(order, request.path_params["id"])
        return PlainTextResponse(await handle.result(timeout="30s"))

    return Starlette(routes=[Route("/{id}", take)], lifespan=lifespan)


def test_runs_are_executed_while_a_starlette_app_lives(app: App) -> None:
    with TestClient(web_app(app, app.lifespan)) as client:
        assert client.get("/7").text == "order 7 done"
        assert len(app._workers) == 1

    assert (app._workers, app._opening.is_open) == ([], False)


def test_runs_are_executed_while_a_fastapi_app_lives(app: App) -> None:
    web = FastAPI(lifespan=app.lifespan)

    @web.get("/{id}")
    async def take(id: str) -> str:
        return await (await app.start(order, id)).result(timeout="30s")

    with TestClient(web) as client:
        assert client.get("/7").json() == "order 7 done"

    assert app._opening.is_open is False


def test_the_same_app_lives_again_on_another_loop(app: App) -> None:
    """As the tests of a web app do, one client after the other, and the script beside it."""
    for id in ("7", "8"):
        with TestClient(web_app(app, app.lifespan)) as client:
            assert client.get(f"/{id}").text == f"order {id} done"

    assert app.run(order, "9") == "order 9 done"


def test_it_goes_together_with_another_lifespan(app: App) -> None:
    said: list[str] = []

    @asynccontextmanager
    async def lifespan(web: Starlette) -> AsyncIterator[dict[str, str]]:
        said.append("opened")
        async with app.lifespan(web):
            yield {"colour": "blue"}
        said.append("closed")

    with TestClient(web_app(app, lifespan)) as client:
        assert client.get("/7").text == "order 7 done"
        assert client.app_state == {"colour": "blue"}

    assert said == ["opened", "closed"]


def test_a_database_that_was_open_before_stays_open(app: App) -> None:
    @asynccontextmanager
    async def lifespan(web: Starlette) -> AsyncIterator[None]:
        async with app:
            async with app.lifespan(web):
                yield
            assert app._opening.is_open is True
            assert await (await app.start(order, "8")).status() == "pending"

    with TestClient(web_app(app, lifespan)) as client:
        assert client.get("/7").text == "order 7 done"


def test_queues_and_slots_are_given_by_a_partial(app: App) -> None:
    lifespan = functools.partial(app.lifespan, queues=["mail", "default"], slots=3)

    with TestClient(web_app(app, lifespan)) as client:
        assert client.get("/7").text == "order 7 done"
    with (
        pytest.raises(InvalidInput, match="queues is empty"),
        TestClient(web_app(app, functools.partial(app.lifespan, queues=[]))),
    ):
        pass


def test_a_web_app_does_not_begin_without_its_database(tmp_path: Path) -> None:
    (tmp_path / "windlass.db").write_text("This is no database, and long enough to be looked at as one." * 100)
    app = App(tmp_path / "windlass.db", settings=Settings())
    app.workflow(order)

    with pytest.raises(StoreRefused), TestClient(web_app(app, app.lifespan)):
        pass


def test_what_a_web_app_left_behind_goes_on_in_the_next_one(app: App) -> None:
    nap = app.workflow(sleeps("200ms", then="awake"))

    with TestClient(web_app(app, app.lifespan)) as client:
        handle = client.portal.call(app.start, nap) if client.portal else None
    assert handle is not None

    with TestClient(web_app(app, app.lifespan)) as client:
        assert client.portal is not None
        assert client.portal.call(app.handle(handle.id).result) == "awake"


@pytest.fixture
def load_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import an example as a program in an empty folder would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDLASS_URL", raising=False)
    loaded: list[str] = []

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in loaded:
        del sys.modules[name]


def test_the_starlette_example_takes_an_order_once(
    load_example: Callable[[str], ModuleType], caplog: pytest.LogCaptureFixture
) -> None:
    example = load_example("web_starlette")

    with caplog.at_level(logging.WARNING, "windlass"), TestClient(example.web) as client:
        assert client.get("/orders/7").status_code == 404
        first, again = client.post("/orders/7"), client.post("/orders/7")
        assert (first.status_code, again.json()) == (202, first.json())
        assert client.get("/orders/7").json()["status"] in ("pending", "running", "sleeping", "completed")
        assert client.get("/orders/7/result").json() == {"result": "order 7 packed and shipped"}

    assert caplog.messages == []


def test_the_fastapi_example_pays_back_what_was_approved(load_example: Callable[[str], ModuleType]) -> None:
    example = load_example("web_fastapi")

    with TestClient(example.web) as client:
        assert client.post("/refunds", json={"order": "7", "cents": 500}).status_code == 202
        assert client.get("/refunds/7/result").json() == {"result": "500 cents paid back for order 7"}
        assert client.post("/refunds/7/approve?by=ann").status_code == 409
        assert client.post("/refunds/8/approve?by=ann").status_code == 404
        client.post("/refunds", json={"order": "8", "cents": 5_000})
        while (answer := client.post("/refunds/8/approve?by=ann")).status_code == 409:
            assert answer.json()["detail"]  # it is not waiting yet
        assert answer.json() == {"outcome": "approved"}
        assert client.get("/refunds/8/result").json() == {"result": "5000 cents paid back for order 8"}
