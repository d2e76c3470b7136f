"""Does a sleep last as long as it was asked to, whatever happens meanwhile, and does time stand still for a replay?"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, row_of, step_keys, until_recorded
from windlass import Context, Handle, InvalidInput
from windlass.model.duration import from_instant
from windlass.model.time import Instant
from windlass.testing.harness import Harness

SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000


@pytest.mark.spec("runs:P2.3", "runs:V4", "runs:G3", "invariants:I-07")
@pytest.mark.parametrize(
    ("duration", "microseconds"),
    [
        ("10s", 10 * SECOND),
        (timedelta(milliseconds=1), 1_000),
        (0.0005, 500),
        ("1us", 1),
        (1.9, 1_900_000),
        ("520w", 3_640 * DAY),
    ],
)
async def test_a_sleep_lasts_exactly_as_long_as_asked(harness: Harness, duration: Any, microseconds: int) -> None:
    @harness.app.workflow
    async def nap(ctx: Context) -> int:
        await ctx.sleep(duration)
        return harness.clock.now()

    begun_at = harness.clock.now()
    handle = await harness.start(nap)
    await harness.idle()
    run = await row_of(harness, handle)
    assert (run.status, run.available_at, run.worker) == ("sleeping", begun_at + microseconds, None)

    await harness.advance(microseconds - 1)
    assert await handle.status() == "sleeping"
    await harness.advance(1)

    assert await handle.result() == begun_at + microseconds


async def test_a_sleep_of_nothing_needs_no_time(harness: Harness) -> None:
    @harness.app.workflow
    async def nap(ctx: Context) -> str:
        await ctx.sleep(0)
        await ctx.sleep_until(datetime(1999, 1, 1, tzinfo=UTC))
        await ctx.sleep_until(from_instant(Instant(harness.clock.now())))
        return "awake"

    handle = await harness.start(nap)

    assert await handle.result() == "awake"  # with the clock standing still
    assert await step_keys(harness, handle) == ["sleep", "sleep#2", "sleep#3"]


async def test_sleeping_until_a_time_wakes_at_that_time(harness: Harness) -> None:
    when = datetime(2026, 3, 1, 12, tzinfo=UTC)

    @harness.app.workflow
    async def nap(ctx: Context) -> str:
        await ctx.sleep_until(when.astimezone())
        return ctx.now().isoformat()

    handle = await harness.start(nap)
    await harness.idle()
    left = when - from_instant(Instant(harness.clock.now()))
    await harness.advance(left - timedelta(microseconds=1))
    assert await handle.status() == "sleeping"
    await harness.advance(timedelta(microseconds=1))

    assert await handle.result() == "2026-03-01T12:00:00+00:00"


@pytest.mark.spec("security:46", "security:47")
@pytest.mark.parametrize(
    "duration",
    [
        -1,
        "-1s",
        float("nan"),
        float("inf"),
        "5",
        "5 m",
        "1h-5m",
        "１０s",
        "1_0s",
        "1000000000000w",
        True,
        None,
        "",
        b"1s",
    ],
)
async def test_durations_that_make_no_sense_are_refused(harness: Harness, duration: Any) -> None:
    refused: list[InvalidInput] = []

    @harness.app.workflow
    async def nap(ctx: Context) -> str:
        try:
            await ctx.sleep(duration)
        except InvalidInput as error:
            refused.append(error)
        return "awake"

    handle = await harness.start(nap)

    assert await handle.result() == "awake"
    assert [error.reason for error in refused] == ["invalid_duration"]
    assert "max 10 years" in str(refused[0])
    assert await harness.steps(handle) == ()


@pytest.mark.parametrize("when", [datetime.fromisoformat("2027-01-01"), datetime(1, 1, 1, tzinfo=UTC), "2027", 5, None])
async def test_times_that_make_no_sense_are_refused(harness: Harness, when: Any) -> None:
    @harness.app.workflow
    async def nap(ctx: Context) -> str:
        try:
            await ctx.sleep_until(when)
        except InvalidInput as error:
            return error.reason
        return "awake"

    assert await harness.run(nap) == "invalid_time"


@pytest.mark.spec("invariants:I-07", "runs:P2.3")
async def test_a_restart_does_not_start_a_sleep_over(idle_harness: Harness) -> None:
    app, clock = idle_harness.app, idle_harness.clock

    @app.workflow
    async def nap(ctx: Context) -> int:
        await ctx.sleep("10h")
        return clock.now()

    begun_at = clock.now()
    handle = await app.start(nap)
    async with app.worker():
        await idle_harness.until(handle, "sleeping")
    for _ in range(9):
        clock.advance("1h")
        async with app.worker():
            assert await handle.status() == "sleeping"
    clock.advance("1h")
    async with app.worker():
        assert await handle.result() == begun_at + 10 * HOUR
    assert (await row_of(idle_harness, handle)).attempts == 2  # nobody claimed it while it slept


async def asleep_beside_a_body(harness: Harness, gate: Gate, duration: str) -> tuple[Handle[str], list[int]]:
    """A run of two branches, one asleep and one at the gate; and each time at which the sleeper wakes."""
    woke: list[int] = []

    @harness.app.workflow
    async def both(ctx: Context) -> str:
        async def nap() -> None:
            await ctx.sleep(duration)
            woke.append(harness.clock.now())

        await asyncio.gather(nap(), ctx.step(gate.wait))
        return "done"

    handle = await harness.start(both)
    await gate.reached()
    await until_recorded(harness, handle, "sleep/1")
    return handle, woke


@pytest.mark.spec("invariants:I-07")
async def test_a_lost_claim_does_not_start_a_sleep_over(harness: Harness, gate: Gate) -> None:
    begun_at = harness.clock.now()
    handle, woke = await asleep_beside_a_body(harness, gate, "200s")
    harness.clock.advance("301s")  # both the sleep and the claim have run out
    await gate.reached(2)
    gate.open()

    assert await handle.result() == "done"
    assert [at for at in woke if at < begun_at + 200 * SECOND] == []
    assert woke[-1] == begun_at + 301 * SECOND  # not 501: the due time was on record
    (sleep,) = [step for step in await harness.steps(handle) if step.kind == "sleep"]
    assert sleep.due_at == begun_at + 200 * SECOND


async def test_two_branches_sleep_side_by_side(harness: Harness) -> None:
    woke: list[tuple[str, int]] = []

    @harness.app.workflow
    async def both(ctx: Context) -> list[str]:
        order: list[str] = []

        async def nap(name: str, duration: str) -> None:
            await ctx.sleep(duration)
            order.append(name)
            woke.append((name, harness.clock.now()))
            await ctx.sleep("5m")
            order.append(f"{name} again")

        await asyncio.gather(nap("long", "2h"), nap("short", "1h"))
        return order

    begun_at = harness.clock.now()
    result = await harness.run(both)

    assert result == ["short", "short again", "long", "long again"]
    assert ("short", begun_at + HOUR) in woke and ("long", begun_at + 2 * HOUR) in woke
    assert min(at for name, at in woke if name == "long") == begun_at + 2 * HOUR
    assert harness.clock.now() == begun_at + 2 * HOUR + 300 * SECOND


async def test_a_run_that_sleeps_beside_a_body_keeps_its_slot_until_the_body_ends(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def both(ctx: Context) -> str:
        async def nap() -> None:
            await ctx.sleep("1h")

        await asyncio.gather(nap(), ctx.step(gate.wait))
        return "done"

    begun_at = harness.clock.now()
    handle = await harness.start(both)
    await gate.reached()
    await until_recorded(harness, handle, "sleep/1")
    assert await handle.status() == "running"
    harness.clock.advance("1m")
    gate.open()
    await harness.idle()

    run = await row_of(harness, handle)
    assert (run.status, run.available_at) == ("sleeping", begun_at + HOUR)
    await harness.advance(59 * 60 * SECOND)
    assert await handle.result() == "done"


async def test_a_short_sleep_beside_a_long_body_wakes_in_time(harness: Harness, gate: Gate) -> None:
    begun_at = harness.clock.now()
    handle, woke = await asleep_beside_a_body(harness, gate, "10s")
    executions = [execution for worker in harness.app._workers for execution in worker.executions]
    await eventually(lambda: bool(executions[0].waits.timed), what="its worker knows when to wake it")
    harness.clock.advance(10 * SECOND - 1)
    assert woke == []
    harness.clock.advance(1_001)  # timers may be early, so a wait in memory is given one more millisecond
    await eventually(lambda: bool(woke), what="the branch is awake")
    gate.open()

    assert await handle.result() == "done"
    assert woke == [begun_at + 10 * SECOND + 1_000]


@pytest.mark.spec("invariants:I-06")
async def test_now_random_and_uuid_are_the_same_at_every_replay(harness: Harness) -> None:
    seen: list[list[Any]] = []

    async def work() -> None: ...

    @harness.app.workflow
    async def look(ctx: Context) -> str:
        values: list[Any] = [ctx.now(), ctx.random.random(), ctx.uuid()]
        seen.append(values)
        await ctx.step(work)
        values += [ctx.now(), ctx.random.randint(1, 10**9), ctx.uuid()]
        await ctx.sleep("1h")
        values += [ctx.now(), ctx.random.choice(range(1000)), ctx.uuid()]
        await ctx.sleep("1h")
        return ctx.run_id

    begun_at = from_instant(Instant(harness.clock.now()))
    first = await harness.run(look)
    second = await harness.run(look)

    assert seen[0] == seen[1][:6] and seen[1] == seen[2]
    assert seen[2][0] == begun_at and seen[2][6] == begun_at + timedelta(hours=1)
    assert all(isinstance(value, UUID) and value.version == 4 for value in seen[2][2::3])
    assert len(set(seen[2][2::3])) == 3
    assert first != second and not set(seen[2][2::3]) & set(seen[-1][2::3])  # another run, other values


@pytest.mark.spec("invariants:I-06")
async def test_now_is_the_time_of_the_last_record_and_never_goes_back(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def look(ctx: Context) -> list[str]:
        times = [ctx.now()]
        await ctx.step(gate.wait)
        times.append(ctx.now())
        await ctx.sleep("1h")
        times.append(ctx.now())
        assert times == sorted(times)
        return [str((time - times[0]).total_seconds()) for time in times]

    handle = await harness.start(look)
    await gate.reached()
    harness.clock.advance("1m")
    gate.open()
    await harness.idle()
    await harness.advance("1h")

    assert await handle.result() == ["0.0", "60.0", "3660.0"]


async def test_the_log_of_a_run_is_silent_while_it_is_replayed(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="windlass.run")

    async def work() -> None: ...

    @harness.app.workflow
    async def talk(ctx: Context) -> str:
        ctx.log.info("begins")
        await ctx.step(work)
        ctx.log.info("worked %s", "hard", extra={"colour": "blue"})
        await ctx.sleep("1h")
        ctx.log.info("slept")
        await ctx.sleep("1h")
        ctx.log.info("ends")
        return ctx.run_id

    run_id = await harness.run(talk)

    said = [record for record in caplog.records if record.name == "windlass.run"]
    assert [record.getMessage() for record in said] == [
        f"[{run_id}] begins",
        f"[{run_id}] worked hard",
        f"[{run_id}] slept",
        f"[{run_id}] ends",
    ]
    assert {(record.__dict__["run_id"], record.__dict__["workflow"]) for record in said} == {(run_id, "talk")}
    assert said[1].__dict__["colour"] == "blue"


async def test_a_sleeping_run_holds_no_slot(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=1)

    @harness.app.workflow
    async def nap(ctx: Context, number: int) -> int:
        await ctx.sleep(f"{1 + number % 3}h")
        return number

    handles = [await harness.start(nap, number) for number in range(12)]
    await harness.idle()
    assert {await handle.status() for handle in handles} == {"sleeping"}
    for _ in range(3):
        await harness.advance("1h")

    assert [await handle.result() for handle in handles] == list(range(12))
