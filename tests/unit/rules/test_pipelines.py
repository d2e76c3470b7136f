"""Which handler begins next, when must somebody look, and what has a consumer seen?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from tests.integration.cli.pipeline_samples import CHARGE, POLL, RUN, a_handler, a_pipeline, an_attempt, an_effect
from tests.integration.cli.samples import at
from windlass.model.effect import EffectStatus
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import Handler, HandlerRun, HandlerSpec, HandlerStatus, Issue, PipelineStatus, Reservation
from windlass.model.schedule import Timing
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.rules import pipelines as rules

NOW = at(0)
BATCHED = replace(CHARGE, prepares=False)


def handler(spec: HandlerSpec = CHARGE, **changes: Any) -> Handler:
    return a_handler(spec, **changes).handler


def consumer(name: str, *, position: int = 0, prepares: bool = True, **changes: Any) -> Handler:
    spec = replace(CHARGE, name=name, prepares=prepares)
    return handler(spec, position=position, **{"news": 1, **changes})


def due(pipeline: Any, *handlers: Handler, run: HandlerRun | None = None, effect: Any = None) -> Instant | None:
    return rules.available_at(pipeline, handlers, run=run, effect=effect, now=NOW)


# Wakes


@pytest.mark.spec("pipelines:31", "pipelines:32", "pipelines:138", "invariants:I-43")
@given(some.integers(-(10 * DAY), 10 * DAY))
def test_a_wake_is_moved_to_the_nearest_time_within_the_bounds(asked: int) -> None:
    by_time = rules.clamp_wake(wake_at=Instant(NOW + asked), wake_in=None, now=NOW)
    by_span = rules.clamp_wake(wake_at=None, wake_in=Duration(asked), now=NOW)

    assert by_time == by_span == NOW + min(max(asked, 30 * SECOND), 24 * HOUR)


@pytest.mark.spec("pipelines:26", "pipelines:139", "invariants:I-43")
def test_no_wake_is_none() -> None:
    assert rules.clamp_wake(wake_at=None, wake_in=None, now=NOW) is None


# Who is due


def test_a_producer_is_due_at_its_time_or_when_somebody_asked() -> None:
    assert rules.due_at(handler(POLL, next_at=at(60)), now=NOW) == at(60)
    assert rules.due_at(handler(POLL, next_at=at(60), is_queued=True), now=NOW) == NOW
    assert rules.due_at(handler(POLL, next_at=None), now=NOW) is None


@pytest.mark.spec("invariants:I-41", "invariants:I-42", "pipelines:20", "pipelines:24", "pipelines:29")
def test_a_consumer_is_due_by_news_or_by_its_wake_and_by_nothing_else() -> None:
    assert rules.due_at(handler(news=4, seen=3, wake_at=at(60)), now=NOW) == NOW
    assert rules.due_at(handler(news=4, seen=4, wake_at=at(60)), now=NOW) == at(60)
    assert rules.due_at(handler(news=4, seen=4), now=NOW) is None


def test_what_is_no_longer_declared_is_never_due() -> None:
    gone = [handler(POLL, next_at=at(-1), is_declared=False), handler(news=4, is_declared=False, wake_at=at(-1))]

    assert [rules.is_due(item, now=NOW) for item in gone] == [False, False]


def test_only_consumers_count_as_such() -> None:
    dirty, clean = handler(news=1), handler(news=1, seen=1)

    assert rules.due_consumers([handler(POLL, is_queued=True), dirty, clean], now=NOW) == [dirty]


# Who is first


@pytest.mark.spec("invariants:I-44", "pipelines:96")
def test_the_consumer_with_the_oldest_event_or_wake_goes_first() -> None:
    first, second, woken = consumer("a"), consumer("b", position=1), consumer("c", position=2, wake_at=at(-90))
    oldest = {"a": at(-10), "b": at(-60), "c": at(-5)}

    def chosen(*items: Handler) -> str:
        found = rules.next_consumer(items, oldest, now=NOW)
        assert found is not None
        return found.name

    assert chosen(first, second) == "b"
    assert chosen(first, second, woken) == "c"


def test_consumers_of_one_age_take_turns_in_the_order_they_were_declared() -> None:
    both = [consumer("b", position=1), consumer("a", position=0)]

    found = rules.next_consumer(both, {"a": at(-10), "b": at(-10)}, now=NOW)

    assert found is not None and found.name == "a"


def test_a_consumer_without_prepare_does_not_begin_without_events() -> None:
    idle, looking = consumer("a", prepares=False), consumer("b", position=1)

    assert rules.next_consumer([idle], {}, now=NOW) is None
    assert rules.next_consumer([idle, looking], {}, now=NOW) == looking
    assert rules.next_consumer([idle], {"a": at(-1)}, now=NOW) == idle


@pytest.mark.spec("pipelines:6", "pipelines:14")
def test_the_producer_that_has_been_due_longest_goes_first() -> None:
    late = handler(replace(POLL, name="late"), position=1, next_at=at(-60))
    later = handler(replace(POLL, name="later"), position=0, next_at=at(-30))
    asked = handler(replace(POLL, name="asked"), position=2, next_at=at(600), is_queued=True)

    assert rules.next_producer([later, late, asked], now=NOW) == late
    assert rules.next_producer([asked], now=NOW) == asked
    assert rules.next_producer([handler(POLL, next_at=at(1)), handler(news=1)], now=NOW) is None


@pytest.mark.spec("pipelines:95")
def test_producers_are_let_in_after_a_hundred_runs_of_consumers() -> None:
    assert not rules.is_turn_of_producers(a_pipeline(streak=99))
    assert rules.is_turn_of_producers(a_pipeline(streak=100))


@pytest.mark.spec("invariants:I-45", "pipelines:10", "pipelines:50")
def test_times_that_have_passed_are_one_run() -> None:
    assert rules.next_time(Timing(every=Duration(5 * MINUTE)), now=NOW) == at(300)


# When somebody has to look


@pytest.mark.spec("invariants:I-41")
def test_an_idle_pipeline_is_looked_at_when_its_first_handler_is_due() -> None:
    both = (handler(POLL, next_at=at(60)), handler(news=1, seen=1, wake_at=at(40)))

    assert due(a_pipeline(), *both) == at(40)
    assert due(a_pipeline(), *both, handler(news=2, seen=1)) == NOW
    assert due(a_pipeline(), handler(news=1, seen=1)) is None
    assert due(a_pipeline()) is None


@pytest.mark.parametrize(
    "pipeline",
    [
        a_pipeline(is_paused=True),
        a_pipeline(is_declared=False),
        a_pipeline(PipelineStatus.ATTENTION, issue=Issue.LOGIC),
        a_pipeline(PipelineStatus.BACKOFF, is_paused=True),
        a_pipeline(PipelineStatus.RECONCILING, is_paused=True),
        a_pipeline(PipelineStatus.FIXING, is_paused=True),
    ],
)
@pytest.mark.spec("pipelines:97", "pipelines:107")
def test_nobody_looks_at_one_that_is_paused_gone_or_waits_for_a_person(pipeline: Any) -> None:
    effect = an_effect(EffectStatus.NEEDS_RECONCILE, next_at=at(10))

    assert due(pipeline, handler(news=1), run=an_attempt(), effect=effect) is None


@pytest.mark.spec("pipelines:98", "pipelines:106")
def test_a_back_off_counts_from_the_failure_and_grows() -> None:
    run = an_attempt(status=HandlerStatus.PAUSED_TRANSIENT, updated_at=NOW)
    found = [due(a_pipeline(PipelineStatus.BACKOFF, failures=failures), run=run) for failures in range(9)]

    assert found == [at(after) for after in (10, 10, 20, 40, 80, 160, 320, 600, 600)]


def test_what_the_failure_says_about_when_counts() -> None:
    failure = Failure(kind=FailureKind.TRANSIENT, type="T", message="", retry_after=Duration(7 * SECOND))
    run = an_attempt(failure=failure, updated_at=NOW)

    assert due(a_pipeline(PipelineStatus.BACKOFF, failures=3), run=run) == at(7)


@pytest.mark.spec("pipelines:104", "pipelines:110")
def test_news_do_not_bring_a_pipeline_forward_that_is_held() -> None:
    run = an_attempt(updated_at=NOW)
    doubtful = an_effect(EffectStatus.NEEDS_RECONCILE, next_at=at(90))

    assert due(a_pipeline(PipelineStatus.BACKOFF, failures=1), handler(news=9), run=run) == at(10)
    assert due(a_pipeline(PipelineStatus.RECONCILING), handler(news=9), run=run, effect=doubtful) == at(90)


@pytest.mark.parametrize("status", [PipelineStatus.IDLE, PipelineStatus.FIXING, PipelineStatus.RECONCILING])
def test_an_attempt_that_is_to_be_followed_is_due_now(status: PipelineStatus) -> None:
    assert due(a_pipeline(status), run=an_attempt()) == NOW


def test_a_pipeline_that_is_released_has_no_holder_and_a_time() -> None:
    held = a_pipeline(PipelineStatus.RUNNING, worker="wrk_1", available_at=at(300))

    found = rules.released(held, [handler(POLL, next_at=at(60))], run=None, effect=None, now=NOW)

    assert (found.status, found.worker, found.available_at) == (PipelineStatus.IDLE, None, at(60))
    assert found.changed_at == NOW


def test_a_pipeline_that_waits_keeps_its_status_when_it_is_released() -> None:
    waiting = a_pipeline(PipelineStatus.BACKOFF, failures=1, run_id=RUN, worker="wrk_1")

    found = rules.released(waiting, [], run=an_attempt(updated_at=NOW), effect=None, now=NOW)

    assert (found.status, found.worker, found.available_at) == (PipelineStatus.BACKOFF, None, at(10))


# What a consumer has seen


@pytest.mark.spec("invariants:I-41", "invariants:I-42", "pipelines:51", "pipelines:127", "pipelines:132")
@given(
    begun_with=some.integers(0, 20),
    came_since=some.integers(0, 5),
    has_reserved=some.booleans(),
    has_pending=some.booleans(),
)
def test_a_consumer_looks_again_for_what_is_left_or_came_since(
    begun_with: int, came_since: int, has_reserved: bool, has_pending: bool
) -> None:
    """C1 and C2, word by word."""
    before = handler(news=begun_with + came_since, seen=begun_with)

    after = rules.looked(before, begun_with=begun_with, has_reserved=has_reserved, has_pending=has_pending)

    assert after.is_dirty is (has_pending and (has_reserved or came_since > 0))
    assert after.news == before.news


def test_a_consumer_whose_events_were_never_numbered_still_looks_at_the_rest() -> None:
    found = rules.looked(handler(news=0), begun_with=0, has_reserved=True, has_pending=True)

    assert found.is_dirty


@pytest.mark.parametrize(
    ("chosen", "waiting", "is_dirty"),
    [
        ((1,), (2,), True),  # another one waits
        ((1,), (), False),  # nothing does
        ((1,), (9,), False),  # only what was given back itself since there was news
        ((1,), (2, 9), True),
        ((9,), (2,), False),  # the same was chosen again
        ((9, 2), (3,), True),
    ],
)
def test_a_consumer_whose_events_are_given_back_goes_on_with_others_and_not_with_the_same(
    chosen: tuple[int, ...], waiting: tuple[int, ...], is_dirty: bool
) -> None:
    """Its news end at 5: what has a number beyond that was given back since."""
    run = an_attempt(news=5, reserved=tuple(Reservation(topic="orders", id=str(it), version=it) for it in chosen))

    found = rules.put_back(handler(news=5, seen=0), run, waiting=waiting)
    since = rules.put_back(handler(news=7, seen=0), run, waiting=[])

    assert found.is_dirty is is_dirty
    assert since.is_dirty  # something came while it waited


@pytest.mark.spec("pipelines:21", "pipelines:45", "pipelines:126")
def test_only_subscribers_hear_of_news() -> None:
    subscriber, producer = handler(news=3, seen=3), handler(POLL)

    assert rules.has_news(subscriber, topics=frozenset({"orders"}), seq=7).is_dirty
    assert rules.has_news(subscriber, topics=frozenset({"others"}), seq=7) == subscriber
    assert rules.has_news(producer, topics=frozenset({"orders"}), seq=7) == producer


def test_news_never_go_back() -> None:
    assert rules.has_news(handler(news=9), topics=frozenset({"orders"}), seq=7).news == 9


# News, and claims


@pytest.mark.parametrize("status", PipelineStatus)
def test_news_move_an_idle_pipeline_and_no_other(status: PipelineStatus) -> None:
    assert rules.is_moved_by_news(a_pipeline(status)) == (status is PipelineStatus.IDLE)


def test_news_never_put_off_what_was_due_before() -> None:
    def moved(was: Instant | None, *handlers: Handler, **changes: Any) -> Instant | None:
        pipeline = a_pipeline(available_at=was, **changes)
        return rules.moved_by_news(pipeline, handlers, run=None, now=NOW).available_at

    dirty, waiting = handler(news=1), handler(news=1, seen=1, wake_at=at(60))

    assert (moved(None, dirty), moved(at(300), dirty), moved(at(-5), dirty)) == (NOW, NOW, at(-5))
    assert (moved(None, waiting), moved(at(30), waiting)) == (at(60), at(30))
    assert moved(at(300), dirty, is_paused=True) is None


@pytest.mark.parametrize("status", PipelineStatus)
@pytest.mark.parametrize("token", [6, 7, 8])
def test_a_pipeline_is_held_by_the_last_claim_while_it_runs(status: PipelineStatus, token: int) -> None:
    is_last = token == 7 and status is PipelineStatus.RUNNING

    assert rules.is_held(a_pipeline(status, token=7), token=token) == is_last
