"""What a transaction knows of the pipelines it has locked, and what it has decided about them.

    open: lock pipelines, then read their attempts and the ledger ─► decide, in memory ─► save: everything that changed

Many operations share one desk: what they have in common is read once and written together. Events are not kept here;
they are written as they are decided. An operation that refuses does so before it has put anything down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windlass.engine.pipeline.books import Book, Ledger, Roster
from windlass.errors import ClaimLost
from windlass.model.effect import Effect
from windlass.model.gate import GateKind
from windlass.model.pipeline import EventRow, HandlerRun, Pipeline
from windlass.model.run import Deed
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.rules import pipelines as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes

SUBJECT = "pipeline"  # in the log


class Desk:
    def __init__(self, tx: Tx, namespace: str, *, now: Instant) -> None:
        self.tx, self.namespace, self.now = tx, namespace, now
        self.pipelines: dict[str, Pipeline] = {}
        self.roster = Roster(tx, namespace, self.pipelines)
        self.book = Book(tx, namespace)
        self.ledger = Ledger(tx)
        # When the first pending event of a (pipeline, topic) came, as far as that was asked and still holds.
        self.ages: dict[tuple[str, str], Instant | None] = {}
        # And the first events themselves, as many as would be taken, by (pipeline, topic, how many).
        self.oldest: dict[tuple[str, str, int], list[EventRow]] = {}
        self.woken: set[tuple[str, str]] = set()  # (namespace, queue): something is due there now
        self._were: dict[str, Pipeline] = {}
        self._causes: dict[str, tuple[str, Deed | None]] = {}
        self._closed: frozenset[tuple[GateKind, str]] | None = None

    async def read(self, pipelines: Mapping[str, Pipeline], *, run_ids: Iterable[str] = ()) -> None:
        """Pipelines that are locked by now: their attempts, and these, and the ledger of them."""
        self.pipelines.update(pipelines)
        self._were.update(pipelines)
        current = [item.run_id for item in pipelines.values() if item.run_id is not None]
        await self.book.read([*current, *run_ids])
        known = self.book.runs
        owners = [id for id in current if id in known and known[id].phase not in rules.BEFORE_EFFECTS]
        await self.ledger.read(self.namespace, owners)

    def current(self, pipeline: Pipeline) -> HandlerRun | None:
        """Its attempt that is active, or that holds it."""
        return None if pipeline.run_id is None else self.book.runs[pipeline.run_id]

    def effect(self, run: HandlerRun | None) -> Effect | None:
        return None if run is None else self.ledger.effects.get(run.id)

    async def is_closed(self, pipeline: Pipeline) -> bool:
        """Is its queue or namespace paused? If not, it stays so until this transaction ends."""
        if self._closed is None:
            queues = sorted({item.queue for item in self.pipelines.values()})
            gates = await self.tx.gates.share(self.namespace, served=[Served(queue, queue) for queue in queues])
            self._closed = frozenset((gate.kind, gate.name) for gate in gates)
        behind = {(GateKind.NAMESPACE, self.namespace), (GateKind.QUEUE, pipeline.queue)}
        return not behind.isdisjoint(self._closed)

    def held(self, name: str, *, token: int) -> Pipeline:
        """The pipeline under this claim. Raises ClaimLost if that is old."""
        pipeline = self.pipelines.get(name)
        if pipeline is None or not rules.is_held(pipeline, token=token):
            raise ClaimLost(name, token=token)
        return pipeline

    def put(self, pipeline: Pipeline, *, cause: str = "", deed: Deed | None = None) -> None:
        """What it is from now on, and why. A deed of a person is noted also where the status stays as it was."""
        self.pipelines[pipeline.name] = pipeline
        if cause:
            self._causes[pipeline.name] = (cause, deed)

    async def release(self, pipeline: Pipeline) -> None:
        """Held by nobody: due when one of its handlers is, or what holds it up."""
        run = self.current(pipeline)
        handlers = await self.roster.of(pipeline.name)
        free = rules.released(pipeline, handlers, run=run, effect=self.effect(run), now=self.now)
        self.put(free)
        self.wake(free)

    def forget_ages(self, pipeline: str, topic: str) -> None:
        """Something was published there, or taken: what was asked before does not hold any more."""
        self.ages.pop((pipeline, topic), None)
        for key in [key for key in self.oldest if key[:2] == (pipeline, topic)]:
            del self.oldest[key]

    def wake(self, pipeline: Pipeline) -> None:
        if pipeline.available_at is not None:
            self.woken.add((pipeline.namespace, pipeline.queue))

    async def save(self) -> None:
        """Write what has changed, and note every change of a status and every deed."""
        await self.book.save()
        await self.ledger.save()
        await self.roster.save()
        changed = [item for name, item in sorted(self.pipelines.items()) if item != self._were.get(name)]
        if changed:
            await self.tx.pipelines.save(changed)
        entries = [self._entry(item) for _, item in sorted(self.pipelines.items()) if self._is_noted(item)]
        if entries:
            await self.tx.log.append(entries)

    def _is_noted(self, pipeline: Pipeline) -> bool:
        _, deed = self._causes.get(pipeline.name, ("", None))
        return deed is not None or pipeline.status is not self._were[pipeline.name].status

    def _entry(self, pipeline: Pipeline) -> NewLogEntry:
        cause, deed = self._causes.get(pipeline.name, ("release", None))
        return NewLogEntry(
            namespace=self.namespace,
            subject_kind=SUBJECT,
            subject_id=pipeline.name,
            from_status=self._were[pipeline.name].status,
            to_status=pipeline.status,
            cause=cause,
            data=None if deed is None else deed_to_bytes(deed),
        )


async def open_desk(tx: Tx, namespace: str, *, names: Iterable[str], run_ids: Iterable[str] = ()) -> Desk:
    """Lock these pipelines, in the order of names, and read what is known of them."""
    locked, now = await tx.pipelines.lock(namespace, names=names)
    desk = Desk(tx, namespace, now=now)
    await desk.read(locked, run_ids=run_ids)
    return desk
