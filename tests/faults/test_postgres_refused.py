"""Is a PostgreSQL database that cannot be used refused in one clear line, and left exactly as it was?"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from click.testing import CliRunner

from windlass.cli.main import cli
from windlass.errors import StoreRefused
from windlass.store.postgres.store import PostgresStore
from windlass.testing.postgres import HOST, PostgresServer

SECRET = "s3cret-word"
ALL_RELATIONS = """
select n.nspname::text, c.relname::text, c.xmin::text, c.relkind::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname not like 'pg%' and n.nspname <> 'information_schema' order by 1, 2
"""


async def ask(url: str, *statements: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return [[tuple(row) for row in await connection.fetch(statement)] for statement in statements]
    finally:
        await connection.close()


async def everything_in(url: str) -> list[Any]:
    """Every relation and every row, each with the transaction that wrote it."""
    connection = await asyncpg.connect(url)
    try:
        relations = [tuple(row) for row in await connection.fetch(ALL_RELATIONS)]
        rows = [
            [tuple(row) for row in await connection.fetch(f'select t.xmin::text, t::text from "{schema}"."{name}" t')]
            for schema, name, _, kind in relations
            if kind == "r"
        ]
        return [relations, rows]
    finally:
        await connection.close()


async def open_and_close(url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    await store.close()


async def be_newer(url: str) -> str:
    await open_and_close(url)
    await ask(url, "update windlass.meta set value = '999' where key = 'schema_version'")
    return url


async def be_foreign(url: str) -> str:
    await ask(url, "create schema windlass", "create table windlass.mills (id bigint)")
    return url


async def be_forbidden(url: str) -> str:
    await ask(url, "create role stranger login", "revoke create on database " + url.rpartition("/")[2] + " from public")
    return url.replace("postgres@", "stranger@")


async def be_hidden(url: str) -> str:
    """It is there, and this user may not read it."""
    await open_and_close(url)
    await ask(url, "create role guest login")
    return url.replace("postgres@", "guest@")


async def be_missing(url: str) -> str:
    return url + "_nowhere"


async def be_locked(url: str) -> str:
    await ask(url, "create role locked login password 'another-word'")
    return url.replace("postgres@", f"locked:{SECRET}@")


async def be_unreachable(url: str) -> str:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    return f"postgresql://postgres:{SECRET}@{HOST}:{port}/nowhere"


REFUSED: dict[str, tuple[Callable[[str], Any], str]] = {
    "a newer schema": (be_newer, r"has schema 999.*upgrade Windlass"),
    "a schema of another application": (be_foreign, "of another application"),
    "a user who may create nothing": (be_forbidden, "permission denied"),
    "a user who may read nothing": (be_hidden, "permission denied"),
    "a database that does not exist": (be_missing, "does not exist"),
    "a wrong password": (be_locked, "password authentication failed"),
    "a port nobody listens on": (be_unreachable, "cannot be opened: "),
}


@pytest.fixture(scope="module")
def server(own_server: PostgresServer) -> PostgresServer:
    """One that asks a certain user for a password."""
    rules = own_server.directory / "data" / "pg_hba.conf"
    rules.write_text(f"host all locked {HOST}/32 scram-sha-256\n" + rules.read_text())
    own_server.restart(immediate=False)
    return own_server


@pytest.mark.spec("invariants:I-62")
@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name.replace(" ", "-"))
async def test_a_database_that_cannot_be_used_is_refused_and_left_alone(
    server: PostgresServer, figures: list[str], name: str
) -> None:
    spoil, reason = REFUSED[name]
    made = server.create_database()
    url = await spoil(made)
    before = await everything_in(made)

    with pytest.raises(StoreRefused, match=reason) as refusal:
        await open_and_close(url)
    command = ["runs" if len(name) % 2 else "migrate", "--url", url]
    result = await asyncio.to_thread(CliRunner().invoke, cli, command)

    assert "\n" not in str(refusal.value) and SECRET not in str(refusal.value)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), result
    assert SECRET not in result.stderr and "bug in Windlass" not in result.stderr
    assert await everything_in(made) == before
    figures.append(f"{'postgresql':10}  {name}: refused 2 of 2 times, nothing changed")
