"""How full the queues are. Reads only, and nothing of what is over but the last that ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.queue import LaneCount
from windlass.model.run import RunStatus
from windlass.model.time import Duration, Instant
from windlass.model.worker import Served
from windlass.store.rows import RUN_STATUS

if TYPE_CHECKING:
    from windlass.store.base import Connection

EVERY = 2**62  # a limit that is none, for a query that is planned well only with one


class Ended(Struct, frozen=True, kw_only=True):
    """Runs that ended lately."""

    runs: Mapping[str, int]  # by queue
    told_since: Instant | None  # when the first of those that were read ended; none: there are no others


class QueueQueries:
    """`QueueQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lanes(self, namespace: str) -> list[LaneCount]:
        """Runs that have a due time, by lane and by how they stand."""
        return [
            LaneCount(
                lane=Served(row[0], row[1], row[2]),
                status=RUN_STATUS[row[3]],
                is_due=bool(row[4]),
                runs=row[5],
                earliest=row[6],
            )
            for row in await self._connection.all("count_due_runs", namespace=namespace, most=EVERY)
        ]

    async def parked(self, namespace: str) -> dict[tuple[str, RunStatus], int]:
        """Runs that are not over and have no due time, by queue and status."""
        rows = await self._connection.all("count_parked_runs", namespace=namespace)
        return {(row[0], RUN_STATUS[row[1]]): row[2] for row in rows}

    async def ended(self, namespace: str, *, span: Duration, most: int) -> Ended:
        """Runs that ended within `span`: all, unless more than `most` did in all namespaces; then the last of them."""
        rows = await self._connection.all("count_ended_runs", namespace=namespace, span=span, most=most + 1)
        is_whole = sum(row[1] for row in rows) <= most
        return Ended(
            runs={row[0]: row[1] for row in rows if row[0] is not None},
            told_since=None if is_whole else Instant(min(row[2] for row in rows)),
        )
