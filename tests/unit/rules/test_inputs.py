"""What became of something outside, as the events that it has caused tell?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import at
from windlass.model.pipeline import InputId, InputRow, InputStatus
from windlass.model.time import Instant
from windlass.rules.inputs import STALE_AFTER, judged

NOW = at(0)
ORDER = InputRow(
    namespace="default",
    pipeline="payments",
    id=InputId("inp_7"),
    source="mail",
    type="order",
    external_id="7",
    title="Order 7",
    created_at=at(-60),
    skipped_by=None,
    skipped_at=None,
    pending=0,
    events=0,
)
SKIPPED: dict[str, Any] = {"skipped_by": "ann", "skipped_at": at(-5)}


@pytest.mark.parametrize(
    ("pending", "events", "status"),
    [(0, 0, InputStatus.PENDING), (1, 2, InputStatus.PENDING), (0, 2, InputStatus.DONE)],
)
def test_an_input_is_done_once_it_has_events_and_all_are_over(pending: int, events: int, status: InputStatus) -> None:
    row = replace(ORDER, pending=pending, events=events)

    assert judged(row, now=NOW).status is status
    assert judged(replace(row, **SKIPPED), now=NOW).status is InputStatus.SKIPPED


def test_only_what_is_pending_for_longer_than_somebody_should_wait_is_stale() -> None:
    limit, beyond = Instant(NOW - STALE_AFTER), Instant(NOW - STALE_AFTER - 1)
    old = replace(ORDER, created_at=beyond, pending=1, events=1)

    assert not judged(replace(old, created_at=limit), now=NOW).is_stale
    assert judged(old, now=NOW).is_stale
    assert not judged(replace(old, pending=0), now=NOW).is_stale
    assert not judged(replace(old, **SKIPPED), now=NOW).is_stale


def test_the_rest_of_it_is_as_it_was_entered() -> None:
    found = judged(replace(ORDER, pending=1, events=3, **SKIPPED), now=NOW)

    assert (found.id, found.source, found.type, found.external_id, found.title) == (
        "inp_7",
        "mail",
        "order",
        "7",
        "Order 7",
    )
    assert (found.pending, found.events, found.created_at, found.skipped_by) == (1, 3, at(-60), "ann")
