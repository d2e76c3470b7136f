"""Stories that once showed a difference, or tell of something chance meets seldom. Told to both databases each time."""

from __future__ import annotations

import pytest

from tests.lives.faults import Moment
from tests.model import operations as do
from tests.model.story import tell
from tests.model.subject import Stores
from windlass.model.time import MINUTE, SECOND


@pytest.mark.spec("invariants:I-60")
def test_a_step_that_is_seen_to_begin_twice(stores: Stores) -> None:
    """PostgreSQL answers with the first time, SQLite with the second. Nobody reads it, and the rows are the same."""
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Begin(),
        do.Jump(span=-MINUTE),
        do.Repeat(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-07")
def test_a_sleep_that_is_asked_for_twice_keeps_its_first_end(stores: Stores) -> None:
    """The second answer says the whole delay again; what is recorded, and wakes the run, is the first."""
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(sleeps=(("rest", MINUTE),)),
        do.Advance(span=SECOND),
        do.Repeat(),
        do.Wait(park=True),
        do.Advance(span=59 * SECOND - 1),
        do.ClaimDue(),
        do.Advance(span=1),
        do.ClaimDue(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-12", "invariants:I-15", "invariants:I-60")
def test_a_run_that_kills_its_process_again_and_again(stores: Stores) -> None:
    story = [
        do.Crash(moment=Moment.AFTER_COMMIT, during=do.Start(key="a")),
        do.Start(key="a"),
        *[
            do.Crash(moment=Moment.AFTER_COMMIT, during=do.ClaimDue()),
            do.Advance(span=do.VISIBLE_FOR),
        ]
        * (do.MAX_RECOVERIES + 2),
        do.Repeat(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-57")
def test_a_decision_is_not_lost_behind_an_event_with_an_id_like_its_own(stores: Stores) -> None:
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(awaits=("ok",)),
        do.Send(id="ok"),
        do.Send(id="approval/ok"),
        do.DecideOn(by="eva"),
        do.Wait(park=True),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-57")
def test_an_event_may_have_an_id_like_that_of_a_decision(stores: Stores) -> None:
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(awaits=("ok",)),
        do.DecideOn(),
        do.Send(id="ok"),
        do.Repeat(),
        do.Send(id="approval/ok"),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60")
def test_a_wait_that_was_given_up_does_not_wake_the_run_later(stores: Stores) -> None:
    """Given up in one word of the holder, parked in the next: for what nobody waits any more, nobody is woken."""
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(awaits=("paid#2",)),
        do.Wait(dropped=("paid#2",)),
        do.Wait(park=True),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60")
def test_a_wait_that_was_given_up_and_is_asked_for_again_wakes_the_run(stores: Stores) -> None:
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(awaits=("paid",)),
        do.Wait(dropped=("paid",)),
        do.Wait(park=True, returns=True),
        do.Send(event="paid"),
        do.ClaimDue(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60")
def test_a_decision_on_a_run_whose_worker_died_leaves_it_in_order(stores: Stores) -> None:
    """It still counts the death: the decision, which is noted behind it, is nobody's giving back."""
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Register(),
        do.Crash(moment=Moment.BEFORE_BEGIN, during=do.Beat()),
        do.Wait(awaits=("ok",)),
        do.Probe(worker=2),
        do.DecideOn(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-12")
@pytest.mark.parametrize("everyone", [False, True])
def test_a_worker_that_is_silent_first_and_dead_later_is_still_found_dead(stores: Stores, everyone: bool) -> None:
    story = [
        do.Register(),
        do.Start(),
        do.ClaimDue(),
        do.Advance(span=MINUTE),
        do.Expire(),
        do.Probe(worker=1, everyone=everyone),  # it only stands still
        do.Crash(moment=Moment.BEFORE_BEGIN, during=do.Register(worker=1)),
        do.Probe(worker=1, everyone=everyone),
        do.ClaimDue(worker=1),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60")
def test_a_silent_worker_that_drains_comes_back_and_drains(stores: Stores) -> None:
    story = [
        do.Register(),
        do.Drain(by="eva"),
        do.Advance(span=MINUTE),
        do.Expire(),
        do.Drain(),
        do.Beat(),
        do.Register(is_return=True),
        do.Beat(),
        do.Drain(by="tom"),
        do.Leave(),
        do.Register(),
        do.Beat(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-51", "invariants:I-54", "invariants:I-55")
@pytest.mark.parametrize("overlap", ["skip", "queue"])
@pytest.mark.parametrize("catch_up", ["none", "all"])
def test_slots_that_were_fired_before_the_clock_was_put_back(stores: Stores, overlap: str, catch_up: str) -> None:
    """They stand in nobody's way: the one behind them is neither skipped nor queued behind nothing."""
    story = [
        do.Plan(every=5 * SECOND, overlap=overlap, catch_up=catch_up),
        do.Advance(span=5 * SECOND),
        do.Fire(),
        do.ClaimDue(),
        do.Finish(),
        do.Jump(span=-5 * SECOND),
        do.HaltPlan(),
        do.ResumePlan(),
        do.Advance(span=10 * SECOND),
        do.Fire(),
        do.ClaimDue(),
        do.Finish(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60", "invariants:I-54")
def test_a_queued_run_is_paused_and_its_turn_comes(stores: Stores) -> None:
    story = [
        do.Plan(overlap="queue", catch_up="all", timeout_for=MINUTE),
        do.TriggerPlan(),
        do.TriggerPlan(by="eva"),
        do.TriggerPlan(),
        do.Pause(run=1),
        do.Advance(span=MINUTE),
        do.Fire(),  # nothing: one waits
        do.ClaimDue(),  # too late for the first
        do.Fire(),
        do.Resume(),
        do.ClaimDue(),
        do.Crash(moment=Moment.AFTER_COMMIT, during=do.Finish()),
        do.ClaimDue(),
        do.DropPlan(by="tom"),
        do.Finish(),
    ]

    tell(story, stores)


@pytest.mark.spec("invariants:I-60")
def test_what_failed_for_good_is_heard_of_before_anything_else_is_decided(stores: Stores) -> None:
    story = [
        do.Start(),
        do.ClaimDue(),
        do.Wait(awaits=("paid#2", "sub#3", "paid")),
        do.ClaimDue(),
        do.Finish(run=1),
        do.Wait(failed=("pack",), is_final=True),
    ]

    tell(story, stores)
