"""A database with runs in it, a clock that stands still, and the command line to look at them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from click.testing import CliRunner, Result

from windlass import Context, Retry
from windlass.cli.main import cli
from windlass.cli.session import Session
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


class Scene:
    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = FakeClock()

    def play(self, story: Callable[[Harness], Awaitable[Any]], **options: Any) -> Any:
        """Let things happen in the database, with a worker beside it, and close it again."""

        async def play() -> Any:
            async with Harness(self.url, clock=self.clock, **options) as harness:
                return await story(harness)

        return asyncio.run(play())

    def run(self, *args: str, **environment: str) -> Result:
        """Type a command. The output is what a pipe would get."""
        runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": None, **environment})
        return runner.invoke(cli, ["--url", self.url, *args], obj=Session(clock=self.clock))

    def shown(self, *args: str, **environment: str) -> str:
        result = self.run(*args, **environment)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *args: str) -> Any:
        return json.loads(self.shown(*args, "--json"))


def declare_order(harness: Harness) -> Any:
    """A workflow of three steps and a sleep, whose second step fails twice."""
    failures = iter([ConnectionError("gateway timed out")] * 2)

    def reserve(id: str) -> dict[str, str]:
        return {"order": id, "shelf": "B-12"}

    def charge(id: str) -> str:
        for failure in failures:
            raise failure
        return "ch_778"

    def ship(id: str) -> None: ...

    async def order(ctx: Context, id: str) -> str:
        await ctx.step(reserve, id)
        await ctx.step(charge, id, retry=Retry(3, initial="2s", factor=1))
        await ctx.sleep("10s")
        await ctx.step(ship, id)
        return f"order {id} done"

    return harness.app.workflow(order)
