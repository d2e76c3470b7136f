"""Are names, keys, ids and numbers accepted exactly within their limits?"""

from __future__ import annotations

import random
import unicodedata
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from windlass.rules import limits
from windlass.runtime import Ids, SystemClock


def reason_of(check: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        check(*args, **options)
    assert len(str(caught.value)) < 400 and str(caught.value).isascii()
    return caught.value.reason


@pytest.mark.parametrize(
    "name",
    [
        *("health", "ready", "__init__", "constructor", "null", "a", "7", "order.paid", "a:b", "fetch-user"),
        *("größe", "заказ", "注文", "ऑर्डर", "παραγγελία", "x" * 200),
    ],
)
def test_names_are_accepted_as_plain_text(name: str) -> None:
    assert limits.check_name(name) == name
    assert limits.check_queue(name) == limits.check_namespace(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "\t", "a b", " a", "a ", "a/b", "..", "a..b", "../x", "a\\b", "a\nb", "a\r", "a\0", "\x7f", "a\x85"),
        *("<lambda>", "-x", ".x", ":x", "a'b", 'a"b', "a;b", "a#2", "a@b", "a%b", "x" * 201, "x" * 10**6),
        *("a\u202eb", "a\u200bb", "a\u200db", "a\u2066b", "\ufeffa", "a\u00adb", "a\ufe0f", "a\u034fb", "a\u3164b"),
        *("pаypal", "ｏrder", "①", "ﬁle", "𝐨rder", "a\u2028b", "a\xa0b", "\u0301a", "é" * 201, "🎈", "a\ue000"),
    ],
)
def test_names_that_mislead_are_refused(name: str) -> None:
    assert reason_of(limits.check_name, name, what="workflow name") == "invalid_name"


def test_what_is_wrong_with_a_name_is_said() -> None:
    for name, words in (("", "empty"), ("x" * 201, "max 200"), ("a/b", "allowed characters"), (7, "text was expected")):
        with pytest.raises(InvalidInput, match=words):
            limits.check_name(name, what="workflow name")  # type: ignore[arg-type]


def test_text_that_is_not_unicode_is_named_as_such() -> None:
    for check in (limits.check_name, limits.check_key, limits.check_step_key):
        assert reason_of(check, "a\ud800") == "invalid_text"


def test_two_spellings_are_one_name() -> None:
    decomposed = unicodedata.normalize("NFD", "größe")

    assert decomposed != "größe"
    assert limits.check_name(decomposed) == "größe"
    assert limits.check_name(unicodedata.normalize("NFD", "é" * 200)) == "é" * 200


def test_keys_are_any_readable_text() -> None:
    for key in ("order-7", "a b", "a/b#c", "🎈", "x" * 255):
        assert limits.check_key(key) == key
    for wrong in (
        "",
        " ",
        " a",
        "a ",
        "\u2003a",
        "a\nb",
        "a\0b",
        "a\x9fb",
        "a\u2028b",
        "x" * 256,
        "x" * 10**6,
        7,
        None,
    ):
        assert reason_of(limits.check_key, wrong) == "invalid_key"


def test_step_keys_may_be_numbers() -> None:
    assert limits.check_step_key(7) == "7"
    assert limits.check_step_key(-7) == "-7"
    assert limits.check_step_key("a b") == "a b"
    assert limits.check_step_key("x" * 200) == "x" * 200
    for key in ("", "a#2", "#", "a\nb", "x" * 201, True, 1.5, None, 10**200, 10**5000):
        assert reason_of(limits.check_step_key, key) == "invalid_key"


def test_run_ids_are_those_we_make() -> None:
    made = Ids(SystemClock(), random.Random(7)).run()

    assert limits.check_run_id(made) == made
    for wrong in (
        "",
        made.lower(),
        made + " ",
        made[:-1],
        made + "0",
        made + "\n",
        "wrk" + made[3:],
        made[:-1] + "U",
        7,
    ):
        assert reason_of(limits.check_run_id, wrong) == "invalid_id"


def test_priorities_are_few() -> None:
    assert [limits.check_priority(value) for value in (-10, 0, 10)] == [-10, 0, 10]
    for value in (-11, 11, True, 1.0, "1", None, 10**5000):
        assert reason_of(limits.check_priority, value) == "invalid_priority"


def test_limits_include_both_ends() -> None:
    assert [limits.check_limit(value, what="limit", low=1, high=500) for value in (1, 500)] == [1, 500]
    for value in (0, 501, -1, 10**9, True, "10", None):
        assert reason_of(limits.check_limit, value, what="limit", low=1, high=500) == "invalid_argument"


def test_visibility_lasts_from_a_second_to_a_day() -> None:
    assert limits.check_visibility(SECOND) == SECOND
    assert limits.check_visibility(DAY) == 24 * HOUR
    for value in (0, MILLISECOND, SECOND - 1, DAY + 1, 3650 * DAY, -SECOND, True, 1.5e6, None, 10**5000):
        assert reason_of(limits.check_visibility, value) == "invalid_config"


GOOD: dict[str, Any] = {"max_attempts": 3, "initial_for": SECOND, "factor": 2.0, "max_for": MINUTE}


@pytest.mark.parametrize(
    "change",
    [{}, {"max_attempts": 1}, {"max_attempts": 1_000_000}, {"factor": 1}, {"max_for": SECOND}, {"initial_for": 0}],
)
def test_sensible_retry_policies_are_accepted(change: dict[str, Any]) -> None:
    policy = GOOD | change

    limits.check_retry(policy.pop("max_attempts"), **policy)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *(({"max_attempts": value}, "max_attempts") for value in (0, -1, 10**9, 1_000_001, True, 1.0, None)),
        *(({"factor": value}, "factor") for value in (0, 0.5, -1, float("nan"), float("inf"), True, "2", 10**400)),
        *(({"max_for": value}, "max_delay") for value in (SECOND - 1, -1, 4000 * DAY, 1.5, None)),
        *(({"initial_for": value}, "initial") for value in (-1, True, None, "1s")),
    ],
)
def test_other_retry_policies_are_refused_by_field(change: dict[str, Any], field: str) -> None:
    policy = GOOD | change

    with pytest.raises(InvalidInput) as caught:
        limits.check_retry(policy.pop("max_attempts"), **policy)

    assert (caught.value.reason, caught.value.path) == ("invalid_retry_policy", field)
