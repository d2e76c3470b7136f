"""Is what an attempt may reserve bounded, and is it said how?"""

from __future__ import annotations

from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.pipeline import EventRow, EventStatus, HandlerRunId, InputId, Reservation
from windlass.model.pipeline_work import ReserveEvents
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.limits import MAX_NOTE, MAX_STORED, MAX_TITLE
from windlass.rules.reservations import BYTES_OF_CAUSE, MOST_BYTES, MOST_RESERVED, check_reservation, check_weight

EVENT = Reservation(topic="orders", id="a", version=1)


def a_reservation(**changes: Any) -> ReserveEvents:
    given = {"namespace": "default", "pipeline": "payments", "token": 1, "run_id": HandlerRunId("hrn"), "reserved": ()}
    return ReserveEvents(**{**given, **changes})


def test_as_much_as_may_be_is_taken() -> None:
    check_reservation(a_reservation())
    check_reservation(
        a_reservation(
            reserved=(EVENT,) * MOST_RESERVED,
            data=b"x" * MAX_STORED,
            title="t" * MAX_TITLE,
            warning="w" * MAX_NOTE,
            wake_in=Duration(SECOND),
        )
    )


@pytest.mark.parametrize(
    ("changes", "reason", "path"),
    [
        ({"reserved": (EVENT,) * (MOST_RESERVED + 1)}, "too_many", "reserved"),
        ({"data": b"x" * (MAX_STORED + 1)}, "payload_too_large", "data"),
        ({"title": "t" * (MAX_TITLE + 1)}, "invalid_text", "title"),
        ({"warning": "w" * (MAX_NOTE + 1)}, "invalid_text", "warning"),
        ({"wake_at": Instant(1), "wake_in": Duration(SECOND)}, "invalid_option", "wake_at"),
    ],
    ids=["events", "data", "title", "warning", "wakes"],
)
def test_more_than_that_is_refused(changes: dict[str, Any], reason: str, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_reservation(a_reservation(**changes))

    assert (refused.value.reason, refused.value.path) == (reason, path)


def a_row(size: int, *, causes: int = 0) -> EventRow:
    return EventRow(
        topic="orders",
        id="a",
        seq=1,
        version=1,
        payload=b"x" * size,
        status=EventStatus.PENDING,
        attempt=1,
        reserved_by=None,
        created_by=None,
        causes=(InputId("inp"),) * causes,
        created_at=Instant(1),
        updated_at=Instant(1),
    )


def test_one_event_can_always_be_reserved() -> None:
    check_weight([a_row(MAX_STORED)], b"x" * MAX_STORED)


def test_events_their_causes_and_the_data_count_together() -> None:
    half = MOST_BYTES // 2
    check_weight([a_row(half), a_row(half - BYTES_OF_CAUSE - 3, causes=1)], b"123")

    with pytest.raises(InvalidInput, match=r"at most 8,388,608 bytes; 2 events and the data have 8,388,609") as refused:
        check_weight([a_row(half), a_row(half - BYTES_OF_CAUSE - 3, causes=1)], b"1234")

    assert (refused.value.reason, refused.value.path) == ("too_large", "reserved")
