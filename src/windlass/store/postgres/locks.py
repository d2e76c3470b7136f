"""Locks of workers in PostgreSQL: advisory locks of one session, which the server frees when that session ends.

A free lock proves a lost session, not a death: a connection may have been cut, or the server restarted. So

- a session that is lost is made anew at once, and takes its locks again; one that does not answer counts as lost;
- a lock counts as free only if it is still free at the next look;
- nobody judges others for a while after the server has started, or its own session was lost: theirs may be on its way.

What is still taken from a living worker is safe: its writes are refused, and it stops its bodies when it notices.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import logging
import os
import sys
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakSet

from windlass.errors import Unavailable
from windlass.model.run import WorkerId
from windlass.model.time import MILLISECOND, SECOND
from windlass.model.worker import LockKind
from windlass.runtime import Clock, SystemClock
from windlass.store.postgres.errors import DriverError, translate

if TYPE_CHECKING:
    from windlass.store.postgres.pool import Session

LOGGER = logging.getLogger("windlass.store")
T = TypeVar("T")

FREE_FOR = 800 * MILLISECOND  # between the two looks; workers look once a second
FORGOTTEN_AFTER = 5 * SECOND  # a look so long ago is none
SETTLED_AFTER = 5 * SECOND  # for sessions to come back after a restart
AGAIN_AFTER = 200 * MILLISECOND
ANSWER_SECONDS, CLOSE_SECONDS = 5.0, 5.0
SESSION = {
    "application_name": "windlass worker",
    "idle_session_timeout": "0",  # it is idle most of its life
    # A machine that vanishes says no goodbye: ask after 10 s of silence, and give up after three questions.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
TRY_LOCK = "select pg_try_advisory_lock($1)"
UNLOCK = "select pg_advisory_unlock($1)"
ARE_YOU_THERE = "select 1"
SERVER = "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8, pg_backend_pid()"
HELD = """
select (l.classid::bigint << 32) | l.objid::bigint from pg_locks l
 where l.locktype = 'advisory' and l.objsubid = 1
   and l.database = (select d.oid from pg_database d where d.datname = current_database())
