"""What happens to handlers that answer, keep, publish or reserve what they may not?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

import windlass
from tests.integration.pipelines.till import Order, Receipt, Till, World, until_declared
from windlass.model.pipeline import HandlerRun
from windlass.model.pipeline_commands import ListEvents
from windlass.testing.harness import Harness

LARGE = "x" * (17 * 1024 * 1024)

pytestmark = pytest.mark.in_process  # all of it is the worker's own business, also of one behind a wire


async def refused(till: Till, *ids: str) -> HandlerRun:
    """The one attempt, which was refused for what its code did."""
    await till.settle(*(ids or ("a",)))
    (run,) = await till.runs()
    assert run.status == "failed:logic"
    assert run.failure is not None and run.failure.kind == "logic"
    assert await till.standing() == ("attention", "logic")
    return run


@pytest.mark.spec("pipelines:78", "pipelines:148", "pipelines:149", "security:72")
@pytest.mark.parametrize("answer", [[], {"reservations": []}, "a", 7, Order("a"), windlass.DidNotHappen()], ids=repr)
async def test_prepare_answers_with_reserve_or_idle(harness: Harness, answer: Any) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=[answer])
    run = await refused(till)

    assert run.phase == "preparing"
    assert run.failure is not None
    assert "prepare of handler 'Charge' answers with windlass.Reserve(events, …) or windlass.Idle()" in (
        run.failure.message
    )
    assert await till.events() == {"a": ("pending", 1)}


@pytest.mark.spec("pipelines:148", "security:72")
async def test_prepare_that_answers_nothing_is_told_what_it_may_answer(harness: Harness) -> None:
    app = harness.app
    orders = app.topic("order.paid", Order)
    empty = app.pipeline("empty")

    @empty.consumer(orders)
    class Take(windlass.Consumer[Order, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> Any:
            await ctx.peek(orders)

    await until_declared(harness, "empty")
    (run,) = await app.pipelines.runs("empty")

    assert run.status == "failed:logic"
    assert "windlass.Idle(), not with None" in (run.error or "")


async def _unknown(ctx: windlass.PrepareContext, till: Till) -> Any:
    (event,) = await ctx.peek(till.orders, limit=1)
    return [event, replace(event, id="nobody")]


async def _foreign(ctx: windlass.PrepareContext, till: Till) -> Any:
    (event,) = await ctx.peek(till.orders, limit=1)
    return [event, replace(event, topic="payment.done")]


async def _twice(ctx: windlass.PrepareContext, till: Till) -> Any:
    return [*await ctx.peek(till.orders, limit=1)] * 2


async def _consumed(ctx: windlass.PrepareContext, till: Till) -> Any:
    return [*await ctx.peek(till.orders), *await ctx.get(till.orders, ["before"])]


@pytest.mark.spec("pipelines:78", "security:73", "invariants:I-36")
@pytest.mark.parametrize(
    ("choose", "why"),
    [
        (_unknown, "there is no event 'nobody' in topic 'order.paid'"),
        (_foreign, "it does not subscribe to topic 'payment.done'"),
        (_twice, "event 'a' of topic 'order.paid' stands in it twice"),
        (_consumed, "event 'before' of topic 'order.paid' is consumed, not pending"),
    ],
    ids=["unknown", "foreign", "twice", "consumed"],
)
async def test_what_cannot_be_reserved_is_refused_and_nothing_is_reserved(
    harness: Harness, choose: Callable[..., Awaitable[Any]], why: str
) -> None:
    world = World()
    till = await Till(harness, world).deployed()
    await till.settle("before")
    till = await till.again()

    async def prepare(ctx: windlass.PrepareContext) -> windlass.Reserve:
        return windlass.Reserve(await choose(ctx, till))

    world.plan(prepare=[prepare])
    run = await refused(till)

    assert run.failure is not None and why in run.failure.message
    assert (run.phase, run.reserved) == ("preparing", ())
    assert await till.events() == {"before": ("consumed", 1), "a": ("pending", 1)}
    await till.app.pipelines.retry("payments")
    await harness.idle()
    assert world.noted == ["before", "a"]


@pytest.mark.spec("security:73")
async def test_another_pipeline_may_have_an_event_of_the_same_name_and_nothing_of_it_is_touched(
    harness: Harness,
) -> None:
    till = await Till(harness).deployed()
    other, seen = till.app.pipeline("other"), list[str]()

    @other.consumer(till.orders)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        seen.extend(event.id for event in events)

    await until_declared(harness, "other")
    till.world.plan(prepare=[windlass.Idle()])
    await till.settle("a")

    assert seen == ["a"]
    assert await till.events() == {"a": ("pending", 1)}
    assert await till.events(pipeline="other") == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:78")
async def test_looking_at_a_topic_of_others_is_a_fault_of_the_code(harness: Harness) -> None:
    till = await Till(harness).deployed()

    async def prepare(ctx: windlass.PrepareContext) -> Any:
        return await ctx.peek(till.done)

    till.world.plan(prepare=[prepare])
    run = await refused(till)

    assert run.failure is not None and "looks at 'payment.done', and is no consumer of that" in run.failure.message


@pytest.mark.spec("pipelines:78", "security:76")
@pytest.mark.parametrize("verb", ["publish", "input", "step"])
async def test_what_belongs_to_another_phase_is_not_there(harness: Harness, verb: str) -> None:
    till = await Till(harness).deployed()

    async def prepare(ctx: Any) -> Any:
        return await getattr(ctx, verb)(till.done, Receipt("a"), id="a")

    till.world.plan(prepare=[prepare])
    run = await refused(till)

    assert run.failure is not None
    assert f"ctx.{verb} is not there in this phase" in run.failure.message
    assert run.failure.type == "AttributeError"
    assert await till.events(pipeline="notes") == {}


@pytest.mark.spec("pipelines:78")
@pytest.mark.parametrize("verb", ["peek", "get", "input"])
async def test_next_only_publishes(harness: Harness, verb: str) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=[lambda ctx: getattr(ctx, verb)(till.orders)])
    run = await refused(till)

    assert run.phase == "emitting"
    assert run.failure is not None and f"ctx.{verb} is not there in this phase" in run.failure.message


@pytest.mark.spec("security:74")
@pytest.mark.parametrize("answer", [7, "charge", Receipt("a")], ids=repr)
async def test_mutate_answers_with_an_effect_or_nothing(harness: Harness, answer: Any) -> None:
    till = await Till(harness).deployed()
    till.world.plan(mutate=[answer])
    run = await refused(till)

    assert run.phase == "prepared"
    assert run.failure is not None
    assert "mutate of handler 'Charge' answers with windlass.Effect(…) or None" in run.failure.message
    assert (await till.view(run)).effect is None
    assert await till.events() == {"a": ("pending", 2)}


@pytest.mark.spec("security:74")
async def test_an_effect_that_was_not_declared_is_not_called(harness: Harness) -> None:
    till = await Till(harness).deployed()
    called: list[Order] = []

    def undeclared(order: Order) -> None:
        called.append(order)

    till.world.plan(mutate=[windlass.Effect(undeclared, Order("a"))])
    run = await refused(till)

    assert run.failure is not None
    assert "write @app.effect above" in run.failure.message and "undeclared" in run.failure.message
    assert called == []
    assert run.phase == "prepared"


@pytest.mark.parametrize("argument", [object(), 7], ids=["object", "number"])
async def test_an_effect_whose_arguments_cannot_be_kept_is_not_called(harness: Harness, argument: Any) -> None:
    till = await Till(harness).deployed()
    till.world.plan(mutate=[windlass.Effect(till.charge, argument)])
    run = await refused(till)

    assert run.phase == "prepared"
    assert till.world.count("charge") == 0
    assert (await till.view(run)).effect is None


@pytest.mark.spec("security:75", "invariants:I-40")
async def test_publishing_where_nobody_said_so_is_refused_and_nothing_is_published(harness: Harness) -> None:
    till = await Till(harness).deployed()
    other = till.app.topic("other", int)
    till.world.plan(next=[lambda ctx: ctx.publish(other, 1, id="1")])
    run = await refused(till)

    assert run.phase == "emitting"
    assert run.failure is not None
    assert "publishes to 'other', and has not declared that" in run.failure.message
    assert "'payment.done'" in run.failure.message
    assert await till.events(pipeline="notes") == {}


@pytest.mark.spec("security:75")
@pytest.mark.parametrize(
    ("payload", "id", "why"),
    [
        (object(), "a", "payload"),
        (7, "a", "payload"),
        (Receipt("a"), "", "id of the event"),
        (Receipt("a"), 7, "id of the event"),
        (Receipt("a"), "x" * 300, "id of the event"),
    ],
    ids=["object", "number", "empty id", "id no text", "long id"],
)
async def test_what_cannot_be_published_is_a_fault_of_the_code(
    harness: Harness, payload: Any, id: Any, why: str
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=[lambda ctx: ctx.publish(till.done, payload, id=id)])
    run = await refused(till)

    assert run.failure is not None and why in run.failure.message
    assert await till.events(pipeline="notes") == {}
    assert await till.events() == {"a": ("reserved", 1)}


@pytest.mark.spec("security:75")
async def test_the_same_id_again_replaces_what_was_published(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("notes")
    till.world.plan(next=[lambda ctx: ctx.publish(till.done, Receipt("a", "corrected"), id="a")])
    await till.settle("a")
    page = await harness.opened.pipelines.list_events(ListEvents(namespace="default", pipeline="notes"))

    assert [(event.id, b"corrected" in event.payload) for event in page.events] == [("a", True)]


@pytest.mark.spec("security:77", "pipelines:69")
@pytest.mark.parametrize("state", [object(), "many", LARGE], ids=["object", "wrong type", "too large"])
async def test_a_state_that_cannot_be_kept_fails_the_attempt_and_leaves_the_state_as_it_was(
    harness: Harness, state: Any
) -> None:
    till = await Till(harness).deployed()
    await till.settle("before")
    till = await till.again()
    till.world.plan(next=[state])
    run = await refused(till)

    assert run.phase == "emitting"
    assert await till.events() == {"before": ("consumed", 1), "a": ("reserved", 1)}
    await till.app.pipelines.retry("payments")
    await harness.idle()
    await till.settle("b")
    assert till.world.states == [1, 2]
    assert till.world.count("charge") == 2


@pytest.mark.spec("security:77")
@pytest.mark.parametrize("data", [object(), 7, LARGE], ids=["object", "wrong type", "too large"])
async def test_data_that_cannot_be_kept_fails_the_attempt_and_nothing_is_reserved(harness: Harness, data: Any) -> None:
    till = await Till(harness).deployed()

    async def prepare(ctx: windlass.PrepareContext) -> Any:
        return windlass.Reserve(await ctx.peek(till.orders), data=data)

    till.world.plan(prepare=[prepare])
    run = await refused(till)

    assert (run.phase, run.reserved) == ("preparing", ())
    assert await till.events() == {"a": ("pending", 1)}


async def test_publishing_from_outside_is_checked_against_what_the_topic_says(harness: Harness) -> None:
    till = await Till(harness).deployed()
    publish: Any = till.app.publish
    assert (await publish("order.paid", Order("a"), id="a")).pipelines == 1
    with pytest.raises(windlass.InvalidInput, match="payload"):
        await publish(till.orders, {"amount": "much"}, id="b")
    with pytest.raises(windlass.NotFound, match=r"order\.payed"):
        await publish("order.payed", Order("a"), id="a")


async def test_a_handler_that_goes_on_behind_its_back_is_heard_no_more(harness: Harness) -> None:
    till = await Till(harness).deployed()
    kept: list[Any] = []
    till.world.plan(next=[kept.append])
    await till.settle("a")

    with pytest.raises(windlass.NotAllowed, match="when its phase of handler 'Charge' was over"):
        kept[0].publish(till.done, Receipt("a"), id="late")
    assert await till.events(pipeline="notes") == {"a": ("consumed", 1)}
