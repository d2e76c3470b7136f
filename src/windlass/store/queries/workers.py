"""Which workers there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.commands import Heartbeat, RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.worker import Worker
from windlass.store.rows import served_to_bytes, worker_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class WorkerQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def register(self, worker: RegisterWorker) -> None:
        """Enter a worker; under a known id it begins anew."""
        await self._connection.run(
            "register_worker",
            namespace=worker.namespace,
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            served=served_to_bytes(worker.served),
            slots=worker.slots,
            lock_kind=worker.lock,
        )

    async def heartbeat(self, beat: Heartbeat) -> bool:
        """Say that a worker lives. False: it is unknown, or has stopped."""
        changed = await self._connection.run(
            "heartbeat_worker",
            namespace=beat.namespace,
            id=beat.id,
            active=beat.active,
            completed=beat.completed,
            failed=beat.failed,
        )
        return changed == 1

    async def stop(self, namespace: str, *, id: WorkerId) -> bool:
        """Note that a worker has gone. False: it is unknown, or had gone before."""
        return await self._connection.run("stop_worker", namespace=namespace, id=id) == 1

    async def live(self, namespace: str) -> list[Worker]:
        """Workers that have not stopped, the most recently seen first."""
        return [worker_from_row(row) for row in await self._connection.all("live_workers", namespace=namespace)]

    async def probed(self, namespace: str, *, by: WorkerId, everyone: bool) -> list[Worker]:
        """Workers with a lock that hold claims, or all with a lock; and the one that asks. None that has stopped."""
        rows = await self._connection.all("probed_workers", namespace=namespace, by=by, everyone=int(everyone))
        return [worker_from_row(row) for row in rows]

    async def everywhere(self) -> set[WorkerId]:
        """Who has not stopped, in every namespace."""
        return {WorkerId(row[0]) for row in await self._connection.all("open_workers")}
