"""A workflow with an effect that does what the test says, and the ledger of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import windlass
from tests.integration.pipelines.till import Order, Receipt, World
from windlass.model.effect import Effect
from windlass.testing.harness import Harness

HAPPENED, DID_NOT, UNKNOWN = windlass.Happened(Receipt("a", "found")), windlass.DidNotHappen(), windlass.Unknown()


class Shop:
    """A workflow that charges an order, by an effect that does what the test says, then packs it."""

    def __init__(
        self, place: Harness | windlass.App, world: World | None = None, *, has_reconcile: bool = True
    ) -> None:
        app = self.app = place if isinstance(place, windlass.App) else place.app
        world = self.world = world or World()

        async def charge(order: Order) -> Receipt:
            world.keys.append(windlass.current_step().idempotency_key)
            found: Any = await world.act("charge")
            return Receipt(order.id, world.keys[-1]) if found is None else found

        async def find_charge(order: Order) -> Any:
            world.asked.append(windlass.current_step().idempotency_key)
            return await world.act("reconcile")

        retry = windlass.Retry(2, initial="1s")
        self.charge: Callable[..., Any] = (
            app.effect(reconcile=find_charge, timeout="60s", retry=retry)(charge)
            if has_reconcile
            else app.effect(timeout="60s", retry=retry)(charge)
        )

        async def pack() -> None:
            await world.act("pack")

        @app.workflow
        async def buy(ctx: windlass.Context, id: str) -> Receipt:
            receipt: Receipt = await ctx.step(self.charge, Order(id))
            await ctx.step(pack, retry=windlass.Retry(1))
            return receipt

        self.buy = buy


async def ledger(harness: Harness, handle: windlass.Handle[Any]) -> list[Effect]:
    """What is known of the effects of a run, also of those that are settled."""
    found = await harness.opened.engine.parts.store.read(
        "ledger", lambda tx: tx.effects.of("default", owners=[handle.id])
    )
    return list(found.values())
