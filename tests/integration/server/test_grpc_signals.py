"""Can nobody tell whether work items and signals are here or behind a server, and is a repeated call one call?"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.server.signalling import ON_WORKFLOW, SIGNALS, on_item
from tests.integration.server.wire import Caller, Code, Wire, WireWorker, finish
from windlass.api.grpc.channel import NO_WAIT, Target
from windlass.api.grpc.remote import Remote
from windlass.api.service import Service
from windlass.embedded import Embedded
from windlass.engine.signal.work import work_firings
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WrongState
from windlass.model.access import Role
from windlass.model.explanation import Situation
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemId,
    ItemStatus,
    ListItems,
    TaskStatus,
    TransitionItem,
)
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
    ListSignals,
    SignalId,
    SignalStatus,
    SignalVerb,
    SignalView,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.runtime import SystemClock
from windlass.testing.clock import FakeClock
from windlass.v1 import model_pb2, signal_pb2

OURS: dict[str, Any] = {"namespace": "default"}
TASK = Action(kind=ActionKind.TASK, title="Look at it")


async def fire(wire: Wire) -> int:
    """Work what is due, as the coordinator of a server does; how many it was."""
    done = 0
    assert isinstance(wire.opened, Embedded)
    while claimed := await work_firings(wire.opened.engine.parts, worker="here", batch=100):
        done += claimed
    return done


async def remote_of(wire: Wire) -> Remote:
    _, token = await wire.key(Role.OPERATOR)
    return Remote([Target(wire.address, None)], token=token, clock=SystemClock(), ids=wire.opened.ids)


@pytest.fixture(params=["here", "afar"])
async def doors(request: pytest.FixtureRequest, wire: Wire) -> AsyncIterator[Service]:
    """The same doors, in process and behind the server."""
    if request.param == "here":
        yield wire.opened
        return
    remote = await remote_of(wire)
    yield remote
    await remote.close()


@pytest.fixture
async def twice(wire: Wire) -> AsyncIterator[Remote]:
    """A client that loses every answer once."""
    remote = await remote_of(wire)
    channel = remote._channel

    async def ask(service: str, method: str, message: Any, *, wait_for: Any = NO_WAIT) -> Any:
        await channel._once(service, method, message(False), wait_for)
        return await channel._once(service, method, message(True), wait_for)

    channel.ask = ask  # type: ignore[method-assign]
    yield remote
    await remote.close()


async def new_item(doors: Service, *states: ItemStatus, **more: Any) -> ItemId:
    made = await doors.items.create_item(CreateItem(**OURS, **({"title": "Mend it"} | more)))
    if states:
        await move(doors, made.id, *states)
    return made.id


async def move(doors: Service, item: ItemId, *states: ItemStatus) -> Item:
    for state in states:
        found = await doors.items.transition_item(TransitionItem(**OURS, item_id=item, to=state, by="ann"))
    return found


async def arm(doors: Service, item: str, *states: str, action: Action = TASK, **more: Any) -> SignalView:
    trigger = Trigger(kind=TriggerKind.ITEM, subject=item, to=states)
    return await doors.signals.create_signal(CreateSignal(**OURS, trigger=trigger, action=action, **more))


# Work items


async def test_the_life_of_an_item(doors: Service) -> None:
    made = await doors.items.create_item(CreateItem(**OURS, title="Mend it", priority=3, data=b'{"a":1}', key="k"))
    assert (made.status, made.priority, made.data, made.key) == (ItemStatus.BACKLOG, 3, b'{"a":1}', "k")
    added = await doors.items.add_task(AddTask(**OURS, item_id=made.id, title="Call them", data=b"1"))
    other = await doors.items.add_task(AddTask(**OURS, item_id=made.id, title="Write to them"))
    ended = await doors.items.end_task(
        EndTask(**OURS, task_id=added.id, status=TaskStatus.COMPLETED, by="ann", note="nobody there")
    )
    assert (ended.status, ended.ended_by, ended.note) == (TaskStatus.COMPLETED, "ann", "nobody there")

    done = await move(doors, made.id, ItemStatus.READY, ItemStatus.DOING, ItemStatus.DONE)

    view = await doors.items.get_item("default", made.id)
    assert (view.item, view.signals) == (done, 0)
    assert [(task.id, task.status) for task in view.tasks] == [
        (added.id, TaskStatus.COMPLETED), (other.id, TaskStatus.CANCELLED),
    ]  # fmt: skip
    assert done.ended_at == done.changed_at
    await doors.items.delete_item(DeleteItem(**OURS, item_id=made.id, by="ann"))
    with pytest.raises(NotFound):
        await doors.items.get_item("default", made.id)
    log = await doors.items.read_item_log("default", made.id)
    assert [entry.to_status for entry in log] == ["backlog", "ready", "doing", "done", "deleted"]


async def test_what_is_refused_says_the_same_from_afar(doors: Service) -> None:
    item = await new_item(doors, ItemStatus.READY, key="k")

    with pytest.raises(WrongState, match="doing, cancelled") as wrong:
        await move(doors, item, ItemStatus.DONE)
    with pytest.raises(WrongState):
        expecting = TransitionItem(**OURS, item_id=item, to=ItemStatus.DOING, expected=ItemStatus.BLOCKED)
        await doors.items.transition_item(expecting)
    with pytest.raises(AlreadyExists) as taken:
        await new_item(doors, key="k", title="Another one")
    with pytest.raises(InvalidInput) as invalid:
        await new_item(doors, title="two\nlines")
    with pytest.raises(InvalidInput) as unknown:
        await arm(doors, item, "blokced")
    with pytest.raises(NotFound):
        await arm(doors, "itm_" + "0" * 26, "blocked")
    with pytest.raises(NotFound):
        await doors.signals.explain_signal("default", SignalId("sig_" + "0" * 26))

    assert wrong.value.state == "ready"
    assert taken.value.owner == item
    assert (invalid.value.path, unknown.value.path) == ("title", "to")
    assert "Did you mean 'blocked'?" in str(unknown.value)


async def test_items_are_read_page_by_page_newest_first(doors: Service) -> None:
    made = [await new_item(doors) for _ in range(5)]
    ready = [await new_item(doors, ItemStatus.READY) for _ in range(3)]

    first = await doors.items.list_items(ListItems(**OURS, limit=3))
    second = await doors.items.list_items(ListItems(**OURS, limit=3, before=first.next))
    last = await doors.items.list_items(ListItems(**OURS, limit=3, before=second.next))
    waiting = await doors.items.list_items(ListItems(**OURS, status=ItemStatus.READY))

    found = [item.id for page in (first, second, last) for item in page.items]
    assert found == [*reversed(ready), *reversed(made)]
    assert last.next is None
    assert [item.id for item in waiting.items] == [*reversed(ready)]


# Signals


async def test_a_signal_fires_once_and_records_a_task(wire: Wire, doors: Service) -> None:
    item = await new_item(doors, ItemStatus.READY, ItemStatus.DOING)
    armed = await arm(doors, item, "failed", "blocked", payload=b'"why"', key="k", by="ann")
    assert (armed.state, armed.already, armed.has_changed) == ("doing", False, True)
    assert armed.signal.trigger.to == ("blocked", "failed")
    assert (await doors.items.get_item("default", item)).signals == 1

    await move(doors, item, ItemStatus.BLOCKED, ItemStatus.DOING, ItemStatus.BLOCKED)
    assert await fire(wire) >= 1

    view = await doors.signals.get_signal("default", armed.signal.id)
    assert (view.signal.status, view.signal.fired, view.state) == (SignalStatus.FIRED, 1, "blocked")
    firings = (await doors.signals.list_firings(ListFirings(**OURS, signal_id=armed.signal.id))).firings
    (done,) = [firing for firing in firings if firing.status is FiringStatus.DONE]
    assert (done.from_status, done.to_status, done.subject_id) == ("doing", "blocked", item)
    (task,) = (await doors.items.get_item("default", item)).tasks
    assert (task.id, task.title, task.firing_id) == (done.task_id, "Look at it", done.id)
    explained = await doors.signals.explain_signal("default", armed.signal.id)
    assert (explained.signal, explained.code) == (armed.signal.id, Situation.FIRED)
    log = await doors.signals.read_signal_log("default", armed.signal.id)
    assert (log[0].cause, log[0].to_status) == ("create", "armed")
    assert "fire" in {entry.cause for entry in log}


async def test_a_signal_is_changed_paused_resumed_cancelled_and_forgotten(wire: Wire, doors: Service) -> None:
    item = await new_item(doors, ItemStatus.READY)
    id = (await arm(doors, item, "blocked")).signal.id

    changed = await doors.signals.update_signal(UpdateSignal(**OURS, signal_id=id, to=("doing",), payload=b"1"))
    assert (changed.signal.trigger.to, changed.signal.payload, changed.has_changed) == (("doing",), b"1", True)
    same = await doors.signals.update_signal(UpdateSignal(**OURS, signal_id=id, repeats=False))
    assert (same.signal.trigger.to, same.has_changed) == (("doing",), False)
    with pytest.raises(InvalidInput, match="states are backlog") as empty:
        await doors.signals.update_signal(UpdateSignal(**OURS, signal_id=id, to=()))
    assert empty.value.path == "to"

    paused = await doors.signals.steer_signal(SteerSignal(**OURS, signal_id=id, verb=SignalVerb.PAUSE, note="later"))
    assert (paused.signal.status, paused.signal.reason) == (SignalStatus.PAUSED, "later")
    await move(doors, item, ItemStatus.DOING)
    assert await fire(wire) == 0
    assert (await doors.signals.get_signal("default", id)).queued == 1
    await doors.signals.steer_signal(SteerSignal(**OURS, signal_id=id, verb=SignalVerb.RESUME))
    assert await fire(wire) == 1
    assert len((await doors.items.get_item("default", item)).tasks) == 1

    other = (await arm(doors, item, "done")).signal.id
    cancelled = await doors.signals.steer_signal(SteerSignal(**OURS, signal_id=other, verb=SignalVerb.CANCEL))
    assert cancelled.signal.status is SignalStatus.CANCELLED
    with pytest.raises(WrongState):
        await doors.signals.update_signal(UpdateSignal(**OURS, signal_id=other, to=("failed",)))
    await doors.signals.delete_signal(DeleteSignal(**OURS, signal_id=other))
    with pytest.raises(NotFound):
        await doors.signals.get_signal("default", other)


async def test_what_a_program_declares_and_who_watches_what_can_be_listed(doors: Service) -> None:
    item, other = await new_item(doors), await new_item(doors)
    first, second = [(await arm(doors, one, "done")).signal.id for one in (item, other)]
    failed = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))
    start = Action(kind=ActionKind.START, workflow="page", queue="default")
    declared = DeclaredSignal(name="page_somebody", trigger=failed, action=start, repeats=True)
    await doors.signals.declare_signals(DeclareSignals(**OURS, program="p", signals=(declared,)))

    async def found(**asked: Any) -> list[SignalId]:
        page = await doors.signals.list_signals(ListSignals(**OURS, **asked))
        return [signal.id for signal in page.signals]

    assert await found(subject_kind="item", subject=other) == [second]
    assert await found(subject_kind="item") == [second, first]
    (third,) = await found(subject_kind="workflow", subject="order")
    view = await doors.signals.get_signal("default", third)
    assert (view.signal.declared_in, view.signal.is_declared, view.signal.action) == ("p", True, start)
    assert await found(status=SignalStatus.FIRED) == []
    page = await doors.signals.list_signals(ListSignals(**OURS, limit=2))
    rest = await doors.signals.list_signals(ListSignals(**OURS, limit=2, before=page.next))
    assert {signal.id for signal in (*page.signals, *rest.signals)} == {first, second, third}
    await doors.signals.declare_signals(DeclareSignals(**OURS, program="p", signals=()))
    assert (await doors.signals.get_signal("default", third)).signal.status is SignalStatus.PAUSED


async def test_firings_are_read_page_by_page_newest_first(wire: Wire, doors: Service, clock: FakeClock) -> None:
    item = await new_item(doors, ItemStatus.READY)
    id = (await arm(doors, item, "doing", "ready", repeats=True)).signal.id
    for state in (ItemStatus.DOING, ItemStatus.READY) * 3:
        await move(doors, item, state)
        clock.advance("1s")
    assert await fire(wire) == 6

    found: list[FiringRow] = []
    before: str | None = None
    while True:
        page = await doors.signals.list_firings(ListFirings(**OURS, signal_id=id, limit=4, before=before))
        found += page.firings
        if (before := page.next) is None:
            break

    assert [firing.to_status for firing in found] == ["ready", "doing"] * 3
    assert len({firing.id for firing in found}) == 6
    all_done = await doors.signals.list_firings(ListFirings(**OURS, status=FiringStatus.DONE))
    assert [firing.id for firing in all_done.firings] == [firing.id for firing in found]


# Asked twice


async def test_a_client_that_loses_every_answer_once_does_everything_once(wire: Wire, twice: Remote) -> None:
    item = await new_item(twice, ItemStatus.READY, ItemStatus.DOING, key="k")
    task = await twice.items.add_task(AddTask(**OURS, item_id=item, title="Look"))
    await twice.items.end_task(EndTask(**OURS, task_id=task.id, status=TaskStatus.FAILED))
    armed = await arm(twice, item, "blocked", key="k")
    changed = await twice.signals.update_signal(UpdateSignal(**OURS, signal_id=armed.signal.id, payload=b"1"))
    paused = await twice.signals.steer_signal(
        SteerSignal(**OURS, signal_id=armed.signal.id, verb=SignalVerb.PAUSE, note="later")
    )
    await move(twice, item, ItemStatus.BLOCKED)
    await twice.signals.steer_signal(SteerSignal(**OURS, signal_id=armed.signal.id, verb=SignalVerb.RESUME))
    assert await fire(wire) == 1

    assert (armed.has_changed, changed.has_changed, paused.has_changed) == (True, True, True)
    (only,) = (await wire.opened.items.list_items(ListItems(**OURS))).items
    (signal,) = (await wire.opened.signals.list_signals(ListSignals(**OURS))).signals
    assert (only.id, signal.id, signal.fired) == (item, armed.signal.id, 1)
    assert len((await wire.opened.items.get_item("default", item)).tasks) == 2
    log = await wire.opened.items.read_item_log("default", item)
    assert [entry.to_status for entry in log] == ["backlog", "ready", "doing", "blocked"]
    causes = [entry.cause for entry in await wire.opened.signals.read_signal_log("default", signal.id)]
    assert causes == ["create", "update", "pause", "resume", "fire"]
    await twice.signals.delete_signal(DeleteSignal(**OURS, signal_id=signal.id))
    await twice.items.delete_item(DeleteItem(**OURS, item_id=item))
    assert (await wire.opened.items.list_items(ListItems(**OURS))).items == ()


async def test_what_was_never_there_is_not_deleted(wire: Wire) -> None:
    remote = await remote_of(wire)

    with pytest.raises(NotFound):
        await remote.items.delete_item(DeleteItem(**OURS, item_id=ItemId("itm_" + "0" * 26)))
    with pytest.raises(NotFound):
        await remote.signals.delete_signal(DeleteSignal(**OURS, signal_id=SignalId("sig_" + "0" * 26)))

    await remote.close()


# With the stock tools of any language


async def create_item(client: Caller) -> str:
    found: str = (await client.ask(SIGNALS + "CreateItem", signal_pb2.CreateItemRequest(title="Mend it"))).id
    return found


async def transition(client: Caller, item: str, *states: int) -> None:
    for state in states:
        request = signal_pb2.TransitionItemRequest(item_id=item, to=state)  # type: ignore[arg-type]
        await client.ask(SIGNALS + "TransitionItem", request)


async def test_a_firing_starts_a_workflow_that_any_worker_reads(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT)
    worker = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    worker.served = [model_pb2.Served(queue="calls", name="page")]
    await worker.register()
    item = await create_item(client)
    start = signal_pb2.SignalAction(kind=signal_pb2.ACTION_KIND_START, workflow="page")
    request = signal_pb2.CreateSignalRequest(trigger=on_item(item, "ready"), action=start, payload=b'{"to":"ann"}')
    made = (await client.ask(SIGNALS + "CreateSignal", request)).signal
    assert made.action.queue == "calls"

    await transition(client, item, signal_pb2.ITEM_STATUS_READY)
    assert await fire(wire) == 1

    run = await worker.claim()
    ((firing,),) = json.loads(run.input).values()
    assert (firing["signal_id"], firing["subject_id"], firing["to_status"]) == (made.id, item, "ready")
    assert firing["payload"] == {"to": "ann"}
    await worker.caller.work("FinishRuns", finish(run))
    (told,) = (await client.ask(SIGNALS + "ListFirings", signal_pb2.ListFiringsRequest(signal_id=made.id))).firings
    assert (told.id, told.run_id, told.status) == (firing["firing_id"], run.run_id, signal_pb2.FIRING_STATUS_DONE)


async def test_a_firing_is_sent_to_a_run(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT)
    run_id, item = await client.begin_run(), await create_item(client)
    send = signal_pb2.SignalAction(kind=signal_pb2.ACTION_KIND_SEND, run_id=run_id, event="ready")
    request = signal_pb2.CreateSignalRequest(trigger=on_item(item, "ready"), action=send, payload=b'{ "n": 1 }')
    await client.ask(SIGNALS + "CreateSignal", request)

    await transition(client, item, signal_pb2.ITEM_STATUS_READY)
    assert await fire(wire) == 1

    (sent,) = await wire.opened.runs.list_messages("default", run_id)  # type: ignore[arg-type]
    assert (sent.name, sent.payload) == ("ready", b'{ "n": 1 }')


async def test_a_signal_that_is_not_told_what_to_do_records_a_task(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT)
    item = await create_item(client)
    await client.ask(SIGNALS + "CreateSignal", signal_pb2.CreateSignalRequest(trigger=on_item(item, "ready")))

    await transition(client, item, signal_pb2.ITEM_STATUS_READY)
    assert await fire(wire) == 1

    view = (await client.ask(SIGNALS + "GetItem", signal_pb2.GetItemRequest(item_id=item))).view
    assert [task.title[:10] for task in view.tasks] == ["Follow up:"]


async def test_a_workflow_that_nobody_knows_is_refused_unless_somebody_vouches_for_it(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT)
    trigger = signal_pb2.SignalTrigger(kind=ON_WORKFLOW, subject="ordr", to=["failed"])
    request = signal_pb2.CreateSignalRequest(trigger=trigger, action=signal_pb2.SignalAction())

    refused = await client.refusal(SIGNALS + "CreateSignal", request)
    request.allow_unknown = True
    made = await client.ask(SIGNALS + "CreateSignal", request)

    assert (refused.status, refused.code) == (Code.NOT_FOUND, "not_found")
    assert made.signal.trigger.subject == "ordr"


async def test_what_happens_to_signals_stands_in_the_log_that_is_followed(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT)
    item = await create_item(client)
    request = signal_pb2.CreateSignalRequest(trigger=on_item(item, "ready"))
    signal = (await client.ask(SIGNALS + "CreateSignal", request)).signal.id
    await transition(client, item, signal_pb2.ITEM_STATUS_READY)
    await fire(wire)

    log = await client.ask(SIGNALS + "ReadSignalLog", signal_pb2.ReadSignalLogRequest(signal_id=signal))
    later = signal_pb2.ReadSignalLogRequest(signal_id=signal, after=log.entries[0].seq)

    assert [entry.cause for entry in log.entries] == ["create", "fire"]
    assert [entry.cause for entry in (await client.ask(SIGNALS + "ReadSignalLog", later)).entries] == ["fire"]
