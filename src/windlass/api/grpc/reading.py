"""How messages are read: so many at a time, each within its time, because one that never ends keeps all that has come.

    of a key     the gate ─► a turn, in the order of arrival ─► the message, within 30 s ─► the next one's turn
    of anybody   a place of eight; where all are taken, the one that has taken longest gives up its own

The system gives a message that is not read 64 KiB of room, and one that is read all of its 4 MiB.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from windlass.api.grpc.memory import give_back
from windlass.errors import Busy, WindlassError
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock, Timer

MOST_READ = 12  # messages at once, of all keys together
OF_ONE_KEY = 6  # so that one key never holds them all
MESSAGE_WITHIN = Duration(30 * SECOND)
TURN_WITHIN = Duration(30 * SECOND)
GIVE_BACK_AFTER = Duration(2 * SECOND)  # the memory of a message that broke off: once for all that do
MOST_WAITING = 500  # for a turn, of one key
OF_ANYBODY = 8
SPARED_FOR = Duration(SECOND // 50)  # one of anybody's, whoever else comes: what was sent at once is read by then
REAL_CLOCK = SystemClock()  # a matter of real time, also under a test's clock

TOO_SLOW = "The message did not arrive in time. Send smaller ones, or over a faster connection."
NO_TURN = "This server reads as many messages as it may at once. Ask again later."

Context = Any  # of grpc.aio


class Reading:
    """The messages of keys: each key has its own line, and the lines take turns."""

    def __init__(
        self, *, most: int = MOST_READ, of_one: int = OF_ONE_KEY, message_within: Duration = MESSAGE_WITHIN
    ) -> None:
        self._most, self._of_one, self._message_within = most, of_one, message_within
        self.total = 0  # how many are being read
        self._of_key: Counter[str] = Counter()  # the same, by key
        self._reads: dict[_Read, int] = {}  # until when each may take; the oldest first
        self._timer: Timer | None = None
        self._giving_back: Timer | None = None
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # of those who wait; the next key first

    async def message(self, context: Context, key: str) -> bytes | None:
        """What the call says; nothing if it ended before. Raises Busy if it takes too long."""
        if self.total >= self._most or self._of_key[key] >= self._of_one:
            await self._turn(key)
        else:
            self._take(key)
        read = _Read()
        self._reads[read] = REAL_CLOCK.monotonic() + self._message_within
        if self._timer is None:
            self._timer = REAL_CLOCK.call_later(self._message_within, self._look)
        found = None
        try:
            found = await _read(context)
            return found
        except asyncio.CancelledError:
            if read.is_cut and read.task.uncancel() == 0:
                raise Busy(TOO_SLOW) from None
            raise
        finally:
            if found is None:  # it broke off: there may be much of it, and more behind it that waited
                self._give_back_soon()
            del self._reads[read]
            self._leave(key)

    def _look(self) -> None:
        """Cut off what has taken too long. One timer for all: most messages are there at once."""
        self._timer, now = None, REAL_CLOCK.monotonic()
        for read, until in self._reads.items():
            if until > now:
                self._timer = REAL_CLOCK.call_later(until - now, self._look)
                return
            read.cut()

    def _give_back_soon(self) -> None:
        if self._giving_back is None:
            self._giving_back = REAL_CLOCK.call_later(GIVE_BACK_AFTER, self._give_back)

    def _give_back(self) -> None:
        self._giving_back = None
        _ = asyncio.get_running_loop().run_in_executor(None, give_back)

    async def _turn(self, key: str) -> None:
        """Wait for it. It is taken for us by the one that leaves."""
        line = self._lines.setdefault(key, deque())
        if len(line) >= MOST_WAITING:
            raise Busy(NO_TURN)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            with _within(TURN_WITHIN, Busy(NO_TURN)):
                await turn
        except BaseException:
            if turn.cancelled():
                self._step_out(key, turn)
            else:
                self._leave(key)
            raise

    def _take(self, key: str) -> None:
        self._of_key[key] += 1
        self.total += 1

    def _leave(self, key: str) -> None:
        self.total -= 1
        self._of_key[key] -= 1
        if not self._of_key[key]:
            del self._of_key[key]
        while (following := self._following()) is not None:
            if self._call(following):
                return

    def _following(self) -> str | None:
        """The first line whose key may read one more. Those that may not are few, so looking costs nothing."""
        return next((key for key in self._lines if self._of_key[key] < self._of_one), None)

    def _call(self, key: str) -> bool:
        """The first of a line, if there is one whose caller has not just gone."""
        line = self._lines.pop(key)
        while line:
            turn = line.popleft()
            if turn.done():
                continue
            if line:
                self._lines[key] = line  # behind the others
            self._take(key)
            turn.set_result(None)
            return True
        return False

    def _step_out(self, key: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(key, deque())
        if turn in line:
            line.remove(turn)
        if not line:
            self._lines.pop(key, None)


class OpenReading:
    """The messages of anybody, which are short: who has no key does not keep others from being heard."""

    def __init__(self, *, most: int = OF_ANYBODY, message_within: Duration = MESSAGE_WITHIN) -> None:
        self._most, self._message_within = most, message_within
        self._reads: dict[_Read, int] = {}  # since when; the oldest first

    async def message(self, context: Context) -> bytes | None:
        """What the call says; nothing if it ended before. Raises Busy if it takes too long."""
        while len(self._reads) >= self._most:
            oldest, since = next(iter(self._reads.items()))
            spared = since + SPARED_FOR - REAL_CLOCK.monotonic()
            if spared > 0:
                await REAL_CLOCK.sleep(spared)
            else:
                del self._reads[oldest]
                oldest.cut()
        with _within(self._message_within, Busy(TOO_SLOW)) as read:
            self._reads[read] = REAL_CLOCK.monotonic()
            try:
                return await _read(context)
            finally:
                self._reads.pop(read, None)


async def _read(context: Context) -> bytes | None:
    found = await context.read()
    return None if found is grpc.aio.EOF else found  # type: ignore[attr-defined]


class _Read:
    """What the current task does now, and may be kept from going on with."""

    __slots__ = ("is_cut", "task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task, self.is_cut = task, False

    def cut(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            self.task.cancel()


@contextmanager
def _within(within: Duration, error: WindlassError) -> Iterator[_Read]:
    """Raises the error when the time is over, or what is yielded is cut."""
    read = _Read()
    timer = REAL_CLOCK.call_later(within, read.cut)
    try:
        yield read
    except asyncio.CancelledError:
        if read.is_cut and read.task.uncancel() == 0:
            raise error from None
        raise
    finally:
        timer.cancel()
