"""Are work items moved once, by one of those who try at the same time, and what is to be done about them kept?"""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.conformance.given import NAMESPACE, engine_on, outcomes_of, while_time_passes
from tests.conformance.given_signals import WAYS, entries_of, move, new_item, on_item, seen, tasks_of, watch
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from windlass.engine.engine import Engine
from windlass.engine.signal.create import arm
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable, WrongState
from windlass.model.item import AddTask, CreateItem, DeleteItem, EndTask, Item, ItemId, ListItems, Task, TaskStatus
from windlass.model.run import Deed
from windlass.model.time import MINUTE
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

OTHER = "elsewhere"
POINTS = ["before_commit", "after_commit"]


async def add_task(engine: Engine, item: Item, title: str = "Look at it") -> Task:
    return await engine.items.add_task(AddTask(namespace=item.namespace, item_id=item.id, title=title))


def ending(task: Task, status: TaskStatus = TaskStatus.COMPLETED) -> EndTask:
    return EndTask(namespace=task.namespace, task_id=task.id, status=status, by="kim", note="done")


def deleting(item: Item, *, namespace: str = NAMESPACE, is_again: bool = False) -> DeleteItem:
    return DeleteItem(namespace=namespace, item_id=item.id, by="kim", is_again=is_again)


async def path(engine: Engine, item: Item) -> list[tuple[str | None, str, str]]:
    return [(entry.from_status, entry.to_status, entry.cause) for entry in await entries_of(engine, "item", item.id)]


