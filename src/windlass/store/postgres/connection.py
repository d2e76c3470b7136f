"""How named queries run on a PostgreSQL connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import asyncpg

from windlass.errors import NotAllowed
from windlass.model.time import Instant
from windlass.runtime import Clock
from windlass.store.base import Row
from windlass.store.catalog import DATABASE_CLOCK, Query, Statement

T = TypeVar("T")
Hook = Callable[[], Awaitable[None]]


class PostgresConnection:
    """One open transaction."""

    def __init__(
        self,
        session: asyncpg.Connection[Any],
        *,
        catalog: Mapping[str, Query],
        clock: Clock | None,
        is_read_only: bool = False,
    ) -> None:
        self._session, self._catalog, self._clock = session, catalog, clock
        self._is_read_only = is_read_only

    async def all(self, query: str, /, **parameters: Any) -> Sequence[Row]:
        statement = self._find(query).statements[0]
        return await self._send(self._session.fetch, statement.text, *self._values(statement, parameters))

    async def first(self, query: str, /, **parameters: Any) -> Row | None:
        statement = self._find(query).statements[0]
        return await self._send(self._session.fetchrow, statement.text, *self._values(statement, parameters))

    async def run(self, query: str, /, **parameters: Any) -> int:
        statement = self._find(query).statements[0]
        status = await self._send(self._session.execute, statement.text, *self._values(statement, parameters))
        return int(status.rpartition(" ")[2])  # "UPDATE 3"

    async def batch(self, query: str, rows: Sequence[Any], /) -> Mapping[int, Instant]:
        found = self._find(query)
        if not rows:
            return {}
        if not found.key:  # one by one but in one go; nobody asks how each of them went
            statement = found.statements[0]
            values_of, tail = attrgetter(*statement.parameters), self._tail(statement)
            values = [(*values_of(row), *tail) for row in rows]
            if len(values) == 1:  # which takes the driver less to send
                await self._send(self._session.execute, statement.text, *values[0])
            else:
                await self._send(self._session.executemany, statement.text, values)
            return {}
        key_of = attrgetter(*found.key)
        ordinals: dict[tuple[Any, ...], int] = {}
        for ordinal, key in enumerate(map(key_of, rows)):
            ordinals.setdefault(key, ordinal)
        # Sorted, because rows are locked in the order they are sent in, and every batch must lock in the same order.
        answers = await self._send_rows(found, [rows[ordinals[key]] for key in sorted(ordinals)])
        if len(answers) == 1 and answers[0][1] is None:
            at: Instant = answers[0][0]
            return dict.fromkeys(ordinals.values(), at)
        return {ordinals[tuple(key)]: time for time, *key in answers}

    async def _send_rows(self, query: Query, rows: Sequence[Any]) -> Sequence[Row]:
        if len(rows) == 1 and query.one is not None:
            statement = query.one
            values: Sequence[Any] = attrgetter(*statement.parameters)(rows[0])
        else:
            statement = query.statements[0]
            values = _columns(statement, list(map(attrgetter(*statement.parameters), rows)))
        return await self._send(self._session.fetch, statement.text, *values, *self._tail(statement))

    async def now(self) -> Instant:
        if self._clock is not None:
            return Instant(self._clock.now())
        return Instant(await self._session.fetchval("select " + DATABASE_CLOCK))

    async def _send(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        return await method(*arguments)

    def _find(self, name: str) -> Query:
        query = self._catalog[name]
        if self._is_read_only and query.is_write:
            raise NotAllowed(f"{name} writes, and this transaction only reads.")
        return query

    def _values(self, statement: Statement, parameters: Mapping[str, Any]) -> list[Any]:
        return [*[parameters[name] for name in statement.parameters], *self._tail(statement)]

    def _tail(self, statement: Statement) -> tuple[int, ...]:
        if not statement.takes_now:
            return ()
        assert self._clock is not None  # without one the catalogue is loaded with the database's clock
        return (self._clock.now(),)


def _columns(statement: Statement, values: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """The arrays of a batch. What is the same in every row is sent once: the driver looks at every element."""
    columns: list[Sequence[Any]] = []
    for name, column in zip(statement.parameters, zip(*values, strict=True), strict=True):
        first, count = column[0], len(column)
        is_same = name in statement.shared and column[-1] == first and column.count(first) == count
        columns.append(column[:1] if is_same else column)
    return columns


class SingleStatement(PostgresConnection):
    """One statement that is its own transaction; behind it only reads may follow."""

    def __init__(
        self,
        session: asyncpg.Connection[Any],
        *,
        catalog: Mapping[str, Query],
        clock: Clock | None,
        before: Hook,
        after: Hook,
    ) -> None:
        super().__init__(session, catalog=catalog, clock=clock)
        self._before, self._after = before, after

    async def _send(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        if self._is_read_only:
            return await method(*arguments)
        await self._before()
        answer = await method(*arguments)
        self._is_read_only = True
        await self._after()
        return answer
