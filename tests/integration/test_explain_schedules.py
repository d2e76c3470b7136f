"""Does a run that waits for another run of its schedule, or for its jitter, say so, and what it would take?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenHarness
from tests.integration.test_explain import explained
from tests.integration.timetable import Timetable, declare
from tests.programs import nothing
from windlass.client.handle import Handle
from windlass.model.page import ListRuns

pytestmark = pytest.mark.spec("invariants:I-08")  # nothing waits without saying for what


async def timetable(open_shared: OpenHarness, **options: Any) -> Timetable:
    """A schedule 'nightly' of midnight, made at noon of the day before."""
    harness = await open_shared(has_worker=False)
    table = Timetable(harness)
    _, clean = declare(harness)
    harness.clock.advance("12h")
    await table.schedules.create(clean, name="nightly", cron="0 0 * * *", **options)
    return table


async def runs_of(table: Timetable) -> list[Handle[Any]]:
    """The oldest first."""
    page = await table.harness.opened.runs.list_runs(ListRuns(namespace="default", schedule="nightly"))
    return [table.harness.app.handle(run.id) for run in reversed(page.runs)]


async def test_a_run_behind_another_of_its_schedule_names_it_and_says_where_that_one_stands(
    open_shared: OpenHarness,
) -> None:
    table = await timetable(open_shared, overlap="queue")
    await table.fire(after="12h")
    await table.fire(after="24h")
    table.harness.clock.advance("30s")
    first, second = await runs_of(table)

    found = await explained(table.harness, second)

    assert found.title == f"Run {second.id} ('clean') is waiting."
    assert found.text == (
        f"It has waited since 00:00:00 UTC (30 s) for {first.id}, the run before it of schedule 'nightly' (overlap: "
        "queue), which waits for a worker, and none that is alive runs it. It holds no worker. More about that one: "
        f"windlass explain {first.id}"
    )
    assert (found.code, found.until, found.brief) == ("waiting_for_turn", None, f"{first.id}, before it")


async def test_missed_times_that_are_caught_up_with_wait_for_each_other(open_shared: OpenHarness) -> None:
    table = await timetable(open_shared, catch_up="all")
    await table.fire(after="72h")
    first, second = await runs_of(table)

    found = await explained(table.harness, second)

    assert f"for {first.id}, the run before it of schedule 'nightly' (caught up with one after another)," in found.text


async def test_a_run_whose_turn_has_come_waits_for_a_worker_only(open_shared: OpenHarness) -> None:
    table = await timetable(open_shared, overlap="queue")
    await table.fire(after="12h")
    await table.fire(after="24h")
    first, second = await runs_of(table)
    await first.cancel()

    found = await explained(table.harness, second)

    assert (found.status, found.code) == ("pending", "no_worker")


async def test_several_runs_before_it_are_counted(open_shared: OpenHarness) -> None:
    table = await timetable(open_shared, overlap="allow")
    await table.fire(after="12h")
    await table.fire(after="24h")
    _, clean = declare(table.harness)
    await table.schedules.create(clean, name="nightly", cron="0 0 * * *", overlap="queue", replace=True)
    await table.fire(after="24h")
    first, _, third = await runs_of(table)

    found = await explained(table.harness, third)

    assert (
        f"for 2 runs of schedule 'nightly' that are not over (overlap: queue); the first of them, {first.id}, waits"
    ) in found.text


async def test_a_time_out_of_a_run_that_waits_for_its_turn_has_not_begun(open_shared: OpenHarness) -> None:
    table = await timetable(open_shared, overlap="queue")
    sweep = table.harness.app.workflow(timeout="1h")(nothing)
    await table.schedules.create(sweep, name="nightly", cron="0 0 * * *", overlap="queue", replace=True)
    await table.fire(after="12h")
    await table.fire(after="24h")
    table.harness.clock.advance("2h")
    _, second = await runs_of(table)

    found = await explained(table.harness, second)

    assert found.code == "waiting_for_turn"
    assert "Its time-out of 1 h begins with its turn." in found.text
    assert "must end" not in found.text


async def test_a_paused_one_says_what_it_waits_for_behind_that(open_shared: OpenHarness) -> None:
    table = await timetable(open_shared, overlap="queue")
    await table.fire(after="12h")
    await table.fire(after="24h")
    first, second = await runs_of(table)
    await second.pause(by="ann")

    found = await explained(table.harness, second)

    assert found.code == "paused"
    assert (
        f"Let go on, it waits for the end of {first.id}: runs of schedule 'nightly' do not overlap. Let it go on: "
        f"windlass resume {second.id}"
    ) in found.text


async def test_a_run_that_its_schedule_spreads_says_for_which_time_it_is_and_when_it_begins(
    open_shared: OpenHarness,
) -> None:
    table = await timetable(open_shared, jitter="1h")
    await table.fire(after="12h")
    (first,) = await runs_of(table)

    found = await explained(table.harness, first)

    assert found.code == "starts_later"
    assert found.text.startswith("It is the run of schedule 'nightly' for 00:00:00 UTC. It begins at 00:")
    assert found.text.endswith(": spread by the schedule's jitter. No worker is needed before.")
