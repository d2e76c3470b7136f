"""Windlass on PostgreSQL: any number of servers and workers."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from windlass.errors import NotAllowed, StoreRefused
from windlass.runtime import Clock, SystemClock
from windlass.store.base import Hooks, Lane, NoHooks, Tx
from windlass.store.catalog import load
from windlass.store.migrate import migrate_postgres
from windlass.store.postgres.connection import PostgresConnection, SingleStatement
from windlass.store.postgres.errors import DriverError, Repeatable, name_of, refuse, translate
from windlass.store.postgres.locks import SESSION as LOCK_SESSION
from windlass.store.postgres.locks import SessionLocks
from windlass.store.postgres.pool import Pool
from windlass.store.postgres.sessions import CONNECT_SECONDS, Sessions

if TYPE_CHECKING:
    from windlass.store.postgres.pool import Session

T = TypeVar("T")
Transaction = Callable[[Tx], Awaitable[T]]

OLDEST_SERVER = 14
CONNECTIONS = 8
ATTEMPTS = 5  # of a transaction that ran into a deadlock
CLOSE_SECONDS = 5.0


class PostgresStore:
    """A few connections to one database. Without a clock of ours the database's own decides."""

    creates_behind_gates = True

    def __init__(self, url: str, *, clock: Clock | None = None, hooks: Hooks | None = None) -> None:
        self.hooks: Hooks = hooks or NoHooks()
        # Capped and, for starts and steps, on two connections: else database and Python take turns.
        self.lanes: Sequence[Lane] = (
            Lane(kinds=frozenset({"start_runs"}), senders=2, cap=500),
            Lane(kinds=frozenset({"begin_steps"}), senders=1, cap=500),
            Lane(kinds=frozenset({"complete_steps"}), senders=2, cap=500),
            Lane(kinds=frozenset({"finish_runs"}), senders=1, cap=500),
            Lane(kinds=frozenset({"handler_operations"}), senders=1, cap=100),
            Lane(kinds=frozenset({"publish_events"}), senders=1, cap=500),
        )
        self._url, self._clock, self._where = url, clock, name_of(url)
        self._catalog = load("postgres", has_injected_clock=clock is not None)
        self._sessions = Sessions(url, where=self._where)
        self._pool: Pool | None = None
        self.locks = SessionLocks(self._connect_worker, clock=clock or SystemClock(), where=self._where)
        self._running: set[asyncio.Task[Any]] = set()
        self._process = 0
        self._is_killed = False

    async def open(self) -> None:
        """Connect and migrate. Raises StoreRefused if this database cannot be used."""
        if self._pool is not None:
            raise NotAllowed("The store is open already.")
        try:
            session = await self._sessions.first()
        except (*DriverError, ValueError) as error:
            raise refuse(error, where=self._where) from None
        try:
            major = session.get_server_version().major
            if major < OLDEST_SERVER:
                raise StoreRefused(f"{self._where} is PostgreSQL {major}; Windlass needs {OLDEST_SERVER} or newer.")
            await migrate_postgres(session, where=self._where)
        except DriverError as error:
            session.terminate()
            raise refuse(error, where=self._where) from None
        except BaseException:
            session.terminate()
            raise
        self._pool, self._process = Pool(self._sessions.connect, limit=CONNECTIONS), os.getpid()
        self._pool.release(session)
        self.locks.is_possible = not self._sessions.is_pooled

    async def close(self) -> None:
        """Let go of every connection. Closing twice is fine."""
        pool, self._pool = self._pool, None
        if pool is None or self._is_killed:
            return
        self._check_process()
        await self.locks.close()
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_SECONDS)
        try:
            await pool.close()
        except DriverError:
            pool.terminate()  # the server has gone first

    async def run_tx(self, name: str, fn: Transaction[T], *, single: bool = False, is_cancellable: bool = True) -> T:
        """Run fn in one transaction, or as one statement that is its own; again after a deadlock."""
        work = self._single if single and not self._sessions.is_pooled else self._transaction
        run = self._whole if is_cancellable else self._with_session
        for _ in range(ATTEMPTS):
            try:
                return await run(lambda session: work(session, name, fn))
            except Repeatable as error:
                last = error
        raise translate(last, where=self._where)

    async def read(self, name: str, fn: Transaction[T], *, single: bool = False) -> T:
        """Run fn on one snapshot, or with `single` each statement on its own. It must not write."""
        try:
            return await self._whole(lambda session: self._snapshot(session, fn, single=single))
        except Repeatable as error:
            raise translate(error, where=self._where) from None

    def kill(self) -> None:
        """Play a process that dies here: sockets cut, no clean-up, no answer, now or later. For crash tests."""
        self._is_killed = True
        if self._pool is not None:
            self._pool.terminate()
        self.locks.kill()

    async def _whole(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Go on to the end even if the caller is cancelled, as on SQLite.

        To interrupt the driver would cost the connection, and another one to tell the server.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        # In an empty context: asked for by the code of a run, it is still no part of that run.
        task = loop.create_task(self._answered(work, answer), context=contextvars.Context())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await answer

    async def _answered(self, work: Callable[[Session], Awaitable[T]], answer: asyncio.Future[T]) -> None:
        """Answer from here and not from the end of the task: that comes two turns of the loop later."""
        try:
            result = await self._with_session(work)
        except asyncio.CancelledError:  # the loop ends
            answer.cancel()
            raise
        except BaseException as error:
            if not answer.done():  # else whoever asked is gone
                answer.set_exception(error)
        else:
            if not answer.done():
                answer.set_result(result)

    async def _with_session(self, work: Callable[[Session], Awaitable[T]]) -> T:
        await self._stop_if_killed()
        if self._pool is None:
            raise NotAllowed("The store is closed.")
        self._check_process()
        pool = self._pool
        try:
            session = await pool.acquire()
        except DriverError as error:
            await self._stop_if_killed()
            raise translate(error, where=self._where) from None
        try:
            result = await work(session)
        except asyncio.CancelledError:  # the loop ends: the statement in flight may or may not be done
            pool.discard(session)
            raise
        except BaseException as error:
            await self._stop_if_killed()
            is_lost = session.is_closed()
            await self._clean_up(pool, session)
            if isinstance(error, DriverError) and not isinstance(error, Repeatable):
                raise translate(error, where=self._where, is_lost=is_lost) from None
            raise
        pool.release(session)
        return result

    async def _transaction(self, session: Session, name: str, fn: Transaction[T]) -> T:
        await self._hook(self.hooks.before_begin, name)
        await session.execute(self._sessions.begin)
        result = await fn(Tx(PostgresConnection(session, catalog=self._catalog, clock=self._clock)))
        await self._hook(self.hooks.before_commit, name)
        await session.execute("commit")
        await self._hook(self.hooks.after_commit, name)
        return result

    async def _single(self, session: Session, name: str, fn: Transaction[T]) -> T:
        await self._hook(self.hooks.before_begin, name)
        connection = SingleStatement(
            session,
            catalog=self._catalog,
            clock=self._clock,
            before=lambda: self._hook(self.hooks.before_commit, name),
            after=lambda: self._hook(self.hooks.after_commit, name),
        )
        return await fn(Tx(connection))

    async def _snapshot(self, session: Session, fn: Transaction[T], *, single: bool) -> T:
        tx = Tx(PostgresConnection(session, catalog=self._catalog, clock=self._clock, is_read_only=True))
        if single and not self._sessions.is_pooled:
            return await fn(tx)
        await session.execute(self._sessions.begin_snapshot)
        result = await fn(tx)
        await session.execute("commit")
        return result

    async def _connect_worker(self) -> Session:
        return await asyncpg.connect(self._url, timeout=CONNECT_SECONDS, server_settings=LOCK_SESSION)

    async def _clean_up(self, pool: Pool, session: Session) -> None:
        try:
            if session.is_in_transaction():
                await session.execute("rollback")
        except DriverError:
            pool.discard(session)
        else:
            pool.release(session)

    async def _hook(self, hook: Callable[[str], None], name: str) -> None:
        try:
            hook(name)
        finally:
            await self._stop_if_killed()

    async def _stop_if_killed(self) -> None:
        if self._is_killed:
            await asyncio.get_running_loop().create_future()  # for ever

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise NotAllowed("This store was opened by the parent process; a forked process must open its own.")
