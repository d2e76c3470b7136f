"""Does a pipeline do its work from end to end: producers, consumers, effects, and effects that are steps of runs?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Struct

import windlass
from tests.integration.conftest import eventually, until_path
from windlass.testing.harness import Harness


class Order(Struct, frozen=True):
    id: str
    amount: int


class Receipt(Struct, frozen=True):
    order: str
    key: str


class Bank:
    """The outside world: what was charged, and what it does when it is asked to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.charged: dict[str, Receipt] = {}
        self.asked: list[str] = []
        self.errors: list[BaseException] = []  # raised one after another, before the first success
        self.charges_first = False  # has it charged when it raises?
        self.answers: list[Any] = []

    def charge(self, order: Order) -> Receipt:
        key = windlass.current_step().idempotency_key
        self.calls.append(key)
        receipt = Receipt(order.id, key)
        if self.errors:
            if self.charges_first:
                self.charged[key] = receipt
            raise self.errors.pop(0)
        self.charged[key] = receipt
        return receipt

    def reconcile(self, order: Order) -> Any:
        key = windlass.current_step().idempotency_key
        self.asked.append(key)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer
        return windlass.Happened(self.charged[key]) if key in self.charged else windlass.DidNotHappen()


async def until_declared(app: windlass.App, name: str) -> None:
    """Wait until the store knows it: before that, what is published has no subscriber."""

    async def is_known() -> bool:
        return any(item.name == name and item.handlers for item in await app.pipelines.list())

    await eventually(is_known, what=f"pipeline {name} is declared")


