"""Is what nobody caught up with counted, and what is fired at once bounded?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.codec import MAX_PAYLOAD
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus, Timing
from windlass.model.time import DAY, MINUTE, SECOND, Duration, Instant
from windlass.rules import schedules
from windlass.rules.schedules import MOST_AT_ONCE, MOST_BYTES, MOST_COUNTED

BEGIN = Instant(20_000 * DAY)
GRACE = Duration(SECOND // 2)


def a_schedule(**timing: Any) -> Schedule:
    return Schedule(
        namespace="default",
        name="nightly",
        workflow="tidy",
        version="",
        queue="default",
        input=b"[]",
        input_hash=b"",
        timeout_for=None,
        timing=Timing(**timing),
        anchor=BEGIN,
        catch_up=CatchUp.NONE,
        max_catch_up=1,
        overlap=Overlap.ALLOW,
        jitter=Duration(0),
        status=ScheduleStatus.ACTIVE,
        declared_in=None,
        is_declared=True,
        revision=1,
        last_slot=BEGIN,
        available_at=BEGIN,
    )


def dropped(schedule: Schedule, *, minutes: int) -> int:
    """How many are let go if nobody looks for so long, and then a little after a slot."""
    return schedules.due(schedule, now=Instant(BEGIN + minutes * MINUTE + SECOND * 3 // 4), grace=GRACE).dropped


@pytest.mark.parametrize("minutes", [0, 1, MOST_COUNTED - 1, MOST_COUNTED, MOST_COUNTED + 1, 10**9])
def test_what_an_interval_lets_go_is_counted_to_the_last(minutes: int) -> None:
    schedule = a_schedule(every=MINUTE)

    found = dropped(schedule, minutes=minutes)

    assert found == minutes
    assert schedules.is_counted_whole(schedule, dropped=found)


@pytest.mark.parametrize(
    ("minutes", "counted", "is_whole"),
    [
        (MOST_COUNTED - 1, MOST_COUNTED - 1, True),
        (MOST_COUNTED, MOST_COUNTED, False),
        (MOST_COUNTED + 1, MOST_COUNTED, False),
        (5_000_000, MOST_COUNTED, False),
    ],
)
def test_what_an_expression_lets_go_is_counted_up_to_a_thousand(minutes: int, counted: int, is_whole: bool) -> None:
    schedule = a_schedule(cron="* * * * *")

    found = dropped(schedule, minutes=minutes)

    assert found == counted
    assert schedules.is_counted_whole(schedule, dropped=found) is is_whole


@pytest.mark.parametrize(("size", "fired"), [(2, MOST_AT_ONCE), (MAX_PAYLOAD, MOST_BYTES // MAX_PAYLOAD)])
@pytest.mark.parametrize("catch_up", [CatchUp.ALL, CatchUp.NONE])
def test_one_transaction_writes_so_much_input_and_no_more(size: int, fired: int, catch_up: CatchUp) -> None:
    """A database may refuse more than that at once, and would do so for ever."""
    schedule = replace(
        a_schedule(every=Duration(SECOND)), input=b" " * size, catch_up=catch_up, max_catch_up=2 * MOST_AT_ONCE
    )
    late_for = 2 * MOST_AT_ONCE * SECOND
    grace = GRACE if catch_up is CatchUp.ALL else Duration(late_for)

    due = schedules.due(schedule, now=Instant(BEGIN + late_for), grace=grace)

    assert len(due.slots) == fired
    assert due.until == due.slots[-1].at
