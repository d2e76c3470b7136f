"""Do calls about work items and signals arrive whole, and are they one call each, however often they are asked?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.server.wire_values import _NoDoors
from windlass.api.admission import Caller
from windlass.api.grpc import server
from windlass.api.grpc.remote_signals import RemoteItems, RemoteSignals
from windlass.api.grpc.table import LARGEST_ANSWER, Call
from windlass.api.lanes import KnownLanes
from windlass.api.starts import Starts, hash_of_payload
from windlass.errors import InvalidInput
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemId,
    ItemPage,
    ItemStatus,
    ItemView,
    ListItems,
    Task,
    TaskId,
    TaskStatus,
    TransitionItem,
)
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import (
    Action,
    ActionKind,
    CreateSignal,
    DeleteSignal,
    ListSignals,
    Signal,
    SignalId,
    SignalPage,
    SignalStatus,
    SignalVerb,
    SignalView,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.runtime import Ids
from windlass.testing.clock import FakeClock
from windlass.v1 import signal_pb2

MIB = 1024 * 1024
ITEM, SIGNAL = ItemId("itm_" + "1" * 26), SignalId("sig_" + "1" * 26)
ON_ITEM = Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=("blocked",))


def item(number: int = 1, *, data: bytes | None = None) -> Item:
    return Item(
        namespace="default", id=ItemId(f"itm_{number:026}"), title="Mend it", status=ItemStatus.DOING, priority=0,
        data=data, key=None, created_at=Instant(1), changed_at=Instant(1),
    )  # fmt: skip


def task(number: int, *, size: int = 0) -> Task:
    return Task(
        namespace="default", id=TaskId(f"tsk_{number:026}"), item_id=ITEM, title="Look", status=TaskStatus.QUEUED,
        data=b"d" * size, firing_id=None, created_at=Instant(1),
    )  # fmt: skip


def signal(number: int = 1, *, payload: bytes | None = None, input: bytes | None = None) -> Signal:
    action = Action() if input is None else Action(kind=ActionKind.START, workflow="w", queue="q", input=input)
    return Signal(
        namespace="default", id=SignalId(f"sig_{number:026}"), key=None, trigger=ON_ITEM, action=action,
        payload=payload, repeats=False, status=SignalStatus.ARMED, reason=None, fired=0, last_fired_at=None,
        available_at=None, declared_in=None, is_declared=False, armed_xid=1, armed_seq=1, changed_by=None,
        created_at=Instant(1), changed_at=Instant(1),
    )  # fmt: skip


class Lanes(KnownLanes):
    """Knows where one workflow is served."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def place(self, namespace: str, name: str, *, queue: str | None, version: str | None) -> Served:
        self.asked.append(name)
        return Served("mail", name, version or "7")


