"""Schedules as a program sees them: declared in its code, fired beside its worker, and taken back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness, eventually
from tests.programs import echo, returns
from windlass.model.time import HOUR
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


class MovesTheClock:
    """Hooks that let time pass right behind the first commit of one name."""

    def __init__(self, clock: FakeClock, name: str, duration: str) -> None:
        self._clock, self._name, self._duration = clock, name, duration
        self._has_happened = False

    def before_begin(self, name: str) -> None: ...

    def before_commit(self, name: str) -> None: ...

    def after_commit(self, name: str) -> None:
        if name == self._name and not self._has_happened:
            self._has_happened = True
            self._clock.advance(self._duration)


def declare(app: windlass.App, seen: list[Any], **options: Any) -> Any:
    @app.schedule(**options)
    async def report(ctx: windlass.Context) -> None:
        seen.append(ctx.scheduled_at)

    return report


async def test_a_declared_schedule_fires_at_its_times_beside_the_worker(url: str) -> None:
    seen: list[datetime | None] = []
    harness = Harness(url)
    declare(harness.app, seen, cron="0 9 * * *", tz="Europe/Rome")

    async with harness:
        await harness.advance("3d")

        (info,) = await harness.app.schedules.list()

    assert seen == [datetime(2026, 1, day, 8, tzinfo=UTC) for day in (1, 2, 3)]
    assert (info.fired, info.skipped, info.dropped, info.status, info.why) == (3, 0, 0, "active", None)
    assert info.next[0] == datetime(2026, 1, 4, 8, tzinfo=UTC)


async def test_a_slot_that_comes_due_during_a_pass_is_not_left_for_the_next_interval(url: str) -> None:
    clock, seen = FakeClock(), list[str]()
    hooks = MovesTheClock(clock, "fire_schedule", "2s")
    harness = Harness(url, clock=clock, hooks=hooks, settings=Settings(coordinate_for=HOUR))

    @harness.app.schedule(every="1m")
    async def first(ctx: windlass.Context) -> None:
        seen.append("first")

    @harness.app.schedule(cron="1 0 1 1 *", name="second")
    async def second(ctx: windlass.Context) -> None:
        seen.append("second")

    async with harness:
        clock.advance("59s")
        await harness.idle()
        clock.advance("1s")  # both are due now; behind the commit of the one, two seconds are gone
        await harness.idle()

    assert sorted(seen) == ["first", "second"]


async def test_what_is_taken_out_of_the_code_is_paused_and_comes_back_with_it(shared_url: str) -> None:
    seen: list[datetime | None] = []
    clock = FakeClock()
    first = Harness(shared_url, clock=clock)
    declare(first.app, seen, every="1h")
    async with first:
        await first.advance("2h")

    async with Harness(shared_url, clock=clock) as without:
        await without.advance("5h")
        (gone,) = await without.app.schedules.list()
        with pytest.raises(windlass.WrongState, match="no longer declared"):
            await without.app.schedules.resume("report")

    again = Harness(shared_url, clock=clock)
    declare(again.app, seen, every="1h")
    async with again:
        await again.advance("1h")
        (back,) = await again.app.schedules.list()

    assert (gone.status, gone.next) == ("paused", ())
    assert gone.why is not None and "no longer declared" in gone.why
    assert (back.status, back.why, back.fired) == ("active", None, 3)
    assert len(seen) == 3


async def test_two_schedules_of_one_name_are_refused_and_a_cell_that_runs_again_is_not() -> None:
    app = windlass.App(":memory:", settings=Settings())
    declare(app, [], every="1h")
    declare(app, [], every="2h")  # the same function, declared anew, as in a notebook

    with pytest.raises(windlass.AlreadyExists, match="declared twice"):

        @app.schedule(every="1h")
        @app.schedule(every="2h")
        async def other(ctx: windlass.Context) -> None: ...

    with pytest.raises(windlass.AlreadyExists, match="declared twice"):

        @app.schedule(every="1h", name="report")
        async def another(ctx: windlass.Context) -> None: ...


async def test_what_is_declared_while_a_worker_runs_is_entered_at_once(url: str) -> None:
    seen: list[datetime | None] = []
    async with Harness(url) as harness:
        declare(harness.app, seen, every="1m")
        await entered(harness.app)
        await harness.advance("1m")

    assert len(seen) == 1


async def entered(app: windlass.App) -> None:
    """Until what was declared stands in the database."""
    while not await app.schedules.list():
        pass


async def test_the_blocking_door_has_the_same_schedules(url: str) -> None:
    app = windlass.App(url, settings=Settings())
    report = app.workflow(echo)

    def use() -> tuple[windlass.ScheduleInfo, str, list[windlass.ScheduleInfo]]:
        schedules = app.sync.schedules
        made = schedules.create(report, "eu", name="eu", cron="0 9 * * *")
        schedules.pause("eu", by="ann", note="the books are closed")
        run = schedules.trigger("eu")
        schedules.resume("eu")
        schedules.delete("eu")
        left = schedules.list()
        app.sync.close()
        return made, run.id, left

    made, run_id, left = await asyncio.to_thread(use)

    assert (made.name, made.times, left) == ("eu", "at 09:00 every day (UTC)", [])
    assert run_id.startswith("run_")


async def test_a_workflow_may_not_touch_schedules() -> None:
    async with Harness() as harness:

        @harness.app.workflow
        async def meddling(ctx: windlass.Context) -> None:
            await harness.app.schedules.list()

        with pytest.raises(windlass.RunFailed, match=r"app\.schedules\.list"):
            await harness.run(meddling)


async def test_two_programs_that_declare_one_name_are_told_so(
    shared_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    for program in ("shop", "mail"):
        harness = Harness(shared_url, clock=clock)
        harness.app._program = program
        declare(harness.app, [], every="1h")
        async with harness:
            await harness.idle()

    assert "Schedule 'report' was declared in shop, and is now in mail." in caplog.text


async def test_a_deploy_says_what_it_changes_about_schedules(shared_url: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    caplog.set_level("INFO", logger="windlass.coordinator")
    for times in ({"every": "1h"}, {"every": "2h"}, None, {"every": "2h"}):
        harness = Harness(shared_url, clock=clock)
        if times is not None:
            declare(harness.app, [], **times)
        async with harness:
            await harness.idle()

    said = [record.message for record in caplog.records if record.message.startswith("Schedule 'report'")]
    assert said[:2] == ["Schedule 'report' is new.", "Schedule 'report' has changed."]
    assert said[2].startswith("Schedule 'report' is no longer declared in windlass.testing.harness, and paused.")
    assert said[3:] == ["Schedule 'report' is declared again."]


@pytest.mark.parametrize("given", ["0 9 * * *", lambda ctx: None])
def test_times_given_by_position_are_refused_with_what_to_write(given: Any) -> None:
    app = windlass.App(":memory:", settings=Settings())

    with pytest.raises(windlass.InvalidInput, match=r"@app\.schedule\(cron='0 9 \* \* \*'\)"):
        app.schedule(given)


async def test_time_in_a_test_passes_as_it_does_outside_also_for_runs_that_sleep() -> None:
    for overlap, hours in (("skip", [1, 3, 5, 7]), ("queue", [1, 2, 3, 4, 5])):
        seen: list[int] = []
        harness = Harness()

        @harness.app.schedule(cron="0 * * * *", overlap=overlap)
        async def slow(ctx: windlass.Context, seen: list[int] | None = None) -> None:
            assert ctx.scheduled_at is not None
            await ctx.step(noting, ctx.scheduled_at.hour)
            await ctx.sleep("90m")

        async def noting(hour: int, seen: list[int] = seen) -> None:
            seen.append(hour)

        async with harness:
            await harness.advance("8h")

        assert seen == hours, overlap


def test_a_script_enters_no_schedules(tmp_path: Path) -> None:
    app = windlass.App(tmp_path / "windlass.db", settings=Settings())

    @app.schedule(every="1s")
    async def order(ctx: windlass.Context) -> int:
        return 7

    assert app.run(order) == 7
    assert app.sync.schedules.list() == []
    app.sync.close()


async def test_a_schedule_that_another_process_makes_due_is_fired_without_waiting(open_shared: OpenHarness) -> None:
    """Where others only hear that something was committed, and not what."""
    here = await open_shared()
    report = here.app.workflow(returns("reported"))
    there = await open_shared(has_worker=False)
    await here.app.schedules.create(report, name="hourly", every="1h", catch_up="latest")
    await here.app.schedules.pause("hourly")
    await here.advance("3h")
    await here.idle()

    await there.app.schedules.resume("hourly", backfill=True)

    async def is_fired() -> bool:
        return bool((await here.app.schedules.get("hourly")).last_run)

    await eventually(is_fired, what="that the slot is fired, while the clock stands still")
