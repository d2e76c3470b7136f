"""What does a start accept, what does it refuse before anything is written, and when is it the same run again?"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness, path_of, row_of
from tests.programs import sleeps
from windlass import AlreadyExists, App, Context, InvalidInput, NotAllowed, NotFound, ResultTimeout, RunFailed
from windlass.codec import MAX_PAYLOAD
from windlass.model.duration import from_instant
from windlass.model.page import ListRuns
from windlass.model.time import Duration, Instant
from windlass.settings import Settings
from windlass.testing.harness import Harness

SECOND, HOUR = 1_000_000, 3_600_000_000


async def count_runs(harness: Harness) -> int:
    return len((await harness.opened.runs.list_runs(ListRuns(namespace="default", limit=500))).runs)


@dataclass
class Item:
    name: str
    count: int


@pytest.fixture
async def shop(open_harness: OpenHarness) -> Harness:
    """An app that knows "order" and "invoice", and has no worker."""
    harness = await open_harness(has_worker=False)
    harness.app.workflow(order)
    harness.app.workflow(invoice)
    return harness


async def order(ctx: Context, id: str, count: int = 1) -> str:
    return f"{count} of {id}"


async def invoice(ctx: Context, item: Item, at: datetime | None = None, notes: Any = None) -> str:
    return item.name


@pytest.mark.spec("invariants:I-56", "security:38")
async def test_the_same_key_is_the_same_run_also_after_it_has_finished(harness: Harness) -> None:
    harness.app.workflow(invoice)
    first = await harness.start(invoice, Item("a", 1), None, {"x": 1, "y": 2}, key="i-1")
    await first.result()

    again = await harness.start(invoice, Item("a", 1), None, {"y": 2, "x": 1}, key="i-1")

    assert again.id == first.id
    assert await again.result() == "a"
    assert await count_runs(harness) == 1
    assert (await row_of(harness, first)).attempts == 1


@pytest.mark.spec("invariants:I-56", "security:40")
async def test_fifty_starts_of_one_key_at_once_are_one_run(harness: Harness) -> None:
    harness.app.workflow(order)

    handles = await asyncio.gather(*(harness.start(order, "7", key="order-7") for _ in range(50)))

    assert len({handle.id for handle in handles}) == 1
    assert await asyncio.gather(*(handle.result() for handle in handles)) == 50 * ["1 of 7"]
    assert await count_runs(harness) == 1


@pytest.mark.spec("invariants:I-56", "security:40")
async def test_starts_of_one_key_by_two_processes_are_one_run(open_shared: OpenHarness) -> None:
    apps = [await open_shared(has_worker=False) for _ in range(2)]
    for harness in apps:
        harness.app.workflow(order)

    handles = await asyncio.gather(*(apps[number % 2].start(order, "7", key="order-7") for number in range(50)))

    assert len({handle.id for handle in handles}) == 1
    assert await count_runs(apps[0]) == 1


@pytest.mark.spec("invariants:I-56", "security:39")
async def test_the_same_key_with_other_input_is_refused_and_creates_nothing(harness: Harness) -> None:
    harness.app.workflow(order)
    harness.app.workflow(invoice)
    first = await harness.start(order, "7", key="order-7")
    await first.result()
    harness.clock.advance("2h")

    with pytest.raises(AlreadyExists) as other_input:
        await harness.start(order, "8", key="order-7")
    with pytest.raises(AlreadyExists) as other_workflow:
        await harness.start(invoice, Item("a", 1), key="order-7")

    assert str(other_input.value) == (
        f"Key 'order-7' belongs to {first.id} (completed 2 h ago) with other input: ['7'], not ['8']. "
        "Use another key, or app.handle(order, key='order-7')."
    )
    assert (other_input.value.reason, other_input.value.owner) == ("idempotency_conflict", first.id)
    assert str(other_workflow.value) == (
        f"Key 'order-7' belongs to {first.id} (completed 2 h ago) of workflow 'order', not 'invoice'. Use another key."
    )
    assert await count_runs(harness) == 1
    assert await harness.app.handle(order, key="order-7").result() == "1 of 7"


@pytest.mark.spec("security:39")
async def test_of_conflicting_starts_at_once_one_wins_and_the_others_are_refused(shop: Harness) -> None:
    answers = await asyncio.gather(
        *(shop.start(order, str(number % 3), key="order-7") for number in range(30)), return_exceptions=True
    )

    refused = [answer for answer in answers if isinstance(answer, AlreadyExists)]
    assert len(refused) == 20
    assert len({answer.owner for answer in refused}) == 1
    assert await count_runs(shop) == 1


async def test_runs_without_a_key_are_all_different(shop: Harness) -> None:
    handles = await asyncio.gather(*(shop.start(order, "7") for _ in range(50)))

    assert len({handle.id for handle in handles}) == 50
    assert sorted(handle.id for handle in handles) == [handle.id for handle in handles]  # ids sort by creation


@pytest.mark.spec("security:42")
async def test_a_key_is_free_again_when_it_has_expired(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=Settings(keys_expire_for=Duration(HOUR)))
    harness.app.workflow(order)
    first = await harness.start(order, "7", key="order-7")
    await harness.advance("59m")
    assert (await harness.start(order, "7", key="order-7")).id == first.id
    with pytest.raises(AlreadyExists):
        await harness.start(order, "8", key="order-7")
    await harness.advance("1m")

    second = await harness.start(order, "8", key="order-7")

    assert second.id != first.id
    assert (await first.result(), await second.result()) == ("1 of 7", "1 of 8")
    assert (await harness.start(order, "8", key="order-7")).id == second.id
    found = harness.app.handle(order, key="order-7")
    assert (await found.result(), found.id) == ("1 of 8", second.id)


@pytest.mark.spec("security:42")
async def test_a_key_that_does_not_expire_is_kept_for_ever(harness: Harness) -> None:
    harness.app.workflow(order)
    first = await harness.start(order, "7", key="order-7")
    await first.result()
    harness.clock.advance("3650d")

    assert (await harness.start(order, "7", key="order-7")).id == first.id


@pytest.mark.spec("security:41")
@pytest.mark.parametrize("key", ["", "   ", " a", "a ", "x" * 256, "a\nb", "a\x00", "\ud800", 7, b"a", "\u2028"])
async def test_bad_keys_are_refused(shop: Harness, key: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        await shop.start(order, "7", key=key)

    assert refused.value.path == "key"
    assert await count_runs(shop) == 0


@pytest.mark.spec("security:41")
async def test_a_key_of_another_namespace_is_another_key(open_shared: OpenHarness) -> None:
    here, there = await open_shared(has_worker=False), await open_shared(has_worker=False, namespace="there")
    handles = [await harness.start(harness.app.workflow(order), "7", key="order-7") for harness in (here, there)]

    assert handles[0].id != handles[1].id
    with pytest.raises(NotFound):
        await there.app.handle(handles[0].id).status()


@pytest.mark.parametrize("key", ["x" * 255, "order 7", "日本-7", "a/b:c#d", "'; drop table runs; --"])
async def test_a_key_is_any_readable_text(shop: Harness, key: str) -> None:
    handle = await shop.start(order, "7", key=key)

    assert (await shop.start(order, "7", key=key)).id == handle.id
    assert await shop.app.handle(order, key=key).status() == "pending"


async def test_a_delayed_run_starts_when_its_delay_has_passed(harness: Harness) -> None:
    harness.app.workflow(order)
    begun_at = harness.clock.now()
    handle = await harness.start(order, "7", delay="1h")
    await harness.idle()
    assert (await row_of(harness, handle)).available_at == begun_at + HOUR

    await harness.advance(HOUR - 1)
    assert await handle.status() == "pending"
    await harness.advance(1)

    assert await handle.result() == "1 of 7"
    assert await path_of(harness, handle) == ["pending", "running", "completed"]


async def test_a_run_may_start_at_a_time(harness: Harness) -> None:
    harness.app.workflow(order)
    now = from_instant(Instant(harness.clock.now()))
    handle = await harness.start(order, "7", at=(now + timedelta(days=40)).astimezone())
    await harness.advance(timedelta(days=40) - timedelta(microseconds=1))
    assert await handle.status() == "pending"
    await harness.advance(1)

    assert await handle.result() == "1 of 7"


@pytest.mark.spec("security:48")
async def test_a_time_that_has_passed_means_now(harness: Harness) -> None:
    harness.app.workflow(order)

    handle = await harness.start(order, "7", at=datetime(1999, 1, 1, tzinfo=UTC))

    assert await handle.result() == "1 of 7"


@pytest.mark.spec("security:48")
@pytest.mark.parametrize(
    "options",
    [
        {"at": datetime.fromisoformat("2030-01-01")},
        {"at": datetime(1, 1, 1, tzinfo=UTC)},
        {"at": "2026-02-30"},
        {"at": 5},
        {"at": datetime(2126, 1, 1, tzinfo=UTC)},
        {"delay": -1},
        {"delay": "5"},
        {"delay": True},
        {"delay": float("nan")},
        {"delay": "1s", "at": datetime(2030, 1, 1, tzinfo=UTC)},
        {"priority": 11},
        {"priority": -11},
        {"priority": 1.5},
        {"priority": True},
        {"priority": "high"},
        {"queue": ""},
        {"queue": "a/b"},
        {"queue": "x" * 201},
        {"queue": 5},
        {"region": "eu"},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": "1 fortnight"},
        {"timeout": "11000d"},
        {"timeout": True},
    ],
)
async def test_bad_options_are_refused_before_anything_is_written(shop: Harness, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await shop.start(order, "7", **options)

    assert refused.value.path in options
    assert await count_runs(shop) == 0


class Opaque:
    pass


@pytest.mark.spec(
    "security:15", "security:16", "security:20", "security:21", "security:25", "security:26", "security:28"
)
@pytest.mark.parametrize(
    ("function", "args", "words"),
    [
        (order, (), "Workflow 'order' needs 'id' (str) and got no arguments: app.start(order, id, count)."),
        (order, ("7", 1, 2), "Workflow 'order' takes 2 arguments and got 3: app.start(order, id, count)."),
        (order, (7,), "$.id"),
        (order, (None,), "$.id"),
        (order, ("7", "1"), "$.count"),
        (order, ("7", 1.5), "$.count"),
        (order, ("7", True), "$.count"),
        (order, ("\ud800",), "$.id"),
        (invoice, ({"name": "a", "count": 1},), "$.item"),
        (invoice, (Item("a", "1"),), "$.item.count"),  # type: ignore[arg-type]
        (invoice, (Item("a", 1), datetime.fromisoformat("2027-01-01")), "timezone required"),
        (invoice, (Item("a", 1), None, float("nan")), "non-finite number at $.notes"),
        (invoice, (Item("a", 1), None, [float("inf")]), "non-finite number at $.notes[0]"),
        (invoice, (Item("a", 1), None, {"x": float("-inf")}), "non-finite number at $.notes.x"),
        (invoice, (Item("a", 1), None, json.loads(65 * "[" + 65 * "]")), "depth > 64"),
        (invoice, (Item("a", 1), None, (number for number in range(3))), "$.notes is a generator"),
        (invoice, (Item("a", 1), None, {"x": [1, Opaque()]}), "$.notes.x[1] is an Opaque"),
        (invoice, (Item("a", 1), None, {1: 2}), "keys must be strings"),
        (invoice, (Item("a", 1), None, lambda: None), "$.notes is a function"),
        (invoice, (Item("a", 1), None, Item("b", 2)), "$.notes is an Item but declares no type"),
    ],
)
async def test_bad_arguments_are_refused_before_anything_is_written(
    shop: Harness, function: Any, args: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await shop.start(function, *args)

    assert words in str(refused.value)
    assert await count_runs(shop) == 0


@pytest.mark.spec("security:28")
async def test_input_nested_without_end_is_refused_like_any_other(shop: Harness) -> None:
    notes: Any = None
    for _ in range(200_000):
        notes = [notes]

    with pytest.raises(InvalidInput, match="depth > 64"):
        await shop.start(invoice, Item("a", 1), None, notes)

    assert await count_runs(shop) == 0


@pytest.mark.spec("security:29")
async def test_input_of_the_largest_size_is_accepted_and_one_byte_more_is_not(shop: Harness) -> None:
    room = MAX_PAYLOAD - len('{"$tuple":[""]}')

    with pytest.raises(InvalidInput, match=f"limit {MAX_PAYLOAD}") as refused:
        await shop.start(order, "x" * (room + 1))
    handle = await shop.start(order, "x" * room)

    assert refused.value.reason == "payload_too_large"
    assert await handle.status() == "pending"
    assert await count_runs(shop) == 1


async def test_an_unknown_workflow_is_answered_with_names_that_look_alike(shop: Harness) -> None:
    async def ordr(ctx: Context) -> None: ...

    with pytest.raises(NotFound) as unknown:
        await shop.start(ordr)

    assert unknown.value.close == ("order",)
    assert "Workflow 'ordr' does not exist. Did you mean 'order'?" in str(unknown.value)
    assert await count_runs(shop) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: order(Opaque(), "7"), "takes the function, not its result: app.start(order, …), without calling it."),  # type: ignore[arg-type]
        (lambda: None, "takes the function of a workflow, not None."),
    ],
)
async def test_what_is_no_workflow_is_refused_with_what_to_write(shop: Harness, wrong: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await shop.app.start(wrong(), "7")
    with pytest.raises(InvalidInput) as one_of_many:
        await shop.app.start_many([windlass.call(order, "7"), windlass.call(wrong(), "7")])

    assert str(refused.value) == f"app.start() {said}"
    assert str(one_of_many.value).startswith("calls[1]: windlass.call() takes the function")
    assert await count_runs(shop) == 0


async def test_a_workflow_of_another_app_is_said_to_be_one(shop: Harness) -> None:
    async def elsewhere(ctx: Context) -> None: ...

    other = App("sqlite:///:memory:")
    other.workflow(elsewhere)

    with pytest.raises(NotFound, match=r"elsewhere \(test_start.py:\d+\) is declared in another App: ask that one"):
        await shop.app.start(elsewhere)


@pytest.mark.spec("security:10")
@pytest.mark.parametrize("run_id", ["", "run_", "order-7", "RUN_" + 26 * "0", "run_" + 26 * "i", " run_" + 26 * "0"])
async def test_an_id_that_is_none_of_ours_is_refused(shop: Harness, run_id: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        shop.app.handle(run_id)

    assert refused.value.reason == "invalid_id"


@pytest.mark.spec("security:10")
async def test_a_run_that_does_not_exist_is_not_found(shop: Harness) -> None:
    for call in (
        shop.app.handle("run_" + 26 * "0").result(),
        shop.app.handle("run_" + 26 * "0").status(),
        shop.app.handle(order, key="never").result(),
        shop.app.handle(order, key="never").status(),
    ):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(NotAllowed):
        _ = shop.app.handle(order, key="never").id


async def test_a_handle_made_of_a_key_is_of_its_workflow(shop: Harness) -> None:
    handle = await shop.start(order, "7", key="order-7")

    found = shop.app.handle(order, key="order-7")
    assert await found.status() == "pending"
    assert found.id == handle.id
    with pytest.raises(NotFound):
        await shop.app.handle(invoice, key="order-7").status()


async def test_a_handle_made_of_a_key_has_the_result_after_the_end(open_shared: OpenHarness) -> None:
    worker, client = await open_shared(), await open_shared(has_worker=False)
    for harness in (worker, client):
        harness.app.workflow(order)
    started = await worker.start(order, "7", key="order-7")
    await started.result()

    handle = client.app.handle(order, key="order-7")

    assert (await handle.result(), await handle.status(), handle.id) == ("1 of 7", "completed", started.id)


async def test_a_key_nobody_has_used_is_said_so_by_every_call(shop: Harness) -> None:
    for call in ("result", "status", "explain", "cancel", "pause", "resume", "retry", "approve", "reject"):
        with pytest.raises(NotFound, match="'order-8' does not exist"):
            await getattr(shop.app.handle(order, key="order-8"), call)()


async def test_a_handle_wants_an_id_or_a_workflow_and_its_key(shop: Harness) -> None:
    for wanted in ((order, None), ("order", "order-7")):
        with pytest.raises(InvalidInput) as refused:
            shop.app.handle(wanted[0], key=wanted[1])  # type: ignore[arg-type]
        assert str(refused.value) == (
            "handle() takes a run id, or a workflow and its key or run_id: app.handle(order, key='order-7')."
        )


@pytest.mark.parametrize("given_to", ["start", "workflow"])
async def test_a_run_that_outlives_its_time_fails_as_a_timeout(harness: Harness, given_to: str) -> None:
    nap = harness.app.workflow(timeout="1h" if given_to == "workflow" else None)(sleeps("2h", then="awake"))
    handle = await harness.start(nap, timeout="1h" if given_to == "start" else None)
    other = await harness.start(nap, timeout="1d")
    await harness.idle()
    await harness.advance("59m")
    assert await handle.status() == "sleeping"
    await harness.advance("1m")

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert failed.value.kind == "timeout"
    await harness.advance("1h")
    assert await other.result() == "awake"


async def test_a_run_nobody_took_in_time_fails_as_a_timeout(shop: Harness) -> None:
    handle = await shop.start(order, "7", timeout="1h", delay="30m")
    shop.clock.advance("89m")
    assert await handle.status() == "pending"
    shop.clock.advance("1m")

    async with shop.app.worker():
        with pytest.raises(RunFailed) as failed:
            await handle.result()
    assert failed.value.kind == "timeout"


@pytest.mark.spec("invariants:I-11")
async def test_arguments_arrive_as_what_they_were(harness: Harness) -> None:
    seen: list[Any] = []

    @harness.app.workflow
    async def look(ctx: Context, item: Item, at: datetime, notes: Any, more: tuple[int, ...] = (1, 2)) -> str:
        seen.append((item, at, notes, more))
        await ctx.sleep("1h")
        return ctx.key or ""

    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    notes = {"big": 2**70, "raw": b"\x00", "none": None, "set": {1, 2}, "text": "ü", "$tuple": "data"}

    assert await harness.run(look, Item("a", 1), at, notes, key="k") == "k"
    assert seen == 2 * [(Item("a", 1), at, notes, (1, 2))]


async def test_a_result_that_does_not_come_in_time_leaves_the_run_alone(harness: Harness) -> None:
    nap = harness.app.workflow(sleeps("1h", then="awake"))
    handle = await harness.start(nap)
    await harness.idle()
    waiting = asyncio.ensure_future(handle.result(timeout="10s"))
    while not waiting.done():
        harness.clock.advance("1s")
        await asyncio.wait([waiting], timeout=0.01)

    with pytest.raises(ResultTimeout) as late:
        await waiting
    assert (late.value.status, late.value.run_id) == ("sleeping", handle.id)
    assert isinstance(late.value, TimeoutError)
    await harness.advance("1h")
    assert await handle.result(timeout=0) == "awake"


async def test_higher_priority_goes_first_through_a_worker_too(open_harness: OpenHarness) -> None:
    harness = await open_harness(has_worker=False)
    entered: list[int] = []

    @harness.app.workflow
    async def note(ctx: Context, priority: int) -> None:
        entered.append(priority)

    handles = [await harness.start(note, priority, priority=priority) for priority in (0, -10, 10, 5, -1)]
    async with harness.app.worker(slots=1):
        for handle in handles:
            await handle.result()

    assert entered == [10, 5, 0, -1, -10]
