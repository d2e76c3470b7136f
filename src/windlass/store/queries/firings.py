"""What signals have fired, and who works that now."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from windlass.errors import InvalidInput
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import FiringId, FiringRow, ListFirings, Signal, SignalId
from windlass.model.time import Instant
from windlass.store.signal_rows import columns_of, firing_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

MOST_COUNTED = 1_000
END_OF_TIME = 2**62
LONGEST_TIME = 18  # digits


class NewFiring(Struct, frozen=True, kw_only=True):
    namespace: str
    signal_id: SignalId
    cause: str
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    happened_at: Instant
    available_at: Instant | None

    @staticmethod
    def of_entry(signal: Signal, entry: LogEntry, *, available_at: Instant | None) -> NewFiring:
        """What an entry of the log has caused: its number is the cause, as where a transition creates the firing."""
        return NewFiring(
            namespace=signal.namespace,
            signal_id=signal.id,
            cause=str(entry.seq),
            subject_kind=entry.subject_kind,
            subject_id=entry.subject_id,
            from_status=entry.from_status,
            to_status=entry.to_status,
            happened_at=entry.at,
            available_at=available_at,
        )


class _Saved:
    """The columns of a firing, and the token it was decided on."""

    def __init__(self, firing: FiringRow, was_token: int) -> None:
        self.__dict__.update(columns_of(firing))
        self.was_token = was_token


class FiringQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, rows: Sequence[NewFiring]) -> None:
        """One that is there already is left as it is."""
        await self._connection.batch("insert_firings", rows)

    async def lock_due(self, *, limit: int) -> builtins.list[FiringRow]:
        """Those that may be claimed now, the most urgent first, unless somebody else is at them."""
        return [firing_from_row(row) for row in await self._connection.all("lock_due_firings", limit=limit)]

    async def lock_claimed(
        self, namespace: str, *, firings: Iterable[FiringRow], worker: str
    ) -> dict[FiringId, FiringRow]:
        """Which of these a coordinator holds, under the locks of their signals."""
        ids = msgspec.json.encode(sorted({(firing.signal_id, firing.cause) for firing in firings})).decode()
        rows = await self._connection.all("lock_claimed_firings", namespace=namespace, ids=ids, worker=worker)
        return {firing.id: firing for firing in map(firing_from_row, rows)}

    async def save(self, firings: Sequence[tuple[FiringRow, FiringRow]]) -> None:
        """Pairs of what it is now and what it was: a firing under another token than that stays as it is."""
        await self._connection.batch("save_firings", [_Saved(firing, was.token) for firing, was in firings])

    async def list(self, query: ListFirings) -> builtins.list[FiringRow]:
        before_at, before_id = _place(query.before)
        common: dict[str, Any] = {"namespace": query.namespace, "status": query.status, "limit": query.limit}
        common |= {"before_at": before_at, "before_id": before_id}
        if query.signal_id is None:
            rows = await self._connection.all("list_firings", **common)
        else:
            rows = await self._connection.all("list_firings_of_signal", **common, signal_id=query.signal_id)
        return [firing_from_row(row) for row in rows]

    async def count(self, namespace: str, signal_id: SignalId) -> tuple[int, int]:
        """How many are not over, and how many failed; each up to a limit."""
        (row,) = await self._connection.all(
            "count_firings", namespace=namespace, signal_id=signal_id, limit=MOST_COUNTED
        )
        return int(row[0]), int(row[1])

    async def depths(self, namespace: str, *, runs: Iterable[RunId]) -> dict[str, int]:
        """How deep the chains were that started these runs."""
        rows = await self._connection.all("depths_of_runs", namespace=namespace, ids=sorted(set(runs)))
        depths: dict[str, int] = {}
        for run_id, depth in rows:  # more than one may have sent something to it
            depths[run_id] = max(depth, depths.get(run_id, 0))
        return depths

    async def done_for(self, namespace: str, *, signal_id: SignalId, subjects: Iterable[str]) -> set[str]:
        """For which of these subjects a signal has fired."""
        rows = await self._connection.all(
            "subjects_done", namespace=namespace, signal_id=signal_id, subjects=sorted(set(subjects))
        )
        return {row[0] for row in rows}


class HeldFirings:
    """What is done to all firings of a signal at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def hold(self, namespace: str, signal_id: SignalId) -> int:
        return await self._connection.run("hold_firings", namespace=namespace, signal_id=signal_id)

    async def release(self, namespace: str, signal_id: SignalId) -> int:
        return await self._connection.run("release_firings", namespace=namespace, signal_id=signal_id)

    async def requeue_failed(self, namespace: str, signal_id: SignalId) -> int:
        return await self._connection.run("requeue_firings", namespace=namespace, signal_id=signal_id)

    async def supersede(self, namespace: str, signal_id: SignalId, *, error: str) -> int:
        return await self._connection.run("supersede_firings", namespace=namespace, signal_id=signal_id, error=error)


def _place(before: str | None) -> tuple[int, str]:
    if before is None:
        return END_OF_TIME, ""
    at, _, id = before.partition(":")
    if not at.isascii() or not at.isdecimal() or len(at) > LONGEST_TIME or not id:
        raise InvalidInput("Invalid before: the cursor of a page was expected.", reason="invalid_cursor", path="before")
    return int(at), id
