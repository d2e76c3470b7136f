"""Does a run wait for a person, take the first decision and no other, and keep who made it?"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest

from tests.integration.conftest import AnswerLost, Gate, OpenHarness, eventually, log_of, row_of
from tests.programs import asks, sleeps
from windlass import Context, Decision, InvalidInput, NotFound, WrongState
from windlass.model.duration import from_instant
from windlass.model.run import Deed
from windlass.model.time import Instant
from windlass.notify.local import queue_topic
from windlass.testing.harness import Harness


@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_a_run_waits_for_a_decision_and_gets_all_of_it(harness: Harness, verb: str) -> None:
    @harness.app.workflow
    async def shipping(ctx: Context, id: str) -> Decision:
        return await ctx.approval(f"Ship {id}?", data={"id": id})

    handle = await harness.start(shipping, "7")
    await harness.idle()
    await harness.advance("1d")
    assert (await row_of(harness, handle)).status == "waiting"
    at = from_instant(Instant(harness.clock.now()))

    made = await getattr(handle, verb)(by="ann", note="all paid\nlooks good")

    expected = Decision(
        outcome="approved" if verb == "approve" else "rejected", by="ann", note="all paid\nlooks good", at=at
    )
    assert made == expected
    assert await handle.result() == expected
    assert expected.is_approved is (verb == "approve")


async def test_who_decided_stands_in_the_log(harness: Harness) -> None:
    shipping = harness.app.workflow(asks("Ship?"))
    handle = await harness.start(shipping)
    await harness.idle()
    await handle.reject(by="ann", note="no stock")
    assert await handle.result() == "rejected"

    (entry,) = [entry for entry in await log_of(harness, handle.id) if entry.cause == "reject"]
    assert (entry.from_status, entry.to_status) == ("waiting", "pending")
    assert msgspec.json.decode(entry.data or b"", type=Deed) == Deed(by="ann", note="no stock", step="approval")


async def test_the_same_decision_again_is_a_repeat_and_another_one_is_refused(harness: Harness) -> None:
    @harness.app.workflow
    async def shipping(ctx: Context) -> str:
        outcome = (await ctx.approval("Ship?")).outcome
        await ctx.sleep("1h")
        return outcome

    handle = await harness.start(shipping)
    await harness.idle()
    first = await handle.approve(by="ann")
    assert await handle.approve(by="ann") == first
    await harness.idle()
    assert await handle.approve() == first  # received by now
    with pytest.raises(WrongState, match=r"Approval 'Ship\?' of run_\w+ is approved by ann; waiting was expected"):
        await handle.reject(by="bob")
    with pytest.raises(WrongState, match="is approved by ann"):
        await handle.approve(by="bob")
    await harness.advance("1h")

    assert await handle.result() == "approved"


async def test_an_approval_expires(harness: Harness) -> None:
    @harness.app.workflow
    async def shipping(ctx: Context) -> Decision:
        return await ctx.approval("Ship?", timeout="2h")

    begun_at = from_instant(Instant(harness.clock.now()))
    handle = await harness.start(shipping)
    await harness.idle()
    await harness.advance("2h")

    decision = await handle.result()
    assert decision == Decision(outcome="expired", at=begun_at + timedelta(hours=2))
    with pytest.raises(WrongState, match="over; waiting was expected"):
        await handle.approve()


async def test_a_decision_that_comes_after_its_time_is_refused_though_nobody_has_noticed(idle_harness: Harness) -> None:
    harness = idle_harness
    shipping = harness.app.workflow(asks("Ship?", timeout="1h"))
    handle = await harness.start(shipping)
    async with harness.app.worker():
        await harness.until(handle, "waiting")
    harness.clock.advance("2h")
    with pytest.raises(WrongState, match="is expired; waiting was expected"):
        await handle.approve(by="ann")
    async with harness.app.worker():
        assert await handle.result() == "expired"


async def test_what_does_not_wait_cannot_be_approved(harness: Harness) -> None:
    napping = harness.app.workflow(sleeps("1h"))
    handle = await harness.start(napping)
    await harness.idle()
    with pytest.raises(WrongState, match="is sleeping; one that waits for an approval was expected"):
        await handle.approve()
    with pytest.raises(NotFound, match="Approval 'approval' does not exist"):
        await handle.approve(step="approval")
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).approve()


async def test_of_several_approvals_one_must_be_named(harness: Harness) -> None:
    @harness.app.workflow
    async def shipping(ctx: Context) -> list[str]:
        decisions = await asyncio.gather(ctx.approval("Legal?"), ctx.approval("Finance?"))
        return [decision.outcome for decision in decisions]

    handle = await harness.start(shipping)
    await harness.until(handle, "waiting")
    with pytest.raises(
        InvalidInput, match=r"waits for 2 approvals. Say which one with step=: 'approval', 'approval#2'"
    ):
        await handle.approve()
    with pytest.raises(NotFound, match=r"Approval 'approval#3' does not exist. Did you mean"):
        await handle.approve(step="approval#3")
    await handle.reject(step="approval#2")
    await handle.approve()  # only one is left

    assert await handle.result() == ["approved", "rejected"]


async def test_a_decision_reaches_a_run_whose_body_is_at_work(harness: Harness, gate: Gate) -> None:
    seen = list[str]()

    @harness.app.workflow
    async def shipping(ctx: Context) -> None:
        async def ask() -> None:
            seen.append((await ctx.approval("Ship?")).outcome)

        await asyncio.gather(ctx.step(gate.wait), ask())

    handle = await harness.start(shipping)
    await gate.reached()

    async def is_asked() -> bool:
        return any(step.kind == "approval" for step in await harness.steps(handle))

    await eventually(is_asked, what="the approval is on record")
    await handle.approve(by="ann")
    await eventually(lambda: seen == ["approved"], what="the decision is received")
    gate.open()
    await handle.result()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"by": ""}, "Invalid by"),
        ({"by": "a" * 256}, "Invalid by"),
        ({"note": "x" * 2_001}, "max 2000 characters"),
        ({"note": "a\0b"}, "no NUL characters"),
        ({"step": ""}, "Invalid step"),
    ],
)
async def test_who_and_why_are_checked_before_anything_is_written(
    harness: Harness, arguments: dict[str, str], text: str
) -> None:
    shipping = harness.app.workflow(asks("Ship?"))
    handle = await harness.start(shipping)
    await harness.idle()
    with pytest.raises(InvalidInput, match=text):
        await handle.approve(**arguments)
    assert await handle.status() == "waiting"


@pytest.mark.parametrize("title", ["", "  ", "x" * 201, 7])
async def test_an_approval_needs_a_title(harness: Harness, title: str) -> None:
    shipping = harness.app.workflow(asks(title))

    with pytest.raises(Exception, match="title"):
        await harness.run(shipping)


async def test_a_decision_whose_answer_was_lost_is_not_made_twice(open_harness: OpenHarness) -> None:
    """The run goes on meanwhile and asks for the next approval, which is somebody else's to give."""
    hooks = AnswerLost("decide_approval")
    harness = await open_harness(hooks=hooks)

    @harness.app.workflow
    async def shipping(ctx: Context) -> list[str | None]:
        return [(await ctx.approval("First?")).by, (await ctx.approval("Second?")).by]

    handle = await harness.start(shipping)
    await harness.idle()
    hooks.is_armed = True
    approving = asyncio.ensure_future(handle.approve(by="ann"))
    await eventually(lambda: not hooks.is_armed, what="the answer is lost")
    harness.opened.engine.parts.hub.publish(queue_topic("default", "default"))

    async def is_asked_again() -> bool:
        return any(step.key == "approval#2" for step in await harness.steps(handle))

    await eventually(is_asked_again, what="the second approval is asked for")
    harness.clock.advance("1s")
    assert (await approving).outcome == "approved"
    await harness.idle()
    assert await handle.status() == "waiting"
    await handle.approve(by="bob")

    assert await handle.result() == ["ann", "bob"]


