"""A call of a program that only reads never migrates; one that changes something does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import windlass
from tests.older import NEWEST, make_older, schema_of
from windlass.client.asks import Asks
from windlass.client.graphs import GraphHandle
from windlass.client.handle import Handle
from windlass.client.items import Item, Items
from windlass.client.pipelines import Pipelines
from windlass.client.schedules import Schedules
from windlass.client.signals import Signal, Signals
from windlass.errors import NotFound, StoreRefused, WindlassError
from windlass.model.item import ItemId
from windlass.model.signal import SignalId

RUN, ITEM, SIGNAL = f"run_{0:026}", ItemId(f"itm_{0:026}"), SignalId(f"sig_{0:026}")
TASK = f"tsk_{0:026}"


async def order(ctx: windlass.Context, id: str) -> None: ...


async def alarm(ctx: windlass.Context) -> None: ...


class Program:
    """An app with something of each kind declared."""

    def __init__(self, url: str) -> None:
        self.app = windlass.App(url)
        self.order, self.alarm = self.app.workflow(order), self.app.workflow(alarm)
        self.graph = self.app.graph("release")
        self.graph.job(self._test)
        self.topic = self.app.topic("orders", str)
        self.event = self.app.event("paid", int)

    @staticmethod
    async def _test(ctx: windlass.JobContext) -> None: ...


def calling(verb: str, *args: str) -> Callable[[Program, Any], Any]:
    return lambda program, held: getattr(held, verb)(*args)


HOLDERS: dict[type, Callable[[Program, Any], Any]] = {
    Asks: lambda program, asked: asked,
    Handle: lambda program, asked: asked.handle(RUN),
    GraphHandle: lambda program, asked: asked.handle(program.graph, run_id=RUN),
    Schedules: lambda program, asked: asked.schedules,
    Pipelines: lambda program, asked: asked.pipelines,
    Items: lambda program, asked: asked.items,
    Signals: lambda program, asked: asked.signals,
    Item: lambda program, asked: Item(program.app.items, ITEM),
    Signal: lambda program, asked: Signal(program.app.signals, SIGNAL, already=False),
}
# Every method that is awaited stands in one of these, with what it is called with.
READING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("Handle.result", "Handle.status", "Handle.explain"), ()),
    **dict.fromkeys(("GraphHandle.result", "GraphHandle.status", "GraphHandle.explain", "GraphHandle.jobs"), ()),
    "GraphHandle.output": ("test",),
    "Schedules.get": ("daily",),
    "Schedules.list": (),
    **dict.fromkeys(("Pipelines.list", "Pipelines.topics", "Pipelines.open_effects"), ()),
    **dict.fromkeys(("Pipelines.get", "Pipelines.explain", "Pipelines.runs", "Pipelines.inputs"), ("mail",)),
    "Pipelines.trace": ("mail", "in-1"),
    "Items.get": (ITEM,),
    "Items.list": (),
    **dict.fromkeys(("Item.info", "Item.status", "Item.tasks", "Item.history"), ()),
    "Signals.get": (SIGNAL,),
    **dict.fromkeys(("Signals.list", "Signals.firings"), ()),
    **dict.fromkeys(("Signal.info", "Signal.status", "Signal.explain", "Signal.firings"), ()),
}
STEERING = ("pause", "resume", "run_now", "retry", "approve", "reject")
CHANGING: dict[str, Callable[[Program, Any], Any]] = {
    "Asks.start": lambda program, app: app.start(program.order, "7"),
    "Asks.start_many": lambda program, app: app.start_many([windlass.call(program.order, "7")]),
    "Asks.publish": lambda program, app: app.publish(program.topic, "7", id="1"),
    "Asks.publish_many": lambda program, app: app.publish_many(program.topic, [("1", "7")]),
    "Asks.when": lambda program, app: app.when(program.order, enters="failed", start=program.alarm),
    "Asks.pause": lambda program, app: app.pause(queue="mail"),
    "Asks.resume": lambda program, app: app.resume(queue="mail"),
    **{
        f"{kind}.{verb}": calling(verb)
        for kind in ("Handle", "GraphHandle")
        for verb in ("approve", "reject", "cancel", "retry", "pause", "resume")
    },
    **{f"{kind}.send": lambda program, held: held.send(program.event, 7) for kind in ("Handle", "GraphHandle")},
    "Schedules.create": lambda program, held: held.create(program.order, "7", every=timedelta(hours=1)),
    **{f"Schedules.{verb}": calling(verb, "daily") for verb in ("pause", "resume", "trigger", "delete")},
    **{f"Pipelines.{verb}": calling(verb, "mail") for verb in STEERING},
    "Pipelines.resolve": lambda program, held: held.resolve("mail", "happened"),
    "Pipelines.skip_input": lambda program, held: held.skip_input("mail", "in-1"),
    "Pipelines.skip_event": lambda program, held: held.skip_event("mail", program.topic, "1"),
    "Items.create": lambda program, held: held.create("Move the server"),
    "Items.end_task": lambda program, held: held.end_task(TASK),
    "Item.move": lambda program, held: held.move("ready"),
    "Item.add_task": lambda program, held: held.add_task("Call Ann"),
    "Item.end_task": lambda program, held: held.end_task(TASK),
    "Item.delete": lambda program, held: held.delete(),
    **{f"Signal.{verb}": calling(verb) for verb in ("pause", "resume", "cancel", "update", "delete")},
}
BY_NAME = {kind.__name__: holder for kind, holder in HOLDERS.items()}
BLOCKING = [name for name in READING if not name.startswith(("Item.", "Signal."))]  # those are held by what is awaited


@pytest.fixture(params=["disk", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "shop.db") if request.param == "disk" else request.getfixturevalue("postgres_url")


def held(name: str, program: Program, asked: Any) -> Any:
    return BY_NAME[name.partition(".")[0]](program, asked)


def test_every_method_of_the_client_reads_or_changes() -> None:
    found = {
        f"{kind.__name__}.{name}"
        for kind in HOLDERS
        for name, _ in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }

    assert found == {*READING, *CHANGING}
    assert not READING.keys() & CHANGING.keys()


@pytest.mark.parametrize("name", READING)
def test_reading_says_what_to_run_and_leaves_an_older_schema_alone(old: str, name: str) -> None:
    async def read() -> str:
        program = Program(old)
        method = getattr(held(name, program, program.app), name.partition(".")[2])
        async with program.app:
            with pytest.raises(StoreRefused) as refused:
                await method(*READING[name])
        return str(refused.value)

    told = asyncio.run(read())

    assert told.endswith(
        f"has schema {NEWEST - 1}, and this Windlass needs {NEWEST}. "
        "Reading does not migrate it; to do that: windlass migrate"
    )
    assert schema_of(old) == NEWEST - 1


@pytest.mark.parametrize("name", BLOCKING)
def test_blocking_code_that_reads_is_told_the_same(old: str, name: str) -> None:
    program = Program(old)

    with program.app.sync as asked, pytest.raises(StoreRefused, match="windlass migrate"):
        getattr(held(name, program, asked), name.partition(".")[2])(*READING[name])

    assert schema_of(old) == NEWEST - 1


@pytest.mark.parametrize("name", CHANGING)
def test_changing_something_migrates(place: str, name: str) -> None:
    make_older(place)

    async def change() -> None:
        program = Program(place)
        async with program.app:
            with suppress(WindlassError):  # of most there is nothing to be changed
                await CHANGING[name](program, held(name, program, program.app))

    asyncio.run(change())

    assert schema_of(place) == NEWEST


def test_a_worker_migrates(place: str) -> None:
    make_older(place)

    async def work() -> int:
        program = Program(place)
        async with program.app, program.app.worker():
            return len(await program.app.schedules.list())

    listed = asyncio.run(work())

    assert (listed, schema_of(place)) == (0, NEWEST)


def test_a_call_that_changes_something_is_not_refused_because_others_only_read(place: str) -> None:
    make_older(place)

    async def ask() -> tuple[int, str]:
        program = Program(place)
        async with program.app as app:
            reads = [asyncio.create_task(app.handle(RUN).status()) for _ in range(5)]
            await asyncio.sleep(0)  # they are on their way
            handle = await app.start(program.order, "7")
            answers = await asyncio.gather(*reads, return_exceptions=True)
            return sum(isinstance(answer, (StoreRefused, NotFound)) for answer in answers), await handle.status()

    refused, status = asyncio.run(ask())

    assert (refused, status) == (5, "pending")


def test_reading_goes_on_once_something_has_migrated(place: str) -> None:
    make_older(place)

    async def ask() -> str:
        program = Program(place)
        with pytest.raises(StoreRefused):
            await program.app.schedules.list()
        handle = await program.app.start(program.order, "7")
        status = await program.app.handle(handle.id).status()
        await program.app.aclose()
        return status

    assert asyncio.run(ask()) == "pending"


def test_an_app_that_only_reads_creates_a_database_that_does_not_exist(place: str) -> None:
    async def ask() -> list[Any]:
        async with windlass.App(place) as app:
            return await app.schedules.list()

    assert (asyncio.run(ask()), schema_of(place)) == ([], NEWEST)


async def test_a_database_in_memory_is_never_behind() -> None:
    async with windlass.App("sqlite:///:memory:") as app:
        assert await app.schedules.list() == []
