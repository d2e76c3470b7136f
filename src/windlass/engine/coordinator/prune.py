"""Keep the database from growing for ever: what is over and old enough is removed: runs, start keys, workers, attempts.

A round goes over everything that may be old enough; each tick is one page of one of its parts, so that the other duties
get their turns. Any number of coordinators may do so at once: what another one has removed is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from windlass.engine.again import until_answered
from windlass.engine.coordinator.walk import Walk
from windlass.engine.parts import Parts
from windlass.model.time import DAY, HOUR, Duration, Instant
from windlass.rules import retention as rules
from windlass.store.base import Tx
from windlass.store.queries.prune import EndedAttempt, ExpiredKey, GoneWorker
from windlass.store.queries.signal_upkeep import EndedFiring, EndedSignal, SignalUpkeep

T = TypeVar("T", EndedAttempt, EndedFiring, EndedSignal, ExpiredKey, GoneWorker)

# More than are written in one batch, and so more than can have one and the same time.
PAGE = 1_000
GONE_FOR = DAY  # how long a worker that has stopped is remembered
AGAIN_AFTER = HOUR  # how soon what was passed over, because it is needed still, is looked at again


class Part(Protocol):
    async def step(self) -> bool:
        """One page. True: there is more to do at once."""
        ...


class Prune:
    """One for each coordinator: it remembers how far it has come."""

    def __init__(self, parts: Parts, *, keep_for: Duration | None, batch: int) -> None:
        self._parts, self._keep_for, self._batch = parts, keep_for, batch
        self._walks: dict[tuple[str, Duration], Walk] = {}
        self._sweeps: tuple[Part, ...] = (KeySweep(parts, batch=batch), WorkerSweep(parts, batch=batch))
        if keep_for is not None:
            kinds = (AttemptSweep, SignalSweep, FiringSweep)
            self._sweeps = (*self._sweeps, *(kind(parts, batch=batch, keep_for=keep_for) for kind in kinds))
        self._left: deque[Part] = deque()  # of this round
        self._removed_before = 0  # by walks of limits that are not in use any more

    @property
    def removed(self) -> int:
        """How many runs it has removed in its time."""
        return self._removed_before + sum(walk.removed for walk in self._walks.values())

    async def tick(self) -> bool:
        """Look at one page of what may be old enough, and remove what is. True: there is more to do at once."""
        if not self._left:
            await self._begin_round()
        part = self._left.popleft()
        if await part.step():
            self._left.append(part)
        return bool(self._left)

    async def _begin_round(self) -> None:
        async def look(tx: Tx) -> tuple[dict[tuple[str, str], Duration], list[str]]:
            limits = await tx.workflows.limits()
            return limits, await tx.prune.namespaces() if limits or self._keep_for is not None else []

        limits, namespaces = await until_answered(
            self._parts.clock, lambda: self._parts.store.read("look_at_limits", look, single=True)
        )
        walks: dict[tuple[str, Duration], Walk] = {}
        for namespace in namespaces:
            own = {name: limit for (owner, name), limit in limits.items() if owner == namespace}
            walks |= self._walks_of(namespace, own)
        self._removed_before += sum(walk.removed for key, walk in self._walks.items() if key not in walks)
        self._walks = walks
        self._left.extend([*walks.values(), *self._sweeps])

    def _walks_of(self, namespace: str, limits: Mapping[str, Duration]) -> dict[tuple[str, Duration], Walk]:
        def kept_for(name: str) -> Duration | None:
            return rules.kept_for(name, limits=limits, default=self._keep_for)

        default = kept_for("")  # no workflow has this name
        in_use = {default, *map(kept_for, limits)} - {None}
        walks = {}
        for limit in sorted(limit for limit in in_use if limit is not None):
            key = (namespace, limit)
            walk = self._walks.get(key) or Walk(
                self._parts, namespace, keep_for=limit, batch=self._batch, has_remarks=limit == default
            )
            walk.begin_round(kept_for)
            walks[key] = walk
        return walks


class Sweep(ABC, Generic[T]):
    """Rows with a time by which they were over, the oldest first. Those that are needed still are passed over."""

    name: str

    def __init__(self, parts: Parts, *, batch: int) -> None:
        self._parts, self._batch = parts, batch
        self._from_at, self._begun_at = Instant(0), Instant(0)

    async def step(self) -> bool:
        async def look(tx: Tx) -> tuple[list[T], Instant]:
            return await self._look(tx, from_at=self._from_at), await tx.now()

        found, now = await until_answered(
            self._parts.clock, lambda: self._parts.store.read(f"look_at_{self.name}", look, single=True)
        )
        going = [row for row in found if not self._is_needed(row)]
        for first in range(0, len(going), self._batch):
            await self._remove_batch(going[first : first + self._batch])
        is_more = len(found) == PAGE
        if is_more:
            last = self._time(found[-1])
            # What is needed still may fill a page with one and the same time: then on behind it.
            self._from_at = last if last > self._from_at else Instant(last + 1)
        elif not self._begun_at <= now < self._begun_at + AGAIN_AFTER:  # also when the clock was set back
            self._from_at, self._begun_at = Instant(0), now
        return is_more

    async def _remove_batch(self, rows: list[T]) -> None:
        await self._parts.run_tx(f"prune_{self.name}", lambda tx: self._remove(tx, rows))

    @abstractmethod
    async def _look(self, tx: Tx, *, from_at: Instant) -> list[T]: ...

    @abstractmethod
    async def _remove(self, tx: Tx, rows: list[T]) -> None: ...

    @abstractmethod
    def _is_needed(self, row: T) -> bool: ...

    @abstractmethod
    def _time(self, row: T) -> Instant: ...


class KeySweep(Sweep[ExpiredKey]):
    """Start keys whose window is over. One whose run is not over stays: it is the name by which people find the run."""

    name = "keys"

    async def _look(self, tx: Tx, *, from_at: Instant) -> list[ExpiredKey]:
        return await tx.prune.expired_keys(from_at=from_at, limit=PAGE)

    async def _remove(self, tx: Tx, rows: list[ExpiredKey]) -> None:
        await tx.prune.remove_keys(rows)

    def _is_needed(self, row: ExpiredKey) -> bool:
        return row.is_open

    def _time(self, row: ExpiredKey) -> Instant:
        return row.expires_at


class WorkerSweep(Sweep[GoneWorker]):
    """Workers that stopped a day ago. One that a run still names stays: whoever asks why must be told who that was."""

    name = "workers"

    async def _look(self, tx: Tx, *, from_at: Instant) -> list[GoneWorker]:
        return await tx.prune.gone_workers(gone_for=GONE_FOR, from_at=from_at, limit=PAGE)

    async def _remove(self, tx: Tx, rows: list[GoneWorker]) -> None:
        await tx.prune.remove_workers(rows)

    def _is_needed(self, row: GoneWorker) -> bool:
        return row.is_named

    def _time(self, row: GoneWorker) -> Instant:
        return row.stopped_at


class KeptSweep(Sweep[T]):
    """What is kept as long as runs are."""

    def __init__(self, parts: Parts, *, batch: int, keep_for: Duration) -> None:
        super().__init__(parts, batch=batch)
        self._keep_for = Duration(max(keep_for, rules.KEPT_AT_LEAST))


class SignalSweep(KeptSweep[EndedSignal]):
    """Signals that are over, with what they have fired."""

    name = "signals"

    async def _look(self, tx: Tx, *, from_at: Instant) -> list[EndedSignal]:
        return await SignalUpkeep(tx.connection).ended_signals(keep_for=self._keep_for, from_at=from_at, limit=PAGE)

    async def _remove(self, tx: Tx, rows: list[EndedSignal]) -> None:
        # Whoever arms one anew does so under its lock. One that the code still declares would be new at the next start.
        for namespace in sorted({row.namespace for row in rows}):
            locked = await tx.signals.lock(namespace, ids=[row.id for row in rows if row.namespace == namespace])
            over = {id for id, signal in locked.items() if not (signal.status.is_live or signal.is_declared)}
            await SignalUpkeep(tx.connection).remove_signals(
                [row for row in rows if row.namespace == namespace and row.id in over]
            )

    def _is_needed(self, row: EndedSignal) -> bool:
        return row.is_needed

    def _time(self, row: EndedSignal) -> Instant:
        return row.at


class FiringSweep(KeptSweep[EndedFiring]):
    """Firings of signals that are not over, and fire again and again."""

    name = "firings"

    async def _look(self, tx: Tx, *, from_at: Instant) -> list[EndedFiring]:
        return await SignalUpkeep(tx.connection).ended_firings(keep_for=self._keep_for, from_at=from_at, limit=PAGE)

    async def _remove(self, tx: Tx, rows: list[EndedFiring]) -> None:
        await SignalUpkeep(tx.connection).remove_firings(rows)

    def _is_needed(self, row: EndedFiring) -> bool:
        return row.is_needed

    def _time(self, row: EndedFiring) -> Instant:
        return row.at


class AttemptSweep(KeptSweep[EndedAttempt]):
    """Attempts of handlers that are over, with the events they dealt with: from then on an id counts as new again."""

    name = "attempts"

    async def _look(self, tx: Tx, *, from_at: Instant) -> list[EndedAttempt]:
        return await tx.prune_attempts.ended(keep_for=self._keep_for, from_at=from_at, limit=PAGE)

    async def _remove(self, tx: Tx, rows: list[EndedAttempt]) -> None:
        # Whoever publishes goes by events and inputs that it has found: they must not go away under its hands.
        for namespace in sorted({row.namespace for row in rows}):
            names = {row.pipeline for row in rows if row.namespace == namespace}
            await tx.pipelines.lock(namespace, names=names)
        await tx.prune_attempts.remove(rows)

    def _is_needed(self, row: EndedAttempt) -> bool:
        return row.is_current

    def _time(self, row: EndedAttempt) -> Instant:
        return row.ended_at
