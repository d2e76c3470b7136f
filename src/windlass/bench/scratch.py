"""A database to measure in that is gone afterwards, whatever happens: in a folder, or on a PostgreSQL server."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from windlass.bench.durable import BenchFailed
from windlass.errors import StoreRefused
from windlass.runtime import system_rng
from windlass.settings import Location
from windlass.store.postgres.errors import DriverError, name_of, refuse

FOLDER, DATABASE = "windlass-bench-", "windlass_bench_"  # and something that nobody else has
FILE = "bench.db"
CONNECT_SECONDS = 10.0
TOLD_TO_STOP = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def database(location: Location) -> AbstractContextManager[str]:
    """The URL of an empty database for the block. Raises BenchFailed or StoreRefused if there can be none."""
    return _in_folder(location.target) if location.kind == "sqlite" else _on_server(location.target)


@contextmanager
def _in_folder(folder: str) -> Iterator[str]:
    made = Path(tempfile.mkdtemp(prefix=FOLDER, dir=folder))
    try:
        yield str(made / FILE)
    finally:
        with undisturbed():
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _on_server(url: str) -> Iterator[str]:
    name, is_made = f"{DATABASE}{system_rng().getrandbits(40):010x}", True
    try:
        try:
            # From the template that nobody can be connected to.
            asyncio.run(_execute(url, f'create database "{name}" template template0'))
        except Exception:  # an interrupt is none: what was sent may have been carried out
            is_made = False
            raise
        yield _renamed(url, name)
    finally:
        if is_made:
            with undisturbed():
                asyncio.run(_drop(url, name))


async def _drop(url: str, name: str) -> None:
    statement = f'drop database if exists "{name}" with (force)'
    try:
        await _execute(url, statement)
    except (BenchFailed, StoreRefused) as error:
        raise BenchFailed(f"{error} What was made there may be left; remove it by hand: {statement}") from None


async def _execute(url: str, statement: str) -> None:
    where = name_of(url)
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
    except asyncpg.InsufficientPrivilegeError:
        raise BenchFailed(
            f"{where}: this user may not create a database to measure in. Allow it with ALTER ROLE … CREATEDB, "
            "or name a server where it may."
        ) from None
    except (*DriverError, ValueError) as error:
        raise refuse(error, where=where) from None


def _renamed(url: str, name: str) -> str:
    """The same server, another database. By hand: a URL without a host would lose a slash."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Nobody who is impatient leaves a folder or a database behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in TOLD_TO_STOP}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