class Wire:
    """Both ends of it, without a socket: the channel of a client, and the doors that a server has.

    With `loses`, the answer to each call is lost once, and it is asked again.
    """

    def __init__(self, *, loses: bool = False) -> None:
        nobody: Any = _NoDoors()
        self.lanes = Lanes()
        self._rows = {row.name: row for row in server.rows(Starts(nobody, self.lanes))}
        self._loses = loses
        self.asked: list[Any] = []
        self.before: Callable[[int], None] = lambda number: None
        self.view = ItemView(item=item())
        self.entries: tuple[LogEntry, ...] = ()
        self.has_changed = True
        self.made: list[Any] = []  # of items or signals, newest first
        self.items = self.signals = self
        clock = FakeClock()
        ids, channel = Ids(clock, random.Random(1)), self._channel()
        self.remote_items, self.remote_signals = RemoteItems(channel, ids=ids), RemoteSignals(channel, ids=ids)

    def _channel(self) -> Any:
        return self

    async def ask(self, service: str, method: str, message: Callable[[bool], Any], *, wait_for: Any = None) -> Any:
        """What goes over is bytes, and no more of them than the other side takes."""
        row = self._rows[method]
        assert row.service == service
        answer = await self._answered(row, message(False))
        if self._loses:
            answer = await self._answered(row, message(True))
        return answer

    async def _answered(self, row: Any, message: Any) -> Any:
        self.before(len(self.asked))
        asked = row.request_mirror.to_struct(type(message).FromString(message.SerializeToString()))
        self.asked.append(asked)
        nothing: Any = None
        doors: Any = self
        caller = Caller(key="k", roles=(), operation=row.operation, namespace="default")
        found = await row.handle(Call(doors, caller, nothing, nothing), asked)
        data = row.answer_mirror.to_message(found).SerializeToString()
        assert len(data) <= LARGEST_ANSWER
        return row.answer_mirror.message.FromString(data)

    # The doors

    async def create_item(self, command: CreateItem) -> Item:
        return replace(item(), id=command.item_id)

    async def get_item(self, namespace: str, item_id: ItemId) -> ItemView:
        return self.view

    async def list_items(self, query: ListItems) -> ItemPage:
        found = [one for one in self.made if query.before is None or one.id < query.before]
        page = tuple(found[: query.limit])
        return ItemPage(items=page, next=page[-1].id if len(found) > len(page) else None)

    async def read_item_log(self, namespace: str, item_id: ItemId) -> tuple[LogEntry, ...]:
        return self.entries

    async def transition_item(self, command: TransitionItem) -> Item:
        return item()

    async def delete_item(self, command: DeleteItem) -> None:
        pass

    async def add_task(self, command: AddTask) -> Task:
        return replace(task(1), id=command.task_id)

    async def end_task(self, command: EndTask) -> Task:
        return task(1)

    async def create_signal(self, command: CreateSignal) -> SignalView:
        self.made.append(command)
        found = signal() if command.signal_id is None or command.key else replace(signal(), id=command.signal_id)
        return SignalView(signal=found, has_changed=self.has_changed)

    async def get_signal(self, namespace: str, signal_id: SignalId) -> SignalView:
        return SignalView(signal=signal())

    async def list_signals(self, query: ListSignals) -> SignalPage:
        found = [one for one in self.made if query.before is None or one.id < query.before]
        page = tuple(found[: query.limit])
        return SignalPage(signals=page, next=page[-1].id if len(found) > len(page) else None)

    async def read_signal_log(self, namespace: str, signal_id: SignalId) -> tuple[LogEntry, ...]:
        return self.entries

    async def update_signal(self, command: UpdateSignal) -> SignalView:
        self.made.append(command)
        return SignalView(signal=signal(), has_changed=self.has_changed)

    async def steer_signal(self, command: SteerSignal) -> SignalView:
        return SignalView(signal=signal(), has_changed=self.has_changed)

    async def delete_signal(self, command: DeleteSignal) -> None:
        pass


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def losing() -> Wire:
    return Wire(loses=True)


# Whole


async def test_an_item_with_few_tasks_comes_in_one_answer(wire: Wire) -> None:
    wire.view = ItemView(item=item(data=b"1"), tasks=(task(1), task(2)), signals=3)

    assert await wire.remote_items.get_item("default", ITEM) == wire.view
    assert len(wire.asked) == 1


async def test_an_item_whose_tasks_are_larger_than_an_answer_arrives_whole(wire: Wire) -> None:
    tasks = tuple(task(number, size=3 * MIB) for number in range(7))
    wire.view = ItemView(item=item(data=b"i" * 3 * MIB), tasks=tasks)

    assert await wire.remote_items.get_item("default", ITEM) == wire.view
    assert 3 <= len(wire.asked) <= 7


async def test_a_task_that_comes_between_two_answers_moves_no_other(wire: Wire) -> None:
    tasks = tuple(task(number, size=3 * MIB) for number in range(2, 8))
    wire.view = ItemView(item=item(), tasks=tasks)

    def add(number: int) -> None:
        if number == 1:  # from a transaction that began earlier and ended later
            wire.view = replace(wire.view, tasks=(task(1), *tasks))

    wire.before = add

    assert (await wire.remote_items.get_item("default", ITEM)).tasks == tasks


