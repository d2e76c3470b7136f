"""When a work item enters a state, what is done about it, and how often?"""

from __future__ import annotations

import pytest

from tests.conformance.given import NAMESPACE, claim_one, engine_on, finished, poll
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    coordinator,
    entered,
    fire,
    firings,
    move,
    new_item,
    on_any_item,
    on_item,
    seen,
    standing,
    steer,
    tasks_of,
    watch,
)
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.engine import Engine
from windlass.model.feed import ReadFeed
from windlass.model.item import DeleteItem
from windlass.model.signal import FIRED, Signal, SignalNews
from windlass.model.time import MINUTE
from windlass.model.worker import Served
from windlass.testing.clock import FakeClock


async def announced(engine: Engine, signal: Signal) -> list[SignalNews]:
    """What whoever follows the log is told of firings."""
    page = await engine.feed.read_feed(ReadFeed(namespace=NAMESPACE, limit=500))
    entries = [item.entry for item in page.entries]
    return [
        SignalNews.from_log(entry.data) for entry in entries if (entry.subject_id, entry.cause) == (signal.id, FIRED)
    ]


BLOCKED = pytest.param("blocked", marks=pytest.mark.spec("signals:5"))
DONE = pytest.param("done", marks=pytest.mark.spec("signals:6"))
FAILED = pytest.param("failed", marks=pytest.mark.spec("signals:7"))
CANCELLED = pytest.param("cancelled", marks=pytest.mark.spec("signals:8"))


@pytest.mark.spec("signals:4", "signals:11", "signals:14", "signals:40", "signals:41")
@pytest.mark.parametrize("state", [BLOCKED, DONE, FAILED, CANCELLED])
async def test_an_item_that_enters_a_state_gets_the_task_that_follows(
    engine: Engine, clock: FakeClock, state: str
) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, state), FOLLOW_UP, payload=b'{"why":"it was told to"}')
    await move(engine, item, state)
    clock.advance(MINUTE)

    await coordinator(engine).tick()

    stands = await seen(engine, signal)
    assert (stands.status, stands.fired, stands.last_fired_at) == ("fired", 1, clock.now())
    (task,) = await tasks_of(engine, item)
    assert (task.title, task.data, task.created_at) == ("Look at it", b'{"why":"it was told to"}', clock.now())
    # Recorded, and left to whoever does it.
    assert (task.status, task.ended_at) == ("queued", None)
    assert await engine.work.claim_runs(poll()) == []


async def test_what_comes_after_the_state_does_not_take_it_back(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked", "doing", "done")

    await fire(engine)

    assert await standing(engine, signal) == ["done"]
    assert len(await tasks_of(engine, item)) == 1


@pytest.mark.spec("signals:10", "signals:53", "signals:47")
async def test_entering_blocked_announces_one_firing_and_no_more(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked")

    for _ in range(5):
        await coordinator(engine).tick()
    await move(engine, item, "doing", "blocked")
    await coordinator(engine).tick()

    (news,) = await announced(engine, signal)
    (row,) = await firings(engine, signal)
    assert (news.firing_id, news.subject_id, news.to_status) == (row.id, item.id, "blocked")
    assert news.task_id == (await tasks_of(engine, item))[0].id


@pytest.mark.spec("signals:54", "signals:48", "signals:2")
async def test_a_further_coordinator_does_not_fire_again(engine: Engine, clock: FakeClock) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked")
    await coordinator(engine).tick()
    another = engine_on(engine.parts.store, clock)

    for _ in range(3):
        await Coordinator(another.parts, CoordinatorSettings()).tick()

    assert len(await announced(engine, signal)) == len(await tasks_of(engine, item)) == 1


@pytest.mark.spec("signals:14", "signals:45")
async def test_a_workflow_that_is_started_is_executed_by_workers_like_any_run(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "done"), STARTS)
    await move(engine, item, "done")
    await coordinator(engine).tick()

    (news,) = await announced(engine, signal)
    run = await claim_one(engine, served=(Served(STARTS.queue, STARTS.workflow),))
    await engine.work.finish_run(finished(run))

    assert (run.id, run.name) == (news.run_id, "page")
    assert (await engine.runs.get_run(NAMESPACE, run.id)).run.status == "completed"


@pytest.mark.spec("signals:39", "invariants:I-48")
async def test_of_two_causes_the_first_fires_and_the_other_is_superseded(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked", "doing", "blocked")

    await coordinator(engine).tick()

    assert await standing(engine, signal) == ["done", "superseded"]
    assert len(await tasks_of(engine, item)) == 1


async def test_one_that_repeats_fires_each_time_and_counts(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP, repeats=True)

    for _ in range(3):
        await move(engine, item, "blocked", "doing")
        await coordinator(engine).tick()

    stands = await seen(engine, signal)
    assert (stands.status, stands.fired) == ("armed", 3)
    assert len(await tasks_of(engine, item)) == len(await announced(engine, signal)) == 3


async def test_of_all_items_each_is_followed_once(engine: Engine) -> None:
    signal = await watch(engine, on_any_item("blocked"), FOLLOW_UP)
    items = [await new_item(engine, state="blocked") for _ in range(3)]
    await move(engine, items[0], "doing", "blocked")

    await fire(engine)

    assert [len(await tasks_of(engine, item)) for item in items] == [1, 1, 1]
    assert sorted(await standing(engine, signal)) == ["done", "done", "done", "superseded"]
    assert (await seen(engine, signal)).status == "armed"


async def test_an_item_that_is_deleted_before_its_task_is_added_has_none(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked")

    await engine.items.delete_item(DeleteItem(namespace=NAMESPACE, item_id=item.id))
    await fire(engine)

    (row,) = await firings(engine, signal)
    assert row.status == "failed"
    assert "deleted before the task could be added" in (row.error or "")
    assert (await seen(engine, signal)).status == "resolved"


async def test_a_pause_of_many_transitions_is_made_up_for(engine: Engine) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP, repeats=True)
    await steer(engine, signal, "pause")
    for _ in range(4):
        await move(engine, item, "blocked", "doing")
        await fire(engine)
    assert await tasks_of(engine, item) == ()

    await steer(engine, signal, "resume")
    await fire(engine)

    assert len(await tasks_of(engine, item)) == 4
    assert await entered(engine, signal) == [(item.id, "blocked")] * 4