"""


_instances: WeakSet[SessionLocks] = WeakSet()


def _close_in_child() -> None:
    for locks in _instances:
        locks.close_in_child()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_in_child)


class Look(NamedTuple):
    """Since when a lock was seen free, and when it was last."""

    first: int
    last: int


class SessionLocks:
    def __init__(self, connect: Callable[[], Coroutine[Any, Any, Session]], *, clock: Clock, where: str) -> None:
        self._connect, self._clock, self._where = connect, clock, where
        self.free_for, self.settled_after = FREE_FOR, SETTLED_AFTER
        self.is_possible = True  # not where a pooler gives out sessions: then there is nothing to hold a lock with
        self._pace = SystemClock()  # how soon a connection can be had again is a matter of real time
        self._session: Session | None = None
        self._own: set[WorkerId] = set()
        self._held: set[WorkerId] = set()  # by the session there is now: one that takes twice must let go twice
        self._looks: dict[WorkerId, Look] = {}  # at locks of others that were free
        self._judging_from = 0
        self._is_direct = True  # no pooler in between, which would share a session out or keep it alive
        self._turn = asyncio.Lock()  # a connection answers one question at a time
        self._is_lost = asyncio.Event()
        self._is_closed = False
        _instances.add(self)
        self._keeper: asyncio.Task[None] | None = None

    async def take(self, worker: WorkerId) -> LockKind | None:
        if not self.is_possible:
            return None
        self._own.add(worker)
        async with self._turn:
            session = await self._opened()
            if not self._is_direct or worker not in self._own:  # of no use, or released meanwhile
                return None
            if worker in self._held:  # by a session that may be gone without our having been told
                await self._ask(session, session.fetchval(ARE_YOU_THERE))
            await self._take(session, worker)  # of an id just made it is free; else the keeper goes on trying
        return LockKind.SESSION

    async def free(self, workers: Collection[WorkerId]) -> list[WorkerId]:
        # A session may take its own lock once more: workers of this process are not to be asked about.
        others = [worker for worker in workers if worker not in self._own]
        if not others or not self.is_possible:
            return []
        async with self._turn:
            session, now = await self._opened(), self._clock.monotonic()
            if not self._is_direct or now < self._judging_from:
                return []
            held = {row[0] for row in await self._ask(session, session.fetch(HELD))}
        recent = {worker: look for worker, look in self._looks.items() if now - look.last <= FORGOTTEN_AFTER}
        free = [worker for worker in others if _key(worker) not in held]
        for worker in others:
            recent.pop(worker, None)
        for worker in free:
            recent[worker] = Look(self._first_look(worker, now), now)
        self._looks = recent
        return [worker for worker in free if now - recent[worker].first >= self.free_for]

    async def is_held(self, worker: WorkerId) -> bool:
        if worker in self._own:
            return True
        async with self._turn:
            session = await self._opened()
            return any(row[0] == _key(worker) for row in await self._ask(session, session.fetch(HELD)))

    def _first_look(self, worker: WorkerId, now: int) -> int:
        look = self._looks.get(worker)
        return now if look is None or now - look.last > FORGOTTEN_AFTER else look.first

    async def seize(self, worker: WorkerId) -> bool:
        if worker in self._own or not self.is_possible:
            return False
        async with self._turn:
            return await self._take(await self._opened(), worker)

    async def release(self, worker: WorkerId, *, for_good: bool) -> None:
        self._own.discard(worker)
        self._looks.pop(worker, None)
        async with self._turn:
            session = self._session
            if session is not None and not session.is_closed() and worker in self._held:
                self._held.discard(worker)
                with suppress(Unavailable):  # a session that is lost holds nothing
                    await self._ask(session, session.execute(UNLOCK, _key(worker)))

    async def sweep(self, known: Collection[WorkerId]) -> None:
        """Nothing: the server has cleared away what ended sessions left."""

    async def close(self) -> None:
        self._is_closed = True
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        if self._session is not None:
            try:
                await self._session.close(timeout=CLOSE_SECONDS)
            except DriverError:
                self._session.terminate()

    def kill(self) -> None:
        """Cut the session for good, as the death of the process would."""
        self._is_closed = True
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
        if self._session is not None:
            self._session.terminate()

    async def _take(self, session: Session, worker: WorkerId) -> bool:
        if worker not in self._held and await self._ask(session, session.fetchval(TRY_LOCK, _key(worker))):
            self._held.add(worker)
        return worker in self._held

    async def _ask(self, session: Session, answer: Coroutine[Any, Any, T]) -> T:
        """An answer in time. A session that gives none may be gone on the other side: it is given up."""
        try:
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except DriverError as error:
            if isinstance(error, TimeoutError):
                session.terminate()
            raise translate(error, where=self._where, is_lost=session.is_closed()) from None

    async def _opened(self) -> Session:
        if not self._is_closed and (self._session is None or self._session.is_closed()):
            self._session = await self._open(is_first=self._session is None)
        if self._is_closed or self._session is None:
            if self._session is not None:
                self._session.terminate()
            raise Unavailable(f"{self._where} is not open any more.")
        if self._keeper is None:
            # In an empty context: opened for a worker by the code of a run, it is still no part of that run.
            self._keeper = asyncio.get_running_loop().create_task(self._keep(), context=contextvars.Context())
        return self._session

    async def _open(self, *, is_first: bool) -> Session:
        try:
            session = await self._connect()
        except DriverError as error:
            raise translate(error, where=self._where) from None
        try:
            ((up_for, pid),) = await self._ask(session, session.fetch(SERVER))
        except BaseException:
            session.terminate()
            raise
        session.add_termination_listener(self._on_lost)
        self._is_direct = pid == session.get_server_pid()
        pause = self.settled_after - int(up_for * SECOND) if is_first else self.settled_after
        self._judging_from = self._clock.monotonic() + min(max(0, pause), self.settled_after)
        self._held.clear()
        self._looks.clear()
        return session

    def close_in_child(self) -> None:
        """A forked child must not keep the session of its parent alive: let go of its socket without a word."""
        transport = getattr(self._session, "_transport", None)
        socket = None if transport is None else transport.get_extra_info("socket")
        if socket is not None:
            with suppress(OSError):
                os.close(socket.fileno())

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
                session = await self._opened()
                for worker in tuple(self._own):
                    await self._take(session, worker)
            except Unavailable:
                return False
            except Exception:
                LOGGER.exception("The session that tells that workers live cannot be restored")
                return False
            return self._own <= self._held


def _key(worker: WorkerId) -> int:
    """Advisory locks are known by a number of 64 bits, with a sign."""
    digest = hashlib.blake2b(f"windlass worker {worker}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
