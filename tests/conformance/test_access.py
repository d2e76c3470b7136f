"""Is a key what it was made as, for those who made it and for the gate, and is its secret kept nowhere?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import NAMESPACE, engine_on, outcomes_of, start, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from windlass.engine.engine import Engine
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Key, ListAudit, Role
from windlass.model.time import DAY, HOUR, Duration, Instant
from windlass.rules.access import hash_secret, is_live
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

ACME = "acme"


def key_id(number: int = 1) -> str:
    return f"key_{number:026}"


def secret(number: int = 1) -> bytes:
    return b"secret of %022d" % number


def creating(number: int = 1, **fields: Any) -> CreateKey:
    values: dict[str, Any] = {
        "id": key_id(number),
        "namespace": NAMESPACE,
        "roles": (Role.CLIENT,),
        "secret_hash": hash_secret(secret(number)),
    }
    return CreateKey(**(values | fields))


class TestAccess(EngineConformance):
    async def test_a_key_is_kept_as_it_was_made_with_the_hash_for_the_gate_only(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        made = await engine.access.create_key(
            creating(
                roles=(Role.WORKER, Role.VIEWER),
                queues=("mail", "billing"),
                note="the press",
                expires_for=Duration(90 * DAY),
                by="ann",
            )
        )

        now = clock.now()
        assert made == Key(
            id=key_id(),
            namespace=NAMESPACE,
            roles=(Role.VIEWER, Role.WORKER),
            queues=("billing", "mail"),
            note="the press",
            created_at=Instant(now),
            created_by="ann",
            expires_at=Instant(now + 90 * DAY),
        )
        found = await engine.access.find_key(key_id())
        assert found is not None
        assert found.secret_hash == hash_secret(secret())
        assert await engine.access.list_keys() == (made,)
        assert made.secret_hash == b""

    @pytest.mark.spec("invariants:I-57")
    async def test_made_again_it_is_the_same_key_and_another_one_of_its_id_is_refused(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        fields: dict[str, Any] = {"expires_for": HOUR, "roles": (Role.VIEWER, Role.CLIENT)}
        command = creating(**fields)
        first = await engine.access.create_key(command)
        clock.advance(1)

        assert await engine.access.create_key(command) == first
        others: tuple[dict[str, Any], ...] = (
            {"secret_hash": hash_secret(secret(2))},
            {"roles": (Role.ADMIN,)},
            {"namespace": EVERY_NAMESPACE},
            {"note": "x"},
            {"expires_for": None},
        )
        for other in others:
            with pytest.raises(AlreadyExists, match="another key"):
                await engine.access.create_key(creating(**(fields | other)))
        assert await engine.access.list_keys() == (first,)

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_an_answer_that_was_lost_is_given_by_the_next_try(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        hooks = record(store)
        hooks.at[point] = raising(Unavailable("cut"), times=1)
        made = await while_time_passes(clock, engine.access.create_key(creating()))
        hooks.at[point] = raising(Unavailable("cut"), times=1)
        revoked = await while_time_passes(clock, engine.access.revoke_key(made.id))

        assert await engine.access.list_keys() == (revoked,)
        actions = [entry.action for entry in (await engine.access.list_audit(ListAudit(namespace=NAMESPACE))).entries]
        assert actions == ["revoke_key", "create_key"]

    async def test_two_who_make_one_key_at_once_make_one(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = engine_on(store, clock), engine_on(second_store, clock)

        made = await asyncio.gather(*(engine.access.create_key(creating()) for engine in engines))
        mixed = await outcomes_of(
            [
                engine.access.create_key(creating(2, namespace=EVERY_NAMESPACE, note=str(number)))
                for number, engine in enumerate(engines)
            ]
        )

        assert made[0] == made[1]
        assert AlreadyExists in mixed
        assert len(await engines[0].access.list_keys()) == 2

    @pytest.mark.spec("security:S-06")
    async def test_a_revoked_key_stays_revoked_since_the_first_time(self, engine: Engine, clock: FakeClock) -> None:
        made = await engine.access.create_key(creating())
        assert is_live(made, now=Instant(clock.now()))
        clock.advance(HOUR)

        revoked = await engine.access.revoke_key(made.id, by="ann")

        assert revoked.revoked_at == clock.now()
        assert not is_live(revoked, now=Instant(clock.now()))
        clock.advance(HOUR)
        assert await engine.access.revoke_key(made.id, by="bob") == revoked
        with pytest.raises(NotFound, match="windlass keys"):
            await engine.access.revoke_key(key_id(9))

    async def test_keys_are_listed_by_namespace_the_newest_first(self, engine: Engine, clock: FakeClock) -> None:
        await engine.runs.start_run(start(namespace=ACME))
        for number, namespace in enumerate((NAMESPACE, ACME, EVERY_NAMESPACE, NAMESPACE), start=1):
            await engine.access.create_key(creating(number, namespace=namespace))
            clock.advance(1)

        assert [key.id for key in await engine.access.list_keys()] == [key_id(n) for n in (4, 3, 2, 1)]
        assert [key.id for key in await engine.access.list_keys(NAMESPACE)] == [key_id(4), key_id(1)]
        assert [key.id for key in await engine.access.list_keys(EVERY_NAMESPACE)] == [key_id(3)]
        assert await engine.access.list_keys("nobodys") == ()

    async def test_a_key_is_made_only_for_a_namespace_that_is_there(self, engine: Engine) -> None:
        with pytest.raises(NotFound, match="acme"):
            await engine.access.create_key(creating(namespace=ACME))

        await engine.runs.start_run(start(namespace=ACME))
        assert (await engine.access.create_key(creating(namespace=ACME))).namespace == ACME

    @pytest.mark.parametrize(
        "fields",
        [
            {"id": "key_1"},
            {"id": key_id().lower().replace("key_", "run_")},
            {"id": key_id() + "\n"},
            {"namespace": "a b"},
            {"namespace": ""},
            {"roles": ()},
            {"roles": ("king",)},
            {"queues": ("billing",)},
            {"roles": (Role.WORKER,), "queues": ("a,b",)},
            {"roles": (Role.WORKER,), "queues": tuple(f"q{number}" for number in range(101))},
            {"secret_hash": b""},
            {"secret_hash": b"x" * 31},
            {"expires_for": Duration(0)},
            {"expires_for": Duration(-1)},
            {"expires_for": Duration(40_000 * DAY)},
            {"note": "a\0b"},
            {"note": "x" * 2_001},
            {"by": " "},
        ],
        ids=str,
    )
    async def test_what_can_be_no_key_is_refused_and_nothing_is_written(
        self, engine: Engine, fields: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInput) as refusal:
            await engine.access.create_key(creating(**fields))

        assert "\n" not in str(refusal.value)
        assert await engine.access.list_keys() == ()
        assert (await engine.access.list_audit(ListAudit(namespace=EVERY_NAMESPACE))).entries == ()

    @pytest.mark.parametrize("id", ["", "key_", "nonsense", "key_" + "x" * 500, key_id(7), "' or 1=1 --", "\0"])
    async def test_nobody_is_found_by_an_id_that_is_none(self, engine: Engine, id: str) -> None:
        await engine.access.create_key(creating())

        assert await engine.access.find_key(id) is None