class TestItems(EngineConformance):
    # Created

    async def test_an_item_begins_in_the_backlog(self, engine: Engine, clock: FakeClock) -> None:
        command = CreateItem(namespace=NAMESPACE, title="Ship it", priority=3, data=b"\x00\xff", key="ship", by="kim")

        item = await engine.items.create_item(command)

        assert (item.status, item.priority, item.data, item.key) == ("backlog", 3, b"\x00\xff", "ship")
        assert (item.created_at, item.changed_at, item.ended_at) == (clock.now(), clock.now(), None)
        assert (await engine.items.get_item(NAMESPACE, item.id)).item == item
        assert await path(engine, item) == [(None, "backlog", "create")]
        (entry,) = await engine.items.read_item_log(NAMESPACE, item.id)
        assert Deed.from_log(entry.data).by == "kim"

    async def test_the_same_key_is_the_same_item_unless_it_is_another(self, engine: Engine) -> None:
        item = await new_item(engine, key="ship", data=b"1")
        await move(engine, item, "ready")

        again = await new_item(engine, key="ship", data=b"1")

        assert (again.id, again.status) == (item.id, "ready")
        for fields in ({"data": b"2"}, {"title": "Sink it"}, {"priority": 1}):
            with pytest.raises(AlreadyExists) as refused:
                await new_item(engine, **({"key": "ship", "data": b"1"} | fields))
            assert refused.value.owner == item.id
        elsewhere = await new_item(engine, key="ship", namespace=OTHER)
        assert elsewhere.id != item.id

    async def test_of_two_that_create_the_same_at_once_one_does(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]

        items = await asyncio.gather(*(new_item(engine, key="ship") for engine in engines * 5))

        assert len({item.id for item in items}) == 1
        assert len((await engines[0].items.list_items(ListItems(namespace=NAMESPACE))).items) == 1

    @pytest.mark.parametrize("point", POINTS)
    async def test_an_item_whose_answer_was_lost_is_created_once(
        self, engine: Engine, store: Store, clock: FakeClock, point: str
    ) -> None:
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        item = await while_time_passes(clock, new_item(engine))

        assert await path(engine, item) == [(None, "backlog", "create")]
        assert len((await engine.items.list_items(ListItems(namespace=NAMESPACE))).items) == 1

    async def test_an_id_that_was_chosen_by_the_caller_is_known_again(self, engine: Engine) -> None:
        id = ItemId("itm_" + "7" * 26)

        items = [await new_item(engine, item_id=id) for _ in range(2)]

        assert [item.id for item in items] == [id, id]
        with pytest.raises(AlreadyExists):
            await new_item(engine, item_id=id, title="Sink it")

    # Moved

    @pytest.mark.parametrize("state", WAYS)
    async def test_every_state_is_reached_and_told(self, engine: Engine, clock: FakeClock, state: str) -> None:
        item = await new_item(engine)
        clock.advance(MINUTE)

        await move(engine, item, *WAYS[state])

        stands = (await engine.items.get_item(NAMESPACE, item.id)).item
        assert (stands.status, stands.changed_at > item.changed_at) == (state, state != "backlog")
        assert stands.ended_at == (clock.now() if state in ("done", "failed", "cancelled") else None)
        steps = ("backlog", *WAYS[state])
        expected = [(before, after, "move") for before, after in pairwise(steps)]
        assert await path(engine, item) == [(None, "backlog", "create"), *expected]

    async def test_a_move_that_is_refused_changes_nothing(self, engine: Engine) -> None:
        item = await new_item(engine)

        with pytest.raises(WrongState):
            await move(engine, item, "done")

        assert (await engine.items.get_item(NAMESPACE, item.id)).item == item
        assert len(await path(engine, item)) == 1

    async def test_of_many_who_move_at_once_one_does(self, store: Store, second_store: Store, clock: FakeClock) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        item = await new_item(engines[0], state="doing")

        found = await outcomes_of([move(engine, item, "done") for engine in engines * 4])

        assert found.count(WrongState) == 7
        assert [to for _, to, _ in await path(engines[0], item)].count("done") == 1

    @pytest.mark.parametrize("point", POINTS)
    async def test_a_move_whose_answer_was_lost_is_made_once(
        self, engine: Engine, store: Store, clock: FakeClock, point: str
    ) -> None:
        item = await new_item(engine)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        moved = await while_time_passes(clock, move(engine, item, "ready"))

        assert moved.status == "ready"
        assert [to for _, to, _ in await path(engine, item)] == ["backlog", "ready"]

    @pytest.mark.spec("signals:32")
    async def test_whoever_arms_holds_the_item_against_whoever_moves_it(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        item = await new_item(engine)

        async def begin_to_watch(tx: Tx) -> None:
            assert await arm(tx, NAMESPACE, on_item(item, "ready")) is not None

        moved = await meanwhile(second_store, begin_to_watch, lambda: move(engine, item, "ready"), until_blocked)

        assert moved.status == "ready"

    # Tasks

    async def test_a_task_is_recorded_and_ends_once(self, engine: Engine, clock: FakeClock) -> None:
        item = await new_item(engine, state="doing")
        task = await add_task(engine, item)
        assert await tasks_of(engine, item) == (task,)
        assert (task.status, task.firing_id, task.created_at) == ("queued", None, clock.now())

        ended = [await engine.items.end_task(ending(task)) for _ in range(2)]

        assert ended[0] == ended[1]
        assert (ended[0].status, ended[0].ended_by, ended[0].note) == ("completed", "kim", "done")
        with pytest.raises(WrongState):
            await engine.items.end_task(ending(task, TaskStatus.FAILED))
        with pytest.raises(InvalidInput):
            await engine.items.end_task(ending(task, TaskStatus.QUEUED))

    async def test_of_two_who_end_a_task_otherwise_one_does(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        task = await add_task(engines[0], await new_item(engines[0]))
        ends = [TaskStatus.COMPLETED, TaskStatus.FAILED]

        found = await outcomes_of(
            [engine.items.end_task(ending(task, end)) for engine, end in zip(engines, ends, strict=True)]
        )

        assert found.count(WrongState) == 1

    @pytest.mark.parametrize("end", ["done", "failed", "cancelled"])
    async def test_what_is_open_ends_with_its_item_and_nothing_is_added_then(self, engine: Engine, end: str) -> None:
        item = await new_item(engine, state="doing")
        open, over = [await add_task(engine, item, title) for title in ("one", "two")]
        await engine.items.end_task(ending(over))

        await move(engine, item, end)

        found = {task.id: (task.status.value, task.note) for task in await tasks_of(engine, item)}
        assert found == {open.id: ("cancelled", f"the item is {end}"), over.id: ("completed", "done")}
        with pytest.raises(WrongState):
            await add_task(engine, item)

    # Forgotten

    async def test_a_deleted_item_is_gone_with_its_tasks_and_its_log_stays(self, engine: Engine) -> None:
        item = await new_item(engine, state="doing")
        task = await add_task(engine, item)
        signal = await watch(engine, on_item(item, "done"))

        await engine.items.delete_item(deleting(item))

        with pytest.raises(NotFound):
            await engine.items.get_item(NAMESPACE, item.id)
        with pytest.raises(NotFound):
            await engine.items.end_task(ending(task))
        assert (await path(engine, item))[-1] == ("doing", "deleted", "delete")
        gone = await seen(engine, signal)
        assert (gone.status, gone.reason) == ("resolved", f"item {item.id} was deleted by kim")
        with pytest.raises(NotFound):
            await engine.items.delete_item(deleting(item))
        await engine.items.delete_item(deleting(item, is_again=True))

    @pytest.mark.parametrize("point", POINTS)
    async def test_a_deletion_whose_answer_was_lost_is_done(
        self, engine: Engine, store: Store, clock: FakeClock, point: str
    ) -> None:
        item = await new_item(engine)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.items.delete_item(deleting(item)))

        assert [to for _, to, _ in await path(engine, item)] == ["backlog", "deleted"]

    # Seen

    async def test_items_are_listed_newest_first_page_by_page(self, engine: Engine, clock: FakeClock) -> None:
        made = []
        for number in range(7):
            clock.advance(MINUTE)
            made.append(await new_item(engine, state="ready" if number % 2 else "backlog"))
        await new_item(engine, namespace=OTHER)

        pages, before = [], None
        while True:
            page = await engine.items.list_items(ListItems(namespace=NAMESPACE, before=before, limit=3))
            pages.append([item.id for item in page.items])
            if (before := page.next) is None:
                break

        newest = [item.id for item in reversed(made)]
        assert pages == [newest[:3], newest[3:6], newest[6:]]
        asked = ListItems(namespace=NAMESPACE, status=made[1].status)
        assert [item.id for item in (await engine.items.list_items(asked)).items] == newest[1::2]

    async def test_an_item_of_another_namespace_is_nowhere(self, engine: Engine) -> None:
        item = await new_item(engine, namespace=OTHER)

        calls = [
            engine.items.get_item(NAMESPACE, item.id),
            engine.items.read_item_log(NAMESPACE, item.id),
            engine.items.delete_item(deleting(item)),
            engine.items.add_task(AddTask(namespace=NAMESPACE, item_id=item.id, title="x")),
            watch(engine, on_item(item, "done")),
        ]

        assert await outcomes_of(calls) == [NotFound] * len(calls)
