"""Which connection a transaction gets: the one used last, or a new one while there are few.

A pool of our own, because the driver's resets the session at every release: one more round trip per transaction.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg

    Session = asyncpg.Connection[Any]  # generic in its stubs only

CUT = "The connection was cut while it was opened."


class Pool:
    def __init__(self, connect: Callable[[], Coroutine[Any, Any, Session]], *, limit: int) -> None:
        self._connect, self._limit = connect, limit
        self._idle: list[Session] = []
        self._busy: set[Session] = set()
        self._opening: set[asyncio.Task[Session]] = set()
        self._is_cut = False
        # A waiter gets a connection, or None: there is room for a new one, so look again.
        self._waiters: deque[asyncio.Future[Session | None]] = deque()

    async def acquire(self) -> Session:
        while True:
            session = await self._next()
            if session is not None:
                self._busy.add(session)
                return session

    def release(self, session: Session) -> None:
        """Give a connection back, ready for the next transaction."""
        self._busy.discard(session)
        if session.is_closed():
            self._wake(None)
        elif not self._wake(session):
            self._idle.append(session)

    def discard(self, session: Session) -> None:
        """Drop a connection in an unknown state."""
        session.terminate()
        self._busy.discard(session)
        self._wake(None)

    async def close(self) -> None:
        """Close what is idle; what is busy is dropped, its transaction undone by the server."""
        for session in [*self._busy]:
            session.terminate()
        while self._idle:
            await self._idle.pop().close(timeout=5)

    def terminate(self) -> None:
        """Cut every connection at once, as the death of the process would; those being opened too."""
        self._is_cut = True
        for opening in self._opening:
            opening.cancel()
        for session in (*self._busy, *self._idle):
            session.terminate()
        self._idle.clear()

    async def _next(self) -> Session | None:
        while self._idle:
            session = self._idle.pop()
            if not session.is_closed():
                return session
        if len(self._busy) + len(self._opening) < self._limit:
            return await self._open()
        waiter: asyncio.Future[Session | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # served and cancelled in the same turn: pass it on
                session_or_none = waiter.result()
                if session_or_none is None:
                    self._wake(None)
                else:
                    self.release(session_or_none)
            raise

    async def _open(self) -> Session:
        opening = asyncio.get_running_loop().create_task(self._connect(), context=contextvars.Context())
        self._opening.add(opening)
        try:
            await asyncio.wait([opening])
            if opening.cancelled():
                raise ConnectionAbortedError(CUT)
            session = opening.result()
        except BaseException:
            opening.cancel()
            self._wake(None)
            raise
        finally:
            self._opening.discard(opening)
        if self._is_cut:  # it was open already when the others were cut
            session.terminate()
            raise ConnectionAbortedError(CUT)
        return session

    def _wake(self, session: Session | None) -> bool:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(session)
                if session is not None:
                    self._busy.add(session)
                return True
        return False
