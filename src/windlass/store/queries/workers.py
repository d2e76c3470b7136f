"""Which workers there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.commands import Heartbeat, Heartbeaten, RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns, Worker
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
            pipelines=served_to_bytes(worker.pipelines),
            slots=worker.slots,
            lock_kind=worker.lock,
            is_return=int(worker.is_return),
        )

    async def heartbeat(self, beat: Heartbeat) -> Heartbeaten | None:
        """Say that a worker lives. None: it is unknown, or has stopped."""
        row = await self._connection.first(
            "heartbeat_worker",
            namespace=beat.namespace,
            id=beat.id,
            active=beat.active,
            completed=beat.completed,
            failed=beat.failed,
            is_draining=int(beat.is_draining),
        )
        return None if row is None else Heartbeaten(should_drain=bool(row[0]))

    async def drain(self, namespace: str, *, id: WorkerId) -> bool:
        """Ask a worker to leave. False: it is unknown, has stopped, or was asked before."""
        return await self._connection.run("drain_worker", namespace=namespace, id=id) == 1

    async def should_drain(self, namespace: str, *, id: WorkerId) -> bool:
        """Whether a worker that is there was asked to leave."""
        row = await self._connection.first("draining_worker", namespace=namespace, id=id)
        return row is not None and bool(row[0])

    async def stop(
        self, namespace: str, *, id: WorkerId, is_goodbye: bool = True, ended: EndedRuns | None = None
    ) -> None:
        """Note that a worker has gone, by its own word or found dead, and that its lock need not be looked at."""
        await self._connection.run(
            "stop_worker",
            namespace=namespace,
            id=id,
            is_goodbye=int(is_goodbye),
            completed=None if ended is None else ended.completed,
            failed=None if ended is None else ended.failed,
        )

    async def is_any_silent(self, *, silent_for: Duration) -> bool:
        """Whether a worker of any namespace was silent for longer than that."""
        return await self._connection.first("silent_worker", silent_for=silent_for) is not None

    async def expire(self, *, silent_for: Duration, limit: int) -> int:
        """Note that workers of every namespace were silent for longer than that. Says how many."""
        return await self._connection.run("expire_workers", silent_for=silent_for, limit=limit)

    async def live(self, namespace: str) -> list[Worker]:
        """Workers that have not stopped, the most recently seen first."""
        return [worker_from_row(row) for row in await self._connection.all("live_workers", namespace=namespace)]

    async def stopped(self, namespace: str, *, since: Instant) -> list[Worker]:
        """Workers that have stopped since then, the last to stop first."""
        rows = await self._connection.all("stopped_workers", namespace=namespace, since=since)
        return [worker_from_row(row) for row in rows]

    async def find(self, namespace: str, *, id: WorkerId) -> Worker | None:
        """One worker, also one that has stopped."""
        row = await self._connection.first("find_worker", namespace=namespace, id=id)
        return None if row is None else worker_from_row(row)

    async def probed(self, namespace: str, *, by: WorkerId, everyone: bool) -> list[Worker]:
        """Workers with a lock that hold claims, stopped or not, or all with a lock; and the one that asks, if it is
        there."""
        rows = await self._connection.all("probed_workers", namespace=namespace, by=by, everyone=int(everyone))
        return [worker_from_row(row) for row in rows]

    async def everywhere(self) -> set[WorkerId]:
        """Who has not stopped, or only counts as offline and has a lock that tells more, in every namespace."""
        return {WorkerId(row[0]) for row in await self._connection.all("open_workers")}
