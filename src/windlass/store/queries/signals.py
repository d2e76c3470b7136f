"""Which signals there are, what they watch, and how far the log was examined for them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.errors import StoreRefused
from windlass.model.feed import Place
from windlass.model.run import RunId
from windlass.model.signal import ListSignals, Signal, SignalId
from windlass.model.time import Instant
from windlass.store.queries.items import LAST_ID
from windlass.store.signal_rows import SignalValues, signal_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection, Row


class Subject(Struct, frozen=True, kw_only=True):
    """Something that is watched, as it stands under its lock."""

    status: str
    kind: str  # of a run: what it is
    name: str


class ArmQueries:
    """How what is watched learns of it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def arm(self, namespace: str, *, subject_kind: str, id: str) -> Subject | None:
        """Lock a subject, and let whoever changes its status know that it is watched otherwise than before.

        Comes before any lock on a signal. None: there is no such subject.
        """
        match subject_kind:
            case "run":
                row = await self._connection.first("arm_run", namespace=namespace, id=id)
            case "item":
                row = await self._connection.first("arm_item", namespace=namespace, id=id)
            case _:
                row = await self._connection.first("arm_pipeline", namespace=namespace, id=id)
        return None if row is None else Subject(status=row[0], kind=row[1], name=row[2])

    async def place(self, namespace: str, id: SignalId) -> Place:
        """Of the entry about a signal that this transaction has just written."""
        (row,) = await self._connection.all("newest_entry", namespace=namespace, id=id)
        return Place(row[0], row[1])


class _Counted:
    """What changes when a signal fires."""

    def __init__(self, after: Signal, was: Signal) -> None:
        self.namespace, self.id, self.fired = after.namespace, after.id, after.fired - was.fired
        self.last_fired_at, self.changed_at = after.last_fired_at, after.changed_at
        self.status, self.is_live = after.status, int(after.status.is_live)


class SignalQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, signal: Signal) -> bool:
        """False: there is one of that id or key."""
        return await self._connection.run("insert_signal", **vars(SignalValues(signal))) == 1

    async def save(self, signals: Sequence[Signal]) -> None:
        """Signals that this transaction has locked."""
        await self._connection.batch("save_signals", [SignalValues(signal) for signal in signals])

    async def count_firings(self, signals: Sequence[tuple[Signal, Signal]]) -> None:
        """Pairs of what it is now and what it was: it has fired, by compare-and-set from armed."""
        await self._connection.batch("count_firing", [_Counted(after, was) for after, was in signals])

    async def load(self, namespace: str, id: SignalId) -> Signal | None:
        row = await self._connection.first("load_signal", namespace=namespace, id=id)
        return None if row is None else signal_from_row(row)

    async def lock(self, namespace: str, *, ids: Iterable[SignalId]) -> dict[SignalId, Signal]:
        """Load, and keep every other writer away. In the order of ids."""
        rows = await self._connection.all("lock_signals", namespace=namespace, ids=sorted(set(ids)))
        return {row[1]: signal_from_row(row) for row in rows}

    async def load_all(self, namespace: str, *, ids: Iterable[SignalId]) -> dict[SignalId, Signal]:
        rows = await self._connection.all("load_signals", namespace=namespace, ids=sorted(set(ids)))
        return {row[1]: signal_from_row(row) for row in rows}

    async def by_key(self, namespace: str, key: str) -> Signal | None:
        row = await self._connection.first("signal_by_key", namespace=namespace, key=key)
        return None if row is None else signal_from_row(row)

    async def on(self, namespace: str, *, subject_kind: str, subjects: Iterable[str]) -> builtins.list[Signal]:
        """Live signals on these subjects."""
        rows = await self._connection.all(
            "signals_on", namespace=namespace, subject_kind=subject_kind, subjects=sorted(set(subjects))
        )
        return [signal_from_row(row) for row in rows]

    async def of_program(self, namespace: str, program: str) -> builtins.list[Signal]:
        rows = await self._connection.all("signals_of_program", namespace=namespace, program=program)
        return [signal_from_row(row) for row in rows]

    async def list(self, query: ListSignals) -> builtins.list[Signal]:
        common = {"namespace": query.namespace, "status": query.status, "limit": query.limit}
        before, kind = query.before or LAST_ID, query.subject_kind
        if query.subject is None:
            rows = await self._connection.all("list_signals", **common, before=before, subject_kind=kind)
        else:
            rows = await self._connection.all(
                "list_signals_on", **common, before=before, subject_kind=kind, subject=query.subject
            )
        return [signal_from_row(row) for row in rows]

    async def delete(self, namespace: str, id: SignalId) -> None:
        """With its firings."""
        await self._connection.run("delete_firings_of_signal", namespace=namespace, signal_id=id)
        await self._connection.run("delete_signal", namespace=namespace, id=id)


class WatchQueries:
    """What coordinators look at."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def move(self, namespace: str, *, id: RunId, retry_of: RunId) -> int:
        """Whoever watches a run watches the one that tries it again from now on."""
        return await self._connection.run("move_signals", namespace=namespace, id=id, retry_of=retry_of)

    async def namespaces(self) -> list[str]:
        """In which something is watched."""
        return [row[0] for row in await self._connection.all("watched_namespaces")]

    async def lock_due(self, *, limit: int) -> list[Signal]:
        """Signals whose time has come, unless somebody else is at them."""
        return _readable(await self._connection.all("lock_due_signals", limit=limit))

    async def next(self) -> Instant | None:
        """When the first time comes, or the first firing is due."""
        times = (await self._connection.first("next_signal"), await self._connection.first("next_firing"))
        return min((Instant(row[0]) for row in times if row is not None and row[0] is not None), default=None)

    async def patterns(self, namespace: str) -> list[Signal]:
        """Live signals on whole workflows, and on all items."""
        return _readable(await self._connection.all("patterns_of_namespace", namespace=namespace))

    async def lock_cursor(self, namespace: str) -> Place | None:
        """How far the log was examined. None: somebody else is at it, or nothing is."""
        row = await self._connection.first("lock_signal_cursor", namespace=namespace)
        return None if row is None else Place(row[0], row[1])

    async def hold_cursor(self, namespace: str) -> None:
        """Make sure there is one, and let nobody examine the log until this transaction ends."""
        await self._connection.run("begin_signal_cursor", namespace=namespace, xid=0, seq=0)
        await self._connection.run("hold_signal_cursor", namespace=namespace)

    async def move_cursor(self, namespace: str, place: Place) -> None:
        """Forward only."""
        await self._connection.run("move_signal_cursor", namespace=namespace, xid=place.xid, seq=place.seq)

    async def names_of_runs(self, namespace: str, ids: Iterable[str]) -> dict[str, str]:
        """The workflows of runs, by their ids."""
        rows = await self._connection.all("names_of_runs", namespace=namespace, ids=sorted(set(ids)))
        return {row[0]: row[1] for row in rows}


def _readable(rows: Sequence[Row]) -> list[Signal]:
    """Without those that were broken by hand: they keep nobody else, and `doctor` names them."""
    found = []
    for row in rows:
        try:
            found.append(signal_from_row(row))
        except StoreRefused:
            continue
    return found
