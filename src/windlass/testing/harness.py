"""Try a workflow without waiting: an app on a clock that the test moves, with its worker beside it.

async with Harness() as harness:
    @harness.app.workflow
    async def order(ctx, id: str) -> str: ...

    handle = await harness.start(order, "7")
    await harness.advance("2d")
    assert await handle.result() == "order 7 done"
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any

from windlass.app import App
from windlass.assembly import Opened
from windlass.client.handle import Handle
from windlass.errors import WindlassError
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.step import Step
from windlass.model.time import Instant
from windlass.runtime import seeded_rng
from windlass.settings import Settings
from windlass.store.base import Hooks, Tx
from windlass.testing.clock import FakeClock

PATIENCE = 20.0  # real seconds before a test that makes no progress is called stuck
LOOK_EVERY = 0.001
_NUMBERS = itertools.count()  # two harnesses on one database must not draw the same ids


class Stuck(WindlassError):
    """The test waited for something that did not come; the message says what was still going on."""

    code = "stuck"


class Harness:
    """An app with a fake clock and one worker. `url` is any database; the default is SQLite in memory."""

    def __init__(
        self,
        url: str = "sqlite:///:memory:",
        *,
        clock: FakeClock | None = None,
        slots: int = 100,
        queues: tuple[str, ...] = ("default",),
        settings: Settings | None = None,
        hooks: Hooks | None = None,
        has_worker: bool = True,
        **options: Any,
    ) -> None:
        self.clock = clock or FakeClock()
        self._slots, self._queues, self._has_worker = slots, queues, has_worker
        self.app = App(
            url,
            settings=settings or Settings(),
            _clock=self.clock,
            _rng=seeded_rng(f"harness {next(_NUMBERS)}"),
            _hooks=hooks,
            **options,
        )
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Harness:
        await self._stack.enter_async_context(self.app)
        if self._has_worker:
            await self._stack.enter_async_context(self.app.worker(queues=self._queues, slots=self._slots))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def opened(self) -> Opened:
        """The open engine, for tests that look behind the door."""
        return self.app._opening.opened()

    async def start(self, fn: Callable[..., Any], *args: Any, **options: Any) -> Handle[Any]:
        return await self.app.start(fn, *args, **options)

    async def run(self, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Start a run and take it to its end, skipping every sleep and back-off."""
        handle = await self.start(fn, *args, **options)
        await self.idle()
        while not (await handle.status()).is_terminal:
            delay = await self._until_next_run()
            if delay is None:
                break  # paused: result() says why
            await self.advance(delay)
        return await handle.result()

    async def advance(self, duration: str | int | timedelta) -> None:
        """Let time pass and everything that became due happen."""
        self.clock.advance(duration)
        await self.idle()

    async def idle(self) -> None:
        """Wait until nothing is at work and nothing is due."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            busy = await self._busy()
            if not busy:
                return
            if loop.time() > deadline:
                raise Stuck(f"Still at work after {PATIENCE:g} s: {busy}.")
            await asyncio.sleep(LOOK_EVERY)

    async def until(self, handle: Handle[Any], status: str) -> None:
        """Wait until the run has this status, with the clock standing still."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while (found := await handle.status()) != status:
            if loop.time() > deadline:
                raise Stuck(f"Run {handle.id} is {found} after {PATIENCE:g} s, not {status}.")
            await asyncio.sleep(LOOK_EVERY)

    async def steps(self, handle: Handle[Any]) -> tuple[Step, ...]:
        """Every attempt of every step of a run."""
        return await self.opened.runs.list_steps(self.app._namespace, RunId(handle.id))

    async def _busy(self) -> str:
        parts = self.opened.engine.parts
        if parts.batcher.is_busy or parts.background:
            return "writes on their way"
        at_work = [execution for worker in self.app._workers for execution in worker.executions]
        if at_work:
            return ", ".join(f"{execution.claimed.name} {execution.claimed.run_id}" for execution in at_work)
        if not self._has_worker:
            return ""
        # A claim that is committed and on its way to the worker shows only in the store. One snapshot for both
        # questions: between two reads a run that was due may become one that runs.
        running, delay = await self._look()
        if running:
            return f"{running[0].name} {running[0].id}, claimed"
        return "runs that are due" if delay == 0 else ""

    async def _until_next_run(self) -> int | None:
        return (await self._look())[1]

    async def _look(self) -> tuple[list[Run], int | None]:
        """A run that is claimed, if there is one, and how long until the next one is due."""
        served = self.app._registry.served(self._queues)
        claimed = ListRuns(namespace=self.app._namespace, status=RunStatus.RUNNING, limit=1)

        async def look(tx: Tx) -> tuple[list[Run], Instant | None, Instant]:
            due_at = await tx.runs.next_due(namespace=self.app._namespace, served=served)
            return await tx.runs.list(claimed), due_at, await tx.now()

        running, due_at, now = await self.opened.engine.parts.store.read("next_due", look)
        return running, None if due_at is None else max(0, due_at - now)
