"""How a run is copied into the one that tries it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.run import RunId
from windlass.model.time import Instant

if TYPE_CHECKING:
    from windlass.store.base import Connection


class RetryQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def of(self, namespace: str, *, run_id: RunId) -> RunId | None:
        """The run that tries this one again, if there is one."""
        row = await self._connection.first("retry_of_run", namespace=namespace, retry_of=run_id)
        return None if row is None else RunId(row[0])

    async def places(self, namespace: str, *, run_id: RunId) -> dict[str, int | None]:
        """The steps of a run by their keys, with the place of each one's result."""
        rows = await self._connection.all("places_of_steps", namespace=namespace, run_id=run_id)
        return {row[0]: row[1] for row in rows}

    async def create(self, namespace: str, *, id: RunId, retry_of: RunId, at: Instant) -> None:
        """Create the new run, due at once, with the input, start key and time-out of one that is locked here."""
        await self._connection.run("copy_run", namespace=namespace, id=id, retry_of=retry_of, at=at)
        await self._connection.run("copy_payload", namespace=namespace, id=id, retry_of=retry_of)

    async def fill(
        self, namespace: str, *, id: RunId, retry_of: RunId, before: int | None, from_step: str | None
    ) -> None:
        """Give the new run the completed steps that come before this place, what was sent to the old one, and its
        children that it has started by these steps."""
        await self._connection.run("copy_steps", namespace=namespace, id=id, retry_of=retry_of, before=before)
        await self._connection.run("move_children", namespace=namespace, id=id, retry_of=retry_of)
        for row in await self._connection.all("moved_graphs", namespace=namespace, id=id):
            await self._connection.run("move_graph", namespace=namespace, id=row[0], parent=id)
        await self._connection.run("copy_messages", namespace=namespace, id=id, retry_of=retry_of, from_step=from_step)

    async def move_key(self, namespace: str, *, id: RunId, retry_of: RunId) -> None:
        """Whoever starts with the key of the old run gets the new one from now on."""
        await self._connection.run("move_key", namespace=namespace, id=id, retry_of=retry_of)