@pytest.mark.parametrize("limit", [0, 3, 500])
async def test_a_walk_over_large_items_is_whole(wire: Wire, limit: int) -> None:
    wire.made = [item(number, data=b"d" * 3 * MIB) for number in reversed(range(12))]
    found: list[Item] = []
    page = await wire.remote_items.list_items(ListItems(namespace="default", limit=limit))
    found += page.items
    while page.next is not None:
        page = await wire.remote_items.list_items(ListItems(namespace="default", limit=limit, before=page.next))
        found += page.items

    assert found == wire.made
    assert len(wire.asked) >= 4


async def test_a_walk_over_large_signals_is_whole(wire: Wire) -> None:
    large = b"[" + b"1" * 3 * MIB
    wire.made = [signal(number, payload=large[: 3 * MIB], input=large[: 3 * MIB]) for number in reversed(range(7))]
    found: list[Signal] = []
    page = await wire.remote_signals.list_signals(ListSignals(namespace="default", limit=0))
    found += page.signals
    while page.next is not None:
        page = await wire.remote_signals.list_signals(ListSignals(namespace="default", before=page.next))
        found += page.signals

    assert found == wire.made
    assert len(wire.asked) == 7


async def test_logs_that_are_longer_than_an_answer_arrive_whole(wire: Wire) -> None:
    wire.entries = tuple(
        LogEntry(
            seq=seq, namespace="default", subject_kind="item", subject_id=ITEM, from_status=None, to_status="ready",
            cause="move", at=Instant(seq), data=b"{}",
        )
        for seq in range(1, 5_002, 2)
    )  # fmt: skip

    assert await wire.remote_items.read_item_log("default", ITEM) == wire.entries
    assert await wire.remote_signals.read_signal_log("default", SIGNAL) == wire.entries
    assert len(wire.asked) == 6


# Asked again


async def test_what_is_created_has_one_id_however_often_it_is_asked_for(losing: Wire) -> None:
    made = await losing.remote_items.create_item(CreateItem(namespace="default", title="a"))
    added = await losing.remote_items.add_task(AddTask(namespace="default", item_id=ITEM, title="a"))
    armed = await losing.remote_signals.create_signal(CreateSignal(namespace="default", trigger=ON_ITEM))

    first, again, third, fourth, fifth, sixth = losing.asked
    assert (first, third, fifth) == (again, fourth, sixth)
    assert (first.item_id, third.task_id, fifth.signal_id) == (made.id, added.id, armed.signal.id)
    assert (made.id[:4], added.id[:4], armed.signal.id[:4]) == ("itm_", "tsk_", "sig_")


async def test_an_id_that_was_chosen_already_is_kept(wire: Wire) -> None:
    command = CreateItem(namespace="default", title="a", item_id=ITEM)

    assert (await wire.remote_items.create_item(command)).id == ITEM
    assert wire.asked == [command]


async def test_a_move_and_a_deletion_say_that_they_are_asked_again(losing: Wire) -> None:
    move = TransitionItem(namespace="default", item_id=ITEM, to=ItemStatus.READY)
    await losing.remote_items.transition_item(move)
    await losing.remote_items.delete_item(DeleteItem(namespace="default", item_id=ITEM))
    await losing.remote_signals.delete_signal(DeleteSignal(namespace="default", signal_id=SIGNAL))

    assert [asked.is_again for asked in losing.asked] == [False, True] * 3


async def test_what_a_repeat_finds_done_was_done_by_itself(losing: Wire) -> None:
    losing.has_changed = False
    steer = SteerSignal(namespace="default", signal_id=SIGNAL, verb=SignalVerb.PAUSE)

    created = await losing.remote_signals.create_signal(CreateSignal(namespace="default", trigger=ON_ITEM))
    updated = await losing.remote_signals.update_signal(
        UpdateSignal(namespace="default", signal_id=SIGNAL, repeats=True)
    )
    steered = await losing.remote_signals.steer_signal(steer)
    found = await losing.remote_signals.create_signal(CreateSignal(namespace="default", trigger=ON_ITEM, key="k"))

    assert (created.has_changed, updated.has_changed, steered.has_changed) == (True, True, True)
    assert not found.has_changed, "by its key it was found, and is somebody else's"


