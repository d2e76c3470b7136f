"""Do branches of one run meet in the same order at every replay, whatever asyncio offers to make them?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, path_of, row_of, step_keys
from windlass import Context, InvalidInput, Retry, RunFailed, StepError, StepFailed
from windlass.model.run import RunId
from windlass.settings import Settings
from windlass.testing.harness import Harness


async def double(number: int) -> int:
    return 2 * number


async def gathered(ctx: Context) -> list[int]:
    return list(await asyncio.gather(*(ctx.step(double, number) for number in range(3))))


async def grouped(ctx: Context) -> list[int]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ctx.step(double, number, key=str(number))) for number in range(3)]
    return [task.result() for task in tasks]


async def waited(ctx: Context) -> list[int]:
    tasks = [asyncio.create_task(ctx.step(double, number, key=str(number))) for number in range(3)]
    _, pending = await asyncio.wait(tasks)
    assert not pending
    return [task.result() for task in tasks]


async def first_completed(ctx: Context) -> list[int]:
    quick = asyncio.create_task(ctx.step(double, 0, key="quick"))
    never = asyncio.create_task(ctx.sleep("10d"))
    done, pending = await asyncio.wait([quick, never], return_when=asyncio.FIRST_COMPLETED)
    assert (done, pending) == ({quick}, {never})
    never.cancel()
    return [quick.result(), 2, 4]


async def waited_for(ctx: Context) -> list[int]:
    return [await asyncio.wait_for(ctx.step(double, number, key=str(number)), timeout=60) for number in range(3)]


async def limited(ctx: Context) -> list[int]:
    permits = asyncio.Semaphore(1)

    async def one(number: int) -> int:
        async with permits:
            return await ctx.step(double, number, key=str(number))

    return list(await asyncio.gather(*map(one, range(3))))


async def locked(ctx: Context) -> list[int]:
    lock, found = asyncio.Lock(), list[int]()

    async def one(number: int) -> None:
        async with lock:
            found.append(await ctx.step(double, number, key=str(number)))

    await asyncio.gather(*map(one, range(3)))
    return found


async def queued(ctx: Context) -> list[int]:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)

    async def produce() -> None:
        for number in range(3):
            await queue.put(await ctx.step(double, number))

    producer = asyncio.create_task(produce())
    found = [await queue.get() for _ in range(3)]
    await producer
    return found


async def shielded(ctx: Context) -> list[int]:
    return [await asyncio.shield(ctx.step(double, number, key=str(number))) for number in range(3)]


async def as_completed(ctx: Context) -> list[int]:
    calls = [ctx.step(double, number, key=str(number)) for number in range(3)]
    return sorted([await call for call in asyncio.as_completed(calls)])


async def by_event(ctx: Context) -> list[int]:
    ready, found = asyncio.Event(), list[int]()

    async def work() -> None:
        found.extend([await ctx.step(double, number) for number in range(3)])
        ready.set()

    worker = asyncio.create_task(work())
    await ready.wait()
    await worker
    return found


@pytest.mark.parametrize(
    "means",
    [
        gathered,
        grouped,
        waited,
        first_completed,
        waited_for,
        limited,
        locked,
        queued,
        shielded,
        as_completed,
        by_event,
    ],
)
async def test_every_means_of_asyncio_works_over_branches_and_across_a_replay(
    harness: Harness, means: Callable[[Context], Awaitable[list[int]]]
) -> None:
    found: list[list[int]] = []

    @harness.app.workflow
    async def fork(ctx: Context) -> list[int]:
        found.append(await means(ctx))
        await ctx.sleep("1h")
        return found[-1]

    assert await harness.run(fork) == [0, 2, 4]
    assert found == 2 * [[0, 2, 4]]


class Interleaving:
    """Two branches that append to one list, and bodies whose order the test decides at the first execution."""

    def __init__(self, harness: Harness) -> None:
        self.lists: list[list[str]] = []
        self._doors: dict[str, asyncio.Event] = {}

        async def race(ctx: Context) -> list[str]:
            seen: list[str] = []
            self.lists.append(seen)

            async def branch(name: str) -> None:
                for number in range(3):
                    await ctx.step(self.body, f"{name}{number}", key=f"{name}{number}")
                    seen.append(f"{name}{number}")
                await ctx.sleep("1m")
                seen.append(f"{name} slept")

            await asyncio.gather(branch("a"), branch("b"))
            return seen

        self.workflow = harness.app.workflow(race)

    async def body(self, name: str) -> str:
        door = self._doors[name] = asyncio.Event()
        try:
            await door.wait()
        finally:
            if self._doors.get(name) is door:
                del self._doors[name]
        return name

    async def let(self, name: str) -> None:
        """Let one body end, once it is there."""
        await eventually(lambda: name in self._doors, what=f"body {name} is entered")
        self._doors[name].set()


ORDERS = ["a0 b0 a1 b1 a2 b2", "b0 b1 b2 a0 a1 a2", "a0 a1 b0 b1 b2 a2", "b0 a0 a1 a2 b1 b2"]


@pytest.mark.spec("invariants:I-01")
@pytest.mark.parametrize("order", ORDERS)
async def test_a_replay_sees_the_interleaving_of_the_first_execution(idle_harness: Harness, order: str) -> None:
    app, names = idle_harness.app, order.split()
    race = Interleaving(idle_harness)
    handle = await app.start(race.workflow)

    for cut in range(0, 6, 2):  # restart after every second result
        async with app.worker():
            for name in names[cut : cut + 2]:
                await race.let(name)
                await eventually(lambda name=name: name in race.lists[-1], what=f"{name} is delivered")  # type: ignore[misc]
    async with app.worker():
        await idle_harness.until(handle, "sleeping")
    idle_harness.clock.advance("1m")
    async with app.worker():
        result = await handle.result()

    assert result[:6] == names
    assert sorted(result[6:]) == ["a slept", "b slept"]
    for seen in race.lists:
        assert seen == result[: len(seen)]


async def test_bodies_of_branches_run_side_by_side(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def fan(ctx: Context) -> str:
        await asyncio.gather(*(ctx.step(gate.wait) for _ in range(20)))
        return "done"

    handle = await harness.start(fan)
    await gate.reached(20)
    gate.open()

    assert await handle.result() == "done"


async def test_the_first_failure_of_a_gather_ends_the_run(harness: Harness, gate: Gate) -> None:
    def fail() -> None:
        raise TypeError("wrong")

    @harness.app.workflow
    async def fan(ctx: Context) -> None:
        await asyncio.gather(ctx.step(gate.wait), ctx.step(fail))

    handle = await harness.start(fan)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert (failed.value.type, failed.value.message) == ("TypeError", "wrong")
    await gate.left()  # the body that was still at work is stopped


async def test_failures_gathered_as_values_are_the_same_at_every_replay(harness: Harness) -> None:
    found: list[list[str]] = []

    async def fail(kind: str) -> None:
        raise StepError(f"{kind}!", kind=kind)

    @harness.app.workflow
    async def fan(ctx: Context) -> str:
        calls = [ctx.step(fail, kind) for kind in ("auth", "logic", "permission")]
        results = await asyncio.gather(*calls, ctx.step(double, 1), return_exceptions=True)
        found.append([str(result) for result in results])
        await ctx.sleep("1h")
        return "done"

    assert await harness.run(fan) == "done"
    assert found[0] == found[1]
    assert found[0][0] == "Step 'fail' failed: StepError: auth!"
    assert found[0][3] == "2"


async def test_a_branch_cancelled_by_the_code_is_not_waited_for(harness: Harness) -> None:
    @harness.app.workflow
    async def change_of_mind(ctx: Context) -> str:
        nap = asyncio.create_task(ctx.sleep("10d"))
        await ctx.step(double, 1)
        nap.cancel()
        try:
            await nap
        except asyncio.CancelledError:
            return "cancelled"
        return "slept"

    handle = await harness.start(change_of_mind)
    await harness.idle()

    assert await handle.result() == "cancelled"


async def test_tasks_that_wait_only_for_each_other_fail_as_a_deadlock(harness: Harness) -> None:
    @harness.app.workflow
    async def stuck(ctx: Context) -> None:
        await ctx.step(double, 1)
        me = asyncio.current_task()
        assert me is not None
        await asyncio.wait([asyncio.create_task(wait_for(me))])

    async def wait_for(task: asyncio.Task[object]) -> None:
        await asyncio.wait([task])

    handle = await harness.start(stuck)

    with pytest.raises(RunFailed, match="Every task of the workflow waits for another one") as failed:
        await handle.result()
    assert (failed.value.type, failed.value.kind) == ("Deadlock", "logic")


async def test_a_shielded_future_of_the_outside_world_is_waited_for(harness: Harness) -> None:
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        doubled = asyncio.create_task(ctx.step(double, 2))
        return f"{await asyncio.shield(arrived)} {await doubled}"

    handle = await harness.start(order)
    await harness.until(handle, "running")
    harness.clock.advance("2s")
    arrived.set_result("here")

    assert await handle.result() == "here 4"
    assert (await row_of(harness, handle)).attempts == 1


async def test_a_semaphore_shared_by_runs_holds_them_back_and_fails_none(harness: Harness) -> None:
    one_at_a_time, doubled = asyncio.Semaphore(1), []
    gate = asyncio.Event()

    async def double_slowly(number: int) -> int:
        await gate.wait()
        doubled.append(number)
        return 2 * number

    @harness.app.workflow
    async def polite(ctx: Context, number: int) -> int:
        await ctx.step(double, number)
        async with one_at_a_time:
            return await ctx.step(double_slowly, number)

    handles = [await harness.start(polite, number) for number in range(3)]
    for handle in handles:
        await harness.until(handle, "running")
    gate.set()

    assert [await handle.result() for handle in handles] == [0, 2, 4]
    assert sorted(doubled) == [0, 1, 2]


async def test_a_run_that_only_waits_for_an_event_says_so_and_is_given_back_before_its_claim_ends(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    opened = asyncio.Event()

    @harness.app.workflow
    async def patient(ctx: Context) -> str:
        await ctx.step(double, 1)
        await opened.wait()
        return "opened"

    handle = await harness.start(patient)
    await until_logged(caplog, "waits for an asyncio lock, event or queue")
    harness.clock.advance("151s")
    await until_logged(caplog, "waits for an asyncio lock, event or queue", times=2)  # claimed again, replayed
    opened.set()

    assert await handle.result() == "opened"
    log = await harness.opened.runs.read_log("default", RunId(handle.id))
    assert [entry.cause for entry in log][-3:] == ["release", "claim", "finish"]


async def until_logged(caplog: pytest.LogCaptureFixture, text: str, *, times: int = 1) -> None:
    async with asyncio.timeout(20):
        while sum(text in record.getMessage() for record in caplog.records) < times:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.001)


async def test_a_foreign_wait_keeps_the_slot_and_the_run_goes_on_after_it(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    outside: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @harness.app.workflow
    async def impure(ctx: Context) -> int:
        number = await ctx.step(double, 1)
        return number + await outside

    handle = await harness.start(impure)
    await eventually(lambda: bool(harness.app._workers[0].executions))
    harness.clock.advance("2s")
    assert (await row_of(harness, handle)).status == "running"
    outside.set_result(40)

    assert await handle.result() == 42
    assert (await path_of(harness, handle))[-1] == "completed"


async def test_map_keeps_the_order_of_the_items(harness: Harness) -> None:
    doors = [asyncio.Event() for _ in range(5)]

    async def pass_door(number: int) -> int:
        await doors[number].wait()
        if number:
            doors[number - 1].set()  # the last item ends first
        return 10 * number

    @harness.app.workflow
    async def batch(ctx: Context) -> list[int]:
        return await ctx.map(pass_door, range(5))

    doors[4].set()
    handle = await harness.start(batch)

    assert await handle.result() == [0, 10, 20, 30, 40]
    assert sorted(await step_keys(harness, handle)) == [
        "pass_door",
        "pass_door#2",
        "pass_door#3",
        "pass_door#4",
        "pass_door#5",
    ]


async def test_map_runs_at_most_limit_bodies_at_once(harness: Harness) -> None:
    at_work = most = 0

    async def work(number: int) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        for _ in range(3):
            await asyncio.sleep(0)
        at_work -= 1
        return number

    @harness.app.workflow
    async def batch(ctx: Context) -> list[int]:
        return await ctx.map(work, range(20), limit=3)

    assert await harness.run(batch) == list(range(20))
    assert most == 3


async def test_map_makes_keys_from_the_items(harness: Harness) -> None:
    @harness.app.workflow
    async def batch(ctx: Context) -> list[int]:
        return await ctx.map(double, [3, 1, 2], key=lambda item: f"item-{item}", name="twice")

    handle = await harness.start(batch)

    assert await handle.result() == [6, 2, 4]
    assert sorted(await step_keys(harness, handle)) == ["twice:item-1", "twice:item-2", "twice:item-3"]


async def test_map_of_nothing_is_an_empty_list(harness: Harness) -> None:
    @harness.app.workflow
    async def batch(ctx: Context) -> list[int]:
        return await ctx.map(double, [])

    handle = await harness.start(batch)

    assert await handle.result() == []
    assert await harness.steps(handle) == ()


async def test_map_fails_with_the_first_failure(harness: Harness) -> None:
    seen: list[str] = []

    async def check(number: int) -> int:
        if number == 3:
            raise StepError("three", kind="logic")
        return number

    @harness.app.workflow
    async def batch(ctx: Context) -> str:
        try:
            await ctx.map(check, range(5))
        except StepFailed as error:
            seen.append(str(error))
        await ctx.sleep("1h")
        return "done"

    assert await harness.run(batch) == "done"
    assert seen == 2 * ["Step 'check#4' failed: StepError: three"]


async def test_an_item_of_a_map_is_tried_again_alone(harness: Harness) -> None:
    entered: list[int] = []

    async def flaky(number: int) -> int:
        entered.append(number)
        if entered.count(2) == 1 and number == 2:
            raise ConnectionError("busy")
        return number

    @harness.app.workflow
    async def batch(ctx: Context) -> list[int]:
        return await ctx.map(flaky, range(5), retry=Retry(3))

    assert await harness.run(batch) == [0, 1, 2, 3, 4]
    assert sorted(entered) == [0, 1, 2, 2, 3, 4]


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": -1}, {"limit": True}, {"width": 3}])
async def test_map_refuses_options_that_make_no_sense(harness: Harness, arguments: dict[str, Any]) -> None:
    refused: list[InvalidInput] = []

    @harness.app.workflow
    async def batch(ctx: Context) -> None:
        try:
            await ctx.map(double, [1], **arguments)
        except InvalidInput as error:
            refused.append(error)

    await harness.run(batch)

    assert len(refused) == 1
    assert next(iter(arguments)) in str(refused[0])


async def test_map_of_a_thousand_items_survives_a_restart(open_harness: OpenHarness) -> None:
    harness = await open_harness(has_worker=False, settings=Settings(grace_for=0))  # type: ignore[arg-type]
    entered: list[int] = []

    async def work(number: int) -> int:
        entered.append(number)
        return number

    @harness.app.workflow
    async def batch(ctx: Context) -> int:
        first = sum(await ctx.map(work, range(1000), limit=200))
        await ctx.sleep("1h")
        return first

    handle = await harness.start(batch)
    async with harness.app.worker():
        await harness.until(handle, "sleeping")
    harness.clock.advance("1h")
    async with harness.app.worker():
        assert await handle.result() == 499_500

    assert sorted(entered) == list(range(1000))
