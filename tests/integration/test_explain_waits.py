"""Does a run that waits for an event, a person or another run say for which, since and until when, and what to type?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import ByHand, Gate, OpenHarness, row_of, until_recorded
from tests.integration.test_explain import explained, order_of, register
from tests.programs import asks, receives, runs, sleeps
from windlass import Context, Retry, StepError
from windlass.model.run import RunId
from windlass.settings import Settings
from windlass.testing.harness import Harness

pytestmark = pytest.mark.spec("invariants:I-08")  # nothing waits without saying for what


def declare_ask(harness: Harness, **options: Any) -> Any:
    """A workflow that waits for 'replied'."""
    replied = harness.app.event("replied", str)
    return harness.app.workflow(name="ask")(receives(replied, **options))


async def children_of(harness: Harness, handle: Any) -> list[RunId]:
    """In the order in which they were created."""
    return sorted(RunId(step.awaits) for step in await harness.steps(handle) if step.awaits is not None)


async def test_a_run_that_waits_for_an_event(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    handle = await harness.start(declare_ask(harness))
    await harness.idle()
    await harness.advance("30s")

    found = await explained(harness, handle)

    assert found.title == f"Run {handle.id} ('ask') is waiting."
    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for event 'replied' and holds no worker. There is no deadline. "
        f"Send 'replied', with its payload or null: windlass send {handle.id} replied PAYLOAD"
    )
    assert (found.code, found.step, found.until) == ("waiting_for_event", "receive/replied", None)
    assert found.brief == "event 'replied'"


async def test_a_run_that_waits_for_an_event_until_a_time(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    handle = await harness.start(declare_ask(harness, timeout="3m", default=""))
    await harness.idle()
    await harness.advance("30s")

    found = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for event 'replied' and holds no worker. Without it the workflow goes "
        "on at 00:03:00 UTC, in 2 min 30 s: with the default of receive(), or with WaitTimeout. "
        f"Send 'replied', with its payload or null: windlass send {handle.id} replied PAYLOAD"
    )
    assert (found.code, found.brief) == ("waiting_for_event", "event 'replied' until 00:03:00 UTC")
    assert found.until == (await row_of(harness, handle)).available_at


async def test_a_run_that_waited_for_an_event_in_vain_and_has_no_worker(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    ask = declare_ask(harness, timeout="3m", default="")
    handle = await harness.start(ask)
    async with harness.app.worker():
        await harness.until(handle, "waiting")
    harness.clock.advance("3m10s")

    found = await explained(harness, handle)

    assert found.code == "no_worker"
    assert found.text.startswith(
        "It waited for event 'replied' until 00:03:00 UTC, in vain, and has been due for 10 s. "
        "No live worker runs 'ask'. Start one: "
    )


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (["reply"], "1 event of another name is unread: 'reply'; was 'replied' meant?"),
        (["reply", "reply"], "2 events of other names are unread: 'reply'; was 'replied' meant?"),
        (["paid", "Replied", "paid"], "3 events of other names are unread: 'paid' and 'Replied'; was 'replied' meant?"),
        (["paid"], "1 event of another name is unread: 'paid'."),
    ],
)
async def test_an_event_of_another_name_is_named_and_perhaps_the_one_that_was_meant(
    open_shared: OpenHarness, sent: list[str], told: str
) -> None:
    harness = await open_shared()
    handle = await harness.start(declare_ask(harness))
    await harness.idle()
    for name in sent:
        harness.app.event(name, str)
        await handle.send(name, "yes")

    found = await explained(harness, handle)

    assert f" There is no deadline. {told} Send 'replied'," in found.text


async def test_events_that_were_received_are_not_called_unread(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    first, second = harness.app.event("first", str), harness.app.event("second", str)

    @harness.app.workflow
    async def ask(ctx: Context) -> None:
        await ctx.receive(first)
        await ctx.receive(second)

    handle = await harness.start(ask)
    await handle.send(first, "yes")
    await harness.idle()

    found = await explained(harness, handle)

    assert "for event 'second'" in found.text
    assert "unread" not in found.text


async def test_a_run_that_waits_for_an_approval(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    ship = harness.app.workflow(asks("Ship it?", timeout="1h"))
    handle = await harness.start(ship)
    await harness.idle()
    await harness.advance("30s")

    found = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for a person to decide on 'Ship it?' and holds no worker. Undecided, "
        "the approval expires at 01:00:00 UTC, in 59 min 30 s, and the workflow goes on. "
        f"Decide: windlass approve {handle.id}, or windlass reject {handle.id}"
    )
    assert (found.code, found.step) == ("waiting_for_approval", "approval")
    assert found.brief == "approval 'Ship it?' until 01:00:00 UTC"


async def test_a_run_that_waits_for_a_child_says_what_the_child_waits_for(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    ask = declare_ask(harness)
    order = harness.app.workflow(runs(ask))
    handle = await harness.start(order)
    await harness.idle()
    await harness.advance("30s")
    (child,) = await children_of(harness, handle)

    found = await explained(harness, handle)

    assert found.text == (
        f"It has waited since 00:00:00 UTC (30 s) for its child {child} ('ask'), which waits for event 'replied'. "
        f"More about 'ask': windlass explain {child}"
    )
    assert (found.code, found.step, found.brief) == ("waiting_for_child", "ask", "child 'ask'")


async def test_a_child_that_is_at_work_paused_or_without_a_worker(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()

    async def pack() -> None:
        await gate.wait()

    @harness.app.workflow
    async def parcel(ctx: Context) -> None:
        await ctx.step(pack)
        await ctx.sleep("1h")

    @harness.app.workflow
    async def order(ctx: Context, queue: str) -> None:
        await ctx.run(parcel, queue=queue)

    async def clause(handle: Any) -> str:
        return (await explained(harness, handle)).text.partition("('parcel'), which ")[2].partition(". More")[0]

    here, elsewhere = await harness.start(order, "default"), await harness.start(order, "slow")
    await gate.reached()
    for handle in (here, elsewhere):
        await harness.until(handle, "waiting")
    harness.clock.advance("100ms")
    (at_work,), (due,) = await children_of(harness, here), await children_of(harness, elsewhere)
    await until_recorded(harness, harness.app.handle(at_work), "pack")

    assert await clause(here) == "is at work in step 'pack'"
    assert await clause(elsewhere) == "waits for a worker in queue 'slow', and there is none"
    await harness.app.handle(at_work).pause(by="ann")
    assert await clause(here) == "is to be paused by ann"
    gate.open()
    await harness.until(harness.app.handle(at_work), "paused")
    assert await clause(here) == "is paused by ann"
    await harness.app.handle(due).cancel()


async def test_a_run_that_waits_for_the_children_of_a_map(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    @harness.app.workflow
    async def resize(ctx: Context, number: int) -> None:
        if number > 3:
            await ctx.sleep("1h")

    @harness.app.workflow
    async def album(ctx: Context) -> None:
        await ctx.map(resize, range(1, 41))

    handle = await harness.start(album)
    await harness.idle()
    await harness.advance("30s")
    fourth = (await children_of(harness, handle))[3]

    found = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for 37 of 40 children of 'resize'; the first of them, "
        f"{fourth}, sleeps until 01:00:00 UTC. More about 'resize': windlass explain {fourth}"
    )
    assert (found.code, found.brief) == ("waiting_for_child", "37 children")


async def test_a_run_that_waits_for_several_things_names_each(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.race(reply=ctx.receive(replied, timeout="2h"), person=ctx.approval("Ship it?"), late=ctx.sleep("3h"))
        await ctx.approval("Bill it?")

    handle = await harness.start(order)
    await harness.idle()
    await harness.advance("30s")
    found = await explained(harness, handle)
    await handle.send(replied, "yes")
    await harness.idle()
    after = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for event 'replied' until 02:00:00 UTC, the approval 'Ship it?' and a "
        "sleep until 03:00:00 UTC at once and holds no worker; whichever comes first wakes it. "
        f"Send 'replied', with its payload or null: windlass send {handle.id} replied PAYLOAD, and decide: "
        f"windlass approve {handle.id}, or windlass reject {handle.id}"
    )
    assert (found.code, found.step) == ("waiting_for_several", None)
    assert found.brief == "event 'replied' until 02:00:00 UTC, approval 'Ship it?', sleep until 03:00:00 UTC"
    # What lost the race was given up, and is not waited for.
    assert after.text.startswith("It has waited since 00:00:30 UTC (0 s) for a person to decide on 'Bill it?'")


@pytest.mark.parametrize("loser", ["sleep", "back-off"])
async def test_what_lost_a_race_is_not_waited_for_however_often_the_run_is_parked_since(
    open_shared: OpenHarness, loser: str
) -> None:
    harness = await open_shared()
    first, second, third = (harness.app.event(name, str) for name in ("first", "second", "third"))

    async def charge() -> None:
        raise StepError("gateway timed out", retry_after="2h")

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        other = ctx.sleep("2h") if loser == "sleep" else ctx.step(charge, retry=Retry(9))
        await ctx.race(other=other, reply=ctx.receive(first))
        await ctx.receive(second)
        await ctx.receive(third)

    handle = await harness.start(order)
    await harness.idle()
    for event in (first, second):
        await handle.send(event, "yes")
        await harness.idle()

    found = await explained(harness, handle)

    assert (found.code, found.brief, found.until) == ("waiting_for_event", "event 'third'", None)


async def test_of_several_approvals_each_is_named_in_what_is_to_be_typed(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await asyncio.gather(*(ctx.approval(f"Is {name} in?") for name in ("ann", "bob", "cy", "dee", "eve")))

    handle = await harness.start(order)
    await harness.idle()

    found = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (0 s) for the approval 'Is ann in?', the approval 'Is bob in?', the approval "
        "'Is cy in?' and 2 more at once and holds no worker; whichever comes first wakes it. "
        f"Decide on 'Is ann in?': windlass approve {handle.id} --step approval, "
        f"and decide on 'Is bob in?': windlass approve {handle.id} --step 'approval#2', "
        f"and decide on 'Is cy in?': windlass approve {handle.id} --step 'approval#3'"
    )
    assert found.brief == "approval 'Is ann in?', approval 'Is bob in?', approval 'Is cy in?', …"


async def test_a_branch_that_waits_is_named_beside_one_that_is_at_work(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()
    replied = harness.app.event("replied", str)

    async def pack() -> None:
        await gate.wait()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await asyncio.gather(ctx.step(pack), ctx.receive(replied))

    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("100ms")
    await until_recorded(harness, handle, "receive/replied")
    await until_recorded(harness, handle, "pack")

    found = await explained(harness, handle)
    gate.open()

    assert found.code == "held"
    assert found.text.endswith(" Beside that it waits for event 'replied'.")


# The time-out of a whole run


async def test_a_run_that_must_end_in_time_says_so_while_it_waits(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    handle = await harness.start(declare_ask(harness), timeout="1h")
    await harness.idle()
    await harness.advance("30s")

    found = await explained(harness, handle)

    assert found.text == (
        "It has waited since 00:00:00 UTC (30 s) for event 'replied' and holds no worker. "
        "It must end by 01:00:00 UTC (59 min 30 s left). "
        f"Send 'replied', with its payload or null: windlass send {handle.id} replied PAYLOAD"
    )


async def test_a_run_that_sleeps_beyond_its_own_end(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    nap = harness.app.workflow(sleeps("2h"))
    handle = await harness.start(nap, timeout="1h")
    await harness.idle()

    found = await explained(harness, handle)

    assert found.text == (
        "It has slept since 00:00:00 UTC (0 s) and holds no worker; it goes on at 02:00:00 UTC, in 2 h. "
        "It must end by 01:00:00 UTC (1 h left), which is before that: then it fails."
    )
    assert found.code == "sleeping"


async def test_a_run_whose_time_is_over_and_that_nobody_has_ended_yet(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, timeout="1m")
    harness.clock.advance("70s")
    alone = await explained(harness, handle)
    await register(ByHand(harness))

    found = await explained(harness, handle)

    told = (
        "It has been due for 1 min 10 s. Its time-out passed at 00:01:00 UTC, 10 s ago: the worker that takes it ends "
        "it as failed, and enters no more of it. "
    )
    assert alone.text.startswith(f"{told}No live worker runs 'order'. Start one: ")
    assert found.text.startswith(f"{told}1 live worker serves it, with 0 of 2 slots taken")
    assert {alone.code, found.code} == {"expired"}


async def test_a_run_that_did_not_end_in_time(open_shared: OpenHarness) -> None:
    harness = await open_shared(settings=Settings(coordinates=False))  # who may be the one to end it
    handle = await harness.start(declare_ask(harness), timeout="1m")
    await harness.idle()
    await harness.advance("70s")

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "timed_out",
        "It failed at 00:01:10 UTC, 0 s ago: it had not ended by 00:01:00 UTC, its time-out. "
        f"All of it: windlass show {handle.id}",
    )


async def test_the_next_approval_of_a_run_is_named_in_the_command(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.approval("Ship?")
        await ctx.approval("Wire?")

    handle = await harness.start(order)
    await harness.idle()
    assert f"windlass approve {handle.id}, or" in await handle.explain()
    await handle.approve(by="ann")
    await harness.idle()

    assert f"windlass approve {handle.id} --step 'approval#2'" in await handle.explain()
