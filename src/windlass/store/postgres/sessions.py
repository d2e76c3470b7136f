"""How sessions with the server are begun: directly, or through a pooler that lends them for one transaction at a time.

Through a pooler nothing can be kept in a session: no setting, no prepared statement, no lock. What a session is told
once where it is ours is told there at every begin, in the same message; and statements have no names.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import asyncpg

from windlass.store.migrate import SCHEMA

if TYPE_CHECKING:
    from windlass.store.postgres.pool import Session

LOGGER = logging.getLogger("windlass.store")
CONNECT_SECONDS = 10.0
NAME = {"application_name": "windlass"}
PLANS = {
    "search_path": SCHEMA,
    # Every statement is written for one plan, by index: planning anew at every batch costs a quarter of its time, and a
    # plan made while the tables were small must not turn into a scan when they are large.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # A process that is stopped in the middle of a transaction must not hold its locks for ever.
    "idle_in_transaction_session_timeout": "60s",
}
SESSION = {**NAME, "default_transaction_isolation": "read committed", **PLANS}
ANSWERING = "select pg_backend_pid()"
READ_COMMITTED, ONE_SNAPSHOT = "isolation level read committed", "isolation level repeatable read read only"
TOLD = "; ".join(f"set local {name} = '{value}'" for name, value in PLANS.items())


class Sessions:
    def __init__(self, url: str, *, where: str) -> None:
        self._url, self._where = url, where
        self.is_pooled = False

    async def first(self) -> Session:
        """A session, once it is known who answers. Raises what the driver raises."""
        try:
            session = await self.connect()
        except asyncpg.ProtocolViolationError:  # a pooler that takes none of our settings
            return await self._through_pooler()
        try:
            is_ours = await self._is_ours(session)
        except asyncpg.DuplicatePreparedStatementError:  # of another client, in a session that should be new
            is_ours = False
        except BaseException:
            session.terminate()
            raise
        if is_ours:
            return session
        session.terminate()
        return await self._through_pooler()

    async def connect(self) -> Session:
        if self.is_pooled:
            return await asyncpg.connect(
                self._url, timeout=CONNECT_SECONDS, server_settings=NAME, statement_cache_size=0
            )
        return await asyncpg.connect(self._url, timeout=CONNECT_SECONDS, server_settings=SESSION)

    @property
    def begin(self) -> str:
        return f"begin {READ_COMMITTED}; {TOLD}" if self.is_pooled else "begin"

    @property
    def begin_snapshot(self) -> str:
        return f"begin {ONE_SNAPSHOT}; {TOLD}" if self.is_pooled else f"begin {ONE_SNAPSHOT}"

    async def _is_ours(self, session: Session) -> bool:
        """Whether the one who answers is the one we were connected to."""
        async with session.transaction():
            pid = await session.fetchval(ANSWERING)
            if pid != session.get_server_pid():
                await session.execute("deallocate all")  # it goes on to serve others
        return bool(pid == session.get_server_pid())

    async def _through_pooler(self) -> Session:
        self.is_pooled = True
        LOGGER.info(
            "%s is reached through a pooler: statements are not kept prepared, and no lock is held.", self._where
        )
        return await self.connect()
