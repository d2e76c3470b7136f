"""Payments whose provider does not always answer: three orders, three ways for a charge to go wrong.

Order 1  the provider charges the card, and its answer is lost. It is asked what it has, and the pipeline goes on.
Order 2  the card is declined. That says for certain that nothing happened, so a person may let go of the order.
Order 3  the answer is lost, and the provider cannot say what it has either. A person looks, and says so.

No order is charged twice, whenever this program is killed and started again.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import windlass


class Declined(Exception):
    """The provider said no: no money was moved."""


def classify(error: BaseException) -> str | None:
    """Declined says for certain that nothing happened. Of a lost connection nobody knows."""
    return "logic" if isinstance(error, Declined) else None


@dataclass
class Order:
    id: str
    cents: int


@dataclass
class Receipt:
    order: str
    charge: str


BOOKS = Path("provider.json")  # the provider's, on the other side of the network


def read_books() -> dict[str, str]:
    """Charges by the key they were asked for with."""
    books: dict[str, str] = json.loads(BOOKS.read_text()) if BOOKS.exists() else {}
    return books


def find_charge(order: Order) -> windlass.Happened[Receipt] | windlass.DidNotHappen | windlass.Unknown:
    """Asked when nobody knows whether the card was charged."""
    if order.id == "3":
        return windlass.Unknown()  # the provider's books are closed today
    charge_id = read_books().get(windlass.current_step().idempotency_key)
    return windlass.DidNotHappen() if charge_id is None else windlass.Happened(Receipt(order.id, charge_id))


app = windlass.App("payments.db", classify=classify)
orders, done = app.topic("order.paid", Order), app.topic("payment.done", Receipt)
payments = app.pipeline("payments")


@app.effect(reconcile=find_charge)
def charge(order: Order) -> Receipt:
    if order.id == "2":
        raise Declined("no funds")
    books, key = read_books(), windlass.current_step().idempotency_key  # the same whenever these events are tried
    books.setdefault(key, f"charge-{len(books) + 1}")
    BOOKS.write_text(json.dumps(books))
    print(f"order {order.id}: the provider took {order.cents} cents, and does not answer")
    raise TimeoutError("no answer within 30 s")


@payments.consumer(orders, publishes=[done])
class Charge(windlass.Consumer[Order, Receipt]):
    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> windlass.Effect[Receipt]:
        return windlass.Effect(charge, prepared.data, title=f"Charge order {prepared.data.id}")

    async def next(
        self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], receipt: Receipt | None
    ) -> None:
        if receipt is not None:  # else a person decided to go on without
            ctx.publish(done, receipt, id=receipt.order)


@payments.consumer(done)
async def tell(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
    for event in events:
        print(f"order {event.payload.order}: paid with {event.payload.charge}")


async def be_the_person() -> bool:
    """Look at the pipeline as somebody would who was called, and say what there is to say. Is everything done?"""
    info = await app.pipelines.get(payments)
    if info.status == "Needs attention":
        print(f"ann reads: {info.issue}")
        await app.pipelines.skip_event(payments, orders, "2", by="ann", note="declined")
        await app.pipelines.retry(payments, by="ann")
    for effect in await app.pipelines.open_effects():
        print(f"ann reads: {info.issue}")
        receipt = Receipt("3", read_books()[effect.idempotency_key])  # a call to the provider, in earnest
        await app.pipelines.resolve(payments, "happened", result=receipt, by="ann", note="they told me on the phone")
    topics = await app.pipelines.topics()
    return not any(sum(topic.pending.values()) + sum(topic.reserved.values()) for topic in topics)


async def main() -> None:
    async with app, app.worker():
        await app.publish_many(orders, [(id, Order(id, 500)) for id in ("1", "2", "3")])
        is_done = False
        while not is_done:
            await asyncio.sleep(0.1)
            is_done = await be_the_person()
    print(f"{len(read_books())} charges for 2 orders that were paid")


if __name__ == "__main__":
    asyncio.run(main())
