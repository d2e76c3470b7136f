"""Which kind of failure is it, when is a consumer woken, and which key goes to the outside world?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.codec import Codec
from windlass.define.effect import DidNotHappen, Happened, Unknown, read_effect
from windlass.define.handler_definition import HandlerDefinition
from windlass.define.pipeline_values import Idle, Reserve, TopicEvent
from windlass.errors import InvalidInput, NotAllowed, StepError
from windlass.model.duration import to_instant
from windlass.model.failure import FailureKind
from windlass.model.pipeline import HandlerKind, HandlerSpec
from windlass.model.pipeline_work import Verdict
from windlass.model.time import HOUR, SECOND, Duration
from windlass.worker import effect_calls, handler_failures
from windlass.worker.preparing import Wake, read_choice, read_wake
from windlass.worker.running import Ran

CODEC = Codec()
LONG = Duration(30 * SECOND)
CONSUMER = HandlerDefinition(
    spec=HandlerSpec(name="charge", kind=HandlerKind.CONSUMER, topics=("orders",), prepares=True), data_type=list[int]
)
NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)


def event(id: str, *, topic: str = "orders", version: int = 3) -> TopicEvent[Any]:
    return TopicEvent(topic=topic, id=id, payload=1, created_at=NINE, version=version)


def of_handler(error: BaseException, classify: Any = None) -> FailureKind:
    return handler_failures.of_handler(error, codec=CODEC, classify=classify).kind


def of_effect(error: BaseException, classify: Any = None) -> tuple[FailureKind, Verdict]:
    failure, verdict = handler_failures.of_effect(error, codec=CODEC, classify=classify)
    return failure.kind, verdict


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ValueError("no"), OSError("no"), TimeoutError(), InvalidInput("no"), NotAllowed("no"), KeyError("x")]
)
def test_what_a_handler_raises_without_a_kind_is_logic(error: Exception) -> None:
    assert of_handler(error) is FailureKind.LOGIC


@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_kind_is_what_the_error_or_the_app_says(kind: FailureKind) -> None:
    assert of_handler(StepError("no", kind=kind.value)) is kind
    assert of_handler(OSError("no"), classify=lambda _: kind.value) is kind


def test_the_app_has_the_last_word_over_a_step_error() -> None:
    assert of_handler(StepError("no", kind="auth"), classify=lambda _: "permission") is FailureKind.PERMISSION


@pytest.mark.parametrize("wrong", [lambda _: "nonsense", lambda _: 1 / 0])
def test_a_classification_that_fails_is_logic_and_says_nothing_about_an_effect(wrong: Any) -> None:
    assert of_handler(OSError("no"), classify=wrong) is FailureKind.LOGIC
    assert of_effect(OSError("no"), classify=wrong) == (FailureKind.INDETERMINATE, Verdict.UNKNOWN)


def test_a_failure_keeps_its_text_its_data_and_when_to_come_back() -> None:
    error = StepError("slow down", kind="transient", retry_after="1h", data={"limit": 3})
    failure = handler_failures.of_handler(error, codec=CODEC, classify=None)

    assert (failure.type, failure.message, failure.retry_after) == ("StepError", "slow down", HOUR)
    assert CODEC.decode(failure.data or b"") == {"limit": 3}


def test_a_time_to_come_back_that_is_none_does_not_hide_the_failure() -> None:
    failure = handler_failures.of_handler(StepError("no", retry_after="soon"), codec=CODEC, classify=None)

    assert failure.kind is FailureKind.TRANSIENT
    assert failure.retry_after is None
    assert failure.message.startswith("no (")


@pytest.mark.parametrize("kind", ["logic", "permission", "auth"])
def test_an_effect_that_was_refused_did_not_happen(kind: str) -> None:
    assert of_effect(StepError("no", kind=kind)) == (FailureKind(kind), Verdict.FAILED)
    assert of_effect(OSError("no"), classify=lambda _: kind) == (FailureKind(kind), Verdict.FAILED)


@pytest.mark.parametrize(
    "error",
    [
        StepError("no"),
        StepError("no", kind="timeout"),
        StepError("no", kind="internal"),
        OSError(),
        TypeError(),
        ValueError(),
    ],
)
def test_nobody_knows_about_an_effect_that_failed_in_any_other_way(error: Exception) -> None:
    assert of_effect(error) == (FailureKind.INDETERMINATE, Verdict.UNKNOWN)


def test_an_effect_that_knows_what_happened_has_the_last_word() -> None:
    assert of_effect(StepError("no", did_not_happen=True)) == (FailureKind.TRANSIENT, Verdict.FAILED)
    assert of_effect(StepError("no", kind="logic", did_not_happen=False)) == (
        FailureKind.INDETERMINATE,
        Verdict.UNKNOWN,
    )


# --- when to wake -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["2026-03-01T09:00:00Z", "2026-03-01T10:00:00+01:00", NINE, NINE.astimezone(timezone(timedelta(hours=5)))],
)
def test_a_wake_is_a_time_with_its_zone(given: object) -> None:
    assert read_wake(given) == Wake(at=to_instant(NINE))


def test_a_wake_may_be_a_while_from_now() -> None:
    assert read_wake(timedelta(hours=1)) == Wake(after=HOUR)
    assert read_wake(timedelta(hours=-1)) == Wake(after=Duration(0))
    assert read_wake(None) == Wake()


def test_a_text_that_is_no_time_is_a_warning() -> None:
    wake = read_wake("tomorrow")

    assert (wake.at, wake.after) == (None, None)
    assert wake.warning == "wake_at 'tomorrow' is no time, so there is none: write it as ISO 8601 with a zone."


@pytest.mark.parametrize("given", [NINE.replace(tzinfo=None), "2026-03-01T09:00:00", 0, 12.5, b"2026", object()])
def test_what_can_never_be_a_wake_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="wake_at"):
        read_wake(given)


def test_times_out_of_all_bounds_are_left_to_the_engine() -> None:
    assert read_wake(datetime.min.replace(tzinfo=UTC)) == Wake(at=to_instant(datetime(1970, 1, 1, tzinfo=UTC)))


# --- what prepare answers ---------------------------------------------------------------------------------------------


def test_events_are_reserved_as_they_were_seen() -> None:
    choice = read_choice(Reserve([event("7"), event("8")], data=[1, 2], title="Two"), CONSUMER, CODEC)

    assert [(item.topic, item.id, item.version) for item in choice.reserved] == [("orders", "7", 3), ("orders", "8", 3)]
    assert (choice.value, choice.title, choice.data) == ([1, 2], "Two", CODEC.encode([1, 2]))


def test_idle_reserves_nothing() -> None:
    choice = read_choice(Idle(wake_in="1h"), CONSUMER, CODEC)

    assert (choice.reserved, choice.data, choice.wake) == ((), None, Wake(after=HOUR))


@pytest.mark.parametrize(
    ("answer", "found"), [(None, "None"), ({"reservations": []}, "of type dict"), ([], "of type list")]
)
def test_another_answer_is_refused_with_what_it_was(answer: object, found: str) -> None:
    with pytest.raises(InvalidInput, match=rf"prepare of handler 'charge' .*Reserve.*Idle.* {found}"):
        read_choice(answer, CONSUMER, CODEC)


def test_data_that_is_not_what_the_consumer_declares_is_refused() -> None:
    with pytest.raises(InvalidInput, match="prepare of handler 'charge'"):
        read_choice(Reserve(event("7"), data=["x"]), CONSUMER, CODEC)


def test_no_data_needs_no_type() -> None:
    assert read_choice(Reserve(event("7")), CONSUMER, CODEC).value is None


# --- keys and answers of reconcile ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, unique=True), st.randoms())
def test_the_key_of_an_effect_is_that_of_its_events_in_whatever_order(
    named: list[tuple[str, str]], random: Any
) -> None:
    events = [event(id, topic=topic, version=version) for version, (topic, id) in enumerate(named)]
    key = effect_calls.key_of_events("payments", "charge", events)
    shuffled = list(events)
    random.shuffle(shuffled)

    assert effect_calls.key_of_events("payments", "charge", shuffled) == key
    assert key.startswith("payments/charge/")
    assert len(key) == len("payments/charge/") + 24
    assert effect_calls.key_of_events("payments", "charge", [*events, event("one more")]) != key


def test_keys_do_not_run_into_each_other() -> None:
    one, other = event("c", topic="ab"), event("bc", topic="a")

    assert effect_calls.key_of_events("p", "h", [one]) != effect_calls.key_of_events("p", "h", [other])


async def charge(order: int, currency: str = "eur") -> str: ...  # type: ignore[empty-body]


CHARGE = read_effect(charge, reconcile=lambda order, currency="eur": Unknown())


def found(ran: Ran) -> effect_calls.Found:
    return effect_calls.read_found(ran, CHARGE, CODEC, limit=LONG)


def test_reconcile_answers_with_one_of_three() -> None:
    assert found(Ran(Happened("paid"))) == effect_calls.Found(result=b'"paid"', value="paid")
    assert found(Ran(DidNotHappen())) == effect_calls.Found(did_not_happen=True)
    assert found(Ran(Unknown())) == effect_calls.Found()


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        (Ran(None), "not with None"),
        (Ran(True), "not with something of type bool"),
        (Ran(Happened), "not with something of type StructMeta"),
        (Ran(Happened(7)), "declares"),
        (Ran(error=OSError("gone")), "gone"),
        (Ran(error=asyncio.CancelledError(), is_timed_out=True), "did not end within 30 s"),
        (Ran(is_timed_out=True, is_over=False), "did not end within 30 s"),
    ],
)
def test_whatever_else_reconcile_does_it_does_not_know(ran: Ran, says: str) -> None:
    answer = found(ran)

    assert (answer.result, answer.did_not_happen) == (None, False)
    assert answer.failure is not None
    assert says in answer.failure.message


def test_arguments_are_stored_as_they_are_asked_about_later() -> None:
    params = effect_calls.encode_arguments(CHARGE, (7,), CODEC)

    assert effect_calls.decode_arguments(CHARGE, params, CODEC) == (7,)


@pytest.mark.parametrize("args", [(), (1, "eur", 3), ("seven",), (1, object())])
def test_arguments_that_an_effect_does_not_take_are_refused_before_it_is_called(args: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput, match="Effect 'charge'"):
        effect_calls.encode_arguments(CHARGE, args, CODEC)
