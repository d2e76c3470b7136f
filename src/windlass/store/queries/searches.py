"""Runs that somebody looks for. Reads only, each with a bound on the rows it looks at."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from windlass.model.overview import FoundRun, SearchRuns
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Instant
from windlass.store.queries.run_reads import BEHIND_EVERY_ID
from windlass.store.rows import RUN_COLUMNS, Row, failure_from_bytes, run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

LOWERED = {ord(letter): letter.lower() for letter in ascii_uppercase}


class SearchQueries:
    """`SearchQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def search(self, query: SearchRuns, *, looked: int, limit: int) -> list[FoundRun]:
        """Those that fit among the next `looked` runs behind `before`, or of those that failed or are paused."""
        place = {**_filters(query), **_text(query), "looked": looked, "limit": limit}
        if query.status is RunStatus.FAILED:
            rows = await self._connection.all("search_failed_runs", **place)
        elif query.status is RunStatus.PAUSED:
            rows = await self._connection.all("search_paused_runs", **place)
        else:
            rows = await self._connection.all("search_runs", **place, status=query.status)
        return [found_run(row) for row in rows]

    async def last_looked_at(self, query: SearchRuns, *, looked: int) -> tuple[RunId, Instant] | None:
        """The last run that a search goes through; nothing if there are fewer."""
        place = {"namespace": query.namespace, "before": _before(query), "skipped": looked - 1}
        if query.status is RunStatus.FAILED:
            row = await self._connection.first("last_failed_looked_at", **place)
        elif query.status is RunStatus.PAUSED:
            row = await self._connection.first("last_paused_looked_at", **place)
        else:
            row = await self._connection.first("last_looked_at", **place)
        return None if row is None else (row[0], row[1])

    async def has_more_live(self, namespace: str, than: int) -> bool:
        """Whether more runs than that are not over."""
        row = await self._connection.first("count_live_runs", namespace=namespace, most=than + 1)
        return row is not None and row[0] > than

    async def search_live(self, query: SearchRuns, *, looked: int, limit: int) -> list[FoundRun]:
        """Of those that are not over, if there are at most `looked`."""
        place = {**_filters(query), **_text(query), "status": query.status, "looked": looked, "limit": limit}
        return [found_run(row) for row in await self._connection.all("search_live_runs", **place)]

    async def find(self, query: SearchRuns, *, id: str, key: str) -> list[FoundRun]:
        """By what is meant exactly. The other filters hold for them as well."""
        filters = {name: value for name, value in _filters(query).items() if name != "before"}
        rows = await self._connection.all("find_runs", **filters, status=query.status, id=id, key=key)
        return [found_run(row) for row in rows]


def found_run(row: Row) -> FoundRun:
    key, failure = row[RUN_COLUMNS:]
    return FoundRun(run=run_from_row(row), key=key, failure=failure_from_bytes(failure))


def _filters(query: SearchRuns) -> dict[str, Any]:
    return {
        "namespace": query.namespace,
        "before": _before(query),
        "name": query.name,
        "queue": query.queue,
        "created_after": query.created_after,
    }


def _text(query: SearchRuns) -> dict[str, Any]:
    return {"text": None if query.text is None else _pattern(query.text)}


def _before(query: SearchRuns) -> str:
    return BEHIND_EVERY_ID if query.before is None else query.before


def _pattern(text: str) -> str:
    """What LIKE is to find anywhere, with nothing in it that means more than itself. Lowered as a database does it."""
    literal = text.translate(LOWERED).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
