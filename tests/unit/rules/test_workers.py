"""Who counts as alive, and for what?"""

from __future__ import annotations

import pytest

from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Instant
from windlass.model.worker import Served, Worker
from windlass.rules import workers

NOON = Instant(1_767_268_800_000_000)
ORDER = Served("default", "order")


def worker_of(*, silent_for: int = 0, stopped_at: Instant | None = None) -> Worker:
    return Worker(
        namespace="default",
        id=WorkerId("wrk_1"),
        host="box",
        pid=1,
        served=(ORDER,),
        slots=1,
        active=0,
        completed=0,
        failed=0,
        started_at=NOON,
        seen_at=Instant(NOON - silent_for),
        stopped_at=stopped_at,
    )


@pytest.mark.parametrize(
    ("worker", "live"),
    [
        (worker_of(), True),
        (worker_of(silent_for=30 * SECOND), True),
        (worker_of(silent_for=30 * SECOND + 1), False),
        (worker_of(stopped_at=NOON), False),
        (worker_of(silent_for=-SECOND), True),  # its clock is ahead of ours
    ],
)
def test_a_worker_is_live_while_it_is_seen_and_has_not_left(worker: Worker, live: bool) -> None:
    assert workers.is_live(worker, now=NOON) is live
    assert workers.can_take(worker, ORDER, now=NOON) is live


@pytest.mark.parametrize(
    "other", [Served("slow", "order"), Served("default", "refund"), Served("default", "order", "2")]
)
def test_a_live_worker_takes_only_what_it_serves(other: Served) -> None:
    assert not workers.can_take(worker_of(), other, now=NOON)


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        ((ORDER,), True),
        ((Served("slow", "order"), ORDER), True),
        ((Served("slow", "order"),), False),
        ((), False),
    ],
)
def test_a_death_matters_to_those_who_serve_the_same(served: tuple[Served, ...], expected: bool) -> None:
    assert workers.could_set_free(worker_of(), served) is expected
