"""Where may a run go from where it stands?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.run import TERMINAL, Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules import runs

NOON = Instant(1_767_268_800_000_000)


def run_of(status: RunStatus = RunStatus.RUNNING, *, recoveries: int = 0, **changes: Any) -> Run:
    run = Run(
        namespace="default",
        id=RunId("run_1"),
        name="order",
        version="",
        queue="default",
        priority=0,
        status=status,
        available_at=Instant(NOON + 300 * SECOND),
        token=3,
        worker=WorkerId("wrk_1"),
        poll=1,
        attempts=3,
        recoveries=recoveries,
        created_at=NOON,
        started_at=NOON,
        finished_at=None,
    )
    return replace(run, **changes)


def wait_of(due_in: int, *, kind: StepKind = StepKind.SLEEP) -> Step:
    return Step(
        namespace="default",
        run_id="run_1",
        key=f"{kind}{due_in}",
        attempt=1,
        kind=kind,
        status=StepStatus.WAITING if kind is StepKind.SLEEP else StepStatus.FAILED,
        order=None,
        token=3,
        failures=0,
        input_hash=b"",
        output=None,
        failure=None,
        due_at=Instant(NOON + due_in),
        started_at=NOON,
        finished_at=None,
    )


waits = st.lists(
    st.builds(wait_of, st.integers(min_value=-(10**12), max_value=10**12), kind=st.sampled_from(StepKind)), min_size=1
)
HOLDERS_VERBS: list[Callable[[Run], Run]] = [
    lambda run: runs.park(run, [], now=NOON),
    lambda run: runs.release(run, now=NOON, delay_for=Duration(0)),
    lambda run: runs.hold(run),
]


@given(open_waits=waits)
def test_a_parked_run_is_due_with_the_earliest_of_its_waits_and_never_in_the_past(open_waits: list[Step]) -> None:
    parked = runs.park(run_of(), open_waits, now=NOON)

    earliest = min(step.due_at or 0 for step in open_waits)
    assert parked.available_at == max(NOON, earliest)
    kinds = {step.kind for step in open_waits if step.due_at == earliest}
    expected = {RunStatus.SLEEPING if kind is StepKind.SLEEP else RunStatus.PENDING for kind in kinds}
    if any(step.kind.is_wait for step in open_waits):  # then others may end it earlier
        expected = {RunStatus.WAITING}
    assert parked.status in expected
    assert (parked.worker, parked.token, parked.attempts) == (None, 3, 3)


def test_a_run_that_waits_without_a_deadline_has_no_time_unless_it_must_end_by_one() -> None:
    wait = replace(wait_of(0, kind=StepKind.EVENT), due_at=None)

    assert (runs.park(run_of(), [wait], now=NOON).status, runs.park(run_of(), [wait], now=NOON).available_at) == (
        RunStatus.WAITING,
        None,
    )
    must_end = run_of(expires_at=Instant(NOON + 5))
    assert runs.park(must_end, [wait], now=NOON).available_at == NOON + 5
    assert runs.release(must_end, now=NOON, delay_for=Duration(10)).available_at == NOON + 5


@pytest.mark.parametrize("ended", [1, 2, 3])
@pytest.mark.parametrize("has_failed", [False, True])
def test_a_parent_counts_the_children_of_its_map_and_goes_on_with_the_last_or_the_first_that_failed(
    ended: int, has_failed: bool
) -> None:
    waiting = run_of(status=RunStatus.WAITING, worker=None, available_at=None, unmet=3)

    after = runs.after_children(waiting, ended=ended, has_failed=has_failed, now=NOON)

    if ended == 3 or has_failed:
        assert (after.status, after.available_at, after.unmet) == (RunStatus.PENDING, NOON, 0)
    else:
        assert (after.status, after.available_at, after.unmet) == (RunStatus.WAITING, None, 3 - ended)


@pytest.mark.parametrize("verb", HOLDERS_VERBS)
def test_whatever_gives_a_held_run_back_pauses_it(verb: Callable[[Run], Run]) -> None:
    paused = verb(runs.pause(run_of()))

    assert (paused.status, paused.available_at, paused.worker, paused.is_held) == (RunStatus.PAUSED, None, None, False)


@pytest.mark.spec("invariants:I-13")
@pytest.mark.parametrize("status", RunStatus)
def test_only_what_is_open_can_be_cancelled_and_keeps_its_token(status: RunStatus) -> None:
    run = run_of(status=status)
    if status.is_terminal:
        with pytest.raises(WrongState):
            runs.cancel(run, now=NOON)
        return
    cancelled = runs.cancel(run, now=NOON)
    assert (cancelled.status, cancelled.token, cancelled.finished_at) == (RunStatus.CANCELLED, run.token, NOON)
    assert (cancelled.worker, cancelled.available_at) == (None, None)


@pytest.mark.spec("invariants:I-25")
@given(recoveries=st.integers(min_value=0, max_value=20))
def test_a_claim_that_ends_in_order_ends_the_count_of_recoveries(recoveries: int) -> None:
    run = run_of(recoveries=recoveries)

    for end in HOLDERS_VERBS:
        assert end(run).recoveries == 0

    released = runs.release(run, now=NOON, delay_for=Duration(0))
    assert (released.status, released.available_at, released.worker) == (RunStatus.PENDING, NOON, None)


@pytest.mark.spec("invariants:I-15")
@pytest.mark.parametrize(("deaths", "pause"), [(1, 0), (2, 1), (3, 2), (4, 4), (7, 32), (8, 60), (11, 60), (1001, 60)])
def test_what_is_taken_from_the_dead_is_due_at_once_and_later_each_time_they_keep_dying(
    deaths: int, pause: int
) -> None:
    was = run_of(recoveries=deaths - 1)

    run = runs.take_from_dead(was, now=NOON)

    assert run == replace(was, status=RunStatus.PENDING, available_at=run.available_at, worker=None, recoveries=deaths)
    assert run.available_at is not None
    assert pause * SECOND // 2 <= run.available_at - NOON <= pause * SECOND * 3 // 2


def test_runs_that_died_together_are_apart_the_next_time() -> None:
    together = [replace(run_of(recoveries=3), id=RunId(f"run_{number}")) for number in range(20)]

    due = [runs.take_from_dead(run, now=NOON).available_at or 0 for run in together]

    assert len(set(due)) == len(due)
    assert max(due) - min(due) > SECOND
    assert due == [runs.take_from_dead(run, now=NOON).available_at for run in together]  # by no chance


def test_a_held_run_waits_for_nothing_but_a_person() -> None:
    held = runs.hold(run_of())

    assert (held.status, held.available_at, held.worker) == (RunStatus.PAUSED, None, None)


@given(open_waits=waits)
def test_resuming_computes_the_due_time_anew(open_waits: list[Step]) -> None:
    paused = runs.hold(run_of())

    resumed = runs.resume(paused, open_waits, now=NOON)

    assert resumed.available_at == max(NOON, min(step.due_at or 0 for step in open_waits))
    assert runs.resume(paused, [], now=NOON).available_at == NOON


@pytest.mark.parametrize("verb", HOLDERS_VERBS)
@pytest.mark.parametrize("status", sorted(set(RunStatus) - {RunStatus.RUNNING}))
def test_only_a_running_run_can_be_left_by_its_holder(verb: Callable[[Run], Run], status: RunStatus) -> None:
    with pytest.raises(WrongState):
        verb(run_of(status))


@pytest.mark.parametrize("status", sorted(set(RunStatus) - {RunStatus.PAUSED}))
def test_only_a_paused_run_can_be_resumed(status: RunStatus) -> None:
    with pytest.raises(WrongState):
        runs.resume(run_of(status), [], now=NOON)


@pytest.mark.spec("invariants:I-09")
def test_terminal_is_absorbing_and_everything_else_can_end() -> None:
    assert [step for step in runs.TRANSITIONS if step[0] in TERMINAL] == []
    reached: set[Any] = {None}
    while more := {to for start, to in runs.TRANSITIONS if start in reached} - reached:
        reached |= more
    assert reached >= {RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.PAUSED}
    can_end = set(TERMINAL)
    while more := {start for start, to in runs.TRANSITIONS if to in can_end and start is not None} - can_end:
        can_end |= more
    assert reached - {None} <= can_end


@given(recoveries=st.integers(min_value=0, max_value=50), most=st.integers(min_value=0, max_value=50))
def test_a_crash_loop_is_one_recovery_more_than_allowed(recoveries: int, most: int) -> None:
    assert runs.is_crash_loop(run_of(recoveries=recoveries), max_recoveries=most) == (recoveries > most)


def test_a_crash_loop_blames_the_step_that_was_last_seen_to_start() -> None:
    def seen(key: str, *, token: int, status: StepStatus = StepStatus.RUNNING) -> Step:
        return replace(wait_of(0, kind=StepKind.STEP), key=key, token=token, status=status)

    history = [seen("pack", token=1), seen("ship", token=3), seen("pay", token=4, status=StepStatus.COMPLETED)]

    blamed = runs.crash_loop(run_of(recoveries=11), history)
    unseen = runs.crash_loop(run_of(recoveries=11), history[2:])

    assert (blamed.kind, blamed.step) == ("crash_loop", "ship")
    assert blamed.message == "Its worker died or was cut off 11 times in a row; last seen in step 'ship'."
    assert (unseen.step, "outside any step" in unseen.message) == ("", True)
