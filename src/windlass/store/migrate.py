"""Whether a database may be used by this version of Windlass, and how it is brought up to date.

Forward only, one transaction for all steps: a database is either as it was or current. Two processes that migrate at
once are safe: the second waits for the first and then finds nothing left to do.
"""

from __future__ import annotations

import re
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from windlass.errors import StoreRefused
from windlass.store.catalog import SQL_FOLDER, Dialect

if TYPE_CHECKING:
    import apsw
    import asyncpg

APPLICATION = "windlass"
APPLICATION_ID = 0x574E444C  # "WNDL", in the header of an SQLite file
SCHEMA = "windlass"  # on PostgreSQL
ADVISORY_LOCK = APPLICATION_ID

MIGRATED_WITHIN = 600_000  # milliseconds, by another process; then this one gives up

READ_META = "select key, value from meta where key in ('application', 'schema_version')"


class Migration(Struct, frozen=True):
    number: int
    text: str


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """All of them, in order. Numbers have no gaps, so the last one is the schema's version."""
    files = sorted((SQL_FOLDER / dialect / "migrations").glob("*.sql"))
    found = tuple(Migration(int(re.split("_", file.name)[0]), file.read_text(encoding="utf-8")) for file in files)
    if [item.number for item in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the {dialect} migrations are not numbered from 1 without gaps")
    return found


def migrate_sqlite(connection: apsw.Connection, *, where: str) -> None:
    """Create or update the tables, or raise StoreRefused with nothing written."""
    if check_sqlite(connection, where=where) == len(migrations("sqlite")):
        return
    # Another process may be at it, which on a large file takes its time; it is waited for, and not given up.
    connection.set_busy_timeout(MIGRATED_WITHIN)
    connection.execute("begin immediate")
    try:
        version = check_sqlite(connection, where=where)  # again: another process may have been faster
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        for migration in migrations("sqlite")[version:]:
            connection.execute(migration.text)
        upsert = "insert into meta (key, value) values (?1, ?2) on conflict (key) do update set value = excluded.value"
        for pair in _meta("sqlite"):
            connection.execute(upsert, pair)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def migrate_memory(connection: apsw.Connection) -> None:
    """Fill a new database in memory: the first of a process runs the migrations, the others are copies of it."""
    import apsw  # here: who migrates PostgreSQL does not need it

    with closing(apsw.Connection("")) as made:
        made.deserialize("main", _migrated_memory())
        with connection.backup("main", made, "main") as copying:
            copying.step()


@cache
def _migrated_memory() -> bytes:
    import apsw

    with closing(apsw.Connection(":memory:")) as made:
        migrate_sqlite(made, where="A database in memory")
        return made.serialize("main")


def check_sqlite(connection: apsw.Connection, *, where: str) -> int:
    """The version of the schema, 0 for an empty file. Raises StoreRefused if it is not ours to use; writes nothing."""
    with connection:  # one look: else another process may create the tables between the first answer and the second
        (application_id,) = connection.execute("pragma application_id").fetchall()[0]
        tables = {row[0] for row in connection.execute("select name from sqlite_schema")}
        is_ours = application_id == APPLICATION_ID and "meta" in tables
        meta = {row[0]: row[1] for row in connection.execute(READ_META)} if is_ours else {}
    if application_id == 0 and not tables:
        return 0
    if not is_ours:
        raise StoreRefused(f"{where} belongs to another application; choose another file.")
    return _judge(meta, "sqlite", where)


async def migrate_postgres(connection: asyncpg.Connection[Any], *, where: str) -> None:
    """Create or update the schema, or raise StoreRefused with nothing written."""
    async with connection.transaction(isolation="read_committed"):  # through a pooler, one session for all of a look
        found = await check_postgres(connection, where=where)
    if found == len(migrations("postgres")):
        return
    async with connection.transaction(isolation="read_committed"):
        await connection.execute(f"select pg_advisory_xact_lock({ADVISORY_LOCK})")
        version = await check_postgres(connection, where=where)  # again: another process may have been faster
        if await connection.fetchval("select to_regnamespace($1::text) is null", SCHEMA):
            await connection.execute(f"create schema {SCHEMA}")
        await connection.execute(f"set local search_path = {SCHEMA}")
        for migration in migrations("postgres")[version:]:
            await connection.execute(migration.text)
        upsert = "insert into meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value"
        for pair in _meta("postgres"):
            await connection.execute(upsert, *pair)


async def check_postgres(connection: asyncpg.Connection[Any], *, where: str) -> int:
    """The version of the schema, 0 if there is none. Raises StoreRefused if it is not ours to use; writes nothing."""
    listing = "select c.relname::text from pg_catalog.pg_class c where c.relnamespace = to_regnamespace($1::text)"
    tables = {row[0] for row in await connection.fetch(listing, SCHEMA)}
    if not tables:
        return 0
    if "meta" not in tables:
        raise StoreRefused(f"{where} has a schema named {SCHEMA} of another application; choose another database.")
    rows = await connection.fetch(READ_META.replace("meta", f"{SCHEMA}.meta", 1))
    return _judge({row[0]: row[1] for row in rows}, "postgres", where)


def _judge(meta: dict[Any, Any], dialect: Dialect, where: str) -> int:
    version, current = meta.get("schema_version", ""), len(migrations(dialect))
    if meta.get("application") != APPLICATION or not version.isdecimal():
        raise StoreRefused(f"{where} belongs to another application; choose another database.")
    if int(version) > current:
        raise StoreRefused(f"{where} has schema {version}, this Windlass knows {current}; upgrade Windlass to open it.")
    return int(version)


def _meta(dialect: Dialect) -> tuple[tuple[str, str], ...]:
    return ("application", APPLICATION), ("schema_version", str(len(migrations(dialect))))
