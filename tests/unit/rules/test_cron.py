"""Are cron expressions read as people write them, and is everything else refused in one clear line?"""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from tests.invariants.walker import walk
from windlass.errors import InvalidInput
from windlass.model.duration import to_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, Instant
from windlass.rules.cron import check_cron
from windlass.rules.slots import describe, next_slot, upcoming


def refusal(text: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_cron(text, what="schedule cron")

    assert (caught.value.reason, caught.value.path) == ("invalid_cron", "schedule cron")
    message = str(caught.value)
    assert message.startswith("Invalid schedule cron ") and message.isprintable() and message.isascii()
    assert len(message) < 1_000
    return message


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("* * * * *", "* * * * *"),
        ("  0   09  *  * * ", "0 9 * * *"),
        ("00 9-17/02 1,015 jan-Mar mon-FRI", "0 9-17/2 1,15 JAN-MAR MON-FRI"),
        ("5/10 * * * 7", "5/10 * * * 7"),
        ("*/60 */24 */31 */12 */7", "*/60 */24 */31 */12 */7"),
        ("5-5/2 3-3 * JAN-1 7-7/1", "5 3 * JAN 7"),
        ("0 0 l * *", "0 0 L * *"),
        ("0 0 lw,15 * *", "0 0 LW,15 * *"),
        ("0 0 * * fri#2,5L", "0 0 * * FRI#2,5L"),
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_expressions_have_one_form(text: str, normal: str) -> None:
    assert check_cron(text) == normal
    assert check_cron(normal) == normal


@pytest.mark.spec("security:52")
@pytest.mark.parametrize("text", ["", "   ", "*", "* * * *", "0 * * * * *", "0 0 0 1 1 * 2026"])
def test_other_than_five_fields_are_refused(text: str) -> None:
    assert f"it has {len(text.split())} fields; expected are five fields" in refusal(text)


@pytest.mark.spec("security:52")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("60 * * * *", "minute '60' is out of range; accepted are 0 to 59"),
        ("* 24 * * *", "hour '24' is out of range; accepted are 0 to 23"),
        ("* * 0 * *", "day of month '0' is out of range; accepted are 1 to 31"),
        ("* * 32 * *", "day of month '32' is out of range; accepted are 1 to 31"),
        ("* * * 0 *", "month '0' is out of range; accepted are 1 to 12 or JAN to DEC"),
        ("* * * 13 *", "month '13' is out of range; accepted are 1 to 12 or JAN to DEC"),
        ("* * * * 8", "day of week '8' is out of range; accepted are 0 to 7 or SUN to SAT"),
        ("1,2,30-70/5 * * * *", "minute '30-70/5' is out of range"),
        ("99999999999999999999 * * * *", "minute '99999999999999999999' is not understood"),
        ("* * * * 8L", "day of week '8L' is out of range"),
        ("* * * * 9#1", "day of week '9#1' is out of range"),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_field_and_range(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.spec("security:53")
@pytest.mark.parametrize(
    "text",
    [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "0 0 30,31 FEB *",
        "0 0 31 2 */2",
        "*/5 * 30-31 2 *",
        "0 0 */29 2 MON#2",  # the first of February is never the second Monday
        "0 0 */20 * 1L",  # neither the first nor the 21st is a last Monday
    ],
)
def test_an_expression_that_never_fires_is_refused(text: str) -> None:
    assert "it never fires" in refusal(text)


@pytest.mark.parametrize("text", ["0 0 30 2 MON", "0 0 31 * *", "0 0 29 2 */7", "0 0 * 2 MON#5", "0 0 L,30 2 *"])
def test_an_expression_that_rarely_fires_is_accepted(text: str) -> None:
    assert check_cron(text) == text
    assert next_slot(Timing(cron=text), Instant(0), after=Instant(0)) is not None


@pytest.mark.spec("security:54")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*/0 * * * *", "minute '*/0' has a step out of range; accepted are 1 to 60"),
        ("*/90 * * * *", "minute '*/90' has a step out of range; accepted are 1 to 60"),
        ("0 */25 * * *", "hour '*/25' has a step out of range; accepted are 1 to 24"),
        ("5-1 * * * *", "minute '5-1' goes backwards"),
        ("5-1/2 * * * *", "minute '5-1/2' goes backwards"),
        ("0 0 * * FRI-SUN", "goes backwards; a range begins with its lower end; at the end of a range Sunday is 7"),
        ("1,,2 * * * *", "minute '' is not understood"),
        (",1 * * * *", "minute '' is not understood"),
        ("*-5 * * * *", "minute '*-5' is not understood"),
        ("5-* * * * *", "minute '5-*' is not understood"),
        ("** * * * *", "minute '**' is not understood"),
        ("-5 * * * *", "minute '-5' is not understood"),
        ("+5 * * * *", "minute '+5' is not understood"),
        ("1-2-3 * * * *", "minute '1-2-3' is not understood"),
        ("*/2/3 * * * *", "minute '*/2/3' is not understood"),
        ("*/ * * * *", "minute '*/' is not understood"),
        ("1.5 * * * *", "minute '1.5' is not understood"),
        ("1_0 * * * *", "minute '1_0' is not understood"),
        ("0x5 * * * *", "minute '0X5' is not understood"),
        ("a b c d e", "minute 'A' is not understood; accepted are 0 to 59, *, ranges (1-5), lists (1,2) and steps"),
        ("0 0 1 JANUARY *", "month 'JANUARY' is not understood"),
        ("0 0 L-3 * *", "ranges (1-5), lists (1,2), steps (*/2), L (the last day) and LW (the last workday)."),
        ("0 0 40 * *", "1 to 31, *, ranges (1-5), lists (1,2), steps (*/2), L (the last day) and LW"),
        ("0 0 * * 5#6", "steps (*/2), #1 to #5 (FRI#2, the second Friday) and 5L (the last Friday)."),
        ("0 0 * * 8", "0 to 7 or SUN to SAT, *, ranges (1-5), lists (1,2), steps (*/2), #1 to #5 (FRI#2"),
        ("0 0 1 MON *", "month 'MON' is not understood"),
        ("0 0 * * JAN", "day of week 'JAN' is not understood"),
        ("0 0 * * XYZ#1", "day of week 'XYZ#1' is not understood"),
        ("0 0 * * 5#9", "day of week '5#9' is not understood"),
        ("0 0 * * 5#0", "day of week '5#0' is not understood"),
        ("0 0 * * FRIL", "day of week 'FRIL' is not understood"),
        ("0 0 * * L", "day of week 'L' is not understood"),
        ("0 0 * * 1-5L", "day of week '1-5L' is not understood"),
        ("0 0 L/2 * *", "day of month 'L/2' is not understood"),
        ("0 0 15W * *", "day of month '15W' is not understood"),
        ("0 L * * *", "hour 'L' is not understood"),
        ("0 0 ? * *", "day of month '?' is not understood"),
        ("0 0 * * 5#²", "only plain letters"),
        ("0\t0 * * *", "no tabs or line breaks"),
        ("0 0 * * *\n", "no tabs or line breaks"),
        ("0 0 * * *\r\n", "no tabs or line breaks"),
        ("0\u00a00 * * *", "only plain letters"),
        ("１ * * * *", "only plain letters"),
        ("٣ * * * *", "only plain letters"),
        ("½ * * * *", "only plain letters"),
        ("0 0 * * ſun", "only plain letters"),
        ("0 0 * * \ud800", "only plain letters"),
        ("0 0 * * *\0", "only plain letters"),
        ("@reboot", "this macro is not known; accepted are @hourly, @daily, "),
        ("@every 5m", "this macro is not known"),
        ("@", "this macro is not known"),
        ("@daily ", "this macro is not known"),
    ],
)
def test_other_forms_are_refused_with_their_field(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize("value", [None, 5, True, 1.5, b"* * * * *", ["*"] * 5, object()])
def test_what_is_not_text_is_refused(value: Any) -> None:
    assert "text was expected" in refusal(value)


@pytest.mark.spec("security:55", "security:S-36")
@pytest.mark.parametrize(
    "text",
    [
        "* * * * " + "0" * 10_000,
        ",".join(["0-59/1"] * 1_000) + " * * * *",
        "*" * 1_000_000,
        "1-" * 50_000 + " * * * *",
        "@" + "a" * 100_000,
        " " * 100_000,
        "0 0 * * " + "9" * 193,
    ],
    ids=lambda text: text[:12],
)
def test_a_long_expression_is_refused_at_once(text: str) -> None:
    took = []
    for _ in range(3):  # the fastest of three: machines are busy
        begin = time.process_time()
        message = refusal(text)
        took.append(time.process_time() - begin)

    assert "it is too long, max 200 characters" in message
    assert min(took) < 0.010


@pytest.mark.parametrize("text", ["0-59/1," * 25 + "7 * * * *", "0 0 * * " + "9" * 192, "1" * 192 + " * * * *"])
def test_the_longest_that_is_read_is_read_at_once(text: str) -> None:
    begin = time.process_time()
    with contextlib.suppress(InvalidInput):
        check_cron(text)

    assert len(text) <= 200
    assert time.process_time() - begin < 0.1


@pytest.mark.spec("security:56")
@pytest.mark.parametrize(
    ("after", "expected"),
    [(2025, 2028), (2028, 2032), (2096, 2104)],  # 2100 is no leap year
)
def test_the_29th_of_february_comes_with_the_next_leap_year(after: int, expected: int) -> None:
    timing = Timing(cron=check_cron("0 0 29 2 *"))

    found = next_slot(timing, Instant(0), after=to_instant(datetime(after, 3, 1, tzinfo=UTC)))

    assert found == to_instant(datetime(expected, 2, 29, tzinfo=UTC))


@pytest.mark.spec("security:57")
def test_with_both_days_given_a_date_matches_by_either() -> None:
    assert days("0 0 13 * FRI") == [1, 8, 13, 15, 22, 29]  # May 2026: Fridays, and the 13th
    assert days("0 0 13 * FRI#1") == [1, 13]
    assert days("0 0 L * FRI#1") == [1, 31]


@pytest.mark.spec("security:57")
def test_a_day_field_that_begins_with_a_star_must_match_as_well() -> None:
    assert days("0 0 1-7 * */7") == [3]  # the first Sunday
    assert days("0 0 */10 * FRI") == [1]
    assert days("0 0 * * FRI") == [1, 8, 15, 22, 29]
    assert days("0 0 13 * *") == [13]


def test_special_days_are_found() -> None:
    assert days("0 0 L * *") == [31]
    assert days("0 0 LW * *") == [29]  # the 31st is a Sunday
    assert days("0 0 * * 5L") == [29]
    assert days("0 0 * * MON#1,MON#3") == [4, 18]
    assert days("0 0 * * 0") == days("0 0 * * 7") == days("0 0 * * SUN") == [3, 10, 17, 24, 31]
    assert days("0 0 * * 6-7") == days("0 0 * * SAT,SUN") == [2, 3, 9, 10, 16, 17, 23, 24, 30, 31]


def days(cron: str) -> list[int]:
    """The days of May 2026 on which it fires."""
    before = to_instant(datetime(2026, 4, 30, 23, 59, tzinfo=UTC))
    slots = upcoming(Timing(cron=check_cron(cron)), Instant(0), after=before, count=40)
    return [(slot - before) // DAY + 1 for slot in slots if slot - before < 31 * DAY]


ODDITIES = some.text(alphabet="0123456789*/-,#LWJANMOFRI @½²ſ\t", max_size=30)


@given(ODDITIES | some.lists(ODDITIES, min_size=5, max_size=5).map(" ".join) | some.text(max_size=250))
@example("0 0 LW/2 * *")
@example("0 0 * * 5L/2")
@example("0 0 * * MON#1/2")
@example("0 0 * * ,L")
@settings(max_examples=500, deadline=None)
def test_whatever_comes_is_read_or_refused(text: str) -> None:
    try:
        cron = check_cron(text)
    except InvalidInput:
        refusal(text)
        return

    assert check_cron(cron) == cron
    assert next_slot(Timing(cron=cron), Instant(0), after=Instant(0)) is not None
    assert describe(Timing(cron=cron)).endswith(" (UTC)")


def terms(low: int, high: int, names: str = "") -> some.SearchStrategy[str]:
    """Terms of one field, most of which are right."""
    number = some.integers(low, high).map(str)
    value = number | some.sampled_from(names.split()) if names else number
    bounds = some.tuples(some.integers(low, high), some.integers(low, high)).map(
        lambda ends: f"{min(ends)}-{max(ends)}"
    )
    stepped = some.tuples(some.just("*") | bounds | number, some.integers(1, high)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    return some.lists(some.just("*") | value | bounds | stepped, min_size=1, max_size=3).map(",".join)


TIMES = some.tuples(terms(0, 59), terms(0, 23)).map(lambda pair: f"{pair[0]} {pair[1]} * * *")
DATES = some.tuples(terms(1, 31), terms(1, 12, "JAN feb DEC"), terms(0, 7, "SUN mon SAT")).map(
    lambda fields: f"7 3 {fields[0]} {fields[1]} {fields[2]}"
)
SOME_DAY = some.integers(0, 8).map(lambda number: 2_501 * number)  # a few, so that the walker finds its way again


@given(TIMES, SOME_DAY)
@example("0-0/1 7-7/3 * * *", 0)
@settings(max_examples=100, deadline=None)
def test_times_of_the_day_mean_what_a_naive_reader_takes_them_for(text: str, day: int) -> None:
    compare_with_walker(text, after=Instant(day * DAY), until=Instant((day + 1) * DAY))


@given(DATES, SOME_DAY)
@example("7 3 * 1-1/1 *", 31)
@example("7 3 * * 0-0/1", 0)
@settings(max_examples=100, deadline=None)
def test_dates_mean_what_a_naive_reader_takes_them_for(text: str, day: int) -> None:
    compare_with_walker(text, after=Instant(day * DAY), until=Instant((day + 400) * DAY))


def compare_with_walker(text: str, *, after: Instant, until: Instant) -> None:
    try:
        cron = check_cron(text)
    except InvalidInput as refused:
        assert "it never fires" in str(refused)
        return

    expected = walk(Timing(cron=text), Instant(0), after=after, until=until)
    found = upcoming(Timing(cron=cron), Instant(0), after=after, count=len(expected) + 1)
    assert found[:-1] == expected
    assert found[-1] > until
