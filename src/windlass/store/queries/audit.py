"""What was done from outside, and who was turned away. Rows are added, and never changed."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.access import EVERY_NAMESPACE, AuditEntry
from windlass.store.rows import audit_entry_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

NO_END = 2**63 - 1  # no number is as high


class NewAuditEntry(Struct, frozen=True, kw_only=True):
    namespace: str
    actor: str
    action: str
    subject: str
    request_id: str
    before: str | None = None
    after: str | None = None


class AuditQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def append(self, entry: NewAuditEntry) -> None:
        """Note an act, in the transaction that does it."""
        await self._connection.run(
            "append_audit",
            namespace=entry.namespace,
            actor=entry.actor,
            action=entry.action,
            subject=entry.subject,
            request_id=entry.request_id,
            was=entry.before,
            became=entry.after,
        )

    async def list(self, namespace: str, *, before: int | None, limit: int) -> builtins.list[AuditEntry]:
        """The newest first; "*": of every namespace."""
        below = NO_END if before is None else before
        if namespace == EVERY_NAMESPACE:
            rows = await self._connection.all("audit_of_all", before=below, limit=limit)
        else:
            rows = await self._connection.all("audit_of_namespace", namespace=namespace, before=below, limit=limit)
        return [audit_entry_from_row(row) for row in rows]
