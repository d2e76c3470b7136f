"""Everything that stands in work items, signals and firings. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.feed import Place
from windlass.model.item import Item, Task
from windlass.model.signal import FiringRow, Signal
from windlass.store.signal_rows import firing_from_row, item_from_row, signal_from_row, task_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class SignalChecks:
    """Beside CheckQueries. It reads whole tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def items(self) -> list[Item]:
        return [item_from_row(row) for row in await self._connection.all("every_item")]

    async def tasks(self) -> list[Task]:
        return [task_from_row(row) for row in await self._connection.all("every_task")]

    async def signals(self) -> list[Signal]:
        return [signal_from_row(row) for row in await self._connection.all("every_signal")]

    async def firings(self) -> list[FiringRow]:
        return [firing_from_row(row) for row in await self._connection.all("every_firing")]

    async def cursors(self) -> dict[str, Place]:
        """How far the log of each namespace was examined."""
        rows = await self._connection.all("every_signal_cursor")
        return {row[0]: Place(row[1], row[2]) for row in rows}

    async def places(self) -> dict[int, Place]:
        """Of the entries of the log, by their numbers."""
        return {row[0]: Place(row[1], row[0]) for row in await self._connection.all("every_place")}
