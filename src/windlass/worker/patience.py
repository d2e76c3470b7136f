"""How long the branches of a run wait for one that awaits something foreign.

They do wait, because only then is the order in which results reach the code repeatable; but not for ever: what looks
foreign may itself be waiting for one of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from windlass.model.commands import ClaimedRun
from windlass.model.time import SECOND
from windlass.runtime import Timer
from windlass.worker.host import Host

LOGGER = logging.getLogger("windlass.worker")
PATIENCE = SECOND


class Patience:
    def __init__(self, host: Host, claimed: ClaimedRun, *, nudge: Callable[[], None]) -> None:
        self._host, self._claimed, self._nudge = host, claimed, nudge
        self._foreign: set[asyncio.Future[Any]] = set()
        self._is_out = self._has_warned = False
        self._timer: Timer | None = None

    def is_out(self, foreign: list[asyncio.Future[Any]]) -> bool:
        """May the run go on although these are awaited? It is looked at again when one of them ends."""
        if set(foreign) != self._foreign:
            for future in set(foreign) - self._foreign:
                future.add_done_callback(lambda _: self._nudge(), context=self._host.context)
            self.stop()
            self._foreign, self._is_out = set(foreign), False
            self._timer = self._host.clock.call_later(PATIENCE, self._lose)
        return self._is_out

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _lose(self) -> None:
        self._is_out = True
        if not self._has_warned:
            self._has_warned = True
            LOGGER.warning(
                "Workflow %r awaits something that is not a call of ctx, so its order cannot be repeated and it keeps "
                "its slot. Make it a step: await ctx.step(fn, ...).",
                self._claimed.name,
                extra={"run": self._claimed.run_id, "workflow": self._claimed.name},
            )
        self._nudge()


class Standby:
    """A run that nothing of its own can move: it awaits a lock that another run holds, or a thread that others use.

    It keeps its slot for half of its claim and is then given back in order, because a claim that runs out counts as a
    crash.
    """

    def __init__(self, host: Host, claimed: ClaimedRun, *, leave: Callable[[], None]) -> None:
        self._host, self._claimed, self._leave = host, claimed, leave
        self._timer: Timer | None = None
        self._has_warned = False

    def begin(self, awaited: str, *, half_of_claim: int) -> None:
        if self._timer is not None:
            return
        if not self._has_warned:
            self._has_warned = True
            LOGGER.warning(
                "Run %s (%r) waits for %s, and for no step or sleep of its own; it keeps its slot.",
                self._claimed.run_id,
                self._claimed.name,
                awaited,
                extra={"run": self._claimed.run_id, "workflow": self._claimed.name},
            )
        self._timer = self._host.clock.call_later(half_of_claim, self._end)

    def stop(self) -> None:
        """Something moved: what it waits for now is another matter."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        self._leave()
