"""A firing on its way: what the engine writes for the run it starts or sends to, and what the worker makes of it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.signal import Firing, FiringId, FiringRow, FiringStatus, SignalId
from windlass.model.time import SECOND, Instant
from windlass.rules.firing_inputs import (
    FIRING_INPUT,
    FIRING_PAYLOAD,
    firing_input,
    firing_payload,
    read_firing_input,
    read_firing_payload,
)

NINE = Instant(1_796_115_600 * SECOND + 250)  # 2026-12-01 09:00 UTC
SIGNAL = SignalId("sig_" + "0" * 26)
RUN = "run_" + "0" * 26


class Backwards:
    """Sealed so that it is no JSON any more."""

    def seal(self, data: bytes, /) -> bytes:
        return b"\xff" + data[::-1]

    def open(self, data: bytes, /) -> bytes:
        if not data.startswith(b"\xff"):
            raise ValueError("not sealed")
        return data[:0:-1]


class Envelope:
    """Sealed so that it is some other JSON."""

    def seal(self, data: bytes, /) -> bytes:
        return json.dumps({"sealed": base64.b64encode(data).decode()}).encode()

    def open(self, data: bytes, /) -> bytes:
        return base64.b64decode(json.loads(data)["sealed"])


def row(**changes: Any) -> FiringRow:
    firing = FiringRow(
        namespace="default",
        id=FiringId(f"{SIGNAL}.17"),
        signal_id=SIGNAL,
        cause="17",
        subject_kind="run",
        subject_id=RUN,
        from_status="running",
        to_status="failed",
        happened_at=NINE,
        status=FiringStatus.RUNNING,
        available_at=None,
        token=1,
        worker=None,
        attempt=1,
        error=None,
        depth=0,
        run_id=None,
        task_id=None,
        created_at=NINE,
        ended_at=None,
    )
    return msgspec.structs.replace(firing, **changes)


EXPECTED = Firing(
    id=f"{SIGNAL}.17",
    signal_id=SIGNAL,
    subject_kind="run",
    subject_id=RUN,
    from_status="running",
    to_status="failed",
    at=datetime(2026, 12, 1, 9, 0, 0, 250, tzinfo=UTC),
)


def with_payload(payload: Any) -> Firing:
    return msgspec.structs.replace(EXPECTED, payload=payload)


def test_input_is_plain_json_that_begins_with_the_firing() -> None:
    written = firing_input(row(), None)

    assert written.startswith(FIRING_INPUT)
    (given,) = json.loads(written)["$tuple"]
    assert list(given) == [
        "firing_id",
        "signal_id",
        "subject_kind",
        "subject_id",
        "from_status",
        "to_status",
        "at",
        "payload",
    ]
    assert datetime.fromisoformat(given["at"]) == EXPECTED.at


@pytest.mark.parametrize("codec", [Codec(), Codec(hook=Backwards()), Codec(hook=Envelope())], ids=["plain", "s", "e"])
@pytest.mark.parametrize(
    "payload",
    [None, 1, "why", {"why": "notify"}, b"\x00\xff", Decimal("1.5"), (1, [2]), {"$bytes": "x"}, {"$tuple": 1}],
    ids=repr,
)
def test_whatever_a_program_hands_over_arrives_as_it_was(codec: Codec, payload: object) -> None:
    written = firing_input(row(), codec.encode(payload))

    assert read_firing_input(written, codec) == with_payload(payload)


@pytest.mark.parametrize("codec", [Codec(), Codec(hook=Backwards())], ids=["plain", "sealed"])
def test_input_without_payload_is_read_by_every_program(codec: Codec) -> None:
    assert read_firing_input(firing_input(row(from_status=None), None), codec) == msgspec.structs.replace(
        EXPECTED, from_status=None
    )


@pytest.mark.parametrize(
    "payload",
    [b"", b" 1", b"1 ", b"{", b"\xff\xfe", b'"\xff"', b"[" * 100_000, b"1 2", b'{"a":1}}'],
    ids=["empty", "before", "behind", "cut", "bytes", "text", "deep", "two", "more"],
)
def test_what_is_no_json_cannot_break_out_of_its_place(payload: bytes) -> None:
    written = firing_input(row(), payload)

    assert read_firing_input(written, Codec()) == with_payload(payload)


def test_codec_reads_the_same_by_itself() -> None:
    """For those who only look at inputs: the command line, the dashboard."""
    assert Codec().decode(firing_input(row(), b"[1]"), tuple[Firing]) == (with_payload([1]),)


def test_payload_that_is_not_sealed_is_refused_by_who_seals() -> None:
    with pytest.raises(InvalidInput, match="cannot be opened"):
        read_firing_input(firing_input(row(), b'{"forged":true}'), Codec(hook=Backwards()))


@pytest.mark.parametrize(
    "arguments",
    [(), (1,), ({"firing_id": "x"},), (EXPECTED,), ({"id": 1},), ({"firing_id": "x"}, 2)],
    ids=["none", "one", "dict", "by hand", "other", "two"],
)
def test_what_people_start_with_is_no_firing(arguments: tuple[Any, ...]) -> None:
    assert read_firing_input(Codec().encode(arguments), Codec()) is None


def test_what_is_sent_is_the_firing_with_the_hash_that_a_codec_gives() -> None:
    payload, hashed = firing_payload(row())

    assert payload.startswith(FIRING_PAYLOAD)
    assert read_firing_payload(payload, Codec(hook=Backwards())) == EXPECTED
    assert hashed == Codec().hash_of(Codec().decode(payload))
    assert Codec().decode(payload, Firing) == EXPECTED


def test_hash_of_what_is_sent_is_the_same_at_every_attempt() -> None:
    assert firing_payload(row(attempt=1)) == firing_payload(row(attempt=2, token=9))
    assert firing_payload(row())[1] != firing_payload(row(to_status="cancelled"))[1]
