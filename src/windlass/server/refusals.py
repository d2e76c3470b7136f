"""Who was turned away, written into the audit behind the caller's back: no refusal waits for it or fails with it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque

from msgspec import Struct

from windlass.api.service import Access
from windlass.model.time import SECOND
from windlass.runtime import Clock
from windlass.server.throttle import Throttle

AT_ONCE = 100  # rows; then one in 200 ms, so that an attack does not fill the database
ONE_EVERY = SECOND // 5
MOST_WAITING = 200

log = logging.getLogger("windlass.server.gate")


class Refusal(Struct, frozen=True, kw_only=True):
    namespace: str
    actor: str
    action: str
    reason: str
    request_id: str


class Refusals:
    def __init__(self, access: Access, *, clock: Clock) -> None:
        self._access = access
        self._rate = Throttle(clock, attempts=AT_ONCE, one_every=ONE_EVERY, most=1)
        self._waiting: deque[tuple[Refusal, int]] = deque()  # and how many before it were left out
        self._writing: asyncio.Task[None] | None = None
        self._left_out = 0  # since the last one that was taken

    def note(self, refusal: Refusal) -> None:
        if len(self._waiting) >= MOST_WAITING or not self._rate.take(""):
            self._left_out += 1
            return
        self._waiting.append((refusal, self._left_out))
        self._left_out = 0
        if self._writing is None:
            # In an empty context: what is written here is written on nobody's behalf.
            self._writing = asyncio.get_running_loop().create_task(self._write(), context=contextvars.Context())

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._write_one(*self._waiting.popleft())
        finally:
            self._writing = None

    async def _write_one(self, refusal: Refusal, left_out: int) -> None:
        more = f" (before it {left_out} that are not on record)" if left_out else ""
        try:
            await self._access.note_refusal(
                refusal.namespace,
                actor=refusal.actor,
                action=refusal.action,
                reason=refusal.reason + more,
                request_id=refusal.request_id,
            )
        except Exception as error:
            self._left_out += left_out + 1
            log.warning("A refused caller could not be put into the audit: %s", error)

    async def close(self) -> None:
        """Write what is still to be written."""
        while self._writing is not None:
            await asyncio.shield(self._writing)
