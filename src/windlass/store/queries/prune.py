"""What may be old enough to be removed, and how it is removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import Run, RunId, RunKind, RunStatus, WorkerId
from windlass.model.time import Duration, Instant
from windlass.store.rows import RUN_KIND, RUN_STATUS, run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class Happened(Struct, frozen=True, kw_only=True):
    """A row of the log, as far as it tells what may be removed."""

    seq: int
    at: Instant
    kind: str
    id: str
    to_status: str
    is_own: bool  # of the namespace that was asked for


class EndedRun(Struct, frozen=True, kw_only=True):
    id: RunId
    name: str
    finished_at: Instant
    kind: RunKind = RunKind.WORKFLOW


class Ties(Struct, frozen=True, kw_only=True):
    """What else there is that a run concerns."""

    parent_status: RunStatus | None  # none: it has no parent, or one that is gone
    has_retry: bool
    last_seq: int  # of what the log says about it
    has_children: bool


class Remark(Struct, frozen=True, kw_only=True):
    """A row of the log that is about no run."""

    namespace: str
    seq: int
    subject_kind: str
    subject_id: str


class ExpiredKey(Struct, frozen=True, kw_only=True):
    namespace: str
    key: str
    run_id: RunId
    expires_at: Instant
    is_open: bool  # its run is not over


class GoneWorker(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId
    stopped_at: Instant
    is_named: bool  # by a run that it held


class EndedAttempt(Struct, frozen=True, kw_only=True):
    """An attempt of a handler that is over."""

    namespace: str
    id: str
    pipeline: str
    ended_at: Instant
    is_current: bool  # its pipeline goes by it
    keep_for: Duration


class PruneQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def namespaces(self) -> list[str]:
        return [row[0] for row in await self._connection.all("namespaces_of_log")]

    async def log_after(self, namespace: str, *, after: int, limit: int) -> list[Happened]:
        """The next rows of the log; those of other namespaces may stand between, and count."""
        rows = await self._connection.all("log_after", namespace=namespace, after=after, limit=limit)
        return [
            Happened(seq=row[0], at=row[1], kind=row[2], id=row[3], to_status=row[4], is_own=bool(row[5]))
            for row in rows
        ]

    async def ended(self, namespace: str, *, ids: Sequence[RunId]) -> list[EndedRun]:
        """Those of the runs that are over."""
        rows = await self._connection.all("ended_runs", namespace=namespace, ids=ids)
        return [EndedRun(id=row[0], name=row[1], finished_at=row[2], kind=RUN_KIND[row[3]]) for row in rows]

    async def lock_ended(self, namespace: str, *, ids: Iterable[RunId]) -> list[Run]:
        """Lock those that are over and that nobody else has locked, in the order of ids."""
        rows = await self._connection.all("lock_ended_runs", namespace=namespace, ids=sorted(set(ids)))
        return [run_from_row(row) for row in rows]

    async def ties(self, namespace: str, *, ids: Sequence[RunId]) -> dict[RunId, Ties]:
        rows = await self._connection.all("ties_of_runs", namespace=namespace, ids=ids)
        return {
            row[0]: Ties(
                parent_status=None if row[1] is None else RUN_STATUS[row[1]],
                has_retry=row[2] is not None,
                last_seq=row[3] or 0,
                has_children=row[4] is not None,
            )
            for row in rows
        }

    async def ended_children(self, namespace: str, *, parent: RunId, after: str, limit: int) -> list[tuple[RunId, str]]:
        """One page of the children of a run that are over, each with the step that started it, in their order."""
        rows = await self._connection.all(
            "ended_children", namespace=namespace, parent=parent, after=after, limit=limit
        )
        return [(row[0], row[1]) for row in rows]

    async def remove(self, runs: Sequence[Run]) -> None:
        """Remove runs of one namespace that this transaction has locked, with all their rows."""
        if not runs:
            return
        await self._connection.run("note_removed_runs", namespace=runs[0].namespace, ids=[run.id for run in runs])
        await self._connection.batch("remove_payload", runs)
        await self._connection.batch("remove_steps", runs)
        await self._connection.batch("remove_messages", runs)
        await self._connection.batch("remove_log", runs)
        await self._connection.batch("remove_ledger", runs)
        graphs = [run for run in runs if run.kind is RunKind.GRAPH]
        await self._connection.batch("remove_edges", graphs)
        await self._connection.batch("remove_jobs", graphs)
        await self._connection.batch("remove_graph", graphs)
        await self._connection.batch("remove_run", runs)

    async def remove_remarks(self, remarks: Sequence[Remark]) -> None:
        """Remove what the log of a namespace says about gates and schedules, except the last about each."""
        if not remarks:
            return
        await self._connection.run("note_removing", namespace=remarks[0].namespace)
        await self._connection.batch("remove_remark", remarks)

    async def expired_keys(self, *, from_at: Instant, limit: int) -> list[ExpiredKey]:
        """Start keys whose time is over, of every namespace, the oldest first."""
        rows = await self._connection.all("expired_keys", from_at=from_at, limit=limit)
        return [
            ExpiredKey(namespace=row[0], key=row[1], run_id=row[2], expires_at=row[3], is_open=bool(row[4]))
            for row in rows
        ]

    async def remove_keys(self, keys: Iterable[ExpiredKey]) -> None:
        await self._connection.batch("remove_key", sorted(keys, key=lambda item: (item.namespace, item.key)))

    async def gone_workers(self, *, gone_for: Duration, from_at: Instant, limit: int) -> list[GoneWorker]:
        """Workers that stopped longer ago than that, of every namespace, the first of them first."""
        rows = await self._connection.all("gone_workers", gone_for=gone_for, from_at=from_at, limit=limit)
        return [GoneWorker(namespace=row[0], id=row[1], stopped_at=row[2], is_named=bool(row[3])) for row in rows]

    async def remove_workers(self, workers: Iterable[GoneWorker]) -> None:
        await self._connection.batch("remove_worker", sorted(workers, key=lambda item: (item.namespace, item.id)))


class PruneAttempts:
    """How attempts of handlers are removed, with the events they have dealt with."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ended(self, *, keep_for: Duration, from_at: Instant, limit: int) -> list[EndedAttempt]:
        """Those that ended longer ago than that, of every namespace, the first of them first."""
        rows = await self._connection.all("ended_attempts", keep_for=keep_for, from_at=from_at, limit=limit)
        return [
            EndedAttempt(
                namespace=row[0],
                id=row[1],
                pipeline=row[2],
                ended_at=row[3],
                is_current=bool(row[4]),
                keep_for=keep_for,
            )
            for row in rows
        ]

    async def remove(self, attempts: Iterable[EndedAttempt]) -> None:
        """With their ledger, their events, and inputs of which nothing is left."""
        ended = sorted(attempts, key=lambda item: (item.namespace, item.id))
        await self._connection.batch("remove_causes", ended)
        await self._connection.batch("remove_dealt_events", ended)
        await self._connection.batch("remove_ledger_of_attempt", ended)
        await self._connection.batch("remove_attempt", ended)
        by_name = {(item.namespace, item.pipeline): item for item in ended}
        pipelines = [by_name[key] for key in sorted(by_name)]
        await self._connection.batch("remove_causes_of_skipped", pipelines)
        await self._connection.batch("remove_skipped_events", pipelines)
        await self._connection.batch("remove_old_inputs", pipelines)
