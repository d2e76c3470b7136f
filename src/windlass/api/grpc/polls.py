"""Claims asked for over the wire: one poll at a time, and what a caller that has gone leaves behind is given back."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from windlass.errors import ClaimLost, Unavailable, WindlassError
from windlass.model.time import SECOND, Duration

LOGGER = logging.getLogger("windlass.worker")

LONG_FOR = Duration(25 * SECOND)
T = TypeVar("T")


class Doors(NamedTuple, Generic[T]):
    """One kind of claim: how it is asked for, and given back."""

    poll: Callable[[Any], Awaitable[list[T]]]
    give_back: Callable[[Any, T], Awaitable[None]]  # with the poll that has claimed it
    name: Callable[[T], str]  # as the log calls it


class Polls(Generic[T]):
    def __init__(self, doors: Doors[T]) -> None:
        self._doors = doors
        self._left: set[asyncio.Task[None]] = set()  # polls whose callers have gone

    async def claim(self, command: Any) -> list[T]:
        while self._left:  # asked about a poll after a newer one, a server says nothing of it
            await asyncio.wait(self._left)
        task = _alone(self._poll(command))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()  # so that the server does not go on to wait for work
            left = _alone(self._give_back(command, task))
            self._left.add(left)
            left.add_done_callback(self._left.discard)
            raise

    async def close(self) -> None:
        for task in tuple(self._left):
            task.cancel()
        if self._left:
            await asyncio.wait(self._left)

    async def _poll(self, command: Any) -> list[T]:
        return await self._doors.poll(command)

    async def _give_back(self, command: Any, polling: asyncio.Task[list[T]]) -> None:
        """Of a poll whose caller has gone: what it has claimed, also if the answer was on its way."""
        await asyncio.wait([polling])
        try:
            if polling.cancelled() or polling.exception() is not None:
                # The same poll again hears what it has claimed. It claims nothing now, nor when it arrives later:
                # what is due may be what this very worker is just giving back.
                claimed = await self._poll(replace(command, is_called_off=True, wait_for=Duration(0)))
            else:
                claimed = polling.result()
        except WindlassError:
            return  # it comes back by itself when the claim ends
        for found in claimed:
            try:
                await self._doors.give_back(command, found)
            except (ClaimLost, Unavailable):
                continue  # it comes back by itself when the claim ends
            except WindlassError as error:
                LOGGER.warning("%s could not be given back: %s", self._doors.name(found), error)


def longer(wait_for: Duration) -> Duration:
    """Than a worker waits for its own database: there it looks again, here the server does."""
    return Duration(max(wait_for, LONG_FOR)) if wait_for else wait_for


def _alone(work: Any) -> asyncio.Task[Any]:
    """In an empty context, because whoever asks may be a run, and this is no part of it."""
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())
