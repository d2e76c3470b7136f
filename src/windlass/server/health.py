"""Is the server ready: does its store answer, and is it not about to leave?"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

from windlass.model.time import SECOND
from windlass.runtime import Clock

ANSWERS_WITHIN = 2 * SECOND
BELIEVED_FOR = SECOND

log = logging.getLogger("windlass.server")


class Health:
    """The `Serving` of a server. `probe` asks the store something cheap."""

    def __init__(self, probe: Callable[[], Awaitable[object]], *, clock: Clock) -> None:
        self._probe, self._clock = probe, clock
        self._stopping = asyncio.Event()
        self._asking: asyncio.Task[bool] | None = None
        self._answer: tuple[int, bool] | None = None  # when, and what
        self._was_ready = True

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def until_stopping(self) -> None:
        await self._stopping.wait()

    def stop(self) -> None:
        self._stopping.set()

    async def is_ready(self) -> bool:
        if self.is_stopping:
            return False
        if self._answer is not None and self._clock.monotonic() < self._answer[0] + BELIEVED_FOR:
            return self._answer[1]
        if self._asking is None:
            # A task of its own: whoever asks may go away, and anybody may ask as often as they like.
            self._asking = asyncio.get_running_loop().create_task(self._ask(), context=contextvars.Context())
        return await asyncio.shield(self._asking) and not self.is_stopping

    async def _ask(self) -> bool:
        try:
            is_ready = await self._answers()
            self._answer = (self._clock.monotonic(), is_ready)
        finally:
            self._asking = None
        if is_ready != self._was_ready:
            self._was_ready = is_ready
            log.warning(
                "The store answers again." if is_ready else "The store does not answer: this server is not ready."
            )
        return is_ready

    async def _answers(self) -> bool:
        late = asyncio.Event()
        timer = self._clock.call_later(ANSWERS_WITHIN, late.set)
        probe, deadline = asyncio.ensure_future(self._probe()), asyncio.ensure_future(late.wait())
        try:
            await asyncio.wait((probe, deadline), return_when=asyncio.FIRST_COMPLETED)
            return probe.done() and not probe.cancelled() and probe.exception() is None
        finally:
            timer.cancel()
            for task in (probe, deadline):
                task.cancel()
            await asyncio.gather(probe, deadline, return_exceptions=True)
