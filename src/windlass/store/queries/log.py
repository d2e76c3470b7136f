"""What has happened, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import LogEntry
from windlass.model.time import Instant
from windlass.store.rows import log_entry_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class NewLogEntry(Struct, frozen=True, kw_only=True):
    namespace: str
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    cause: str
    at: Instant | None = None  # none: the store's now
    data: bytes | None = None


class LogQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def append(self, rows: Sequence[NewLogEntry]) -> None:
        """Note status changes, in the transaction that makes them."""
        await self._connection.batch("append_log", rows)

    async def of_subject(self, namespace: str, *, kind: str, id: str) -> list[LogEntry]:
        """Everything that happened to one subject, oldest first."""
        rows = await self._connection.all("log_of_subject", namespace=namespace, subject_kind=kind, subject_id=id)
        return [log_entry_from_row(row) for row in rows]
