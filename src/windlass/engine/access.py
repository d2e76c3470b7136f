"""api.service.Access, in process: keys, and the record of what was done with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.audit import Audit
from windlass.engine.namespaces import locked
from windlass.engine.parts import Parts
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.access import EVERY_NAMESPACE, AuditPage, CreateKey, Key, ListAudit
from windlass.rules import api_keys as rules
from windlass.rules.limits import check_key_id, check_limit, check_namespace, check_person
from windlass.store.base import Tx
from windlass.store.queries.audit import NewAuditEntry

T = TypeVar("T")

MOST_ON_A_PAGE = 500
HIGHEST_NUMBER = 2**63 - 1
REFUSED = "refused"


class EngineAccess:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def create_key(self, command: CreateKey) -> Key:
        wanted, audit = rules.check_create_key(command), Audit.of_anyone("create_key")

        async def create(tx: Tx) -> Key:
            if wanted.namespace != EVERY_NAMESPACE:
                await locked(tx, wanted.namespace)  # and nobody deletes it meanwhile
            key = rules.new_key(wanted, now=await tx.now())
            if await tx.api_keys.insert(key):
                await audit.note(tx, key.namespace, subject=key.id, after=rules.describe_key(key))
                return key
            known = await tx.api_keys.find(wanted.id)
            if known is None or not rules.is_same(known, wanted):
                raise AlreadyExists(f"The id {wanted.id} is taken by another key. Make a new one.", owner=wanted.id)
            return known

        return _shown(await self._parts.run_tx("create_key", create))

    async def list_keys(self, namespace: str | None = None) -> tuple[Key, ...]:
        where = namespace if namespace in (None, EVERY_NAMESPACE) else check_namespace(str(namespace))
        return tuple(map(_shown, await self._read("list_keys", lambda tx: tx.api_keys.list(where))))

    async def revoke_key(self, id: str, by: str | None = None) -> Key:
        check_key_id(id)
        audit, person = Audit.of_anyone("revoke_key"), check_person(by)

        async def revoke(tx: Tx) -> Key:
            is_done = await tx.api_keys.revoke(id)
            key = await tx.api_keys.find(id)
            if key is None:
                raise NotFound("Key", id, hint="See which there are: windlass keys")
            if is_done:
                after = "revoked" if person is None else f"revoked by {person}"
                await audit.note(tx, key.namespace, subject=id, before=rules.describe_key(key), after=after)
            return key

        return _shown(await self._parts.run_tx("revoke_key", revoke))

    async def find_key(self, id: str) -> Key | None:
        try:
            check_key_id(id)
        except InvalidInput:
            return None
        return await self._read("find_key", lambda tx: tx.api_keys.find(id))

    async def list_audit(self, query: ListAudit) -> AuditPage:
        check_limit(query.limit, what="limit", low=1, high=MOST_ON_A_PAGE)
        if query.before is not None:
            check_limit(query.before, what="before", low=0, high=HIGHEST_NUMBER)
        where = query.namespace
        if where != EVERY_NAMESPACE:
            where = check_namespace(where)
        found = await self._read(
            "list_audit", lambda tx: tx.audit.list(where, before=query.before, limit=query.limit + 1)
        )
        entries = tuple(found[: query.limit])
        return AuditPage(entries=entries, next=entries[-1].seq if len(found) > query.limit else None)

    async def note_refusal(self, namespace: str, *, actor: str, action: str, reason: str, request_id: str) -> None:
        # Whoever was turned away may have sent anything: it is cut and cleaned, never refused.
        entry = NewAuditEntry(
            namespace=rules.harmless(namespace),
            actor=rules.harmless(actor),
            action=rules.harmless(action),
            subject="",
            request_id=rules.harmless(request_id),
            after=f"{REFUSED}: {rules.harmless(reason)}",
        )
        await self._parts.run_tx("note_refusal", lambda tx: tx.audit.append(entry), single=True)

    async def _read(self, name: str, fn: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, fn, single=True))


def _shown(key: Key) -> Key:
    """As people and the wire see it: without the hash."""
    return replace(key, secret_hash=b"")
