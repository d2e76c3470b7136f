"""What is told about pipelines in several answers: is all of it there, once, and is what fits into none handled?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.server.piping import INPUT, Shop, event, open_shop, spec
from tests.integration.server.wire import Wire
from windlass.api import sizes_of_pipelines
from windlass.api.grpc import methods_of_pipeline_work, methods_of_pipelines, table
from windlass.api.grpc.channel import Target
from windlass.api.grpc.remote import Remote
from windlass.errors import InvalidInput
from windlass.model.access import EVERY_NAMESPACE, Role
from windlass.model.pipeline import HandlerRunId, InputId, NewEvent
from windlass.model.pipeline_commands import ListEvents, ListHandlerRuns
from windlass.model.pipeline_work import CommitHandler, ReadEvents
from windlass.rules import reservations
from windlass.rules.inputs import input_id
from windlass.rules.limits import MAX_STORED
from windlass.runtime import SystemClock
from windlass.v1 import pipeline_pb2, pipeline_work_pb2

COUNT = 7
OF_INPUT = InputId(input_id(INPUT.source, INPUT.type, INPUT.external_id))


@pytest.fixture
async def remote(memory_wire: Wire) -> AsyncIterator[Remote]:
    _, token = await memory_wire.key(Role.ADMIN, namespace=EVERY_NAMESPACE)
    found = Remote([Target(memory_wire.address, None)], token=token, clock=SystemClock(), ids=memory_wire.opened.ids)
    yield found
    await found.close()


SMALL = pytest.mark.parametrize("items", [1, 2, 1_000], ids=lambda items: f"{items} at a time")


def shrink(monkeypatch: pytest.MonkeyPatch, items: int) -> None:
    """Answers that hold next to nothing."""
    monkeypatch.setattr(table, "PAGE_ITEMS", items)
    monkeypatch.setattr(methods_of_pipelines, "PAGE_BYTES", 3_000)


async def consumed(shop: Shop) -> tuple[Any, Any]:
    """An attempt that reserved several events, with its effect, and published several more."""
    claimed, task = await shop.consuming(*[event(f"o-{n}", payload=b"x" * 900, input=INPUT) for n in range(COUNT)])
    found = await shop.worker.read(claimed, limit=COUNT)
    await shop.worker.reserve(claimed, *_all(found), task=task, data=b"d" * 2_000)
    await shop.worker.begin(claimed, task, params=b"p" * 2_500)
    await shop.worker.apply(claimed, task, result=b"r" * 2_000)
    receipts = [pipeline_work_pb2.NewEvent(topic="order.paid", id=f"r-{n}", payload=b"y" * 700) for n in range(COUNT)]
    await shop.worker.commit(claimed, task, events=receipts, continues=False)
    return claimed, task


def _all(found: Any) -> list[Any]:
    assert not found.has_more
    return list(found.events)


@SMALL
@pytest.mark.spec("invariants:I-59")
async def test_all_parts_together_are_the_whole(
    memory_wire: Wire, remote: Remote, monkeypatch: pytest.MonkeyPatch, items: int
) -> None:
    shop = await open_shop(memory_wire, spec(publishes=["order.paid"]), spec("refunds"), spec("audits"))
    _, task = await consumed(shop)
    there, here = remote.pipelines, memory_wire.opened.pipelines
    shrink(monkeypatch, items)
    run_id = HandlerRunId(task.run_id)

    assert await there.get_handler_run("default", run_id) == await here.get_handler_run("default", run_id)
    traced = await here.trace_input("default", "payments", OF_INPUT)
    assert len(traced.events) == 2 * COUNT
    assert await there.trace_input("default", "payments", OF_INPUT) == traced
    assert await there.list_topics("default") == await here.list_topics("default")
    names = [detail.view.pipeline.name for detail in await there.list_pipelines("default")]
    assert names == ["audits", "payments", "refunds"]
    seen, after = list[str](), 0
    while True:
        page = await there.list_events(ListEvents(namespace="default", pipeline="payments", after=after, limit=5))
        seen += [item.id for item in page.events]
        if page.next is None:
            break
        after = page.next
    assert seen == [f"o-{n}" for n in range(COUNT)] + [f"r-{n}" for n in range(COUNT)]


@SMALL
@pytest.mark.spec("invariants:I-59")
async def test_events_that_a_worker_looks_at_are_all_there(
    memory_wire: Wire, remote: Remote, monkeypatch: pytest.MonkeyPatch, items: int
) -> None:
    shop = await open_shop(memory_wire)
    claimed, _ = await shop.consuming(*[event(f"o-{n}") for n in range(COUNT)])
    shrink(monkeypatch, items)

    async def read(**more: Any) -> list[str]:
        command = ReadEvents(namespace="default", pipeline="payments", token=claimed.token, topic="order.paid", **more)
        return [item.id for item in await remote.work.read_events(command)]

    assert await read() == [f"o-{n}" for n in range(COUNT)]
    assert await read(limit=3) == ["o-0", "o-1", "o-2"]
    assert sorted(await read(ids=("o-6", "never", "o-1"))) == ["o-1", "o-6"]
    assert await read(ids=()) == []


@SMALL
@pytest.mark.spec("invariants:I-59")
async def test_open_effects_are_all_there(
    memory_wire: Wire, remote: Remote, monkeypatch: pytest.MonkeyPatch, items: int
) -> None:
    names = ("audits", "payments", "refunds")
    shop = await open_shop(memory_wire, *[spec(name) for name in names])
    await shop.publish(event())
    for name in names:
        shop.worker.name = name
        shop.worker.served[0].name = name
        claimed = await shop.worker.claim()
        (found,) = (await shop.worker.read(claimed)).events
        await shop.worker.reserve(claimed, found)
        await shop.worker.begin(claimed)
    shrink(monkeypatch, items)

    effects = await remote.pipelines.list_open_effects("default")

    assert sorted(effect.subject for effect in effects) == list(names)


async def test_a_pipeline_too_large_for_an_answer_is_told_in_short(
    memory_wire: Wire, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await open_shop(memory_wire, spec(publishes=["order.paid"]))
    _, task = await consumed(shop)
    monkeypatch.setattr(methods_of_pipelines, "PAGE_BYTES", 2_000)

    detail = await remote.pipelines.get_pipeline("default", "payments")

    runs = [view.last_run for view in detail.view.handlers if view.last_run is not None]
    assert [run.id for run in runs] == [task.run_id]
    assert runs[0].reserved == ()
    page = await remote.pipelines.list_handler_runs(ListHandlerRuns(namespace="default", pipeline="payments"))
    assert len(page.runs[0].reserved) == COUNT


def test_whatever_could_be_reserved_fits_into_an_answer_with_what_its_effect_returned() -> None:
    around = reservations.MOST_RESERVED * sizes_of_pipelines.LEAST_SIZE + 3 * sizes_of_pipelines.LEAST_SIZE

    assert reservations.MOST_BYTES + MAX_STORED + around <= methods_of_pipeline_work.LARGEST_TASK


async def test_a_task_too_large_for_an_answer_stops_its_handler_and_says_why(
    memory_wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await open_shop(memory_wire)
    claimed, producer = await shop.producing()
    await shop.worker.commit(claimed, producer, has_state=True, state=b"s" * 5_000)
    await shop.ask("RunNow", pipeline_pb2.SteerPipelineRequest(name="payments"))
    monkeypatch.setattr(methods_of_pipeline_work, "LARGEST_TASK", 4_000)

    assert await shop.worker.poll() == []

    view = (await shop.get()).view
    assert (view.pipeline.issue, view.run.status) == (
        pipeline_pb2.ISSUE_INTERNAL, pipeline_pb2.HANDLER_STATUS_FAILED_INTERNAL,
    )  # fmt: skip
    assert "6,000 bytes" in view.run.failure.message
    assert await shop.worker.poll() == []


async def test_a_commit_too_large_for_a_call_says_what_to_do(memory_wire: Wire, remote: Remote) -> None:
    shop = await open_shop(memory_wire)
    claimed, producer = await shop.producing()
    command = CommitHandler(
        namespace="default",
        pipeline="payments",
        token=claimed.token,
        run_id=HandlerRunId(producer.run_id),
        events=tuple(NewEvent(topic="order.paid", id=f"o-{n}", payload=b"x" * 1_500) for n in range(3_000)),
    )

    with pytest.raises(InvalidInput, match=r"3,000 events .* 4,500,000 bytes .*Publish less at a time") as refused:
        await remote.work.commit_handler(command)

    assert refused.value.reason == "too_large"
    assert (await shop.worker.commit(claimed, producer)).at > 0
