"""Who is let in, and what the others are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.server.doors import OF_ALL, SECRET, Keys, Tenants
from windlass.api.admission import Caller
from windlass.api.operations import OPERATIONS, Operation
from windlass.errors import (
    Forbidden,
    InvalidInput,
    NotAuthenticated,
    NotFound,
    Unavailable,
    WindlassError,
    WrongState,
)
from windlass.model.access import Role
from windlass.model.time import SECOND, Instant
from windlass.rules.access import make_token
from windlass.server.gate import BELIEVED_FOR, ELSEWHERE, NOBODY, Gate
from windlass.testing.clock import FakeClock


async def admit(
    gate: Gate, token: str | None, operation: str = "list_runs", namespace: str | None = None, peer: str = "10.0.0.1"
) -> Caller:
    return await gate.admit(token, operation, namespace, peer=peer, request_id="req_1")


async def outcome(gate: Gate, token: str | None, operation: str, namespace: str | None = None) -> str:
    try:
        await admit(gate, token, operation, namespace)
    except WindlassError as error:
        return error.code
    return "in"


@pytest.mark.spec("security:S-07", "security:S-08")
@pytest.mark.parametrize("row", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("role", Role)
async def test_every_role_may_ask_what_the_table_says_and_nothing_else(
    gate: Gate, keys: Keys, row: Operation, role: Role
) -> None:
    own, _ = keys.add(role, namespace="shop")
    of_all, _ = keys.add(role, namespace=OF_ALL)
    is_role = role in row.roles

    assert await outcome(gate, own, row.name, "shop") == ("in" if is_role and row.of_namespace else "forbidden")
    assert await outcome(gate, own, row.name, None) == ("in" if is_role and row.of_namespace else "forbidden")
    assert await outcome(gate, own, row.name, "other") == "forbidden"
    assert await outcome(gate, own, row.name, "nowhere") == "forbidden"
    assert await outcome(gate, of_all, row.name, "other") == ("in" if is_role else "forbidden")
    assert await outcome(gate, None, row.name, "shop") == "not_authenticated"


@pytest.mark.spec("security:S-04")
@pytest.mark.parametrize("operation", ["", "nonsense", "LIST_RUNS", "list_runs ", "__class__", "probe_workers"])
async def test_what_stands_in_no_row_of_the_table_is_refused(gate: Gate, keys: Keys, operation: str) -> None:
    token, _ = keys.add(*Role, namespace=OF_ALL)

    with pytest.raises(Forbidden):
        await admit(gate, token, operation)


@pytest.mark.spec("security:S-08")
def test_no_other_role_shares_what_a_worker_does() -> None:
    of_workers = {row.name for row in OPERATIONS.values() if Role.WORKER in row.roles}
    of_clients = {row.name for row in OPERATIONS.values() if row.roles & {Role.CLIENT, Role.VIEWER, Role.OPERATOR}}

    assert of_workers & of_clients == {"server_info", "reflect"}


async def test_a_key_without_roles_opens_nothing(gate: Gate, keys: Keys) -> None:
    token, _ = keys.add(namespace=OF_ALL)

    assert {await outcome(gate, token, name) for name in OPERATIONS} == {"forbidden"}


@pytest.mark.spec("security:90", "security:S-16")
async def test_every_token_that_does_not_open_is_told_the_same(gate: Gate, keys: Keys, clock: FakeClock) -> None:
    good, _ = keys.add(Role.ADMIN, namespace=OF_ALL)
    expired, _ = keys.add(Role.ADMIN, expires_at=Instant(clock.now()))
    revoked, _ = keys.add(Role.ADMIN, revoked_at=Instant(1))
    unknown = make_token("key_" + "9" * 26, SECRET)
    wrong = make_token(next(iter(keys.keys)), b"x" * 32)
    malformed = [None, "", "wl_", good[:-1], good + "A", good.upper(), f" {good}", f"{good}\n", "é" * 73, "x" * 100_000]
    told = set()

    for token in (expired, revoked, unknown, wrong, *malformed):
        with pytest.raises(NotAuthenticated) as refused:
            await admit(gate, token)
        told.add(str(refused.value))

    assert told == {NOBODY}
    assert (await admit(gate, good)).key == "key_" + "0" * 26


@pytest.mark.spec("security:S-16")
async def test_an_unknown_id_and_a_wrong_secret_cost_the_same_lookups(gate: Gate, keys: Keys) -> None:
    good, key = keys.add(Role.VIEWER)
    await admit(gate, good)
    keys.lookups.clear()

    for token in (make_token("key_" + "9" * 26, SECRET), make_token(key.id, b"x" * 32)):
        for _ in range(2):
            with pytest.raises(NotAuthenticated):
                await admit(gate, token)

    assert keys.lookups == ["key_" + "9" * 26] * 2 + [key.id] * 2


async def test_a_caller_is_told_apart_and_acts_in_one_namespace(gate: Gate, keys: Keys) -> None:
    token, key = keys.add(Role.WORKER, Role.CLIENT, queues=("fast",))

    caller = await gate.admit(token, "claim_runs", "", peer="ipv4:10.0.0.1:5", request_id="req_7")

    assert (caller.key, caller.roles, caller.namespace) == (key.id, (Role.WORKER, Role.CLIENT), "shop")
    assert (caller.peer, caller.operation, caller.is_of_all) == ("10.0.0.1", "claim_runs", False)
    assert (caller.actor.key, caller.actor.request_id) == (key.id, "req_7")
    assert caller.may_serve("fast") and not caller.may_serve("slow")


async def test_a_key_for_all_namespaces_acts_in_the_default_one_unless_another_is_named(gate: Gate, keys: Keys) -> None:
    token, _ = keys.add(Role.CLIENT, namespace=OF_ALL)

    assert [(await admit(gate, token, "list_runs", name)).namespace for name in (None, "", "shop")] == [
        "default",
        "default",
        "shop",
    ]
    with pytest.raises(NotFound, match="namespace 'nowhere' does not exist"):
        await admit(gate, token, "list_runs", "nowhere")
    with pytest.raises(InvalidInput):
        await admit(gate, token, "list_runs", "../x")


@pytest.mark.spec("security:S-09", "invariants:I-58")
@pytest.mark.parametrize("operation", ["list_runs", "start_runs"])
async def test_a_foreign_namespace_is_refused_alike_whether_there_is_one_or_not(
    gate: Gate, keys: Keys, tenants: Tenants, operation: str
) -> None:
    token, _ = keys.add(Role.CLIENT)
    tenants.enabled["asleep"] = False
    told = set()

    for name in ("other", "nowhere", "asleep", "*", "../x", "sho", "shop ", "SHOP", "x" * 10_000, "\ud800"):
        with pytest.raises(Forbidden) as refused:
            await admit(gate, token, operation, name)
        told.add(str(refused.value))

    assert told == {ELSEWHERE}
    assert tenants.lookups == []  # nobody even looked


async def test_only_the_audit_may_be_asked_of_no_namespace(gate: Gate, keys: Keys) -> None:
    of_all, _ = keys.add(Role.ADMIN, namespace=OF_ALL)
    own, _ = keys.add(Role.ADMIN, namespace="shop")

    assert (await admit(gate, of_all, "list_audit", OF_ALL)).namespace == OF_ALL
    assert await outcome(gate, own, "list_audit", OF_ALL) == "forbidden"
    assert await outcome(gate, of_all, "list_runs", OF_ALL) == "invalid_input"


async def test_a_disabled_namespace_is_read_and_not_changed(gate: Gate, keys: Keys, tenants: Tenants) -> None:
    tokens = [keys.add(*Role, namespace=name)[0] for name in ("shop", OF_ALL)]
    tenants.enabled["shop"] = False

    for token in tokens:
        for row in OPERATIONS.values():
            if row.of_namespace:
                wanted = "wrong_state" if row.changes else "in"
                assert await outcome(gate, token, row.name, "shop") == wanted, row.name
    with pytest.raises(WrongState, match="namespace shop is disabled"):
        await admit(gate, tokens[0], "start_runs")


async def test_disabling_takes_effect_within_two_seconds_and_enabling_at_once(
    gate: Gate, keys: Keys, tenants: Tenants, clock: FakeClock
) -> None:
    token, _ = keys.add(Role.CLIENT)
    assert await outcome(gate, token, "start_runs") == "in"

    tenants.enabled["shop"] = False
    clock.advance(BELIEVED_FOR)
    assert await outcome(gate, token, "start_runs") == "wrong_state"

    tenants.enabled["shop"] = True
    assert await outcome(gate, token, "start_runs") == "in"


async def test_the_key_of_a_namespace_that_is_gone_opens_nothing(gate: Gate, keys: Keys, tenants: Tenants) -> None:
    token, _ = keys.add(Role.CLIENT, namespace="gone")

    with pytest.raises(Forbidden, match="not good for that namespace"):
        await admit(gate, token, "start_runs")


@pytest.mark.spec("security:S-06")
@pytest.mark.parametrize("end", ["revoked", "gone", "expired"])
async def test_a_key_that_ends_is_out_within_two_seconds_and_so_are_its_streams(
    gate: Gate, keys: Keys, clock: FakeClock, end: str
) -> None:
    token, key = keys.add(Role.VIEWER, expires_at=Instant(clock.now() + BELIEVED_FOR) if end == "expired" else None)
    caller = await admit(gate, token, "read_feed")
    clock.advance(SECOND)
    assert await gate.still_admitted(caller)

    if end == "revoked":
        keys.keys[key.id] = keys.add(Role.VIEWER, revoked_at=Instant(1))[1]
    elif end == "gone":
        del keys.keys[key.id]
    clock.advance(SECOND)

    assert await outcome(gate, token, "read_feed") == "not_authenticated"
    assert not await gate.still_admitted(caller)


async def test_a_long_poll_is_sent_away_once_its_namespace_is_disabled(
    gate: Gate, keys: Keys, tenants: Tenants, clock: FakeClock
) -> None:
    token, _ = keys.add(Role.WORKER)
    poll, listening = [await admit(gate, token, operation) for operation in ("claim_runs", "listen")]

    tenants.enabled["shop"] = False
    clock.advance(BELIEVED_FOR)

    assert not await gate.still_admitted(poll)
    assert await gate.still_admitted(listening)


@pytest.mark.parametrize("failure", [Unavailable("the store is down"), RuntimeError("select secret from api_keys")])
async def test_nobody_is_let_in_while_the_store_cannot_say(
    gate: Gate, keys: Keys, clock: FakeClock, failure: Exception
) -> None:
    token, _ = keys.add(Role.VIEWER)
    caller = await admit(gate, token)
    keys.failure = failure
    clock.advance(BELIEVED_FOR)

    with pytest.raises(Unavailable) as refused:
        await admit(gate, token)

    assert "secret" not in str(refused.value)
    with pytest.raises(Unavailable):  # and nobody is told that a good key is bad
        await gate.still_admitted(caller)
    keys.failure = None
    assert await outcome(gate, token, "list_runs") == "in"


async def test_an_unreadable_namespace_is_no_reason_to_let_anybody_in(gate: Gate, keys: Keys, tenants: Tenants) -> None:
    token, _ = keys.add(Role.CLIENT)
    tenants.failure = RuntimeError("select")

    with pytest.raises(Unavailable):
        await admit(gate, token, "start_runs")


async def test_a_thousand_calls_at_once_are_one_lookup(gate: Gate, keys: Keys) -> None:
    token, key = keys.add(Role.VIEWER)
    keys.open.clear()
    calls: list[asyncio.Task[Any]] = [asyncio.ensure_future(admit(gate, token)) for _ in range(1_000)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    calls[0].cancel()  # who goes away takes nobody's answer with it
    keys.open.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(answers[0], asyncio.CancelledError)
    assert {caller.key for caller in answers[1:] if isinstance(caller, Caller)} == {key.id}
    assert keys.lookups == [key.id]
