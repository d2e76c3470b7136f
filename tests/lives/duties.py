"""What a coordinator does, one duty at a time, for stories that decide when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.invariants.evidence import take_snapshot
from windlass.engine.coordinator import expire_runs
from windlass.engine.coordinator.prune import Prune
from windlass.engine.parts import Parts

if TYPE_CHECKING:
    from tests.lives.life import Life


class Duties:
    def __init__(self, parts: Parts, life: Life) -> None:
        self._parts, self._life = parts, life

    async def expire(self) -> None:
        """End runs whose time is over and that nobody comes for."""
        await expire_runs.tick(self._parts, batch=100)

    async def prune(self, *, batch: int) -> None:
        """Remove what is old enough, as a coordinator does that has just started."""
        work = Prune(self._parts, keep_for=self._life.settings.keep_for, batch=batch)
        while await work.tick():
            continue

    async def look(self) -> None:
        """Note how the database stands, for those who judge what is removed from it."""
        now, life = self._life.clock.now(), self._life.journal.life
        self._life.seen.append(await take_snapshot(self._parts.store, at=now, life=life, is_judged=False))
