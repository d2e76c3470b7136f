"""What every operation is given: the store, the hints, the clock, and the few numbers that steer them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from windlass.answers import seen
from windlass.engine.again import run_until_answered
from windlass.engine.batch import Batcher
from windlass.engine.endings import Endings
from windlass.engine.looks import Looks
from windlass.engine.offers import Offers
from windlass.model.time import SECOND, Duration
from windlass.notify.local import Hub
from windlass.runtime import Clock, Ids, Rng
from windlass.store.base import Store, Tx
from windlass.telemetry.observer import Observer

T = TypeVar("T")


class EngineSettings(Struct, frozen=True, kw_only=True):
    max_recoveries: int = 10
    poll_for: Duration = Duration(5 * SECOND)  # the longest anyone waits without looking again
    keys_expire_for: Duration | None = None  # start keys are kept for ever unless this is set


@dataclass(slots=True)
class Parts:
    store: Store
    hub: Hub
    clock: Clock
    rng: Rng
    ids: Ids
    offers: Offers
    settings: EngineSettings
    batcher: Batcher
    observer: Observer | None = None  # who counts what happens here, if anybody
    looks: Looks = field(init=False)  # of polls from afar
    endings: Endings = field(default_factory=Endings)
    background: set[asyncio.Task[Any]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.looks = Looks(self.clock)

    async def run_tx(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """One transaction, asked for again while its outcome is unknown; fn must recognise its own repeat."""
        return await run_until_answered(self.store, self.clock, name, fn, single=single)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something nobody awaits; closing the engine does."""
        _ = self._start(work)

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something that goes on to its end even if the caller is cancelled."""
        return await asyncio.shield(self._start(work))

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        # In an empty context: it is no part of any run.
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self.background.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self.background.discard(task)
        seen(task)
