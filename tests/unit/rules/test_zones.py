"""Is a zone one of the IANA's, the same on every machine, and is anything else refused?"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from windlass.errors import InvalidInput
from windlass.rules.zones import check_zone, load_zone, zone_keys

ZONE_FILES = ["posixrules", "localtime", "leapseconds", "tzdata.zi", "zone.tab", "posix/Europe/Rome", "right/UTC"]


def refusal(text: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_zone(text, what="zone")

    assert (caught.value.reason, caught.value.path) == ("unknown_time_zone", "zone")
    message = str(caught.value)
    assert message.startswith("Unknown zone ") and "an IANA time zone such as 'America/New_York'" in message
    assert message.isascii() and message.isprintable() and len(message) < 1_000
    return message


@pytest.mark.spec("security:58")
@pytest.mark.parametrize("key", ["UTC", "Europe/Rome", "EST5EDT", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
def test_a_key_is_accepted_as_it_is(key: str) -> None:
    assert check_zone(key) == key
    assert load_zone(key).key == key
    assert load_zone(key) is load_zone(key)


@pytest.mark.spec("security:58")
@pytest.mark.parametrize("text", ["Mars/Phobos", "", " ", "+02:00", "UTC+2", "GMT+2", "Europe", "Factory", *ZONE_FILES])
def test_what_is_no_zone_is_refused(text: str) -> None:
    refusal(text)


@pytest.mark.spec("security:58")
@pytest.mark.parametrize(
    "text",
    [
        "../../x",
        "/etc/passwd",
        "Europe/../Europe/Rome",
        "./UTC",
        "Europe//Rome",
        "Europe/Rome/",
        "Europe\\Rome",
        "UTC\0",
        "UTC\n",
        "\ud800",
        "ＵＴＣ",
        "x" * 100_000,
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_a_path_is_never_followed(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize("value", [None, 5, b"UTC", ["UTC"], UTC, zoneinfo.ZoneInfo("UTC")])
def test_what_is_not_text_is_refused(value: Any) -> None:
    refusal(value)


@pytest.mark.spec("security:58")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("europe/rome", "Europe/Rome"),
        ("EUROPE/ROME", "Europe/Rome"),
        ("utc", "UTC"),
        ("rome", "Europe/Rome"),
        ("New York", "America/New_York"),
        ("Europe/Roma", "Europe/Rome"),
        ("America/NewYork", "America/New_York"),
    ],
)
def test_a_refused_zone_is_told_which_one_was_meant(text: str, meant: str) -> None:
    assert f"Did you mean {meant!r}" in refusal(text)


@given(some.text(max_size=120))
@settings(deadline=None)
def test_whatever_comes_is_a_key_or_refused(text: str) -> None:
    if text not in zone_keys():
        refusal(text)


def test_every_key_can_be_loaded() -> None:
    offsets = [datetime(2026, 1, 1, tzinfo=load_zone(key)).utcoffset() for key in zone_keys()]

    assert len(offsets) > 500
    assert all(offset is not None and abs(offset) <= timedelta(hours=14) for offset in offsets)