async def test_what_is_asked_once_says_what_the_server_said(wire: Wire) -> None:
    wire.has_changed = False

    created = await wire.remote_signals.create_signal(CreateSignal(namespace="default", trigger=ON_ITEM))
    updated = await wire.remote_signals.update_signal(UpdateSignal(namespace="default", signal_id=SIGNAL))

    assert (created.has_changed, updated.has_changed) == (False, False)


# What is left out


async def test_states_that_are_left_out_stay_and_none_at_all_are_refused(wire: Wire) -> None:
    await wire.remote_signals.update_signal(UpdateSignal(namespace="default", signal_id=SIGNAL, payload=b"1"))
    with pytest.raises(InvalidInput) as refused:
        await wire.remote_signals.update_signal(UpdateSignal(namespace="default", signal_id=SIGNAL, to=()))

    assert (refused.value.path, refused.value.reason) == ("to", "invalid_trigger")
    assert "backlog, ready" in str(refused.value)
    assert [command.to for command in wire.made] == [None]


async def create(wire: Wire, action: Any = None, **more: Any) -> CreateSignal:
    """As the stock tools of another language ask for it."""
    trigger = signal_pb2.SignalTrigger(kind=ON_ITEM.kind, subject=ITEM, to=["blocked"])
    request = signal_pb2.CreateSignalRequest(namespace="default", trigger=trigger, action=action, **more)
    await wire.ask("SignalService", "CreateSignal", lambda is_again: request)
    (command,) = wire.made
    assert isinstance(command, CreateSignal)
    return command


async def test_a_signal_that_is_not_told_what_to_do_records_a_task(wire: Wire) -> None:
    command = await create(wire)

    assert command.action.kind is ActionKind.TASK
    assert "blocked" in command.action.title


async def test_an_action_that_says_nothing_only_announces(wire: Wire) -> None:
    assert (await create(wire, signal_pb2.SignalAction())).action == Action()


async def test_a_workflow_is_started_where_it_is_served_unless_somebody_says_where(wire: Wire) -> None:
    start = signal_pb2.SignalAction(kind=signal_pb2.ACTION_KIND_START, workflow="page")

    placed = await create(wire, start)
    wire.made.clear()
    vouched = await create(wire, start, allow_unknown=True)
    wire.made.clear()
    start.queue = "calls"
    named = await create(wire, start)

    assert (placed.action.queue, placed.action.version) == ("mail", "7")
    assert (vouched.action.queue, vouched.action.version) == ("default", "")
    assert (named.action.queue, named.action.version) == ("calls", "")
    assert wire.lanes.asked == ["page"]


async def test_the_hash_of_what_is_sent_is_computed_from_plain_json(wire: Wire) -> None:
    run_id = RunId("run_" + "1" * 26)
    send = signal_pb2.SignalAction(kind=signal_pb2.ACTION_KIND_SEND, run_id=run_id, event="woken")

    sent = await create(wire, send, payload=b'{"a": 1}')
    wire.made.clear()
    firing = await create(wire, send)

    assert sent.action.payload_hash == hash_of_payload(b'{"a":1}')
    assert firing.action.payload_hash == b"", "what is sent is the firing"


@pytest.mark.parametrize("kind", ["", "item", "work_item.status.transitio", "TIME"])
async def test_a_kind_of_trigger_that_is_not_known_is_refused(wire: Wire, kind: str) -> None:
    trigger = signal_pb2.SignalTrigger(kind=kind, subject=ITEM, to=["blocked"])
    request = signal_pb2.CreateSignalRequest(namespace="default", trigger=trigger)

    with pytest.raises(InvalidInput) as refused:
        await wire.ask("SignalService", "CreateSignal", lambda is_again: request)

    assert (refused.value.path, refused.value.reason) == ("kind", "unknown_value")
