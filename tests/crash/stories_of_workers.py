"""The stories about workers themselves: one that is asked to leave, and one that is not heard of any more."""

from __future__ import annotations

import windlass
from tests.crash.stories_of_control import pressing
from tests.crash.telling import seen, story
from tests.lives.life import Life
from windlass.engine.coordinator import expire_workers
from windlass.model.commands import RegisterWorker
from windlass.model.time import SECOND, Duration

SILENT_FOR = Duration(30 * SECOND)


def declare_ironing(life: Life) -> None:
    press = pressing(life, seconds=5)

    async def fold(item: str) -> str:
        with life.journal.body():
            return f"folded {item}"

    @life.app.workflow(name="ironing")
    async def ironing(ctx: windlass.Context, item: str) -> str:
        pressed = await seen(life, ctx, "press", ctx.step(press, item))
        folded: str = await seen(life, ctx, "fold", ctx.step(fold, pressed))
        return folded

    @life.app.workflow(name="folding")
    async def folding(ctx: windlass.Context, item: str) -> str:
        folded: str = await seen(life, ctx, "fold", ctx.step(fold, item))
        return folded

    life.memory.update(ironing=ironing, folding=folding)


@story(declare_ironing, ironing="completed")
async def drain_of_a_worker_at_work(life: Life) -> None:
    """It ends the body and leaves by itself; between two steps the run goes to another."""
    first = await life.hire()
    await life.client.start(life.memory["ironing"], "shirt", key="shirt")
    await life.settle()
    await life._opened.control.drain_worker("default", first.id, by="ann")
    await life.settle()
    await life.hire()
    await life.advance("6s")
    while not first.drain.is_over.is_set():  # where hints are lost, it hears of it at its next heartbeat
        await life.advance("5s")


@story(declare_ironing, folding="completed")
async def silence_of_a_worker(life: Life) -> None:
    """It is marked offline, which touches nothing it holds; when its claim has ended another takes the run."""
    parts = life._opened.engine.parts
    await life.client.start(life.memory["folding"], "sock", key="sock")
    if life.journal.life == 1:
        await life.claim_as_ghost()
        ghost = RegisterWorker(
            namespace="default",
            id=life.ghosts[-1],
            host="box",
            pid=1,
            served=life.app._registry.served(("default",)),
            slots=1,
        )
        await parts.run_tx("register_ghost", lambda tx: tx.workers.register(ghost))
    await life.advance("31s")
    await expire_workers.tick(parts, silent_for=SILENT_FOR, batch=10)
    await life.hire()
    await life.settle()
