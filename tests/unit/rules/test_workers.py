"""Who counts as alive, and for what?"""

from __future__ import annotations

import pytest

from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served, Standing, Worker
from windlass.rules import workers

NOON = Instant(1_767_268_800_000_000)
ORDER = Served("default", "order")


def worker_of(*, silent_for: int = 0, stopped_at: Instant | None = None, is_draining: bool = False) -> Worker:
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
        is_draining=is_draining,
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


def test_a_worker_that_drains_is_live_and_takes_nothing() -> None:
    leaving = worker_of(is_draining=True)

    assert workers.is_live(leaving, now=NOON)
    assert not workers.can_take(leaving, ORDER, now=NOON)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (worker_of(), Standing.ONLINE),
        (worker_of(silent_for=20 * SECOND), Standing.ONLINE),
        (worker_of(silent_for=20 * SECOND + 1), Standing.SILENT),
        (worker_of(is_draining=True), Standing.DRAINING),
        (worker_of(is_draining=True, silent_for=21 * SECOND), Standing.SILENT),
        (worker_of(is_draining=True, stopped_at=NOON), Standing.OFFLINE),
        (worker_of(silent_for=60 * SECOND, stopped_at=NOON), Standing.OFFLINE),
    ],
)
def test_where_a_worker_stands(worker: Worker, expected: Standing) -> None:
    assert workers.standing(worker, now=NOON, silent_for=Duration(20 * SECOND)) is expected


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (worker_of(), False),
        (worker_of(stopped_at=NOON), True),
        (worker_of(silent_for=1, stopped_at=NOON), False),
    ],
)
def test_one_that_was_seen_when_it_stopped_has_said_goodbye(worker: Worker, expected: bool) -> None:
    assert workers.said_goodbye(worker) is expected


@pytest.mark.parametrize(("silent_for", "expected"), [(30, 10), (3_600, 10), (15, 5), (1, 1 / 3)])
def test_two_signs_of_life_may_be_lost_before_silence_counts(silent_for: int, expected: float) -> None:
    assert workers.heartbeat_every(Duration(silent_for * SECOND)) == int(expected * SECOND)


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
