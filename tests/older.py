"""A database that an older Windlass has made, on either of the stores."""

from __future__ import annotations

import asyncio

import asyncpg

from tests.faults.migrating import open_and_close
from windlass.embedded import read_schema_version
from windlass.store.migrate import SCHEMA, migrations

NEWEST = len(migrations("sqlite"))


def make_older(url: str, *, version: int = NEWEST - 1) -> None:
    """What is there is gone; call it where no loop runs."""
    if url.startswith("postgresql:"):
        asyncio.run(_drop_schema(url))
    open_and_close(url, version)


def schema_of(url: str) -> int:
    return asyncio.run(read_schema_version(url)).found


async def _drop_schema(url: str) -> None:
    session = await asyncpg.connect(url)
    try:
        await session.execute(f"drop schema if exists {SCHEMA} cascade")
    finally:
        await session.close()