async def test_a_second_click_does_not_decide_the_next_approval(harness: Harness) -> None:
    @harness.app.workflow
    async def shipping(ctx: Context) -> list[str]:
        return [(await ctx.approval("Ship?")).outcome, (await ctx.approval("Wire 1,000,000?")).outcome]

    handle = await harness.start(shipping)
    await harness.idle()
    await handle.approve(by="ann")
    await harness.idle()
    with pytest.raises(InvalidInput, match=r"is approved already, and 'approval#2' \(Wire 1,000,000\?\) waits now"):
        await handle.approve(by="ann")
    assert await handle.status() == "waiting"
    await handle.approve(by="ann", step="approval#2")  # this time on purpose

    assert await handle.result() == ["approved", "approved"]


@pytest.mark.parametrize("id", ["approval", "approval/approval"])
async def test_an_event_may_have_any_id_also_one_that_looks_like_an_approval(harness: Harness, id: str) -> None:
    said = harness.app.event("said", str)

    @harness.app.workflow
    async def shipping(ctx: Context) -> str:
        return (await ctx.approval("Ship?")).outcome + await ctx.receive(said)

    handle = await harness.start(shipping)
    await harness.idle()
    await handle.send(said, "!", id=id)
    await handle.approve(by="ann")

    assert await handle.result() == "approved!"
