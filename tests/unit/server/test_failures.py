"""How often somebody may fail at the gate, and what is written down about it."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.server.doors import OF_ALL, SECRET, Keys
from windlass.errors import Busy, Forbidden, NotAuthenticated, Unavailable
from windlass.model.access import Role
from windlass.model.time import SECOND
from windlass.rules.access import make_token
from windlass.server import refusals
from windlass.server.gate import BELIEVED_FOR, Gate
from windlass.server.throttle import ATTEMPTS, Throttle, source_of
from windlass.testing.clock import FakeClock


async def fail(gate: Gate, *, peer: str = "10.0.0.1", token: str | None = None) -> type[Exception]:
    with pytest.raises((Busy, NotAuthenticated)) as refused:
        await gate.admit(token, "list_runs", None, peer=peer, request_id="req_1")
    return refused.type


@pytest.mark.spec("security:S-16")
async def test_a_source_that_keeps_failing_is_told_to_wait(gate: Gate, clock: FakeClock) -> None:
    told = [await fail(gate) for _ in range(1_000)]

    assert told == [NotAuthenticated] * ATTEMPTS + [Busy] * (1_000 - ATTEMPTS)
    clock.advance(3 * SECOND)
    assert [await fail(gate) for _ in range(5)] == [NotAuthenticated] * 3 + [Busy] * 2
    assert await fail(gate, peer="10.0.0.2") is NotAuthenticated


@pytest.mark.spec("security:S-16")
async def test_a_valid_key_is_let_in_whatever_its_neighbours_do(gate: Gate, keys: Keys, clock: FakeClock) -> None:
    token, key = keys.add(Role.VIEWER)
    guesses = [make_token(key.id, bytes([number]) * 32) for number in range(100)]
    for guess in guesses:  # of this very key, from its own address
        await fail(gate, token=guess)

    for _ in range(3):
        assert (await gate.admit(token, "list_runs", None, peer="10.0.0.1", request_id="")).key == key.id
        clock.advance(BELIEVED_FOR)
    assert await fail(gate, token=guesses[0], peer="10.9.9.9") is NotAuthenticated  # it was quiet for long enough


@pytest.mark.spec("security:S-16")
async def test_one_key_is_not_guessed_at_from_many_places(gate: Gate, keys: Keys) -> None:
    for id in ("key_" + "0" * 26, "key_" + "9" * 26):  # one of them exists
        keys.add(Role.VIEWER)
        told = [await fail(gate, token=make_token(id, b"x" * 32), peer=f"10.0.1.{n}") for n in range(ATTEMPTS + 5)]

        assert told == [NotAuthenticated] * ATTEMPTS + [Busy] * 5


async def test_those_who_guess_ask_the_store_one_by_one_and_hold_nobody_up(gate: Gate, keys: Keys) -> None:
    token, key = keys.add(Role.VIEWER)
    await gate.admit(token, "list_runs", None, peer="10.0.0.1", request_id="")
    for _ in range(ATTEMPTS):
        await fail(gate)
    keys.lookups.clear()
    keys.open.clear()

    ids = [f"key_{number:026}" for number in range(500, 600)]
    guesses = [asyncio.ensure_future(fail(gate, token=make_token(id, SECRET))) for id in ids]
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(keys.lookups) == 1
    assert (await gate.admit(token, "list_runs", None, peer="10.0.0.1", request_id="")).key == key.id

    keys.open.set()
    assert set(await asyncio.gather(*guesses)) == {Busy}


@pytest.mark.spec("security:S-32")
async def test_every_refusal_is_put_into_the_audit(gate: Gate, keys: Keys) -> None:
    token, key = keys.add(Role.VIEWER)
    unknown, wrong = make_token("key_" + "9" * 26, SECRET), make_token(key.id, b"x" * 32)
    for refused in (None, unknown, wrong):
        await fail(gate, token=refused)
    with pytest.raises(Forbidden):
        await gate.admit(token, "cancel_run", None, peer="", request_id="req_2")
    with pytest.raises(Forbidden):
        await gate.admit(token, "list_runs", "other", peer="", request_id="req_3")
    await gate.close()

    found = [(row["namespace"], row["actor"], row["action"], row["request_id"]) for row in keys.refusals]
    assert found == [
        (OF_ALL, "", "list_runs", "req_1"),
        (OF_ALL, "key_" + "9" * 26, "list_runs", "req_1"),
        ("shop", key.id, "list_runs", "req_1"),
        ("shop", key.id, "cancel_run", "req_2"),
        ("shop", key.id, "list_runs", "req_3"),
    ]
    assert not any(token[-43:] in str(row) for row in keys.refusals)


async def test_an_attack_does_not_fill_the_audit_and_what_is_left_out_is_counted(
    gate: Gate, keys: Keys, clock: FakeClock
) -> None:
    for number in range(1_000):
        await fail(gate, peer=f"10.1.{number // 250}.{number % 250}")
    await gate.close()
    assert len(keys.refusals) == refusals.AT_ONCE

    clock.advance(SECOND)
    await fail(gate, peer="10.2.0.1")
    await gate.close()
    assert keys.refusals[-1]["reason"] == "not authenticated (before it 900 that are not on record)"


async def test_an_audit_that_cannot_be_written_changes_nothing_about_a_refusal(gate: Gate, keys: Keys) -> None:
    keys.failure = Unavailable("the store is down")

    assert await fail(gate) is NotAuthenticated
    await gate.close()
    keys.failure = None
    assert await fail(gate) is NotAuthenticated
    await gate.close()

    assert [row["reason"] for row in keys.refusals] == ["not authenticated (before it 1 that are not on record)"]


def test_the_table_of_sources_is_bounded(clock: FakeClock) -> None:
    throttle = Throttle(clock, attempts=2, most=100)
    for number in range(10_000):
        assert throttle.take(str(number))

    assert 90 <= len(throttle._full_at) <= 100
    assert throttle._full_at.keys() >= {str(number) for number in range(9_950, 10_000)}  # the last ones are known
    clock.advance(SECOND)
    for number in range(20):
        throttle.take(f"more {number}")
    assert len(throttle._full_at) <= 20  # the others are as good as new


@pytest.mark.parametrize(
    ("peer", "source"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:5000", "10.0.0.1"),
        ("ipv4:10.0.0.1:5000", "10.0.0.1"),
        ("ipv6:%5B2001:db8:1:2:3::4%5D:5000", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:80", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix:", "unix:"),
        ("", ""),
        ("x" * 1_000, "x" * 100),
    ],
)
def test_a_source_is_an_address_without_its_port(peer: str, source: str) -> None:
    assert source_of(peer) == source
