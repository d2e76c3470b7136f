"""What does a queue hold, how fast does it empty, and what of it will nobody take?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rules.test_explain import a_worker
from windlass.model.gate import Gate, GateKind
from windlass.model.queue import LaneCount, Place, QueueView
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import MINUTE, SECOND, Instant
from windlass.model.worker import Served
from windlass.rules import queues

NOON = Instant(1_767_268_800_000_000)
ORDER = Served("default", "order")
WORKER = a_worker(served=(ORDER,), seen_at=NOON)


def facts(**changes: Any) -> queues.QueueFacts:
    nothing: dict[str, Any] = {
        "namespace": "default",
        "lanes": (),
        "parked": {},
        "ended": {},
        "told_since": None,
        "workers": (),
        "gates": (),
        "now": NOON,
    }
    return queues.QueueFacts(**(nothing | changes))


def due(lane: Served = ORDER, runs: int = 1, *, since: int = 5 * SECOND) -> LaneCount:
    return LaneCount(lane=lane, status=RunStatus.PENDING, is_due=True, runs=runs, earliest=Instant(NOON - since))


def a_gate(kind: GateKind, name: str) -> Gate:
    return Gate(namespace="default", kind=kind, name=name, is_paused=True)


def only(found: tuple[QueueView, ...]) -> QueueView:
    (view,) = found
    return view


@pytest.mark.parametrize("status", sorted(queues.PLACES))
def test_what_is_due_is_due_whatever_its_status(status: RunStatus) -> None:
    assert queues.place(status, is_due=True) is Place.DUE
    assert queues.place(status, is_due=False) is not Place.DUE


def test_lanes_of_a_queue_are_added_up_and_the_oldest_is_found() -> None:
    refunds = Served("default", "refund", "2")
    later = LaneCount(lane=ORDER, status=RunStatus.SLEEPING, is_due=False, runs=7, earliest=Instant(NOON + SECOND))

    view = only(
        queues.views(
            facts(
                lanes=[due(runs=3), due(refunds, 2, since=9 * SECOND), later],
                parked={("default", RunStatus.PAUSED): 4, ("default", RunStatus.WAITING): 1},
            )
        )
    )

    assert (view.due, view.later, view.paused, view.waiting, view.running) == (5, 7, 4, 1, 0)
    assert view.oldest_due_at == NOON - 9 * SECOND


def test_queues_are_listed_by_name_whatever_tells_of_them() -> None:
    found = queues.views(
        facts(
            lanes=[due(Served("c", "order"))],
            parked={("b", RunStatus.PAUSED): 1},
            ended={"e": 1},
            workers=[a_worker(served=(Served("d", "order"),), seen_at=NOON)],
            gates=[a_gate(GateKind.QUEUE, "a"), a_gate(GateKind.WORKFLOW, "f")],
        )
    )

    assert [view.name for view in found] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("told_since", "rate", "is_estimate"),
    [
        (None, 30, False),
        (NOON - MINUTE, 30, False),
        (NOON - 2 * MINUTE, 30, False),  # more is known than is asked
        (NOON - 10 * SECOND, 180, True),  # 30 in ten seconds
        (NOON, 1_800, True),  # a burst; nobody can say over how short a time
        (NOON + SECOND, 1_800, True),  # written by a clock that is ahead
    ],
)
def test_more_than_has_ended_is_never_said_but_as_an_estimate(
    told_since: Instant | None, rate: float, *, is_estimate: bool
) -> None:
    view = only(queues.views(facts(ended={"default": 30}, told_since=told_since)))

    assert (view.ended_per_minute, view.ended_is_estimate) == (rate, is_estimate)
    assert view.ended_is_estimate or view.ended_per_minute <= 30


def test_silent_and_stopped_workers_serve_nothing() -> None:
    silent = a_worker(id=WorkerId("wrk_B"), served=(ORDER,), seen_at=Instant(NOON - MINUTE))
    stopped = a_worker(id=WorkerId("wrk_C"), served=(ORDER,), seen_at=NOON, stopped_at=NOON)

    view = only(queues.views(facts(lanes=[due()], workers=[silent, stopped])))

    assert (view.workers, view.slots, view.unserved) == (0, 0, ((ORDER, 1),))


def test_a_worker_that_is_about_to_leave_serves_nothing() -> None:
    leaving = a_worker(served=(ORDER,), seen_at=NOON, is_draining=True)

    view = only(queues.views(facts(lanes=[due()], workers=[leaving])))

    assert (view.workers, view.unserved) == (0, ((ORDER, 1),))


def test_a_worker_is_counted_once_for_a_queue_of_which_it_runs_several_workflows() -> None:
    view = only(queues.views(facts(workers=[a_worker(served=(ORDER, Served("default", "refund")), seen_at=NOON)])))

    assert view.workers == 1


@pytest.mark.parametrize(
    "gate",
    [a_gate(GateKind.QUEUE, "default"), a_gate(GateKind.NAMESPACE, "default"), a_gate(GateKind.WORKFLOW, "order")],
)
def test_what_stands_behind_a_closed_gate_waits_for_no_worker(gate: Gate) -> None:
    view = only(queues.views(facts(lanes=[due()], gates=[gate])))

    assert view.unserved == ()
    assert queues.warning(view) is None


def test_a_gate_of_another_queue_or_of_a_workflow_does_not_pause_a_queue() -> None:
    gates = [a_gate(GateKind.QUEUE, "other"), a_gate(GateKind.WORKFLOW, "order")]

    found = {view.name: view.gate for view in queues.views(facts(lanes=[due()], gates=gates))}

    assert found == {"default": None, "other": gates[0]}


@pytest.mark.parametrize(
    ("lanes", "workers", "said"),
    [
        ([due()], [WORKER], None),
        (
            [due()],
            [],
            "1 run in queue 'default' is due, and no live worker serves it. "
            "Start one that does: windlass worker MODULE:APP",
        ),
        (
            [due(Served("slow", "order"), 1_200)],
            [WORKER],
            "1,200 runs in queue 'slow' are due, and no live worker serves it. "
            "Start one that does: windlass worker MODULE:APP --queue slow",
        ),
        (
            [due(), due(Served("default", "refund"), 2), due(Served("default", "order", "2"))],
            [WORKER],
            "3 runs in queue 'default' are due, and none of its live workers runs them: 1 of 'order' version '2' "
            "and 2 of 'refund'. Start one that does: windlass worker MODULE:APP",
        ),
        (
            [due(Served("default", name)) for name in "abcd"],
            [WORKER],
            "4 runs in queue 'default' are due, and none of its live workers runs them: 1 of 'a', 1 of 'b', 1 of 'c' "
            "and 1 more. Start one that does: windlass worker MODULE:APP",
        ),
    ],
)
def test_a_warning_says_what_nobody_takes_and_what_to_do(lanes: Any, workers: Any, said: str | None) -> None:
    found = [queues.warning(view) for view in queues.views(facts(lanes=lanes, workers=workers)) if view.due]

    assert found == [said]
