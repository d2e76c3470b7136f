"""Are durations and times read as people write them, and is everything else refused?"""

from __future__ import annotations

import datetime
from datetime import UTC, timedelta
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION, describe, from_instant, to_duration, to_instant
from windlass.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Duration, Instant


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10s", 10 * SECOND),
        ("1.5h", 90 * MINUTE),
        ("1d", DAY),
        ("2w", 14 * DAY),
        ("2m30s", 150 * SECOND),
        ("1h0m0.5s", HOUR + SECOND // 2),
        ("500ms", 500 * MILLISECOND),
        ("7us", 7),
        ("0.1s", 100 * MILLISECOND),
        ("0s", 0),
        (5, 5 * SECOND),
        (0.1, 100 * MILLISECOND),
        (0, 0),
        (timedelta(days=1, microseconds=1), DAY + 1),
        ("3653d", MAX_DURATION),
        (timedelta(days=3653), MAX_DURATION),
    ],
)
def test_durations_are_read(value: Any, expected: int) -> None:
    assert to_duration(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        -1,
        -0.5,
        timedelta(microseconds=-1),
        float("nan"),
        float("inf"),
        float("-inf"),
        1e300,
        10**30,
        10**5000,
        True,
        None,
        b"5s",
        [],
        "",
        "5",
        "5 m",
        " 5m",
        "5m ",
        "5m\n",
        "1h-5m",
        "-5m",
        "+5m",
        "１０s",
        "1_0s",
        "1e3s",
        ".5s",
        "5.s",
        "5M",
        "5y",
        "nan",
        "30s2m",
        "1s1s",
        "3654d",
        "9" * 18 + "w",
        "9" * 10_000 + "s",
        "1s" * 10_000,
        "\ud800",
        timedelta.max,
        f"{10**12 * 365}d",
    ],
    ids=lambda value: ascii(value)[:20] if isinstance(value, str) else type(value).__name__,
)
def test_other_durations_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        to_duration(value, what="timeout")

    assert (caught.value.reason, caught.value.path) == ("invalid_duration", "timeout")
    text = str(caught.value)
    assert "timeout" in text and '"2m30s"' in text and "max 10 years" in text
    assert len(text) < 300 and text.isascii()


def test_zero_is_refused_where_it_means_nothing() -> None:
    for value in (0, "0s", 0.0, timedelta(), "0.0000001s"):
        with pytest.raises(InvalidInput, match="longer than 0"):
            to_duration(value, allow_zero=False)


def test_instants_go_there_and_back() -> None:
    noon = datetime.datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=datetime.timezone(timedelta(hours=2)))

    assert from_instant(to_instant(noon)) == noon
    assert from_instant(to_instant(noon)).tzinfo is UTC
    assert to_instant(datetime.datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert from_instant(to_instant(datetime.datetime.max.replace(tzinfo=UTC))).year == 9999


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2026, 1, 1),  # noqa: DTZ001
        datetime.datetime(1, 1, 1, tzinfo=UTC),
        datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime.datetime(9999, 12, 31, 23, tzinfo=datetime.timezone(-timedelta(hours=2))),
        datetime.date(2026, 1, 1),
        "2026-01-01T00:00:00Z",
        1_700_000_000,
        None,
    ],
)
def test_other_times_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        to_instant(value, what="at")

    assert (caught.value.reason, caught.value.path) == ("invalid_time", "at")


def test_a_naive_time_is_told_what_it_lacks() -> None:
    with pytest.raises(InvalidInput, match="timezone required"):
        to_instant(datetime.datetime(2026, 1, 1), what="at")  # noqa: DTZ001


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 s"),
        (7, "7 µs"),
        (250 * MILLISECOND, "250 ms"),
        (999_999, "1 s"),
        (3 * SECOND, "3 s"),
        (4_200 * MILLISECOND, "4.2 s"),
        (59_960 * MILLISECOND, "1 min"),
        (2 * MINUTE, "2 min"),
        (150 * SECOND, "2 min 30 s"),
        (HOUR - 1, "1 h"),
        (65 * MINUTE, "1 h 5 min"),
        (3 * DAY, "3 d"),
        (26 * HOUR, "1 d 2 h"),
        (-3 * SECOND, "-3 s"),
    ],
)
def test_durations_are_described(duration: int, text: str) -> None:
    assert describe(Duration(duration)) == text


def test_the_epoch_is_an_instant() -> None:
    assert from_instant(Instant(0)).isoformat() == "1970-01-01T00:00:00+00:00"
