"""What broke when somebody tried to break it: each of these once failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

import windlass
from tests.integration.conftest import OpenHarness, PostgresDatabases
from tests.integration.signals.racing import Held, Racers, move, new_item, on, racing, steer
from tests.integration.signals.test_when import Shop
from windlass.engine.batch import Again, Batcher
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.engine.coordinator.prune import Prune
from windlass.engine.engine import Engine
from windlass.engine.signal.times import fire_times
from windlass.engine.signal.work import work_firings
from windlass.model.duration import from_instant
from windlass.model.item import ItemStatus
from windlass.model.signal import (
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    DeleteSignal,
    FiringRow,
    FiringStatus,
    ListFirings,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
)
from windlass.model.time import DAY, HOUR, Duration, Instant
from windlass.runtime import SystemClock
from windlass.settings import Settings
from windlass.store.base import Lane
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

NAMESPACE = "default"


class Scene:
    """A program without a worker: what signals have fired is worked when the test says so."""

    def __init__(self, shop: Shop, harness: Harness) -> None:
        self.shop, self.harness, self.app = shop, harness, harness.app
        self.engine: Engine = harness.opened.engine
        self.signals = FireSignals(self.engine.parts, batch=100, is_enabled=True)

    async def firings(self) -> list[FiringRow]:
        """All of them, the oldest cause first."""
        page = await self.engine.signals.list_firings(ListFirings(namespace=NAMESPACE, limit=1_000))
        return sorted(page.firings, key=lambda firing: int(firing.cause))

    async def statuses(self) -> list[str]:
        return [firing.status.value for firing in await self.firings()]


Opened: TypeAlias = Callable[[], Awaitable[Scene]]


@pytest.fixture
def scene(open_shared: OpenHarness) -> Opened:
    async def open() -> Scene:
        shop = Shop()
        return Scene(shop, await open_shared(app=shop.app, has_worker=False))

    return open


async def test_every_so_often_that_is_made_once_while_it_fires_is_over_then(scene: Opened) -> None:
    own = await scene()
    signal = await own.app.when(timedelta(hours=1), repeat=True)
    own.harness.clock.advance("1h1s")
    assert await fire_times(own.engine.parts, batch=10) == 1  # its next time is set

    await signal.update(repeat=False)
    await own.signals.tick()

    assert (await own.statuses(), await signal.status()) == (["done"], "fired")
    assert (await signal.info()).next_at is None


async def test_a_time_that_comes_once_may_be_paused_and_resumed_while_it_fires(scene: Opened) -> None:
    own = await scene()
    hourly = Trigger(kind=TriggerKind.TIME, every=Duration(HOUR))
    asked = CreateSignal(namespace=NAMESPACE, trigger=hourly, action=Action(), repeats=False)
    signal = (await own.engine.signals.create_signal(asked)).signal
    own.harness.clock.advance("1h1s")
    assert await fire_times(own.engine.parts, batch=10) == 1

    for verb in (SignalVerb.PAUSE, SignalVerb.RESUME):
        await own.engine.signals.steer_signal(SteerSignal(namespace=NAMESPACE, signal_id=signal.id, verb=verb))
    await own.signals.tick()

    assert await own.statuses() == ["done"]
    assert (await own.engine.signals.get_signal(NAMESPACE, signal.id)).signal.status == "fired"


async def test_a_point_in_time_that_has_come_is_not_waited_for_again(scene: Opened) -> None:
    own = await scene()
    signal = await own.app.when(from_instant(Instant(own.harness.clock.now())) + timedelta(minutes=1))

    with pytest.raises(windlass.InvalidInput, match="a point in time comes once"):
        await signal.update(repeat=True)
    own.harness.clock.advance("2m")
    await own.signals.tick()
    with pytest.raises(windlass.WrongState, match="A point in time comes once"):
        await signal.resume()

    assert (await own.statuses(), await signal.status()) == (["done"], "fired")


async def test_what_happened_before_a_signal_on_all_items_was_changed_does_not_count(scene: Opened) -> None:
    own = await scene()
    signal = await own.app.when(windlass.Item, enters="blocked", repeat=True)
    items = [await own.app.items.create(title) for title in ("before", "after")]
    await items[0].move("ready")

    await signal.update(enters="ready")
    await items[1].move("ready")
    await own.signals.tick()

    assert [firing.subject_id for firing in await own.firings()] == [items[1].id]


async def test_a_signal_that_was_armed_anew_fires_also_if_its_item_is_gone_by_then(scene: Opened) -> None:
    own = await scene()
    item = await own.app.items.create("Move the server")
    signal = await own.app.when(item, enters="blocked", start=own.shop.tidy)
    for state in ("ready", "doing", "blocked"):
        await item.move(state)
    await own.signals.tick()
    await signal.resume()
    for _ in range(2):
        await item.move("doing")
        await item.move("blocked")

    await item.delete()
    await own.signals.tick()

    assert await own.statuses() == ["done", "done", "superseded"]
    assert (await signal.status(), (await signal.info()).fired) == ("resolved", 2)


async def test_the_same_key_is_the_same_signal_also_if_a_retry_has_taken_it_along(scene: Opened) -> None:
    own = await scene()
    first = await own.app.start(own.shop.wait)
    signal = await own.app.when(first, enters="failed", start=own.shop.page, key="k")
    run = first
    for _ in range(2):
        await run.cancel()
        run = await run.retry()

    again = await own.app.when(first, enters="failed", start=own.shop.page, key="k")
    with pytest.raises(windlass.AlreadyExists, match="Key 'k' belongs to signal"):
        await own.app.when(await own.app.start(own.shop.wait), enters="failed", start=own.shop.page, key="k")

    assert again.id == signal.id
    assert (await signal.info()).subject == run.id


async def test_nobody_waits_again_for_an_item_that_is_gone_or_over(scene: Opened) -> None:
    own = await scene()
    items = [await own.app.items.create(title) for title in ("gone", "over", "open")]
    signals = [await own.app.when(item, enters="ready") for item in items]
    for item in items:
        await item.move("ready")
    await own.signals.tick()
    await items[0].delete()
    await items[1].move("cancelled")

    for place, word in enumerate(["gone", "cancelled, for good"]):
        with pytest.raises(windlass.WrongState, match=f"on {items[place].id}, which is {word}"):
            await signals[place].resume()
    await signals[2].resume()

    assert [await signal.status() for signal in signals] == ["fired", "fired", "armed"]


async def test_a_chain_that_was_cut_goes_on_when_somebody_resumes_it(scene: Opened) -> None:
    own = await scene()
    signal = await own.app.when(own.shop.tidy, enters="pending", start=own.shop.tidy, repeat=True)
    await own.app.start(own.shop.tidy)

    for round in (1, 2):
        while (await own.signals.tick()).count:
            pass
        assert (await signal.status(), (await signal.info()).fired) == ("paused", 10 * round)
        await signal.resume()


async def test_a_declared_signal_that_was_cancelled_stays_so_however_old_it_is(
    open_shared: OpenHarness, clock: FakeClock
) -> None:
    def program() -> windlass.App:
        app = windlass.App(":memory:", settings=Settings())

        @app.on(windlass.Item, enters="blocked")
        async def help(ctx: windlass.Context, firing: windlass.Firing) -> None: ...

        return app

    harness = await open_shared(app=program())
    (info,) = await harness.app.signals.list()
    await (await harness.app.signals.get(info.id)).cancel()
    clock.advance("100d")
    prune = Prune(harness.opened.engine.parts, keep_for=Duration(30 * DAY), batch=100)
    while await prune.tick():
        pass

    again = await open_shared(app=program())

    assert [(found.id, found.status) for found in await again.app.signals.list()] == [(info.id, "cancelled")]


async def test_a_graph_is_watched_from_its_start_and_through_every_retry(open_shared: OpenHarness) -> None:
    app, seen, fails = windlass.App(":memory:", settings=Settings()), list[tuple[str, str]](), [True, True]
    graph = app.graph("release")

    @graph.job
    async def build(ctx: windlass.JobContext) -> None: ...

    @graph.job(needs=[build])
    async def ship(ctx: windlass.JobContext) -> None:
        if fails:
            fails.pop()
            raise windlass.StepError("no")

    @app.workflow
    async def page(ctx: windlass.Context, firing: windlass.Firing) -> None:
        seen.append((firing.subject_id, firing.to_status))

    harness = await open_shared(app=app)
    runs = [await harness.app.start(graph)]
    for states in ("failed", "completed"):
        await harness.app.when(runs[0], enters=states, start=page, repeat=True)
    await harness.idle()
    for _ in range(2):
        runs.append(await runs[-1].retry())
        await harness.idle()

    ends = ("failed", "failed", "completed")
    assert seen == [(run.id, end) for run, end in zip(runs, ends, strict=True)]


async def test_an_item_that_is_deleted_stops_nobody_who_watches_all_of_them(scene: Opened) -> None:
    own = await scene()
    signal = await own.app.when(windlass.Item, enters="ready", task="Look at it", repeat=True)
    items = [await own.app.items.create(title) for title in ("gone", "there")]
    for item in items:
        await item.move("ready")

    await items[0].delete()
    await own.signals.tick()

    assert (await own.statuses(), await signal.status()) == (["superseded", "done"], "armed")
    assert [task.title for task in await items[1].tasks()] == ["Look at it"]


# Where two transactions overlap


@pytest.fixture
async def racers(postgres_databases: PostgresDatabases) -> AsyncIterator[Racers]:
    url = postgres_databases.take()
    async with racing(url) as racers:
        yield racers
    postgres_databases.give_back(url)


@pytest.mark.parametrize("verb", ["cancel", "delete"])
async def test_what_happens_while_a_paused_signal_is_ended_does_not_wait_for_ever(racers: Racers, verb: str) -> None:
    item = await new_item(racers.first, ItemStatus.READY, ItemStatus.DOING)
    signal = (await racers.first.signals.create_signal(on(TriggerKind.ITEM, item.id, "blocked"))).signal
    await steer(racers.first, signal.id, SignalVerb.PAUSE)
    held = Held(racers.first, "transition_item")
    moving = asyncio.create_task(move(racers.first, item.id, ItemStatus.BLOCKED))
    await held.reached()

    if verb == "cancel":
        ending: Any = asyncio.create_task(steer(racers.second, signal.id, SignalVerb.CANCEL))
    else:
        gone = DeleteSignal(namespace=NAMESPACE, signal_id=signal.id)
        ending = asyncio.create_task(racers.second.signals.delete_signal(gone))
    await racers.until_one_waits()
    held.let_go()
    await asyncio.gather(moving, ending)

    assert [firing.status for firing in await racers.firings()] == ([FiringStatus.SUPERSEDED] * (verb == "cancel"))


async def test_an_action_that_is_changed_while_it_is_taken_is_taken_as_it_is_then(racers: Racers) -> None:
    def declared(action: Action) -> DeclareSignals:
        blocked = Trigger(kind=TriggerKind.ITEM, subject="*", to=("blocked",))
        signal = DeclaredSignal(name="help", trigger=blocked, action=action, repeats=True)
        return DeclareSignals(namespace=NAMESPACE, program="shop", signals=(signal,))

    await racers.first.signals.declare_signals(declared(Action()))
    await new_item(racers.first, ItemStatus.READY, ItemStatus.DOING, ItemStatus.BLOCKED)
    held = Held(racers.second, "declare_signals")
    task = declared(Action(kind=ActionKind.TASK, title="Help"))
    declaring = asyncio.create_task(racers.second.signals.declare_signals(task))
    await held.reached()

    working = asyncio.create_task(work_firings(racers.first.parts, worker="one", batch=10))
    await racers.until_one_waits()
    held.let_go()
    await asyncio.gather(declaring, working)

    (firing,) = await racers.firings()
    assert (firing.status, firing.task_id is not None, firing.error) == (FiringStatus.DONE, True, None)


class _OneLane:
    """A store as far as the sender of batches knows it."""

    lanes = (Lane(kinds=frozenset({"finish"}), senders=1, cap=10),)

    async def run_tx(self, name: str, fn: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
        await asyncio.sleep(0)
        return await fn(None)


class _Watched:
    """Ends of runs, of which one is watched by somebody else each time it is sent."""

    order = staticmethod(str)

    def __init__(self, *, times: int) -> None:
        self._left = times

    def prepare(self, items: Sequence[str]) -> None: ...

    def is_single(self, items: Sequence[str]) -> bool:
        return True

    async def write(self, tx: Any, items: Sequence[str]) -> list[Any]:
        self._left -= 1
        return [Again() if item == "watched" and self._left > 0 else item for item in items]

    def after_commit(self, items: Sequence[str], outcomes: Sequence[Any]) -> None: ...

    def after_failure(self, items: Sequence[str]) -> None: ...


async def test_an_end_that_is_sent_again_and_again_comes_through_and_keeps_no_other_waiting() -> None:
    store: Any = _OneLane()
    batcher, told = Batcher(store, {"finish": _Watched(times=3_000)}, clock=SystemClock()), list[str]()
    watched = batcher.submit("finish", "watched")
    watched.then(told.append)
    await asyncio.sleep(0.01)

    await batcher.submit("finish", "other")
    told.append("other")

    assert await watched == "watched"
    assert told == ["other", "watched"]