class Shop:
    """A pipeline that charges orders, and notes the receipts."""

    def __init__(self, harness: Harness, bank: Bank, *, has_reconcile: bool = True, **hooks: Any) -> None:
        app = self.app = harness.app
        self.harness, self.bank = harness, bank
        self.orders, self.done = app.topic("order.paid", Order), app.topic("payment.done", Receipt)
        self.pipeline = app.pipeline("payments", **hooks)
        self.noted: list[tuple[str, str, str | None]] = []
        self.prepared: list[Any] = []
        self.next_errors: list[Exception] = []

        async def charge(order: Order) -> Receipt:
            return bank.charge(order)

        async def find_charge(order: Order) -> Any:
            return bank.reconcile(order)

        self.charge = app.effect(charge, reconcile=find_charge if has_reconcile else None)  # type: ignore[call-overload]
        self._declare_consumers()

    def _declare_consumers(self) -> None:
        shop = self

        @self.pipeline.consumer(self.orders, publishes=[self.done])
        class Charge(windlass.Consumer[Order, Receipt]):
            async def mutate(
                self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
            ) -> windlass.Effect[Receipt]:
                return windlass.Effect(shop.charge, prepared.data)

            async def next(
                self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: Receipt | None
            ) -> None:
                shop.prepared.append((prepared.data, prepared.outcome, result))
                if shop.next_errors:
                    raise shop.next_errors.pop()
                if result is not None:
                    ctx.publish(shop.done, result, id=result.order)

        @self.pipeline.consumer(self.done)
        async def note(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
            for event in events:
                shop.noted.append((event.id, event.payload.key, None))

    async def publish(self, *ids: str) -> None:
        await until_declared(self.app, "payments")
        for id in ids:
            await self.app.publish(self.orders, Order(id, 7), id=id)

    async def until_noted(self, count: int = 1) -> None:
        await eventually(lambda: len(self.noted) >= count, what=f"{count} receipts")

    async def until_status(self, status: str) -> None:
        async def is_there() -> bool:
            runs = await self.app.pipelines.runs("payments")
            return bool(runs) and runs[0].status == status

        await eventually(is_there, what=f"the newest attempt is {status}")


async def test_an_event_is_charged_once_and_its_receipt_reaches_the_next_consumer(harness: Harness) -> None:
    bank = Bank()
    shop = Shop(harness, bank)
    await shop.publish("a", "b", "c")
    await shop.until_noted(3)

    assert sorted(id for id, _, _ in shop.noted) == ["a", "b", "c"]
    assert len(bank.calls) == len(set(bank.calls)) == 3
    assert {key.rpartition("/")[0] for key in bank.calls} == {"payments/Charge"}
    assert all(outcome == "success" and isinstance(result, Receipt) for _, outcome, result in shop.prepared)


async def test_a_producer_goes_on_from_what_it_returned(harness: Harness) -> None:
    app = harness.app
    numbers = app.topic("number", int)
    counting = app.pipeline("counting")
    seen: list[int] = []
    states: list[int | None] = []

    @counting.producer(every="5m", publishes=[numbers])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        states.append(state)
        number = (state or 0) + 1
        found = ctx.input("meter", "reading", str(number), title=f"Reading {number}")
        ctx.publish(numbers, number, id=str(number), input=found)
        return number

    @counting.consumer(numbers, batch=10)
    async def collect(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        seen.extend(event.payload for event in events)

    await eventually(lambda: seen == [1], what="the first number")
    await harness.advance("5m")
    await eventually(lambda: seen == [1, 2], what="the second number")

    assert states == [None, 1]


async def test_an_effect_that_may_have_happened_is_asked_about_before_anything_else(harness: Harness) -> None:
    bank = Bank()
    bank.errors, bank.charges_first = [ConnectionError("reset")], True
    shop = Shop(harness, bank)
    await shop.publish("a")
    await shop.until_noted()

    assert len(bank.calls) == len(bank.asked) == 1
    assert shop.prepared == [(Order("a", 7), "success", bank.charged[bank.calls[0]])]


async def test_an_effect_that_did_not_happen_is_tried_again_under_the_same_key(harness: Harness) -> None:
    bank = Bank()
    bank.errors = [ConnectionError("reset")]
    shop = Shop(harness, bank)
    await shop.publish("a")
    await shop.until_status("paused:transient")
    await harness.advance("1m")
    await shop.until_noted()

    assert len(bank.calls) == 2
    assert len(set(bank.calls)) == 1


async def test_an_effect_of_which_nobody_knows_holds_the_pipeline_until_reconcile_does(harness: Harness) -> None:
    bank = Bank()
    bank.errors, bank.charges_first = [ConnectionError("reset")], True
    bank.answers = [windlass.Unknown(), OSError("not yet")]
    shop = Shop(harness, bank)
    await shop.publish("a", "b")
    await shop.until_status("paused:reconciliation")
    assert shop.noted == []
    for _ in range(10):
        await harness.advance("1m")
    await shop.until_noted(2)

    assert len(bank.calls) == 2
    assert len(bank.asked) == 3


async def test_next_is_tried_again_with_the_same_result_and_the_effect_is_not(harness: Harness) -> None:
    shop = Shop(harness, Bank())
    shop.next_errors.append(windlass.StepError("not now", kind="transient"))
    await shop.publish("a")
    await shop.until_status("paused:transient")
    await harness.advance("1m")
    await shop.until_noted()

    assert len(shop.bank.calls) == 1
    assert shop.prepared == [(Order("a", 7), "success", Receipt("a", shop.bank.calls[0]))] * 2


async def test_without_reconcile_a_person_is_needed_and_told(harness: Harness) -> None:
    bank, told = Bank(), list[windlass.Problem]()
    bank.errors = [ConnectionError("reset")]
    shop = Shop(harness, bank, has_reconcile=False, on_indeterminate=told.append)
    await shop.publish("a")
    await eventually(lambda: bool(told), what="a person is told")
    await shop.app.pipelines.resolve("payments", "happened", result=Receipt("a", "by hand"), by="ann")
    await shop.until_noted()

    assert [(problem.issue, problem.handler, problem.status) for problem in told] == [
        ("indeterminate", "Charge", "paused:reconciliation")
    ]
    assert len(bank.calls) == 1
    assert [key for _, key, _ in shop.noted] == ["by hand"]


async def test_prepare_chooses_and_may_want_nothing_until_it_is_woken(harness: Harness) -> None:
    app = harness.app
    numbers = app.topic("number", int)
    digest = app.pipeline("digest")
    sent: list[list[int]] = []
    prepared: list[int] = []

    @digest.consumer(numbers)
    class Digest(windlass.Consumer[list[int], None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: int | None) -> windlass.Reserve | windlass.Idle:
            found = await ctx.peek(numbers)
            prepared.append(len(found))
            if len(found) < 3 and len(prepared) < 4:
                return windlass.Idle(wake_in="1h")
            return windlass.Reserve(found, data=[event.payload for event in found], title="Digest")

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[list[int]], result: None) -> int:
            if prepared.events:
                sent.append(prepared.data)
            return len(sent)

    await until_declared(app, "digest")
    for number in range(2):
        await app.publish(numbers, number, id=str(number))
    await eventually(lambda: prepared[-1:] == [2], what="prepare")
    while len(prepared) < 4:
        count = len(prepared)
        await harness.idle()
        await harness.advance("61m")
        await eventually(lambda count=count: len(prepared) > count, what="prepare is asked again")  # type: ignore[misc]
    await eventually(lambda: sent == [[0, 1]], what="the digest")


async def test_a_handler_that_fails_is_fixed_or_waits_for_a_person(harness: Harness) -> None:
    app = harness.app
    numbers, undeclared = app.topic("number", int), app.topic("other", int)
    problems: list[windlass.Problem] = []
    attention: list[windlass.Problem] = []
    is_fixed = asyncio.Event()
    seen: list[int] = []

    def fix(problem: windlass.Problem) -> windlass.Fixed:
        problems.append(problem)
        return windlass.Fixed("restarted it")

    async def tell(problem: windlass.Problem) -> None:
        attention.append(problem)

    broken = app.pipeline("broken", on_logic_error=fix, on_attention=tell)

    @broken.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        if not is_fixed.is_set():
            ctx.publish(undeclared, 1, id="1")
        seen.extend(event.payload for event in events)

    await until_declared(app, "broken")
    await app.publish(numbers, 7, id="7")
    await eventually(lambda: bool(attention), what="a person is told")
    assert [problem.failure.kind for problem in (*problems, *attention) if problem.failure] == ["logic"] * 3
    assert attention[0].failure is not None
    assert "'other'" in attention[0].failure.message
    is_fixed.set()
    await app.pipelines.retry("broken")
    await eventually(lambda: seen == [7], what="the event is taken")


# --- effects as steps of runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [True, False])
async def test_an_effect_is_a_step_and_its_result_is_kept(harness: Harness, is_async: bool) -> None:
    app, bank = harness.app, Bank()

    async def charge_later(order: Order) -> Receipt:
        return bank.charge(order)

    def charge_now(order: Order) -> Receipt:
        return bank.charge(order)

    charge: Any = app.effect(charge_later) if is_async else app.effect(charge_now)

    @app.workflow
    async def buy(ctx: windlass.Context, id: str) -> Receipt:
        receipt: Receipt = await ctx.step(charge, Order(id, 7))
        await ctx.sleep("1h")
        return receipt

    handle = await app.start(buy, "a")
    await until_path(harness, handle, "sleeping")
    harness.crash()
    await harness.advance("2h")
    receipt = await handle.result()

    assert receipt == Receipt("a", bank.calls[0])
    assert len(bank.calls) == 1
    assert receipt.key.startswith(handle.id)


async def test_a_step_that_may_have_happened_is_asked_about(harness: Harness) -> None:
    app, bank = harness.app, Bank()
    bank.errors, bank.charges_first = [ConnectionError("reset")], True
    bank.answers = [windlass.Unknown()]

    async def find_charge(order: Order) -> Any:
        return bank.reconcile(order)

    @app.effect(reconcile=find_charge)
    async def charge(order: Order) -> Receipt:
        return bank.charge(order)

    @app.workflow
    async def buy(ctx: windlass.Context, id: str) -> Receipt:
        return await ctx.step(charge, Order(id, 7))

    handle = await app.start(buy, "a")
    await eventually(lambda: len(bank.asked) == 1, what="reconcile is asked")
    await harness.idle()
    await harness.advance("10m")
    receipt = await handle.result()

    assert len(bank.calls) == 1
    assert len(bank.asked) == 2
    assert receipt == bank.charged[bank.calls[0]]


async def test_a_step_of_which_nobody_knows_pauses_its_run_for_a_person(harness: Harness) -> None:
    app, bank = harness.app, Bank()
    bank.errors = [ConnectionError("reset")]

    @app.effect
    async def charge(order: Order) -> Receipt:
        return bank.charge(order)

    @app.workflow
    async def buy(ctx: windlass.Context, id: str) -> Receipt:
        return await ctx.step(charge, Order(id, 7))

    handle = await app.start(buy, "a")
    await until_path(harness, handle, "paused")
    await app.pipelines.resolve(handle.id, "did_not_happen", by="ann")
    receipt = await handle.result()

    assert len(bank.calls) == 2
    assert receipt == bank.charged[bank.calls[1]]


async def test_a_step_that_was_refused_did_not_happen_and_fails_as_any_step(harness: Harness) -> None:
    app, bank = harness.app, Bank()
    bank.errors = [windlass.StepError("no money", kind="permission")]

    @app.effect
    async def charge(order: Order) -> Receipt:
        return bank.charge(order)

    @app.workflow
    async def buy(ctx: windlass.Context, id: str) -> str:
        try:
            await ctx.step(charge, Order(id, 7))
        except windlass.StepFailed as failed:
            return failed.kind
        return "paid"

    handle = await app.start(buy, "a")

    assert await handle.result() == "permission"
    assert len(bank.calls) == 1
