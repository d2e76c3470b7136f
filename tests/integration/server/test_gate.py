"""The gate over real keys and namespaces: what is written by one server counts for every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from windlass.assembly import Opened, open_engine
from windlass.errors import Forbidden, NotAuthenticated, NotFound, WindlassError
from windlass.model.access import EVERY_NAMESPACE, CreateKey, ListAudit, Role
from windlass.model.namespace import CreateNamespace
from windlass.model.time import MINUTE, Duration
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import system_rng
from windlass.server.first_key import make_first_key
from windlass.server.gate import BELIEVED_FOR, Gate
from windlass.settings import Settings
from windlass.testing.clock import FakeClock

SECRET = bytes(range(32))


class Site:
    """A server's database and its gate."""

    def __init__(self, opened: Opened, clock: FakeClock) -> None:
        self.opened, self.gate = opened, Gate(opened.access, opened.namespaces, clock=clock)

    async def make_key(self, *roles: Role, namespace: str = "shop", expires_for: int | None = None) -> tuple[str, str]:
        """Its id and its token."""
        key = await self.opened.access.create_key(
            CreateKey(
                id=self.opened.ids.key(),
                namespace=namespace,
                roles=roles,
                secret_hash=hash_secret(SECRET),
                expires_for=None if expires_for is None else Duration(expires_for),
            )
        )
        return key.id, make_token(key.id, SECRET)

    async def outcome(self, token: str | None, operation: str, namespace: str | None = None) -> str:
        try:
            await self.gate.admit(token, operation, namespace, peer="10.0.0.1", request_id="req_1")
        except WindlassError as error:
            return error.code
        return "in"


@pytest.fixture
async def sites(shared_url: str, clock: FakeClock) -> AsyncIterator[list[Site]]:
    """Two servers on one database."""
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(2):
            opened = await open_engine(shared_url, Settings(), clock=clock, rng=system_rng())
            stack.push_async_callback(opened.close)
            made.append(Site(opened, clock))
        await made[0].opened.namespaces.create_namespace(CreateNamespace(name="shop"))
        yield made
        for site in made:
            await site.gate.close()


@pytest.mark.spec("security:S-06")
async def test_a_key_that_is_revoked_at_one_server_is_out_at_the_other_within_two_seconds(
    sites: list[Site], clock: FakeClock
) -> None:
    here, there = sites
    key, token = await here.make_key(Role.CLIENT)
    caller = await there.gate.admit(token, "read_feed", None, peer="", request_id="")
    assert await here.outcome(token, "start_runs") == await there.outcome(token, "start_runs") == "in"

    await here.opened.access.revoke_key(key)
    clock.advance(BELIEVED_FOR)

    assert await here.outcome(token, "list_runs") == await there.outcome(token, "list_runs") == "not_authenticated"
    assert not await there.gate.still_admitted(caller)


@pytest.mark.spec("security:S-06")
async def test_a_key_expires_on_time(sites: list[Site], clock: FakeClock) -> None:
    here, there = sites
    _, token = await here.make_key(Role.VIEWER, expires_for=MINUTE)
    clock.advance(MINUTE - 1)
    assert await there.outcome(token, "list_runs") == "in"

    clock.advance(1)

    assert await there.outcome(token, "list_runs") == await here.outcome(token, "list_runs") == "not_authenticated"


@pytest.mark.spec("invariants:I-58")
async def test_a_key_stays_in_its_namespace(sites: list[Site]) -> None:
    here, there = sites
    await here.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    _, token = await here.make_key(Role.ADMIN, namespace="shop")
    _, of_all = await here.make_key(Role.ADMIN, namespace=EVERY_NAMESPACE)

    assert await there.outcome(token, "list_runs", "shop") == "in"
    with pytest.raises(Forbidden) as known:
        await there.gate.admit(token, "list_runs", "other", peer="", request_id="")
    with pytest.raises(Forbidden) as unknown:
        await there.gate.admit(token, "list_runs", "nowhere", peer="", request_id="")
    assert str(known.value) == str(unknown.value)
    assert await there.outcome(token, "list_keys", "shop") == "forbidden"
    assert await there.outcome(of_all, "list_runs", "other") == "in"
    with pytest.raises(NotFound):
        await there.gate.admit(of_all, "list_runs", "nowhere", peer="", request_id="")


