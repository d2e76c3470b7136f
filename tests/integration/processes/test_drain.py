"""Does `windlass worker` end by itself once it is drained, with its run done, or given back to another worker?"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import windlass
from tests.integration.conftest import eventually
from windlass.model.run import RunId, WorkerId

PATIENCE = 60.0  # seconds

SHOP = """
import asyncio, os, pathlib
import windlass

app = windlass.App()

async def ship() -> int:
    pathlib.Path(f"entered-{os.getpid()}").touch()
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    return os.getpid()

@app.workflow
async def order(ctx: windlass.Context) -> int:
    return await ctx.step(ship)
"""


class Shop:
    """A folder with an app in it, workers that are real processes, and the same app here, which executes nothing."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        (folder / "shop.py").write_text(SHOP)
        self.app = windlass.App(url)

        @self.app.workflow
        async def order(ctx: windlass.Context) -> int:
            raise AssertionError("It is executed elsewhere.")

        self.order = order

    @contextmanager
    def worker(self, *, grace: str) -> Iterator[subprocess.Popen[str]]:
        settings = {"WINDLASS_URL": self._url, "WINDLASS_WORKER_GRACE_SECS": grace}
        process = subprocess.Popen(
            [sys.executable, "-m", "windlass", "worker", "shop:app"],
            cwd=self._folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **settings},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    async def id_of(self, process: subprocess.Popen[str]) -> WorkerId:
        """The worker of that process, once it is there."""
        opened, found = await self.app._opening.get(), list[WorkerId]()

        async def is_there() -> bool:
            await asyncio.sleep(0.02)  # it takes its time to start
            found.extend(item.id for item in await opened.runs.list_workers("default") if item.pid == process.pid)
            return bool(found)

        await eventually(is_there, what="a worker is there")
        return found[0]

    async def drain(self, id: WorkerId) -> None:
        opened = await self.app._opening.get()
        await opened.control.drain_worker("default", id)

    async def entered(self, process: subprocess.Popen[str]) -> None:
        """Until the body is at work in that process."""
        await eventually((self._folder / f"entered-{process.pid}").exists, what="the body is at work")

    async def ended(self, process: subprocess.Popen[str]) -> str:
        """Until the process has ended; what it said."""
        return (await asyncio.to_thread(process.communicate, timeout=PATIENCE))[1]

    def let_go(self) -> None:
        (self._folder / "go").touch()


@pytest.fixture(params=["disk", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path, give_up: None) -> AsyncIterator[Shop]:
    is_file = request.param == "disk"
    shop = Shop(tmp_path, str(tmp_path / "windlass.db") if is_file else request.getfixturevalue("postgres_url"))
    async with shop.app:
        yield shop


async def test_a_drained_worker_ends_its_body_and_then_itself(shop: Shop) -> None:
    handle = await shop.app.start(shop.order)
    with shop.worker(grace="60") as first:
        await shop.entered(first)
        with shop.worker(grace="0") as second:
            id = await shop.id_of(first)
            await shop.id_of(second)

            await shop.drain(id)

            shop.let_go()
            assert await handle.result() == first.pid  # nobody else had it
            said = await shop.ended(first)
            assert second.poll() is None
    assert first.returncode == 0, said
    assert f"Worker {id} is asked to leave: it claims nothing new, and running bodies may end within 1 min." in said
    assert f"Worker {id} has left, as it was asked to." in said


@pytest.mark.spec("invariants:I-12", "invariants:I-25")
async def test_what_does_not_end_within_the_grace_goes_to_another_worker(shop: Shop) -> None:
    handle = await shop.app.start(shop.order)
    with shop.worker(grace="0.2") as first:
        await shop.entered(first)
        with shop.worker(grace="0") as second:
            await shop.id_of(second)

            await shop.drain(await shop.id_of(first))

            said = await shop.ended(first)
            assert first.returncode == 0, said
            await shop.entered(second)
            shop.let_go()
            assert await handle.result() == second.pid
    opened = await shop.app._opening.get()
    log = await opened.runs.read_log("default", RunId(handle.id))
    assert [entry.cause for entry in log] == ["start", "claim", "release", "claim", "finish"]
