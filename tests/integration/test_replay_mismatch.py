"""What happens to a run whose code has changed under it?"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, log_of, row_of, step_keys, until_recorded
from windlass import Context, NotFound, ReplayMismatch, WrongState
from windlass.client.handle import Handle
from windlass.model.run import RunId
from windlass.testing.harness import Harness

BEHIND = 'The code changed under a running run: restore it and "windlass resume {id}"'


class Shop:
    """A workflow whose code the test changes: pack, sleep, ship, as long as `code` is "old"."""

    def __init__(self, harness: Harness) -> None:
        self.harness, self.code = harness, "old"
        self.entered: list[str] = []
        harness.app.workflow(name="order")(self.declare())

    def declare(self) -> Any:
        async def order(ctx: Context, item: str) -> str:
            return await self.order(ctx, item)

        return order

    def pack(self, item: str) -> str:
        self.entered.append(f"pack {item}")
        return item

    def ship(self, item: str) -> str:
        self.entered.append(f"ship {item}")
        return f"{item} shipped"

    async def order(self, ctx: Context, item: str) -> str:
        if self.code == "ends early":
            return "nothing to do"
        if self.code == "step became sleep":
            await ctx.sleep("1s")
        if self.code == "sleep became step":
            await ctx.step(self.pack, item)
            return await ctx.step(self.ship, item, name="sleep")
        if self.code == "raises":
            raise ValueError("new code is broken")
        given = "other" if self.code == "other input" else item
        name = "pack_2" if self.code == "renamed" else "pack"
        packed = await ctx.step(self.pack, given, name=name)
        await ctx.sleep("2h" if self.code == "other sleep" else "1h")
        if self.code == "longer":
            await ctx.step(self.pack, "extra")
        return await ctx.step(self.ship, packed)

    async def start(self) -> Handle[Any]:
        handle = await self.harness.start(self.harness.app._registry.find_workflow("order").function, "7")
        await self.harness.idle()
        return handle


@pytest.mark.spec("invariants:I-05")
@pytest.mark.parametrize(
    ("change", "step", "sentence"),
    [
        ("other input", "pack", "history has 'pack' with other input than the code (test_replay_mismatch.py:"),
        ("other sleep", "sleep", "history has 'sleep' with other input than the code (test_replay_mismatch.py:"),
        ("sleep became step", "sleep", "history has 'sleep' as a sleep, the code (test_replay_mismatch.py:"),
        ("renamed", "pack_2", "history has 'pack', 'sleep', which the code does not ask for; it asks for 'pack_2' "),
        ("ends early", "pack", "history has 'pack', 'sleep', and the code ended without asking for it."),
        ("raises", "pack", "history has 'pack', 'sleep', and the code ended without asking for it."),
    ],
)
async def test_code_that_disagrees_with_history_pauses_the_run(
    harness: Harness, change: str, step: str, sentence: str
) -> None:
    shop = Shop(harness)
    handle = await shop.start()
    before = await harness.steps(handle)
    assert [item.key for item in before] == ["pack", "sleep"]

    shop.code = change
    await harness.advance("1h")

    with pytest.raises(ReplayMismatch) as mismatch:
        await handle.result()
    assert str(mismatch.value).startswith(f"Run {handle.id} is paused: {sentence}")
    assert BEHIND.format(id=handle.id) in str(mismatch.value)
    assert mismatch.value.step == step
    assert shop.entered == ["pack 7"]  # no body of the changed code was entered
    assert await harness.steps(handle) == before  # and nothing was written but the pause
    run = await row_of(harness, handle)
    assert (run.status, run.available_at, run.worker) == ("paused", None, None)
    assert [entry.cause for entry in await log_of(harness, handle.id)][-1] == "mismatch"


@pytest.mark.parametrize("change", ["other input", "sleep became step", "renamed", "ends early"])
async def test_a_paused_run_goes_on_once_the_code_is_restored(harness: Harness, change: str) -> None:
    shop = Shop(harness)
    handle = await shop.start()
    shop.code = change
    await harness.advance("1h")

    shop.code = "old"
    await handle.resume()

    assert await handle.result() == "7 shipped"
    assert shop.entered == ["pack 7", "ship 7"]
    view = await harness.opened.runs.get_run("default", RunId(handle.id))
    assert view.failure is None  # the reason of the pause is gone with it


async def test_a_paused_run_stays_paused_whatever_time_passes(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.start()
    shop.code = "renamed"
    await harness.advance("1h")

    shop.code = "old"
    await harness.advance("30d")

    assert await handle.status() == "paused"
    assert shop.entered == ["pack 7"]


async def test_resuming_without_restoring_pauses_it_again(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.start()
    shop.code = "renamed"
    await harness.advance("1h")

    for _ in range(12):  # more often than the cap of recoveries: a pause is an orderly end of a claim
        await handle.resume()
        with pytest.raises(ReplayMismatch):
            await handle.result()

    assert await handle.status() == "paused"
    assert (await row_of(harness, handle)).recoveries == 0


async def test_a_run_paused_before_its_sleep_is_over_sleeps_on_when_resumed(harness: Harness, gate: Gate) -> None:
    code = ["old"]
    slept: list[int] = []

    @harness.app.workflow
    async def both(ctx: Context) -> str:
        async def nap() -> None:
            await ctx.sleep("1h")
            slept.append(harness.clock.now())

        async def work() -> None:
            await ctx.step(gate.wait, name="work" if code[0] == "old" else "works")

        await asyncio.gather(nap(), work())
        return "done"

    begun_at = harness.clock.now()
    handle = await harness.start(both)
    await gate.reached()
    await until_recorded(harness, handle, "sleep/1")
    harness.clock.advance("20ms")  # so is the start of the body
    await until_recorded(harness, handle, "work")
    code[0] = "new"
    harness.clock.advance("301s")  # the claim runs out; the next one meets the new code
    await harness.until(handle, "paused")
    code[0] = "old"
    gate.open()

    await handle.resume()
    await harness.idle()

    run = await row_of(harness, handle)
    assert (run.status, run.available_at) == ("sleeping", begun_at + 3_600_000_000)
    harness.clock.advance(begun_at + 3_600_000_000 - harness.clock.now())
    assert await handle.result() == "done"
    assert slept == [begun_at + 3_600_000_000]


async def test_a_waiter_of_a_paused_run_hears_of_it_and_others_get_the_result_later(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.start()
    waiter = asyncio.ensure_future(handle.result())
    shop.code = "renamed"
    harness.clock.advance("1h")

    with pytest.raises(ReplayMismatch):
        await waiter
    shop.code = "old"
    await handle.resume()
    assert await handle.result() == "7 shipped"


@pytest.mark.spec("invariants:I-05")
async def test_new_steps_behind_the_recorded_ones_are_welcome(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.start()

    shop.code = "longer"
    await harness.advance("1h")

    assert await handle.result() == "7 shipped"
    assert shop.entered == ["pack 7", "pack extra", "ship 7"]
    assert await step_keys(harness, handle) == ["pack", "sleep", "pack#2", "ship"]


@pytest.mark.spec("security:14")
async def test_a_step_name_made_of_time_or_chance_pauses_the_run_and_is_named(harness: Harness) -> None:
    chance = count()
    entered: list[str] = []

    def note(text: str) -> None:
        entered.append(text)

    @harness.app.workflow
    async def careless(ctx: Context) -> None:
        await ctx.step(note, "first", name=f"note_{next(chance)}")
        await ctx.sleep("1s")

    handle = await harness.start(careless)
    await harness.idle()
    await harness.advance("1s")

    with pytest.raises(ReplayMismatch) as mismatch:
        await handle.result()
    assert "history has 'note_0', 'sleep', which the code does not ask for; it asks for 'note_1'" in str(mismatch.value)
    assert await handle.status() == "paused"
    assert entered == ["first"]


async def test_input_made_of_time_pauses_the_run(harness: Harness) -> None:
    entered: list[int] = []

    def note(at: int) -> None:
        entered.append(at)

    @harness.app.workflow
    async def careless(ctx: Context) -> None:
        await ctx.step(note, harness.clock.now())
        await ctx.sleep("1s")

    handle = await harness.start(careless)
    await harness.idle()
    await harness.advance("1s")

    with pytest.raises(ReplayMismatch):
        await handle.result()
    assert len(entered) == 1


async def test_only_a_paused_run_can_be_resumed(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.start()

    with pytest.raises(WrongState) as asleep:
        await handle.resume()
    await harness.advance("1h")
    with pytest.raises(WrongState) as over:
        await handle.resume()

    assert (asleep.value.state, asleep.value.wanted) == ("sleeping", "paused")
    assert (over.value.state, over.value.wanted) == ("completed", "paused")
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + 26 * "0").resume()


async def test_input_that_no_longer_fits_the_workflow_pauses_the_run(open_shared: OpenHarness) -> None:
    first = await open_shared(has_worker=False)

    async def order(ctx: Context, id: str) -> str:
        return id

    async def changed(ctx: Context, id: int) -> int:
        return id

    handle = await first.start(first.app.workflow(order), "seven")
    second = await open_shared()
    second.app.workflow(name="order")(changed)

    with pytest.raises(ReplayMismatch, match="its stored input does not fit workflow 'order' as it is declared now"):
        await second.app.handle(handle.id).result()
