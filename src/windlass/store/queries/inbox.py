"""What was sent to runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.message import Message, MessageKind
from windlass.model.run import RunId
from windlass.store.rows import message_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class InboxQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(
        self,
        namespace: str,
        *,
        run_id: RunId,
        kind: MessageKind,
        name: str,
        id: str,
        payload: bytes,
        payload_hash: bytes,
    ) -> bool:
        """Keep a message for a run this transaction has locked. False: a message of that id is there already."""
        changed = await self._connection.run(
            "send_message",
            namespace=namespace,
            run_id=run_id,
            kind=kind,
            name=name,
            id=id,
            payload=payload,
            payload_hash=payload_hash,
        )
        return changed == 1

    async def find(self, namespace: str, *, run_id: RunId, kind: MessageKind, id: str) -> Message | None:
        row = await self._connection.first("message_by_id", namespace=namespace, run_id=run_id, kind=kind, id=id)
        return None if row is None else message_from_row(row)

    async def count(self, namespace: str, *, run_id: RunId) -> int:
        """About how many messages the run was sent, received ones included: their numbers may have gaps."""
        row = await self._connection.first("last_message", namespace=namespace, run_id=run_id)
        return 0 if row is None or row[0] is None else int(row[0])

    async def unread(self, namespace: str, *, run_id: RunId, kind: MessageKind, name: str, limit: int) -> list[Message]:
        """The oldest of a name that nobody has received."""
        rows = await self._connection.all(
            "unread_messages", namespace=namespace, run_id=run_id, kind=kind, name=name, limit=limit
        )
        return [message_from_row(row) for row in rows]

    async def take(self, message: Message, *, by: str) -> None:
        """Give a message to the step that receives it."""
        await self._connection.run(
            "take_message",
            namespace=message.namespace,
            run_id=message.run_id,
            seq=message.seq,
            kind=message.kind,
            name=message.name,
            taken_by=by,
        )

    async def of_run(self, namespace: str, *, run_id: RunId) -> list[Message]:
        rows = await self._connection.all("messages_of_run", namespace=namespace, run_id=run_id)
        return [message_from_row(row) for row in rows]
