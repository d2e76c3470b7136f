"""Nothing that a run is given, returns or fails with, and no password, gets into the log of a process of ours."""

from __future__ import annotations

import asyncio
import gc
import io
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.integration.conftest import OpenHarness, PostgresDatabases, eventually, until_path
from windlass import App, Context, Retry, RunFailed, StepError, StepFailed, StoreRefused
from windlass.logs import configured
from windlass.settings import Settings

SECRET = "hunter2"
ONCE = Retry(1)


class Log(ExitStack):
    """What both formats say while it is open, from the lowest level on."""

    def __init__(self) -> None:
        super().__init__()
        self._plain, self._json = io.StringIO(), io.StringIO()
        self.enter_context(configured("plain", "debug", self._plain))
        self.enter_context(configured("json", "debug", self._json))

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._json.getvalue().splitlines()]

    @property
    def messages(self) -> list[str]:
        return [record["message"] for record in self.records]

    def check(self) -> None:
        assert [line for line in self._plain.getvalue().splitlines() if SECRET in line] == []
        assert [line for line in self._json.getvalue().splitlines() if SECRET in line] == []
        assert self._plain.getvalue()


class Card:
    """What no codec takes, and what shows itself."""

    def __repr__(self) -> str:
        return f"Card({SECRET})"


class Vault:
    """A hook that, when it fails, quotes what it was to open."""

    def __init__(self) -> None:
        self.is_broken = False

    def seal(self, data: bytes, /) -> bytes:
        return data

    def open(self, data: bytes, /) -> bytes:
        if self.is_broken:
            raise LookupError(f"no key for {data!r}")
        return data


async def echo(text: str) -> str:
    return text


def charge(card: str) -> None:
    raise ConnectionError(f"refused: {card}")


async def refuse(card: str) -> None:
    raise StepError(f"refused: {card}", data={"card": card})


async def show(card: str) -> Any:
    return Card()


async def lose(card: str) -> None:
    async def fail() -> None:
        raise ValueError(card)

    task = asyncio.get_running_loop().create_task(fail())
    del task  # nobody looks at it
    await asyncio.sleep(0)


async def order(ctx: Context, card: str) -> str:
    await ctx.step(lose, card)
    for body in (charge, refuse, show):
        with pytest.raises(StepFailed):
            await ctx.step(body, card, retry=ONCE)
    return await ctx.step(echo, card)


async def refund(ctx: Context, card: str) -> None:
    await ctx.step(charge, card, retry=Retry(2))


async def test_payloads_and_the_text_of_failures_stay_out_of_the_log(open_harness: OpenHarness) -> None:
    vault = Vault()
    harness = await open_harness(codec=vault)
    for workflow in (order, refund):
        harness.app.workflow(workflow)

    with Log() as log:
        assert await harness.run(order, SECRET, key=SECRET) == SECRET
        with pytest.raises(RunFailed, match=SECRET):
            await harness.run(refund, SECRET)
        vault.is_broken = True
        held = await harness.start(refund, SECRET)
        await until_path(harness, held, "paused")
        vault.is_broken = False
        gc.collect()  # asyncio complains about a task that nobody looked at when it is collected
        await asyncio.sleep(0)

    log.check()
    assert "Task exception was never retrieved" in log.messages


async def test_a_failure_is_logged_by_its_type_and_its_place(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    harness.app.workflow(refund)

    with Log() as log:
        handle = await harness.start(refund, SECRET)
        await harness.idle()
        await harness.advance("1h")
        await until_path(harness, handle, "failed")
        await eventually(lambda: any(message.startswith("Run ") for message in log.messages), what="the run is logged")

    log.check()
    about = {"logger": "windlass.worker", "run": handle.id, "workflow": "refund", "step": "charge"}
    place = f"ConnectionError at {Path(__file__).name}:{charge.__code__.co_firstlineno + 1}"
    assert [record for record in log.records if "failed" in record["message"]] == [
        {**about, "level": level, "message": message, "at": ANY}
        for level, message in (
            ("info", f"Step 'charge' of run {handle.id} failed at attempt 1: {place}"),
            ("info", f"Step 'charge' of run {handle.id} failed at attempt 2: {place}"),
            ("warning", f"Run {handle.id} ('refund') failed: ConnectionError in step 'charge'"),
        )
    ]


async def test_the_password_of_the_database_stays_out_of_the_log(postgres_databases: PostgresDatabases) -> None:
    url = postgres_databases.take().replace("@", f":{SECRET}@", 1)
    assert f":{SECRET}@" in url

    with Log() as log:
        async with App(url, settings=Settings()) as app:
            app.workflow(order)
            async with app.worker():
                assert await (await app.start(order, SECRET)).result() == SECRET
        nowhere = f"postgresql://me:{SECRET}@localhost:1/shop?password={SECRET}"
        with pytest.raises(StoreRefused) as refused:
            async with App(nowhere, settings=Settings()):
                pass

    log.check()
    assert any(message.startswith("Using postgres") for message in log.messages)
    assert SECRET not in str(refused.value)
