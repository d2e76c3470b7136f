"""Work items and signals as the command line is tried on them, and the hands to fire what is due."""

from __future__ import annotations

from typing import Any

from tests.integration.cli.scene import Scene
from windlass import Context
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.testing.harness import Harness


def declare(harness: Harness) -> tuple[Any, Any]:
    """A workflow that fails, and one that a signal starts."""

    @harness.app.workflow
    async def order(ctx: Context, id: str) -> str:
        raise ValueError(f"no {id} left")

    @harness.app.workflow
    async def page_on_call(ctx: Context, firing: dict[str, Any]) -> str:
        return "paged"

    return order, page_on_call


async def a_shop(harness: Harness) -> str:
    """A run that has failed; and workers have said what they execute."""
    order, _ = declare(harness)
    handle = await harness.start(order, "7", key="order-7")
    await harness.idle()
    return handle.id


async def another_order(harness: Harness) -> str:
    order, _ = declare(harness)
    handle = await harness.start(order, "8")
    await harness.idle()
    return handle.id


async def an_alarm(harness: Harness) -> None:
    """A signal that the code declares."""
    order, _ = declare(harness)

    @harness.app.on(order, enters="failed")
    async def alarm(ctx: Context) -> None: ...

    await harness.idle()


async def firing(harness: Harness) -> int:
    """One pass of a coordinator."""
    fired = await FireSignals(harness.opened.engine.parts, batch=100, is_enabled=True).tick()
    return fired.count


def fire(scene: Scene, after: str = "0s") -> int:
    """Let time pass, and whatever is due be worked."""
    scene.clock.advance(after)
    count: int = scene.play(firing, has_worker=False)
    return count


def make_item(scene: Scene, title: str = "Move the archive", *options: str) -> str:
    id: str = scene.json("items", "create", title, *options)["id"]
    return id


def make_signal(scene: Scene, *options: str) -> str:
    id: str = scene.json("signals", "create", *options)["id"]
    return id


def move(scene: Scene, item: str, *states: str) -> None:
    for state in states:
        scene.shown("items", "move", item, state, "--by", "ann")
