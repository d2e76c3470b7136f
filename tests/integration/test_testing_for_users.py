"""Can users test their own program: on a clock that moves, with fakes for the world, and with crashes anywhere?

The program below has an app of its own, as programs do. Every test runs what it declares on a database of the test.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, assert_type

import pytest

import windlass
from tests.programs import receives
from windlass import App, Context, InvalidInput, NotAllowed, Retry, RunFailed, StepFailed, WaitTimeout
from windlass.client.handle import Handle
from windlass.model.run import DEATH, RunId
from windlass.settings import Settings
from windlass.testing import CrashNeverCame, FakeClock, Harness, NotCrashSafe, Stuck

# A folder that does not exist: whoever opened this database would fail.
app = App("sqlite:////nowhere/at/all/shop.db", settings=Settings(), namespace="shop")
paid = app.event("paid", int)

seen: list[str] = []
charges: dict[str, int] = {}  # what the payment provider remembers, by idempotency key


@pytest.fixture(autouse=True)
def nothing_seen() -> Iterator[None]:
    seen.clear()
    charges.clear()
    yield


def reserve(id: str) -> str:
    seen.append("reserve")
    return f"shelf {id}"


@app.step(name="charge-card", retry=Retry(2))
async def charge(id: str, *, currency: str = "EUR") -> str:
    seen.append("charge")
    charges[windlass.current_step().idempotency_key] = 1
    return f"charged {id} in {currency}"


async def hand_over(parcel: str) -> str:
    seen.append("hand_over")
    return f"{parcel} handed over"


@app.workflow(queue="delivery")
async def deliver(ctx: Context, parcel: str) -> str:
    handed = await ctx.step(hand_over, parcel)
    await ctx.sleep("1d")
    return handed


@app.workflow
async def order(ctx: Context, id: str) -> str:
    shelf = await ctx.step(reserve, id)
    await ctx.sleep("2d")
    return f"{shelf}, {await ctx.step(charge, id)}"


@app.workflow
async def big_order(ctx: Context, id: str) -> str:
    """Takes a week, a payment and a person."""
    shelf = await ctx.step(reserve, id)
    try:
        amount = await ctx.receive(paid, timeout="5d")
    except WaitTimeout:
        return "never paid"
    decision = await ctx.approval(f"Deliver {id}?", data={"amount": amount}, timeout="5d")
    if decision.outcome != "approved":
        return f"{decision.outcome} by {decision.by}"
    await ctx.step(charge, id)
    return await ctx.run(deliver, shelf)


async def pay_and_approve(harness: Harness, handle: Handle[Any]) -> None:
    await harness.until(handle, "waiting")
    await harness.advance("3d")
    await handle.send(paid, 4200)
    await harness.idle()
    await harness.advance("3d")
    await handle.approve(by="ann")


@pytest.fixture
async def shop(url: str, clock: FakeClock, give_up: None) -> AsyncIterator[Harness]:
    async with Harness(url, app=app, clock=clock) as harness:
        yield harness


async def causes(harness: Harness, handle: Handle[Any]) -> list[str]:
    return [entry.cause for entry in await harness.opened.runs.read_log("shop", RunId(handle.id))]


# The program, elsewhere


async def test_what_the_program_declares_runs_here_and_its_database_is_not_touched(shop: Harness) -> None:
    started_at = shop.clock.now()

    result = await shop.run(order, "7")

    assert assert_type(result, str) == "shelf 7, charged 7 in EUR"
    assert shop.clock.now() - started_at == 2 * 86_400_000_000


async def test_while_the_harness_is_open_the_app_itself_leads_to_it(shop: Harness) -> None:
    handle = await app.start(order, "7", key="order-7")  # as a web handler of the program would
    await shop.idle()
    await shop.advance("2d")

    assert await app.handle(order, key="order-7").status() == "completed"
    assert await handle.result() == "shelf 7, charged 7 in EUR"


async def test_a_step_that_asks_the_app_asks_the_harness(shop: Harness) -> None:
    @shop.app.workflow
    async def orders_more(ctx: Context) -> list[str]:
        return [await ctx.step(order_with_await, "1"), await ctx.step(order_from_a_thread, "2")]

    first, second = await shop.run(orders_more)

    await shop.idle()
    assert [await app.handle(first).status(), await app.handle(second).status()] == ["sleeping", "sleeping"]


async def test_a_program_that_opens_and_closes_its_app_leaves_the_harness_open(shop: Harness) -> None:
    async with app, app.worker():  # as the lifespan of a web program does
        handle = await app.start(order, "7")
        await shop.idle()

    await shop.advance("2d")

    assert await handle.result() == "shelf 7, charged 7 in EUR"


async def order_with_await(id: str) -> str:
    return (await app.start(order, id)).id


def order_from_a_thread(id: str) -> str:
    return app.sync.start(order, id).id


async def test_behind_the_harness_the_app_is_what_it_was() -> None:
    before = dict(vars(app))

    async with Harness(app=app) as harness:
        await harness.run(order, "7")
        await harness.crash_everywhere(order, "7")

    assert vars(app) == before


async def test_the_app_is_named_before_the_harness_opens(shop: Harness) -> None:
    with pytest.raises(NotAllowed, match=r"use\(app\) comes first"):
        shop.use(app)


def test_what_the_app_brings_is_not_said_twice() -> None:
    with pytest.raises(NotAllowed, match="brings its own namespace"):
        Harness(app=app, namespace="other")


async def test_a_harness_opens_at_its_first_use_and_is_closed_by_hand() -> None:
    harness = Harness()
    harness.use(app)

    handles = await asyncio.gather(*(harness.start(order, str(number)) for number in range(3)))
    await harness.idle()

    await harness.advance("2d")
    assert [await handle.status() for handle in handles] == ["completed"] * 3
    await harness.aclose()
    await harness.aclose()


async def test_a_harness_that_was_never_used_has_nothing_to_close() -> None:
    await Harness(app=app).aclose()


# Time


async def test_time_passes_until_a_run_waits(shop: Harness) -> None:
    @shop.app.workflow
    async def later(ctx: Context) -> int:
        for _ in range(3):
            await ctx.sleep("1d")
        return await ctx.receive(paid)

    handle = await shop.start(later)
    began_at = shop.clock.now()

    await shop.until(handle, "waiting", within="7d")

    assert shop.clock.now() - began_at == 3 * 86_400_000_000
    with pytest.raises(Stuck, match="is waiting and not completed within 7 d"):
        await shop.until(handle, "completed", within="7d")


async def test_time_does_not_pass_further_than_allowed(shop: Harness) -> None:
    handle = await shop.start(order, "7")
    began_at = shop.clock.now()

    with pytest.raises(Stuck, match="is sleeping and not completed within 1 d"):
        await shop.until(handle, "completed", within="1d")

    assert shop.clock.now() - began_at <= 86_400_000_000


async def test_a_run_that_only_the_test_can_wake_is_said_to_be_stuck(shop: Harness) -> None:
    asks = shop.app.workflow(receives(paid))

    with pytest.raises(Stuck, match=r"does not end by itself.*'paid'"):
        await shop.run(asks)


# Fakes


async def test_a_step_is_played_by_a_fake_under_its_name(shop: Harness) -> None:
    shop.replace(reserve, lambda id: f"no shelf for {id}")

    handle = await shop.start(order, "7")
    await shop.idle()
    await shop.advance("2d")

    assert await handle.result() == "no shelf for 7, charged 7 in EUR"
    assert [step.key for step in await shop.steps(handle)] == ["reserve", "sleep", "charge-card"]


async def test_a_fake_has_the_options_of_what_it_plays(shop: Harness) -> None:
    tries = itertools.count(1)

    def declined(id: str) -> str:
        raise ValueError(f"try {next(tries)}")

    shop.replace(charge, declined)

    with pytest.raises(RunFailed, match="try 2"):  # charge has Retry(2)
        await shop.run(order, "7")


async def test_a_fake_stands_inside_a_partial_too(shop: Harness) -> None:
    @shop.app.workflow
    async def dollars(ctx: Context) -> str:
        return await ctx.step(functools.partial(charge, currency="USD"), "7")

    async def fake(id: str, *, currency: str) -> str:
        return f"{id} for {currency}"

    shop.replace(charge, fake)

    assert await shop.run(dollars) == "7 for USD"


async def test_a_child_is_played_by_a_fake(shop: Harness) -> None:
    async def lost(ctx: Context, parcel: str) -> str:
        return f"{parcel} is lost"

    shop.replace(deliver, lost)

    handle = await shop.start(big_order, "7")
    await pay_and_approve(shop, handle)
    await shop.idle()
    assert await handle.result() == "shelf 7 is lost"


async def test_a_fake_is_gone_with_its_harness() -> None:
    async with Harness(app=app) as faked:
        faked.replace(reserve, lambda id: "no shelf")
        async with Harness(app=app) as other:
            assert await other.run(order, "7") == "shelf 7, charged 7 in EUR"
        assert await faked.run(order, "7") == "no shelf, charged 7 in EUR"


def test_what_cannot_play_is_refused() -> None:
    harness = Harness(app=app)

    with pytest.raises(InvalidInput, match='must be "async def" too'):
        harness.replace(deliver, lambda ctx, parcel: parcel)
    with pytest.raises(InvalidInput, match="takes a function"):
        harness.replace(reserve, "shelf 7")  # type: ignore[arg-type]


# A crash


async def test_a_result_that_was_recorded_survives_the_worker(shop: Harness) -> None:
    shop.crash(after="reserve")

    handle = await shop.start(order, "7")
    await shop.idle()
    await shop.advance("2d")

    assert await handle.result() == "shelf 7, charged 7 in EUR"
    assert seen == ["reserve", "charge"]
    assert (await causes(shop, handle)).count(DEATH) == 1


async def test_a_result_that_was_not_recorded_is_worked_for_again(shop: Harness) -> None:
    shop.crash(before="charge-card")

    assert await shop.run(order, "7") == "shelf 7, charged 7 in EUR"

    assert seen == ["reserve", "charge", "charge"]
    assert len(charges) == 1  # under one key, so that the provider knows it again


async def test_several_crashes_come_one_after_the_other(shop: Harness) -> None:
    shop.crash(before="reserve")
    shop.crash(before="reserve")
    shop.crash(after="sleep")

    assert await shop.run(order, "7") == "shelf 7, charged 7 in EUR"

    assert seen == ["reserve", "reserve", "reserve", "charge"]


async def test_a_crash_now_loses_the_body_that_is_at_work(shop: Harness) -> None:
    is_entered = asyncio.Event()

    async def wait_once(id: str) -> str:
        seen.append("entered")
        is_entered.set()
        if len(seen) == 1:
            await asyncio.Event().wait()  # for ever
        return "second time"

    shop.replace(reserve, wait_once)
    handle = await shop.start(order, "7")
    await is_entered.wait()

    shop.crash()
    await shop.idle()

    assert await handle.status() == "sleeping"
    assert seen == ["entered", "entered"]


async def test_a_crash_takes_every_run_of_the_worker_with_it(shop: Harness) -> None:
    shop.crash(after="reserve")

    handles = await asyncio.gather(*(shop.start(order, str(number)) for number in range(5)))
    await shop.idle()
    await shop.advance("2d")

    results = [await handle.result() for handle in handles]
    assert results == [f"shelf {number}, charged {number} in EUR" for number in range(5)]


async def test_a_crash_that_never_came_is_an_error() -> None:
    with pytest.raises(CrashNeverCame, match=r"crash\(after='pack'\) never happened.*charge-card, reserve, sleep"):
        async with Harness(app=app) as harness:
            harness.crash(after="pack")
            await harness.run(order, "7")


async def test_a_crash_is_before_or_after_and_needs_a_worker() -> None:
    harness = Harness(app=app)

    with pytest.raises(NotAllowed, match="dies once"):
        harness.crash(before="reserve", after="reserve")
    with pytest.raises(NotAllowed, match="no worker to crash"):
        harness.crash()


# Crashes everywhere


async def test_a_week_with_an_approval_survives_a_crash_anywhere() -> None:
    report = await Harness(app=app).crash_everywhere(big_order, "7", script=pay_and_approve)

    places = [str(point) for point in report.points]
    assert "before the result of 'charge-card' in big_order was recorded" in places
    assert "after the wait of 'approval' in big_order was recorded" in places
    assert "after the end of deliver was recorded" in places
    assert len(places) == len(set(places)) >= 25
    assert report.repeated == {"reserve": 2, "charge-card": 2, "hand_over": 2}
    assert report.unreached == ()
    assert str(report).startswith(
        f"Survived {len(places)} crashes. Bodies that were entered again: charge-card (2 times)"
    )


async def test_every_story_has_an_empty_database_and_the_same_run() -> None:
    ids: set[str] = set()
    found: list[int] = []

    async def note(harness: Harness, handle: Handle[Any]) -> None:
        ids.add(handle.id)
        found.append(len(charges))
        charges.clear()

    report = await Harness(app=app).crash_everywhere(order, "7", check=note)

    assert len(ids) == 1
    assert found == [1] * (1 + len(report.points))


async def test_ctx_draws_the_same_numbers_in_every_story() -> None:
    @app.workflow
    async def lottery(ctx: Context) -> str:
        return await ctx.step(reserve, f"{ctx.random.random()} {ctx.uuid()} {ctx.now()}")

    assert (await Harness(app=app).crash_everywhere(lottery)).points


async def test_code_that_is_not_replayed_alike_is_found_out() -> None:
    lives = itertools.count(1)

    @app.workflow
    async def forgetful(ctx: Context) -> int:
        await ctx.step(reserve, "7")
        return await ctx.step(count, next(lives))

    with pytest.raises(NotCrashSafe, match="forgetful does not survive a crash") as caught:
        await Harness(app=app).crash_everywhere(forgetful)

    assert caught.value.point.is_after
    assert "result" in caught.value.difference


def count(number: int) -> int:
    return number


async def test_a_replay_that_asks_otherwise_is_found_out() -> None:
    lives = itertools.count(1)

    @app.workflow
    async def moody(ctx: Context) -> None:
        life = next(lives)
        await ctx.step(reserve, "7")
        if life == 1:
            await ctx.sleep("1d")
        await ctx.step(reserve, f"{'ab'[life % 2]}")

    with pytest.raises((NotCrashSafe, windlass.ReplayMismatch)):
        await Harness(app=app).crash_everywhere(moody)


async def test_what_the_check_complains_of_names_the_crash() -> None:
    async def charged_once(harness: Harness, handle: Handle[Any]) -> None:
        times = seen.count("charge")
        seen.clear()
        assert times == 1

    with pytest.raises(AssertionError) as caught:
        await Harness(app=app).crash_everywhere(order, "7", check=charged_once)

    assert caught.value.__notes__ == ["This was with a crash before the result of 'charge-card' in order was recorded."]


async def test_a_failure_is_an_ending_like_any_other() -> None:
    def broken(id: str) -> str:
        raise ValueError("no card")

    harness = Harness(app=app)
    harness.replace(charge, broken)

    report = await harness.crash_everywhere(order, "7")

    assert "before the wait of 'charge-card' in order was recorded" in map(str, report.points)
    with pytest.raises(RunFailed, match="no card"):
        await harness.run(order, "7")
    await harness.aclose()


@pytest.mark.parametrize("outcome", ["approve", "reject", "expire"])
async def test_every_way_an_approval_ends_is_crash_safe(outcome: str) -> None:
    async def decide(harness: Harness, handle: Handle[Any]) -> None:
        await harness.until(handle, "waiting")
        await handle.send(paid, 1)
        await harness.idle()
        answers: dict[str, Callable[..., Awaitable[Any]]] = {"approve": handle.approve, "reject": handle.reject}
        if outcome in answers:
            await answers[outcome](by="ann")

    report = await Harness(app=app).crash_everywhere(big_order, "7", script=decide)

    assert ("charge-card" in report.repeated) is (outcome == "approve")


async def test_branches_at_the_same_time_are_crash_safe() -> None:
    @app.workflow
    async def everything(ctx: Context) -> list[str]:
        shelves = await ctx.map(reserve, ["1", "2", "3"], key=str)
        first, last = await asyncio.gather(ctx.step(charge, "1", key="a"), ctx.step(charge, "2", key="b"))
        winner, _ = await ctx.race(payment=ctx.receive(paid, timeout="3d", default=0), nap=ctx.sleep("1d"))
        return [*shelves, first, last, winner]

    report = await Harness(app=app).crash_everywhere(everything)

    assert len(report.points) >= 15


async def test_children_of_every_kind_are_crash_safe() -> None:
    @app.workflow
    async def wholesale(ctx: Context) -> list[str]:
        handed = await ctx.map(deliver, ["1", "2"], key=str)
        winner, arrived = await ctx.race(delivery=ctx.run(deliver, "3", key="3"), late=ctx.sleep("3d"))
        last = await ctx.start(deliver, "4", key="4")
        return [*handed, winner, arrived, await last.result()]

    report = await Harness(app=app).crash_everywhere(wholesale)

    assert len(report.points) >= 40
    assert report.repeated == {"hand_over": 2}


async def test_a_step_that_fails_for_good_is_seen_alike_after_a_crash() -> None:
    @app.workflow
    async def careful(ctx: Context) -> str:
        try:
            return await ctx.step(charge, "7")
        except StepFailed as error:
            return f"sorry: {error.message}"

    def broken(id: str) -> str:
        raise TypeError("no such card")

    harness = Harness(app=app)
    harness.replace(charge, broken)

    assert len((await harness.crash_everywhere(careful)).points) >= 5


async def test_idle_waits_for_a_run_that_came_while_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store shows it at rest before its worker has left it."""
    async with Harness() as harness:
        is_left, has_looked = asyncio.Event(), asyncio.Event()

        @harness.app.workflow
        async def tidy(ctx: windlass.Context) -> None:
            try:
                await ctx.sleep("1h")
            finally:
                await is_left.wait()

        handle = await harness.start(tidy, delay="1m")
        await harness.idle()
        look = harness._rest.look

        async def look_late() -> Any:
            if not has_looked.is_set():
                harness.clock.advance("1m")
                await harness.until(handle, "sleeping")
                has_looked.set()
            return await look()

        monkeypatch.setattr(harness._rest, "look", look_late)
        idling = asyncio.ensure_future(harness.idle())
        async with asyncio.timeout(20):
            await has_looked.wait()
            for _ in range(100):
                await handle.status()
        is_over_too_soon = idling.done()
        is_left.set()
        await idling

        assert not is_over_too_soon


async def test_what_is_published_reaches_the_pipelines_of_the_program_through_either_app() -> None:
    program = App(":memory:")
    lines = program.topic("lines", str)
    printed: list[str] = []

    @program.pipeline("printing", queue="press").consumer(lines, batch=10)
    async def print_lines(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        printed.extend(event.payload for event in events)

    async with Harness(app=program) as harness:
        await program.publish(lines, "one", id="1")
        await harness.app.publish(lines, "two", id="2")
        await harness.idle()

    assert printed == ["one", "two"]
