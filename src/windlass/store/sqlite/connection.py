"""How named queries run on an SQLite connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import apsw
from msgspec.json import encode as to_json

from windlass.errors import NotAllowed
from windlass.model.time import Instant
from windlass.store import watching
from windlass.store.base import Row
from windlass.store.catalog import Query, Statement

Values = tuple[Any, ...]

LIVE = watching.live()


class SqliteConnection:
    """The open transaction of the writer thread. Nothing here suspends; it is async for the protocol's sake."""

    def __init__(self, connection: apsw.Connection, *, catalog: Mapping[str, Query]) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._catalog = catalog
        self._getters: dict[int, Callable[[Any], Values]] = {}
        self._now = Instant(0)
        self._is_read_only = False

    def begin(self, *, now: Instant, is_read_only: bool) -> None:
        """Set what is true for the transaction that has just begun."""
        self._now, self._is_read_only = now, is_read_only

    async def all(self, query: str, /, **parameters: Any) -> Sequence[Row]:
        found = self._find(query)
        cursor = self._execute(found.statements[0], parameters)
        if not found.each:
            return cursor.fetchall()
        try:
            columns = [column[0] for column in cursor.get_description()]
        except apsw.ExecutionCompleteError:  # no row, so no columns either
            return []
        rows = cursor.fetchall()
        self._follow(found, rows, columns=columns, parameters=parameters)
        return rows

    async def first(self, query: str, /, **parameters: Any) -> Row | None:
        rows = await self.all(query, **parameters)
        return rows[0] if rows else None

    async def run(self, query: str, /, **parameters: Any) -> int:
        (statement,) = self._find(query).statements
        self._execute(statement, parameters)
        return self._connection.changes()

    async def batch(self, query: str, rows: Sequence[Any], /) -> Mapping[int, Instant]:
        guard, *others = self._needed(self._find(query).statements)
        execute, changes = self._cursor.execute, self._connection.changes
        text, values_of = guard.text, self._getter(guard)
        followers = [(statement.text, self._getter(statement)) for statement in others if not statement.together]
        passed = dict.fromkeys(range(len(rows)), self._now)
        for ordinal, row in enumerate(rows):
            execute(text, values_of(row))
            if not changes():
                del passed[ordinal]
                continue
            for following, values_for in followers:
                execute(following, values_for(row))
        written = rows if len(passed) == len(rows) else [rows[ordinal] for ordinal in passed]
        together = [statement for statement in others if statement.together]
        self._execute_together(together, lambda names: map(attrgetter(*names), written), {})
        return passed

    async def now(self) -> Instant:
        return self._now

    def _find(self, name: str) -> Query:
        query = self._catalog[name]
        if self._is_read_only and query.is_write:
            raise NotAllowed(f"{name} writes, and this transaction only reads.")
        return query

    def _execute(self, statement: Statement, parameters: Mapping[str, Any]) -> apsw.Cursor:
        values = [_bindable(parameters[name]) for name in statement.parameters]
        if statement.takes_now:
            values.append(self._now)
        return self._cursor.execute(statement.text, values)

    def _needed(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        """Without those that look for whoever watches, where nobody does: until the commit nobody else can begin to."""
        if not any(statement.is_watching for statement in statements):
            return statements
        if self._cursor.execute(LIVE).fetchone() is not None:
            return statements
        return [statement for statement in statements if not statement.is_watching]

    def _follow(
        self, query: Query, rows: Sequence[Values], *, columns: Sequence[str], parameters: Mapping[str, Any]
    ) -> None:
        """Run the statements behind the first for the rows of its answer."""

        def read(names: Sequence[str]) -> Iterable[Values]:
            return map(itemgetter(*map(columns.index, names)), rows)

        self._execute_together(self._needed(query.statements[1:]), read, parameters)

    def _execute_together(
        self,
        statements: Sequence[Statement],
        read: Callable[[Sequence[str]], Iterable[Values]],
        parameters: Mapping[str, Any],
    ) -> None:
        """Run each statement once for all rows that differ in the first of its values only.

        Those that take the same values follow each other on the same lists: to make these costs more than a statement.
        """
        names: tuple[str, ...] = ()
        lists: list[dict[str, Any]] = []
        for statement in statements:
            if statement.together != names:
                names = statement.together
                lists = _gathered(names, read(names))
            for values in lists:
                self._execute(statement, {**parameters, **values})

    def _getter(self, statement: Statement) -> Callable[[Any], Values]:
        """How to read a statement's values from a row: C code, because it runs once per row of every batch."""
        getter = self._getters.get(id(statement))  # not its text: two may differ in the names of their parameters only
        if getter is None:
            getter = self._getters[id(statement)] = attrgetter(*statement.parameters)
        if not statement.takes_now:
            return getter
        read, tail = getter, (self._now,)
        return lambda row: read(row) + tail


def _gathered(names: Sequence[str], rows: Iterable[Values]) -> list[dict[str, Any]]:
    """The first value of all rows as a list, for each of what they have in common."""
    gathered, *common = names
    lists: dict[Values, list[Any]] = {}
    for first, *others in rows:
        lists.setdefault(tuple(others), []).append(first)
    return [{**dict(zip(common, shared, strict=True)), gathered: _bindable(values)} for shared, values in lists.items()]


def _bindable(value: Any) -> Any:
    """Lists travel as JSON, for json_each."""
    return to_json(value).decode() if isinstance(value, (list, tuple)) else value
