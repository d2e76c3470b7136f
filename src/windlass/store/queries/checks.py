"""Whether a database is in order, and everything that stands in it. Reads only."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.checkup import FeedState, Holder
from windlass.model.failure import Failure
from windlass.model.run import LogEntry, Run
from windlass.model.schedule import Schedule
from windlass.model.step import Step
from windlass.model.time import Duration, Instant
from windlass.model.worker import Worker
from windlass.store.catalog import Dialect
from windlass.store.migrate import migrations
from windlass.store.queries.graph_checks import GraphChecks
from windlass.store.queries.pipeline_checks import PipelineChecks
from windlass.store.rows import (
    RUN_COLUMNS,
    failure_from_bytes,
    log_entry_from_row,
    run_from_row,
    schedule_from_row,
    step_from_row,
    worker_from_row,
)

if TYPE_CHECKING:
    from windlass.store.base import Connection


CREATED = re.compile(r"^create (?:unique )?(table|index) (\w+)", re.MULTILINE)


class SchemaObject(Struct, frozen=True, order=True):
    kind: str  # table, index, view, trigger, rule
    name: str  # of a trigger or a rule: with its table


@cache
def created_objects(dialect: Dialect) -> frozenset[SchemaObject]:
    """The tables and indexes that a current database has."""
    texts = (migration.text for migration in migrations(dialect))
    return frozenset(SchemaObject(kind, name) for text in texts for kind, name in CREATED.findall(text))


class Inconsistency(Struct, frozen=True, kw_only=True):
    """A rule of the engine that some row breaks: never the fault of a user."""

    rule: str
    namespace: str
    subject: str


class RunRow(Struct, frozen=True, kw_only=True):
    run: Run
    result_hash: bytes | None


class PayloadRow(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: str
    start_key: str | None
    input: bytes
    output: bytes | None
    failure: Failure | None


class KeyRow(Struct, frozen=True, kw_only=True):
    namespace: str
    key: str
    name: str
    version: str
    input_hash: bytes
    run_id: str
    created_at: Instant
    expires_at: Instant | None


class CheckQueries:
    """For doctor and for tests: `CheckQueries(tx.connection)` inside `store.read`. It reads whole tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def inconsistencies(self) -> list[Inconsistency]:
        """Every rule that is broken, and by what. A sound database has none."""
        rows = [
            *await self._connection.all("inconsistencies"),
            *await GraphChecks(self._connection).inconsistencies(),
            *await PipelineChecks(self._connection).inconsistencies(),
        ]
        return [Inconsistency(rule=row[0], namespace=row[1], subject=row[2]) for row in rows]

    async def damage(self) -> list[str]:
        """What the database finds wrong with its own files."""
        return [row[0] for row in await self._connection.all("damage")]

    async def schema_objects(self) -> list[SchemaObject]:
        """What stands beside our rows. What the database makes by itself may be among it, or not."""
        return [SchemaObject(row[0], row[1]) for row in await self._connection.all("schema_objects")]

    async def settings(self) -> dict[str, str]:
        """How the database describes itself; the names differ from one to the other."""
        return {row[0]: str(row[1]) for row in await self._connection.all("store_settings")}

    async def feed(self) -> FeedState:
        """How far the feed of the log is behind, and behind whom."""
        ((held_since, ahead),) = await self._connection.all("feed_state")
        holders = tuple(
            Holder(
                pid=row[0],
                application=row[1],
                person=row[2],
                database=row[3],
                state=row[4],
                open_for=Duration(row[5] or 0),
            )
            for row in await self._connection.all("feed_holders")
        )
        return FeedState(held_since=held_since, ahead=ahead, holders=holders)

    async def runs(self) -> list[RunRow]:
        rows = await self._connection.all("every_run")
        return [RunRow(run=run_from_row(row), result_hash=row[RUN_COLUMNS]) for row in rows]

    async def payloads(self) -> list[PayloadRow]:
        return [
            PayloadRow(
                namespace=row[0],
                run_id=row[1],
                start_key=row[2],
                input=row[3],
                output=row[4],
                failure=failure_from_bytes(row[5]),
            )
            for row in await self._connection.all("every_payload")
        ]

    async def steps(self) -> list[Step]:
        return [step_from_row(row) for row in await self._connection.all("every_step")]

    async def keys(self) -> list[KeyRow]:
        return [
            KeyRow(
                namespace=row[0],
                key=row[1],
                name=row[2],
                version=row[3],
                input_hash=row[4],
                run_id=row[5],
                created_at=row[6],
                expires_at=row[7],
            )
            for row in await self._connection.all("every_key")
        ]

    async def log(self) -> list[LogEntry]:
        return [log_entry_from_row(row) for row in await self._connection.all("every_log_entry")]

    async def workers(self) -> list[Worker]:
        return [worker_from_row(row) for row in await self._connection.all("every_worker")]

    async def schedules(self) -> list[Schedule]:
        return [schedule_from_row(row) for row in await self._connection.all("every_schedule")]
