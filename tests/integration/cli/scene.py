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
        return self.run_without_url("--url", self.url, *args, **environment)

    def run_without_url(self, *args: str, **environment: str) -> Result:
        """Type a command that finds its database by itself."""
        runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": None, **environment})
        return runner.invoke(cli, [*args], obj=Session(clock=self.clock))

    def refused(self, *args: str, exit_code: int = 1) -> str:
        """Type a command that is refused, and answer with the one line that says so."""
        result = self.run(*args)
        assert (result.exit_code, result.stdout) == (exit_code, ""), result.output
        assert result.stderr.startswith("windlass: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("windlass: ").rstrip("\n")

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


def declare_shop(harness: Harness) -> Any:
    """A workflow that waits for an event, then for a person, then for a child, which waits for an event too."""
    paid = harness.app.event("paid", int)
    packed = harness.app.event("packed", str)

    @harness.app.workflow
    async def pack(ctx: Context, id: str) -> str:
        return await ctx.receive(packed)

    @harness.app.workflow
    async def sell(ctx: Context, id: str) -> str:
        amount = await ctx.receive(paid)
        decision = await ctx.approval(f"Ship {id}?", data={"id": id, "amount": amount})
        if not decision.is_approved:
            return f"kept {id}"
        return await ctx.run(pack, id)

    return sell


async def a_sale(harness: Harness) -> str:
    """A run that waits for an event."""
    handle = await harness.start(declare_shop(harness), "7", key="sale-7")
    await harness.idle()
    return handle.id


async def a_sale_to_approve(harness: Harness) -> str:
    """A run that waits for a person."""
    handle = await harness.start(declare_shop(harness), "7", key="sale-7")
    await handle.send("paid", 12)
    await harness.idle()
    return handle.id


async def a_sale_to_pack(harness: Harness) -> tuple[str, str]:
    """A run that waits for its child, and the child."""
    handle = await harness.start(declare_shop(harness), "7", key="sale-7")
    await handle.send("paid", 12)
    await harness.idle()
    await handle.approve(by="ann", note="looks good")
    await harness.idle()
    (step,) = [step for step in await harness.steps(handle) if step.key == "pack"]
    assert step.awaits is not None
    return handle.id, step.awaits


async def going_on(harness: Harness) -> None:
    """Let a worker do what there is to do for these."""
    declare_shop(harness)
    await harness.idle()
