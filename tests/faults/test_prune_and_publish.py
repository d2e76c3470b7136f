"""Does what is published lose nothing, and leave nothing behind, while what is old is removed beside it?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conformance.given import engine_on
from tests.conformance.test_pipelines import consume
from tests.conformance.test_retention import prune
from tests.lives.pipeline_hands import NAMESPACE, ORDERS, PIPELINE, Hands
from windlass.model.pipeline import InputId, NewInput
from windlass.model.pipeline_commands import ListInputs, Publish
from windlass.model.time import DAY
from windlass.store.postgres.store import PostgresStore
from windlass.testing.clock import FakeClock

PATIENCE = 60.0
KEPT, OLD = DAY, 3 * DAY
MAIL = InputId("inp_mail")


@pytest.fixture
async def pair(postgres_url: str, clock: FakeClock) -> AsyncIterator[tuple[Hands, Hands]]:
    """Two processes at one database; on SQLite, one would wait for the other."""
    stores = [PostgresStore(postgres_url, clock=clock) for _ in range(2)]
    for store in stores:
        await store.open()
    hands = tuple(Hands(engine_on(store, clock), f"wrk_{place}") for place, store in enumerate(stores))
    await hands[0].declare()
    yield hands[0], hands[1]
    for item, store in zip(hands, stores, strict=True):
        await item.engine.close()
        await store.close()


async def publish(hands: Hands, id: str, *, payload: bytes) -> None:
    mail = NewInput(id=MAIL, source="mail", type="order", external_id="7")
    await hands.engine.pipelines.publish(Publish(namespace=NAMESPACE, topic=ORDERS, id=id, payload=payload, input=mail))


async def prune_beside(hands: Hands, other: Hands, publishing: Any) -> None:
    """Remove what is old at the other one while a transaction that publishes has written, and is about to commit."""
    store: Any = hands.engine.parts.store
    run_tx, has_written, go = store.run_tx, asyncio.Event(), asyncio.Event()

    async def run_slowly(name: str, fn: Any, **options: Any) -> Any:
        async def slowly(tx: Any) -> Any:
            result = await fn(tx)
            if name == "publish_events":
                has_written.set()
                await go.wait()
            return result

        return await run_tx(name, slowly, **options)

    store.run_tx = run_slowly
    asked = asyncio.ensure_future(publishing)
    await asyncio.wait_for(has_written.wait(), PATIENCE)
    pruning = asyncio.create_task(prune(other.engine, keep_for=KEPT))
    await asyncio.wait([pruning], timeout=0.3)  # as far as it comes
    go.set()
    store.run_tx = run_tx
    await asyncio.wait_for(asyncio.gather(asked, pruning), PATIENCE)


async def inputs(hands: Hands) -> list[str]:
    page = await hands.engine.pipelines.list_inputs(ListInputs(namespace=NAMESPACE, pipeline=PIPELINE))
    return [item.id for item in page.inputs]


async def test_an_event_that_is_removed_while_it_is_published_again_leaves_nothing_that_stays_for_ever(
    pair: tuple[Hands, Hands], clock: FakeClock
) -> None:
    one, other = pair
    await publish(one, "a", payload=b"1")
    await consume(one)
    clock.advance(OLD)

    await prune_beside(one, other, publish(one, "a", payload=b"2"))

    piped = await one.piped()
    assert {(cause.pipeline, cause.topic, cause.event) for cause in piped.causes} <= piped.events.keys()


async def test_an_input_is_not_removed_while_another_event_of_it_is_published(
    pair: tuple[Hands, Hands], clock: FakeClock
) -> None:
    one, other = pair
    await publish(one, "a", payload=b"1")
    await consume(one)
    clock.advance(OLD)

    await prune_beside(one, other, publish(one, "b", payload=b"1"))

    piped = await one.piped()
    assert [cause.input for cause in piped.causes if cause.event == "b"] == [MAIL]
    assert await inputs(one) == [MAIL]
