"""Is a token read in one way only, does a key allow what it says, and is nothing of a stranger kept as it came?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import WrongState
from windlass.model.access import EVERY_NAMESPACE, Key, Role
from windlass.model.namespace import Namespace
from windlass.model.time import Instant
from windlass.rules import access, api_keys, namespaces

ID = "key_01M7JYA1M9A2T62DWW8WFTNM8B"
SECRET = bytes(range(32))
TOKEN = access.make_token(ID, SECRET)


def key(**fields: object) -> Key:
    values: dict[str, object] = {"id": ID, "namespace": "default", "roles": (Role.CLIENT,)}
    return Key(**(values | {"secret_hash": access.hash_secret(SECRET)} | fields))  # type: ignore[arg-type]


@pytest.mark.spec("security:S-06")
@given(st.binary(min_size=32, max_size=32))
def test_a_token_tells_its_key_and_its_secret(secret: bytes) -> None:
    token = access.make_token(ID, secret)

    assert access.parse_token(token) == (ID, secret)
    assert len(token) == 73
    assert access.matches(key(secret_hash=access.hash_secret(secret)), secret)


@pytest.mark.spec("security:S-06", "security:S-37")
@pytest.mark.parametrize(
    "text",
    [
        "",
        ID,
        TOKEN + "\n",
        " " + TOKEN,
        TOKEN[:-1],
        TOKEN + "A",
        TOKEN.lower(),
        TOKEN.replace("wl_", "wx_"),
        TOKEN[:-1] + chr(ord(TOKEN[-1]) + 1),  # the same secret in other bits that nobody reads
        "wl_" + "I" * 26 + "_" + "A" * 43,
        TOKEN.replace("_", "+"),
        TOKEN + "=",
    ],
)
def test_what_is_no_token_is_none(text: str) -> None:
    assert access.parse_token(text) is None


@given(st.text(max_size=100))
def test_no_text_makes_it_fail(text: str) -> None:
    found = access.parse_token(text)

    assert found is None or access.make_token(*found) == text


def test_a_wrong_secret_is_not_that_of_the_key() -> None:
    assert not access.matches(key(), SECRET[:-1] + b"\0")
    assert not access.matches(key(secret_hash=b""), SECRET)


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, api_keys.Standing.LIVE),
        ({"expires_at": Instant(11)}, api_keys.Standing.LIVE),
        ({"expires_at": Instant(10)}, api_keys.Standing.EXPIRED),
        ({"revoked_at": Instant(3)}, api_keys.Standing.REVOKED),
        ({"revoked_at": Instant(3), "expires_at": Instant(5)}, api_keys.Standing.REVOKED),
    ],
)
def test_a_key_is_good_up_to_its_end_and_not_at_it(fields: dict[str, object], standing: api_keys.Standing) -> None:
    found = key(**fields)

    assert api_keys.standing(found, now=Instant(10)) is standing
    assert access.is_live(found, now=Instant(10)) is (standing is api_keys.Standing.LIVE)


def test_what_a_key_allows_is_said_in_a_line() -> None:
    assert api_keys.describe_key(key(roles=(Role.VIEWER, Role.WORKER), queues=("a", "b"))) == (
        "viewer, worker of a, b in default"
    )
    assert api_keys.describe_key(key(namespace=EVERY_NAMESPACE, roles=(Role.ADMIN,))) == "admin in every namespace"


@pytest.mark.spec("security:S-29")
@given(st.text(max_size=500))
def test_of_a_stranger_one_short_printable_line_is_kept(text: str) -> None:
    kept = api_keys.harmless(text)

    assert kept.isprintable()
    assert len(kept) == min(len(text), 200)


def test_what_is_still_in_a_namespace_is_counted_up_to_a_limit() -> None:
    with pytest.raises(WrongState, match=r"1,000 runs or more, 1 schedule, 2 workers"):
        namespaces.check_empty("acme", {"run": 1_000, "schedule": 1, "worker": 2})
    namespaces.check_empty("acme", {"run": 0, "schedule": 0, "worker": 0})


def test_the_gate_of_an_enabled_namespace_and_of_one_without_a_row_may_be_turned() -> None:
    namespaces.check_open(None)
    namespaces.check_open(Namespace(name="acme"))
    with pytest.raises(WrongState, match="windlass namespaces enable acme"):
        namespaces.check_open(Namespace(name="acme", is_enabled=False))
