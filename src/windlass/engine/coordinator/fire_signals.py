"""Fire signals: those whose time has come, what transitions have fired, and what one of them may have overlooked.

Any number of coordinators do so side by side: a firing is claimed under a token, and a signal flips by compare-and-set.
Switched off, nothing is worked, and nothing is lost: transitions create their firings all the same.
"""

from __future__ import annotations

from msgspec import Struct

from windlass.engine.parts import Parts
from windlass.engine.signal.reconcile import reconcile
from windlass.engine.signal.times import fire_times
from windlass.engine.signal.work import work_firings
from windlass.model.time import Instant
from windlass.store.base import Tx


class Fired(Struct, frozen=True, kw_only=True):
    """What one pass has done."""

    count: int = 0
    is_more: bool = False


class FireSignals:
    """One for each coordinator."""

    def __init__(self, parts: Parts, *, batch: int, is_enabled: bool) -> None:
        self._parts, self._batch, self._is_enabled = parts, batch, is_enabled
        self._worker = parts.ids.worker()
        self.namespaces: tuple[str, ...] = ()  # in which something is watched, when it was looked at last

    async def tick(self) -> Fired:
        """One pass over everything."""
        found = await self._parts.store.read("watched_namespaces", lambda tx: tx.watch.namespaces(), single=True)
        self.namespaces = tuple(found)
        examined = [await reconcile(self._parts, namespace) for namespace in self.namespaces]
        is_behind = any(page.is_more for page in examined)
        fired = await self.work()
        return Fired(count=fired.count, is_more=fired.is_more or is_behind)

    async def work(self) -> Fired:
        """What is due now, and no more than that."""
        if not self._is_enabled:
            return Fired()
        timed = await fire_times(self._parts, batch=self._batch)
        worked = await work_firings(self._parts, worker=self._worker, batch=self._batch)
        return Fired(count=worked, is_more=self._batch in (timed, worked))

    async def next(self, tx: Tx) -> Instant | None:
        """When there is something to do without anything happening before."""
        return await tx.watch.next() if self._is_enabled else None
