"""When something happens, do something about it: as a program asks for it, on every database and over the wire."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness
from tests.programs import sleeps
from windlass.client.items import Item, Items
from windlass.client.signals import Signal, Signals
from windlass.client.sync_signals import SyncItem, SyncItems, SyncSignal, SyncSignals
from windlass.model.duration import from_instant
from windlass.model.time import Instant
from windlass.settings import Settings
from windlass.testing.harness import Harness


class Backwards:
    """Sealed by the program, so that nobody else can read it."""

    def seal(self, data: bytes, /) -> bytes:
        return b"\xff" + data[::-1]

    def open(self, data: bytes, /) -> bytes:
        if not data.startswith(b"\xff"):
            raise ValueError("not sealed")
        return data[:0:-1]


class Shop:
    """A program: orders that fail when they are told to, and what may follow."""

    def __init__(self, **options: Any) -> None:
        self.app = app = windlass.App(":memory:", settings=Settings(), **options)
        self.seen: list[Any] = []
        self.replied = app.event("replied", str)
        self.fired = app.event("fired", windlass.Firing)
        shop = self

        @app.workflow
        async def order(ctx: windlass.Context, id: str) -> str:
            if id == "bad":
                raise windlass.StepError("declined")
            return id

        @app.workflow
        async def wait(ctx: windlass.Context) -> str:
            return await ctx.receive(shop.replied)

        @app.workflow
        async def catch(ctx: windlass.Context) -> windlass.Firing:
            return await ctx.receive(shop.fired)

        @app.workflow
        async def page(ctx: windlass.Context, firing: windlass.Firing) -> str:
            shop.seen.append(firing)
            return firing.subject_id

        @app.workflow
        async def note(ctx, firing) -> None:  # type: ignore[no-untyped-def]
            shop.seen.append(firing)

        @app.workflow
        async def tidy(ctx: windlass.Context) -> None:
            shop.seen.append("tidied")

        self.order, self.wait, self.catch, self.page, self.note, self.tidy = order, wait, catch, page, note, tidy


async def failed(harness: Harness, shop: Shop) -> windlass.Handle[str]:
    handle = await harness.start(shop.order, "bad")
    await harness.idle()
    assert await handle.status() == "failed"
    return handle


async def opened(open_harness: OpenHarness, **options: Any) -> tuple[Shop, Harness, windlass.App]:
    shop = Shop(**options)
    harness = await open_harness(app=shop.app)
    return shop, harness, harness.app


async def test_a_run_that_fails_starts_what_is_to_follow_with_the_firing(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    handle = await app.start(shop.wait)

    signal = await app.when(handle, enters={"cancelled", "failed"}, start=shop.page, payload={"why": ["notify", 7]})
    await handle.cancel()
    await harness.idle()

    (firing,) = shop.seen
    (done,) = await signal.firings()
    assert isinstance(firing, windlass.Firing)
    assert (firing.id, firing.signal_id, firing.subject_id, firing.to_status) == (
        done.id,
        signal.id,
        handle.id,
        "cancelled",
    )
    assert (firing.subject_kind, firing.payload) == ("run", {"why": ["notify", 7]})
    assert (done.status, done.attempt, firing.at) == ("done", 1, done.at)
    assert await app.handle(shop.page, run_id=done.run_id or "").result() == handle.id
    assert (await signal.status(), signal.already) == ("fired", False)


@pytest.mark.parametrize("codec", [None, Backwards()], ids=["plain", "sealed"])
async def test_whatever_the_codec_of_the_program_does_all_arrives(open_harness: OpenHarness, codec: Any) -> None:
    shop, harness, app = await opened(open_harness, codec=codec)
    runs = [await app.start(shop.wait) for _ in range(3)]
    catcher, waiter = await app.start(shop.catch), await app.start(shop.wait)

    await app.when(runs[0], enters="cancelled", start=shop.note, payload=("a", b"b", {"$bytes": "c"}))
    await app.when(runs[0], enters="cancelled", start=shop.tidy)
    await app.when(runs[1], enters="cancelled", send=(waiter, shop.replied), payload="over")
    await app.when(runs[2], enters="cancelled", send=(catcher, shop.fired))
    for run in runs:
        await run.cancel()
    await harness.idle()

    assert await waiter.result() == "over"
    assert (await catcher.result()).subject_id == runs[2].id
    (firing,) = [item for item in shop.seen if item != "tidied"]
    assert (firing.subject_id, firing.payload) == (runs[0].id, ("a", b"b", {"$bytes": "c"}))
    assert len(shop.seen) == 2


async def test_what_happened_before_counts_only_from_the_beginning(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    handle = await failed(harness, shop)

    late = await app.when(handle, enters="failed", start=shop.tidy)
    all_of_it = await app.when(handle, enters="failed", start=shop.page, since="beginning")
    await harness.idle()

    assert (late.already, await late.status() in ("armed", "resolved")) == (True, True)
    assert await all_of_it.status() == "fired"
    assert [firing.subject_id for firing in shop.seen] == [handle.id]


async def test_every_run_of_a_workflow_counts_once(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    await failed(harness, shop)

    signal = await app.when(shop.order, enters="failed", start=shop.page)
    runs = [await app.start(shop.order, id) for id in ("bad", "good", "bad")]
    await harness.idle()

    assert sorted(firing.subject_id for firing in shop.seen) == sorted([runs[0].id, runs[2].id])
    assert (await signal.status(), (await signal.info()).fired) == ("armed", 2)


async def test_the_same_key_is_the_same_signal(open_harness: OpenHarness) -> None:
    shop, _, app = await opened(open_harness)
    handle = await app.start(shop.wait, key="wait-7")

    first = await app.when(handle, enters="failed", start=shop.page, payload=1, key="k")
    again = await app.when(app.handle(shop.wait, key="wait-7"), enters=["failed"], start=shop.page, payload=1, key="k")
    with pytest.raises(windlass.AlreadyExists, match="Key 'k' belongs to signal"):
        await app.when(handle, enters="cancelled", start=shop.page, payload=1, key="k")

    assert first.id == again.id
    assert len(await app.signals.list()) == 1


async def test_the_same_key_is_the_same_though_no_two_seals_are_alike(open_harness: OpenHarness) -> None:
    class Salted(Backwards):
        salt = 0

        def seal(self, data: bytes, /) -> bytes:
            self.salt += 1
            return super().seal(data) + bytes([self.salt])

        def open(self, data: bytes, /) -> bytes:
            return super().open(data[:-1])

    shop, _, app = await opened(open_harness, codec=Salted())
    call = windlass.call(shop.order, "8")

    signals = [await app.when(shop.order, enters="failed", start=shop.page, payload=1, key="k") for _ in range(2)]
    calls = [await app.when(shop.order, enters="failed", start=call, key="c") for _ in range(2)]
    items = [await app.items.create("Move the archive", data={"rack": 7}, key="ticket-17") for _ in range(2)]

    assert [len({held.id for held in pair}) for pair in (signals, calls, items)] == [1, 1, 1]
    with pytest.raises(windlass.AlreadyExists):
        await app.when(shop.order, enters="failed", start=shop.page, payload=2, key="k")
    with pytest.raises(windlass.AlreadyExists):
        await app.items.create("Move the archive", data={"rack": 8}, key="ticket-17")


async def test_arguments_of_its_own_go_to_the_workflow_in_place_of_the_firing(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    handle = await app.start(shop.wait)

    signal = await app.when(handle, enters="cancelled", start=windlass.call(shop.order, "8", timeout="1m"))
    await handle.cancel()
    await harness.idle()

    (firing,) = await signal.firings()
    assert await app.handle(firing.run_id or "").result() == "8"


async def test_times_come_once_or_every_so_often(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    now = from_instant(Instant(harness.clock.now()))

    once = await app.when(now + timedelta(minutes=10), start=shop.page)
    often = await app.when(timedelta(minutes=1), repeat=True, start=shop.tidy)
    await harness.advance("3m30s")
    early = list(shop.seen)
    await often.cancel()
    await harness.advance("10m")

    assert early == ["tidied"] * 3
    assert [firing.subject_kind for firing in shop.seen[3:]] == ["time"]
    assert shop.seen[3].at == now + timedelta(minutes=10)
    assert (await once.status(), await often.status()) == ("fired", "cancelled")


async def test_an_item_that_is_blocked_gets_a_task_and_one_that_is_over_too(open_harness: OpenHarness) -> None:
    _, harness, app = await opened(open_harness)
    item = await app.items.create("Move the server", priority=2, data={"rack": 7}, key="ticket-17")
    assert (await app.items.create("Move the server", priority=2, data={"rack": 7}, key="ticket-17")).id == item.id

    await app.when(item, enters="blocked", task="Find out who can help", payload={"ask": "ann"})
    await app.when(item, enters={"done", "failed"})
    for state in ("ready", "doing", "blocked", "doing"):
        await item.move(state, by="ann")
    await harness.idle()
    (task,) = await item.tasks()
    ended = await item.end_task(task, by="bob", note="ann can")
    await item.move("done", expected="doing", note="at last")
    await harness.idle()

    assert (task.title, task.status, task.data) == ("Find out who can help", "queued", {"ask": "ann"})
    assert (ended.status, ended.ended_by, ended.note) == ("completed", "bob", "ann can")
    assert [entry.title[:10] for entry in await item.tasks()] == ["Find out w", "Follow up:"]
    info = await item.info()
    assert (info.status, info.data, info.priority) == ("done", {"rack": 7}, 2)
    assert [info.id for info in await app.items.list(status="done")] == [item.id]
    changes = await item.history()
    assert [change.to_status for change in changes] == ["backlog", "ready", "doing", "blocked", "doing", "done"]
    assert (changes[1].by, changes[-1].note) == ("ann", "at last")


async def test_an_item_that_was_moved_by_somebody_else_is_not_moved(open_harness: OpenHarness) -> None:
    _, _, app = await opened(open_harness)
    item = await app.items.create("Move the server")
    await item.move("ready")

    with pytest.raises(windlass.WrongState, match="It may become doing, cancelled"):
        await item.move("doing", expected="backlog")
    task = await item.add_task("Look", {"where": "rack 7"})
    await item.move("cancelled")

    assert [(entry.id, entry.status) for entry in await item.tasks()] == [(task.id, "cancelled")]
    with pytest.raises(windlass.WrongState):
        await item.add_task("Too late")


async def test_a_deleted_item_resolves_what_watches_it(open_harness: OpenHarness) -> None:
    _, _, app = await opened(open_harness)
    item = await app.items.create("Move the server")
    signal = await app.when(item, enters="done", task="Tell the customer")

    await item.delete(by="ann")

    assert await signal.status() == "resolved"
    with pytest.raises(windlass.NotFound):
        await item.status()
    with pytest.raises(windlass.NotFound):
        await app.when(item, enters="done")


async def test_a_paused_signal_keeps_what_happens_and_does_it_when_it_is_resumed(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    handle = await app.start(shop.wait)
    signal = await app.when(handle, enters="cancelled", start=shop.page)

    await signal.pause(by="ann", note="not now")
    await handle.cancel()
    await harness.idle()
    paused = (await signal.status(), list(shop.seen), [firing.status for firing in await signal.firings()])
    said = await signal.explain()
    await signal.resume(by="ann")
    await harness.idle()

    assert paused == ("paused", [], ["queued"])
    assert "paused" in said
    assert ([firing.subject_id for firing in shop.seen], await signal.status()) == ([handle.id], "fired")


async def test_a_signal_that_has_fired_is_armed_anew_by_resume(open_harness: OpenHarness) -> None:
    _, harness, app = await opened(open_harness)
    item = await app.items.create("Move the server")
    signal = await app.when(item, enters="doing", task="Watch")
    for state in ("ready", "doing", "ready", "doing"):
        await item.move(state)
    await harness.idle()
    once = len([task for task in await item.tasks() if task.status == "queued"])

    await signal.resume()
    await item.move("blocked")
    await item.move("doing")
    await harness.idle()

    assert (once, len(await item.tasks())) == (1, 2)
    assert [firing.status for firing in await app.signals.firings(status="done")] == ["done", "done"]


async def test_a_signal_is_changed_listed_and_forgotten(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    item = await app.items.create("Move the server")
    signal = await app.when(item, enters="done", start=shop.page, payload=1)

    assert await signal.update(enters={"doing", "blocked"}, payload={"two": 2}, repeat=True, by="ann")
    assert not await signal.update(enters=["blocked", "doing"])
    for state in ("ready", "doing", "blocked"):
        await item.move(state)
    await harness.idle()

    assert sorted((firing.to_status, firing.payload["two"]) for firing in shop.seen) == [("blocked", 2), ("doing", 2)]
    (info,) = await app.signals.list(subject_kind="item", subject=item.id, status="armed")
    assert (info.id, info.repeats, info.fired, info.payload) == (signal.id, True, 2, {"two": 2})
    assert (await (await app.signals.get(signal.id)).info()).watches == f"when item {item.id} enters blocked or doing"
    await signal.delete()
    with pytest.raises(windlass.NotFound):
        await app.signals.get(signal.id)


async def test_other_states_count_from_when_they_are_given(open_harness: OpenHarness) -> None:
    shop, harness, app = await opened(open_harness)
    signal = await app.when(shop.order, enters="failed", start=shop.page)
    await app.start(shop.order, "before")
    await harness.idle()

    await signal.update(enters="completed")
    after = await app.start(shop.order, "after")
    await harness.advance("10s")

    assert [firing.subject_id for firing in shop.seen] == [after.id]


async def test_jobs_graphs_and_pipelines_are_watched(open_harness: OpenHarness) -> None:
    shop = Shop()
    release, payments = shop.app.graph("release"), shop.app.pipeline("payments")
    orders = shop.app.topic("orders", str)

    @release.job
    async def lint(ctx: windlass.JobContext) -> None:
        await ctx.receive(shop.replied)

    @payments.consumer(orders)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        raise TypeError("no")

    harness = await open_harness(app=shop.app)
    app = harness.app
    graph = await app.start(release)
    await harness.idle()
    (job,) = await graph.jobs()
    signals = [
        await app.when(graph, enters="completed", start=shop.page),
        await app.when(job, enters="completed", start=shop.page),
        await app.when(payments, enters="attention", start=shop.page),
    ]
    await app.handle(job.id).send(shop.replied, "yes")
    await app.publish(orders, "7", id="7")
    await harness.idle()

    assert [await signal.status() for signal in signals] == ["fired"] * 3
    assert sorted(firing.subject_id for firing in shop.seen) == sorted([graph.id, job.id, "payments"])


async def test_a_graph_may_follow_and_its_jobs_read_the_firing(open_harness: OpenHarness) -> None:
    shop = Shop(codec=Backwards())
    repair = shop.app.graph("repair", input=windlass.Firing)

    @repair.job
    async def look(ctx: windlass.JobContext) -> None:
        shop.seen.append(ctx.input)

    harness = await open_harness(app=shop.app)
    handle = await harness.app.start(shop.wait)
    await harness.app.when(handle, enters="cancelled", start=repair, payload="sealed")
    await handle.cancel()
    await harness.idle()

    assert [(firing.subject_id, firing.payload) for firing in shop.seen] == [(handle.id, "sealed")]


async def test_inside_a_workflow_it_is_refused_and_in_a_step_it_is_not(open_harness: OpenHarness) -> None:
    shop = Shop()
    app = shop.app

    @app.workflow
    async def hasty(ctx: windlass.Context) -> str:
        with pytest.raises(windlass.NotAllowed, match=r"app\.when\(\) inside a workflow .* Do it in a step"):
            await app.when(shop.order, enters="failed", start=shop.page)
        with pytest.raises(windlass.NotAllowed, match=r"app\.items\.create\(\) inside a workflow .* Do it in a step"):
            await app.items.create("Move the server")

        async def arm() -> str:
            return (await app.when(shop.order, enters="failed", start=shop.page, key="k")).id

        return await ctx.step(arm)

    harness = await open_harness(app=app)
    armed = await harness.run(hasty)

    assert [info.id for info in await harness.app.signals.list()] == [armed]


@pytest.mark.parametrize(
    ("awaited", "blocking"),
    [(Item, SyncItem), (Items, SyncItems), (Signal, SyncSignal), (Signals, SyncSignals)],
    ids=lambda kind: kind.__name__,
)
def test_nothing_is_left_out_of_the_blocking_door(awaited: type, blocking: type) -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(awaited) == public(blocking)


@pytest.mark.in_process
async def test_the_blocking_door_has_the_same_signals_and_items(url: str) -> None:
    app = windlass.App(url, settings=Settings())
    wait = app.workflow(sleeps("1h"))

    @app.workflow
    async def page(ctx: windlass.Context, firing: windlass.Firing) -> str:
        return firing.subject_id

    def use() -> None:
        with app.sync, app.sync.worker():
            handle = app.sync.start(wait)
            signal = app.sync.when(handle, enters="cancelled", start=page)
            item = app.sync.items.create("Move the server")
            on_item = app.sync.when(item, enters="ready", task="Look")
            item.move("ready")
            handle.cancel()
            while signal.status() != "fired" or on_item.status() != "fired":
                pass
            (firing,) = signal.firings()
            assert app.sync.handle(page, run_id=firing.run_id or "").result() == handle.id
            (task,) = item.tasks()
            assert item.end_task(task).status == "completed"
            assert app.sync.items.get(item.id).info().status == "ready"
            assert {info.id for info in app.sync.signals.list()} == {signal.id, on_item.id}
            assert repr(app.sync.signals.get(signal.id)) == f"SyncSignal({signal.id!r})"

    await asyncio.to_thread(use)
