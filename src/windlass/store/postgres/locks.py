"""Locks of workers in PostgreSQL: advisory locks of one session, which the server frees when that session ends.

A free lock proves a lost session, not a death: a connection may have been cut, or the server restarted. So

- a session that is lost is made anew at once, and takes its locks again;
- a lock counts as free only if it is still free at the next look;
- nobody judges others for a while after the server has started, or its own session was lost: theirs may be on its way.

What is still taken from a living worker is safe: its writes are refused, and it stops its bodies when it notices.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from windlass.model.run import WorkerId
from windlass.model.time import MILLISECOND, SECOND
from windlass.model.worker import LockKind
from windlass.runtime import Clock, SystemClock
from windlass.store.postgres.errors import DriverError, translate

if TYPE_CHECKING:
    from windlass.store.postgres.pool import Session

FREE_FOR = 800 * MILLISECOND  # between the two looks; workers look once a second
SETTLED_AFTER = 5 * SECOND  # for sessions to come back after a restart
AGAIN_AFTER = 200 * MILLISECOND
CLOSE_SECONDS = 5.0
SESSION = {
    "application_name": "windlass worker",
    "idle_session_timeout": "0",  # it is idle all its life
    # A machine that vanishes says no goodbye: ask after 10 s of silence, and give up after three questions.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
TRY_LOCK = "select pg_try_advisory_lock($1)"
UNLOCK = "select pg_advisory_unlock($1)"
SERVER_UP_FOR = "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8"


class SessionLocks:
    def __init__(self, connect: Callable[[], Coroutine[Any, Any, Session]], *, clock: Clock, where: str) -> None:
        self._connect, self._clock, self._where = connect, clock, where
        self.free_for, self.settled_after = FREE_FOR, SETTLED_AFTER
        self._pace = SystemClock()  # how soon a connection can be had again is a matter of real time
        self._session: Session | None = None
        self._own: set[WorkerId] = set()
        self._held: set[WorkerId] = set()  # by the session there is now: one that takes twice must let go twice
        self._free_since: dict[WorkerId, int] = {}  # of others: when the lock was first seen free
        self._judging_from = 0
        self._turn = asyncio.Lock()  # a connection answers one question at a time
        self._is_lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def take(self, worker: WorkerId) -> LockKind | None:
        self._own.add(worker)
        try:
            async with self._turn:
                await self._take(await self._opened(), worker)
        except DriverError as error:
            raise translate(error, where=self._where) from None
        return LockKind.SESSION

    async def seize(self, worker: WorkerId) -> bool:
        async with self._turn:
            try:
                return await self._seize(await self._opened(), worker)
            except DriverError:
                return False  # nobody can be judged without an answer

    async def _seize(self, session: Session, worker: WorkerId) -> bool:
        now = self._clock.monotonic()
        # A session may take its own lock once more: workers of this process are not to be asked about.
        if worker in self._own or session.is_closed() or now < self._judging_from:
            return False
        if not await self._take(session, worker):
            self._free_since.pop(worker, None)
            return False
        if now - self._free_since.setdefault(worker, now) >= self.free_for:
            return True
        await self._let_go(session, worker)
        return False

    async def release(self, worker: WorkerId, *, for_good: bool) -> None:
        self._own.discard(worker)
        self._free_since.pop(worker, None)
        async with self._turn:
            if self._session is not None:
                with suppress(*DriverError):  # a session that is lost holds nothing
                    await self._let_go(self._session, worker)

    async def close(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        if self._session is not None:
            try:
                await self._session.close(timeout=CLOSE_SECONDS)
            except (*DriverError, TimeoutError):
                self._session.terminate()

    def kill(self) -> None:
        """Cut the session for good, as the death of the process would."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
        if self._session is not None:
            self._session.terminate()

    async def _take(self, session: Session, worker: WorkerId) -> bool:
        if worker not in self._held and await session.fetchval(TRY_LOCK, _key(worker)):
            self._held.add(worker)
        return worker in self._held

    async def _let_go(self, session: Session, worker: WorkerId) -> None:
        if worker in self._held:
            self._held.discard(worker)
            await session.execute(UNLOCK, _key(worker))

    async def _opened(self) -> Session:
        if self._session is None:
            self._session = await self._open()
            # In an empty context: opened for a worker by the code of a run, it is still no part of that run.
            self._keeper = asyncio.get_running_loop().create_task(self._keep(), context=contextvars.Context())
        return self._session

    async def _open(self) -> Session:
        session = await self._connect()
        try:
            up_for = int(await session.fetchval(SERVER_UP_FOR) * SECOND)
            session.add_termination_listener(self._on_lost)
        except BaseException:
            session.terminate()
            raise
        self._judging_from = self._clock.monotonic() + max(0, self.settled_after - up_for)
        self._held.clear()
        return session

    def _on_lost(self, session: object) -> None:
        self._is_lost.set()

    async def _keep(self) -> None:
        """Whenever the session is lost, make another and take the locks again."""
        while True:
            await self._is_lost.wait()
            self._is_lost.clear()
            while not await self._is_restored():
                await self._pace.sleep(AGAIN_AFTER)

    async def _is_restored(self) -> bool:
        """Try to get every lock again; the server may still believe in the session that was lost."""
        async with self._turn:
            try:
                if self._session is None or self._session.is_closed():
                    self._session = await self._open()
                    self._judging_from = self._clock.monotonic() + self.settled_after
                for worker in tuple(self._own):
                    await self._take(self._session, worker)
            except DriverError:
                return False
            return self._own <= self._held


def _key(worker: WorkerId) -> int:
    """Advisory locks are known by a number of 64 bits, with a sign."""
    digest = hashlib.blake2b(f"windlass worker {worker}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
