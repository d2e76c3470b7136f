"""Which poll of a worker from afar counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.run import WorkerId

if TYPE_CHECKING:
    from windlass.store.base import Connection


class PollQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lock(self, namespace: str, *, id: WorkerId) -> int | None:
        """Which poll of a worker was the last to claim something; others who ask wait. None: it is not there."""
        row = await self._connection.first("lock_poll", namespace=namespace, id=id)
        return None if row is None else int(row[0])

    async def note(self, namespace: str, *, id: WorkerId, poll: int) -> None:
        """This poll has claimed something: older ones claim nothing any more."""
        await self._connection.run("note_poll", namespace=namespace, id=id, poll=poll)

    async def lock_for_pipelines(self, namespace: str, *, id: WorkerId) -> int | None:
        """The same of polls for pipelines, which are counted apart."""
        row = await self._connection.first("lock_pipeline_poll", namespace=namespace, id=id)
        return None if row is None else int(row[0])

    async def note_for_pipelines(self, namespace: str, *, id: WorkerId, poll: int) -> None:
        await self._connection.run("note_pipeline_poll", namespace=namespace, id=id, poll=poll)
