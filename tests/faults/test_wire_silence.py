"""What does a worker or a client do when its server says nothing at all, or no longer knows it?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import windlass
from tests.conformance.given import NAMESPACE
from tests.faults.wire_site import Site, wired
from windlass.api.grpc import channel
from windlass.model.time import HOUR, MILLISECOND, SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings
from windlass.settings_values import Secret

PATIENCE = 30.0


@pytest.fixture
async def site(memory: Path) -> AsyncIterator[Site]:
    async with wired(f"sqlite:///{memory / 'windlass.db'}", SystemClock()) as site:
        await site.clear()
        yield site


async def test_a_server_that_never_answers_is_left_for_the_next_one_however_long_it_took(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs, or the wire is silent: one try lasts as long as all of them may."""
    ask_once = site.remote._channel._once
    # Only the one that hangs is left soon: the next one may be slow, on a machine that has much else to do.
    patience = itertools.chain([Duration(300 * MILLISECOND)], itertools.repeat(Duration(30 * SECOND)))

    async def once(*arguments: Any) -> Any:
        monkeypatch.setattr(channel, "CALL_FOR", next(patience))
        return await ask_once(*arguments)

    monkeypatch.setattr(site.remote._channel, "_once", once)
    monkeypatch.setattr(channel, "GIVE_UP_AFTER", Duration(200 * MILLISECOND))
    site.proxy.hold()

    async with asyncio.timeout(PATIENCE):
        moved = await site.remote.control.move_cursor(NAMESPACE, "mirror", 7)

    assert moved == 7
    site.proxy.let_go()


async def test_a_worker_that_was_taken_for_dead_is_back_before_its_next_heartbeat(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.app.heartbeat_every", lambda silent_for: Duration(HOUR))  # nobody could wait for it
    async with windlass.App(site.url, settings=Settings(token=Secret(site.token))) as app:

        @app.workflow(name="order")
        async def order(ctx: windlass.Context, number: int) -> int:
            return 2 * number

        async with app.worker(slots=1):
            assert await (await app.start(order, 1)).result() == 2
            (worker,) = await site.engine.runs.list_workers(NAMESPACE)
            await site.engine.work.deregister_worker(NAMESPACE, worker.id)

            async with asyncio.timeout(PATIENCE):
                assert await (await app.start(order, 2)).result() == 4
