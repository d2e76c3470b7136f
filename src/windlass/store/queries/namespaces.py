"""Which namespaces there are, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.namespace import Namespace
from windlass.store.rows import namespace_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class LockedNamespace(Struct, frozen=True, kw_only=True):
    namespace: Namespace
    closes_gate: bool  # its gate is closed because it is disabled, and not because somebody paused it


class Use(Struct, frozen=True, kw_only=True):
    """What is in a namespace, each counted up to a limit."""

    runs: int
    schedules: int
    workers: int  # that have not stopped
    traces: int  # gates, pipelines, workers of former days: it was used once
    waiting: int  # events of pipelines that are not over, and attempts that hold some
    items: int
    signals: int  # that are live

    @property
    def is_any(self) -> bool:
        return self.runs + self.schedules + self.workers + self.traces + self.items > 0


class NamespaceQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def enter(self, name: str, *, note: str | None = None) -> bool:
        """Give a namespace its row. False: it has one."""
        return await self._connection.run("enter_namespace", name=name, note=note) == 1

    async def load(self, name: str) -> Namespace | None:
        row = await self._connection.first("load_namespace", name=name)
        return None if row is None else namespace_from_row(row)

    async def lock(self, name: str) -> LockedNamespace | None:
        """Load, and keep away whoever changes it. Comes after the lock of the gates."""
        row = await self._connection.first("lock_namespace", name=name)
        return None if row is None else LockedNamespace(namespace=namespace_from_row(row), closes_gate=bool(row[5]))

    async def page(self, *, after: str, limit: int) -> list[Namespace]:
        """By name; one that is in use without a row is among them."""
        rows = await self._connection.all("page_of_namespaces", after=after, limit=limit)
        return sorted((namespace_from_row(row) for row in rows), key=lambda item: item.name)

    async def use(self, name: str, *, limit: int) -> Use:
        row = await self._connection.first("use_of_namespace", name=name, limit=limit)
        assert row is not None
        return Use(
            runs=row[0],
            schedules=row[1],
            workers=row[2],
            traces=row[3],
            waiting=row[4],
            items=row[5],
            signals=row[6],
        )

    async def set(self, name: str, *, is_enabled: bool, closes_gate: bool) -> None:
        """Enable or disable one that this transaction has locked."""
        await self._connection.run("set_namespace", name=name, is_enabled=int(is_enabled), closes_gate=int(closes_gate))

    async def remove_leavings(self, name: str) -> None:
        """Start keys and workers of former days. Comes before the lock of the gates, as where these are made."""
        await self._connection.run("remove_keys_of_namespace", name=name)
        await self._connection.run("remove_workers_of_namespace", name=name)

    async def remove(self, name: str) -> None:
        """The namespace itself, with its gates, cursors, limits, signals that are over, and idle pipelines."""
        await self._connection.run("remove_firings_of_namespace", name=name)
        await self._connection.run("remove_signals_of_namespace", name=name)
        await self._connection.run("remove_examined_of_namespace", name=name)
        await self._connection.run("remove_causes_of_namespace", name=name)
        await self._connection.run("remove_inputs_of_namespace", name=name)
        await self._connection.run("remove_effects_of_namespace", name=name)
        await self._connection.run("remove_handler_runs_of_namespace", name=name)
        await self._connection.run("remove_events_of_namespace", name=name)
        await self._connection.run("remove_topics_of_namespace", name=name)
        await self._connection.run("remove_handlers_of_namespace", name=name)
        await self._connection.run("remove_pipelines_of_namespace", name=name)
        await self._connection.run("remove_gates_of_namespace", name=name)
        await self._connection.run("remove_cursors_of_namespace", name=name)
        await self._connection.run("remove_limits_of_namespace", name=name)
        await self._connection.run("remove_minutes_of_namespace", name=name)
        await self._connection.run("remove_namespace", name=name)
