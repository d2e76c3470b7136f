"""The stories about pipelines: every edge of the transactions T1 to T9, with an outside world that keeps a journal."""

from __future__ import annotations

from typing import Any

import windlass
from tests.crash.piping import (
    LOST,
    NOTHING,
    REFUSED,
    Order,
    Receipt,
    World,
    handled,
    person,
    published,
    taking,
    until_at_rest,
    until_piped,
)
from tests.crash.telling import has_told, scenario, seen, story, until
from tests.invariants.evidence import PipedRows
from tests.lives.crashes import VISIBILITY
from tests.lives.life import Life, piped_rows
from windlass.codec import Codec
from windlass.model.time import MINUTE, Duration

TRIES = 9
LONGEST_DOUBT = 2 * MINUTE  # until nobody can be inside of an effect any more, and it is asked about

_codec = Codec()


def topics(life: Life) -> tuple[windlass.Topic[Order], windlass.Topic[Receipt]]:
    orders, done = life.app.topic("order.paid", Order), life.app.topic("payment.done", Receipt)
    life.memory.update(orders=orders, done=done)
    return orders, done


def declare_charge(life: Life, world: World, *, has_reconcile: bool = True, **options: Any) -> windlass.Pipeline:
    """A consumer with every phase: its own choice, an effect, and what it publishes behind that."""
    orders, done = topics(life)
    payments = life.app.pipeline("payments", on_logic_error=options.pop("fix", None))
    life.memory.update(world=world)

    async def find(order: Order) -> Any:
        return await world.find(order)

    @life.app.effect(reconcile=find if has_reconcile else None)
    async def charge(order: Order) -> Receipt:
        return await world.charge(order)

    @payments.consumer(orders, publishes=[done], **options)
    class Charge(windlass.Consumer[Order, Receipt]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
            pending = await ctx.peek(orders, limit=1)
            handled(life, ctx, "prepare", pending)
            if not pending:
                return windlass.Idle()
            return windlass.Reserve(pending, data=pending[0].payload, title=f"Charge {pending[0].id}")

        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[Receipt]:
            return windlass.Effect(charge, prepared.data)

        async def next(
            self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: Receipt | None
        ) -> None:
            times = handled(life, ctx, "next", prepared.events)
            fail(life, prepared, times)
            if result is None:
                published(life, ctx)
            else:
                ctx.publish(done, result, id=result.id)
                published(life, ctx, (done, result.id))

    return payments


def fail(life: Life, prepared: windlass.Prepared[Order], times: int) -> None:
    """Some orders have code behind their effect that fails at first."""
    ids = {event.id for event in prepared.events}
    if "busy" in ids and times == 0:
        raise windlass.StepError("the line is busy")
    if "wrong" in ids and not has_told(life, "retry of pipeline"):
        raise ValueError("not like this")
    if "broken" in ids and not life.memory.get("is_fixed"):
        raise ValueError("not like this either")


async def publish(life: Life, *ids: str) -> None:
    for id in ids:
        await life.client.publish(life.memory["orders"], Order(id), id=id)
        await life.settle()  # so that what it leads to is the same each time


# Effects


def declare_payments(life: Life) -> None:
    """With an effect that can be asked about, and two pipelines that take what it publishes."""
    payments = declare_charge(life, World(life.journal, lost=LOST, nothing=NOTHING))
    taking(life, payments, life.memory["done"], name="tell", batch=10)
    taking(life, life.app.pipeline("books"), life.memory["done"], name="book")


@story(declare_payments)
async def effect_that_can_be_asked_about(life: Life) -> None:
    await life.hire()
    await publish(life, "lost", "nothing")
    await until_at_rest(life, events=6)


def declare_doubt(life: Life) -> None:
    payments = declare_charge(life, World(life.journal, lost=LOST, nothing=NOTHING, skip=NOTHING), has_reconcile=False)
    taking(life, payments, life.memory["done"], name="tell")


@story(declare_doubt)
async def effect_that_only_a_person_knows_about(life: Life) -> None:
    await life.hire()
    await publish(life, "lost", "nothing", "skip")
    await until_at_rest(life, events=5, person=person(life.memory["world"], skips=("skip",)))


def declare_failures(life: Life) -> None:
    declare_charge(life, World(life.journal, refused=REFUSED))


@story(declare_failures)
async def handler_that_fails_before_and_behind_its_effect(life: Life) -> None:
    await life.hire()
    await publish(life, "refused", "busy", "wrong")
    await until_at_rest(life, events=3, person=person(life.memory["world"]))


def declare_fixing(life: Life) -> None:
    async def fix(problem: windlass.Problem) -> windlass.Fixed:
        life.memory["is_fixed"] = True
        return windlass.Fixed("put right")

    declare_charge(life, World(life.journal), fix=fix)


@story(declare_fixing)
async def handler_that_is_put_right(life: Life) -> None:
    await life.hire()
    await publish(life, "broken")
    await until_at_rest(life)


def declare_approval(life: Life) -> None:
    declare_charge(life, World(life.journal), approval=True)


@story(declare_approval)
async def effect_that_a_person_approves_or_rejects(life: Life) -> None:
    await life.hire()
    await publish(life, "yes", "no")
    await until_at_rest(life, events=2, person=person(life.memory["world"], skips=("no",)))


# Producers


def declare_counting(life: Life) -> None:
    """A producer that counts what it publishes, each with what outside has caused it."""
    numbers = life.app.topic("number", int)
    counting = life.app.pipeline("counting")

    @counting.producer(every="1h", publishes=[numbers])
    async def count(ctx: windlass.ProducerContext, state: int | None) -> int:
        number = (state or 0) + 1
        handled(life, ctx, "produce")
        ctx.publish(numbers, number, id=str(number), input=ctx.input("shelf", "item", str(number)))
        published(life, ctx, (numbers, str(number)))
        return number

    taking(life, counting, numbers, name="add", batch=2)


def has_counted(number: int) -> Any:
    def is_so(piped: PipedRows) -> bool:
        states = [row.state for row in piped.handlers if row.state is not None]
        return bool(states) and _codec.decode(states[0]) >= number

    return is_so


@story(declare_counting)
async def producer_that_is_paused_and_asked_for(life: Life) -> None:
    await life.hire()
    await until_piped(life, has_counted(1))
    await life.client.steer("pause", "counting", by="ann")
    await life.advance("1h")
    await life.client.steer("resume", "counting", by="bob")
    await until_piped(life, has_counted(2))
    await until_at_rest(life, events=2)
    await life.client.steer("run_now", "counting", by="cat")
    await until_piped(life, has_counted(3))
    await until_at_rest(life, events=3)


# Runs


def declare_steps(life: Life) -> None:
    """Effects as steps of a run: one that can be asked about, one that only a person knows about."""
    world = World(life.journal, lost=LOST, nothing=NOTHING)
    life.memory.update(world=world)

    async def find(order: Order) -> Any:
        return await world.find(order)

    @life.app.effect(reconcile=find)
    async def charge(order: Order) -> Receipt:
        return await world.charge(order)

    @life.app.effect
    async def ship(order: Order) -> Receipt:
        return await world.charge(order)

    @life.app.workflow(name="shop")
    async def shop(ctx: windlass.Context, first: str, second: str) -> str:
        retry = windlass.Retry(TRIES, initial="1s")
        paid: Receipt = await seen(life, ctx, "charge", ctx.step(charge, Order(first), retry=retry))
        sent: Receipt = await seen(life, ctx, "ship", ctx.step(ship, Order(second), retry=retry))
        return f"{paid.id} {sent.id}"

    life.memory.update(shop=shop)


@scenario(
    declare_steps,
    is_told_again=True,
    endings={"shop": "completed"},
    retry_limits={"charge": TRIES, "ship": TRIES},
    claims_last_for=Duration(VISIBILITY + LONGEST_DOUBT),
)
async def effects_that_are_steps_of_a_run(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["shop"], "nothing", "lost", key="shop")
    somebody = person(life.memory["world"])
    for _ in range(100):
        await until(life, handle, "completed", "paused")
        if (await handle.status()).is_terminal:
            break
        if not await somebody(life, await piped_rows(life)):
            await life.advance("30s")
