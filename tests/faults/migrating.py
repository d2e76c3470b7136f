"""Processes that open a database and migrate it: together on a barrier, or dying at a statement of the migration."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from typing import Any

import apsw
import asyncpg

from windlass.runtime import SystemClock
from windlass.store import migrate
from windlass.store.base import Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore

PATIENCE = 60.0
KILLED = -signal.SIGKILL
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])  # so that a process begins in a few milliseconds


def store_at(url: str) -> Store:
    return PostgresStore(url) if url.startswith("postgresql:") else SqliteStore(url, clock=SystemClock())


def open_and_close(url: str, version: int | None = None) -> None:
    """Bring a database to that version of its schema, as the Windlass of that time did; none: to the newest."""
    known = migrate.migrations

    async def run() -> None:
        store = store_at(url)
        await store.open()
        await store.close()

    try:
        if version is not None:
            migrate.migrations = lambda dialect: known(dialect)[:version]  # type: ignore[assignment]
        asyncio.run(run())
    finally:
        migrate.migrations = known


def open_at_once(url: str, barrier: Barrier) -> None:
    barrier.wait(PATIENCE)
    open_and_close(url)


def die_at_sqlite(path: str, statement: int) -> None:
    """Open a file, and be killed before that statement, counted from the first one."""
    seen = 0

    def trace(cursor: apsw.Cursor, text: str, bindings: Any) -> bool:
        nonlocal seen
        seen += 1
        if seen == statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))
    open_and_close(path)


def die_at_postgres(url: str, call: int) -> None:
    """Open a database, and be killed before that call to the server, counted from the first one."""
    seen = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        async def call_or_die(self: Any, *arguments: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return await method(self, *arguments, **options)

        return call_or_die

    for name in ("execute", "fetch", "fetchval"):
        setattr(asyncpg.Connection, name, counted(getattr(asyncpg.Connection, name)))
    open_and_close(url)


def started(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    return process


def exit_code(process: ForkServerProcess) -> int | None:
    process.join(PATIENCE)
    return process.exitcode