async def test_a_namespace_that_is_disabled_at_one_server_is_disabled_at_the_other(
    sites: list[Site], clock: FakeClock
) -> None:
    here, there = sites
    _, token = await here.make_key(Role.CLIENT)
    assert await there.outcome(token, "start_runs") == "in"

    await here.opened.namespaces.set_enabled("shop", is_enabled=False)
    clock.advance(BELIEVED_FOR)
    assert await there.outcome(token, "start_runs") == "wrong_state"
    assert await there.outcome(token, "list_runs") == "in"

    await here.opened.namespaces.set_enabled("shop", is_enabled=True)
    assert await there.outcome(token, "start_runs") == "in"


async def test_deleting_a_namespace_ends_its_keys(sites: list[Site], clock: FakeClock) -> None:
    here, there = sites
    _, token = await here.make_key(Role.CLIENT)
    assert await there.outcome(token, "list_runs") == "in"

    await here.opened.namespaces.set_enabled("shop", is_enabled=False)
    await here.opened.namespaces.delete_namespace("shop")
    clock.advance(BELIEVED_FOR)

    assert await there.outcome(token, "list_runs") == "not_authenticated"


@pytest.mark.spec("security:S-32")
async def test_who_was_turned_away_stands_in_the_audit(sites: list[Site]) -> None:
    here, there = sites
    key, token = await here.make_key(Role.VIEWER)
    with pytest.raises(NotAuthenticated):
        await there.gate.admit("wl_nonsense", "list_runs", "shop", peer="10.0.0.1", request_id="req_a")
    with pytest.raises(Forbidden):
        await there.gate.admit(token, "cancel_run", "shop", peer="10.0.0.1", request_id="req_b")
    await there.gate.close()

    everything = await here.opened.access.list_audit(ListAudit(namespace=EVERY_NAMESPACE))
    of_shop = await here.opened.access.list_audit(ListAudit(namespace="shop"))

    refused = [(row.namespace, row.actor, row.action, row.request_id) for row in everything.entries if row.request_id]
    assert refused == [("shop", key, "cancel_run", "req_b"), (EVERY_NAMESPACE, "", "list_runs", "req_a")]
    assert [row.request_id for row in of_shop.entries if row.request_id] == ["req_b"]


async def test_the_first_key_is_made_once_and_again_when_it_is_gone(sites: list[Site], clock: FakeClock) -> None:
    here, there = sites

    async def make(site: Site) -> str | None:
        return await make_first_key(site.opened.access, clock=clock, ids=site.opened.ids)

    await here.make_key(Role.ADMIN, namespace="shop")  # of one namespace: not for everything
    await here.make_key(Role.OPERATOR, namespace=EVERY_NAMESPACE)
    token = await make(here)
    assert token is not None
    assert await make(here) is None and await make(there) is None
    assert await there.outcome(token, "create_key") == "in"

    await there.opened.access.revoke_key(f"key_{token[3:29]}")
    again = await make(here)
    assert again is not None
    assert again != token


async def test_a_thousand_callers_of_fifty_keys_are_told_apart(sites: list[Site]) -> None:
    here, there = sites
    keys = [await here.make_key(Role.VIEWER) for _ in range(50)]

    callers = await asyncio.gather(
        *(
            site.gate.admit(token, "list_runs", None, peer="10.0.0.1", request_id="")
            for site in (here, there)
            for _, token in keys * 10
        )
    )

    assert [caller.key for caller in callers] == [key for key, _ in keys * 10] * 2
