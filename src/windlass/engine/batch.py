"""Group commit: many callers, one transaction.

    submit ─► queue of the lane ─► whatever gathered while the previous batch was in flight ─► one transaction
                                     │ deadlock, busy, connection lost: the whole batch again (repeats are recognised)
                                     │ any other error: two halves, so that one bad row never fails its neighbours
                                     └► an outcome per row

There is no timer: an idle system adds no latency, a busy one commits far less often than it completes.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

from windlass.answers import OPEN, Answer
from windlass.engine.again import run_until_answered
from windlass.errors import Unavailable
from windlass.runtime import Clock
from windlass.store.base import Lane, Store, Tx

LOGGER = logging.getLogger("windlass.engine")


class Kind(Protocol):
    """One operation of the hot path, over many rows."""

    @property
    def order(self) -> Callable[[Any], Any]:
        """From an item to what to sort by, so that two batches lock the same rows in the same order."""
        ...

    def prepare(self, items: Sequence[Any]) -> None:
        """A batch of these is about to be written. Called before its transaction, and in the loop's own thread."""
        ...

    def is_single(self, items: Sequence[Any]) -> bool:
        """Is this one statement, which needs no begin and commit around it?"""
        ...

    async def write(self, tx: Tx, items: Sequence[Any]) -> Sequence[Any]:
        """An outcome for each item: a value, or the exception its caller gets."""
        ...

    def after_commit(self, items: Sequence[Any], outcomes: Sequence[Any]) -> None:
        """Wake whoever may be waiting. Runs once the batch has been committed."""
        ...

    def after_failure(self, items: Sequence[Any]) -> None:
        """The outcome of these is unknown, or they were refused: let go of what was kept for them."""
        ...


class Again(Exception):
    """As an outcome: something came in between that the statement could not have seen. It joins the next batch."""


class _Entry(Answer[Any]):
    """One item of a batch, which is also what its caller awaits."""

    __slots__ = ("item", "kind", "order")

    def __init__(self, kind: str, item: Any, order: Any) -> None:
        self._outcome = OPEN
        self._then = None
        self.kind, self.item, self.order = kind, item, order


_by_order = attrgetter("order")


class _Queue:
    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.entries: deque[_Entry] = deque()
        self.senders = 0


class Batcher:
    def __init__(self, store: Store, kinds: Mapping[str, Kind], *, clock: Clock) -> None:
        self._store, self._kinds, self._clock = store, kinds, clock
        self._queues = {kind: queue for queue in map(_Queue, store.lanes) for kind in queue.lane.kinds}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, kind: str, item: Any) -> Answer[Any]:
        entry = _Entry(kind, item, self._kinds[kind].order(item))
        queue = self._queues[kind]
        queue.entries.append(entry)
        if queue.senders < queue.lane.senders:
            self._begin(queue)
        return entry

    def _begin(self, queue: _Queue) -> None:
        # Starts in the next turn of the loop, so that every caller of this turn joins the batch; in an empty context,
        # because the caller may be a run and the sender is no part of it.
        task = asyncio.get_running_loop().create_task(self._send_all(queue), context=contextvars.Context())
        queue.senders += 1
        self._tasks.add(task)
        task.add_done_callback(functools.partial(self._ended, queue))

    def _ended(self, queue: _Queue, task: asyncio.Task[None]) -> None:
        """Here and not in the task, which a loop that ends may have cancelled before its first turn."""
        queue.senders -= 1
        self._tasks.discard(task)
        if queue.entries and queue.senders < queue.lane.senders:
            self._begin(queue)

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    async def drain(self) -> None:
        """Wait until everything submitted has its outcome."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _send_all(self, queue: _Queue) -> None:
        while queue.entries:
            cap = queue.lane.cap
            if len(queue.entries) <= cap:
                batch = list(queue.entries)
                queue.entries.clear()
            else:
                batch = [queue.entries.popleft() for _ in range(cap)]
            await self._send(batch)

    async def _send(self, batch: list[_Entry]) -> None:
        try:
            answered = await self._write(batch)
        except Unavailable as error:
            self._fail(batch, error)
        except Exception as error:
            if len(batch) == 1:
                self._fail(batch, error)
            else:
                await self._send_halves(batch)
        except BaseException as error:
            self._fail(batch, _stopped(error))
            raise
        else:
            for entries, outcomes in answered:
                again = [entry for entry, outcome in zip(entries, outcomes, strict=True) if isinstance(outcome, Again)]
                if again:  # with whatever gathered meanwhile: nobody waits for those to whom it happens again and again
                    self._queues[again[0].kind].entries.extend(again)
                _settle_all(entries, outcomes)

    async def _send_halves(self, batch: list[_Entry]) -> None:
        middle = len(batch) // 2
        try:
            await self._send(batch[:middle])
        except BaseException as error:
            self._fail(batch[middle:], _stopped(error))
            raise
        await self._send(batch[middle:])

    async def _write(self, batch: list[_Entry]) -> list[tuple[list[_Entry], Sequence[Any]]]:
        """Every kind's entries in the order they were written, each with its outcome."""
        by_kind: dict[str, list[_Entry]] = {}
        for entry in batch:
            by_kind.setdefault(entry.kind, []).append(entry)
        for entries in by_kind.values():
            entries.sort(key=_by_order)
        items = {kind: [entry.item for entry in entries] for kind, entries in by_kind.items()}

        async def write(tx: Tx) -> dict[str, Sequence[Any]]:
            return {kind: await self._kinds[kind].write(tx, rows) for kind, rows in items.items()}

        for kind, rows in items.items():
            self._kinds[kind].prepare(rows)
        name = "+".join(sorted(items))
        single = len(items) == 1 and all(self._kinds[kind].is_single(rows) for kind, rows in items.items())
        written = await run_until_answered(self._store, self._clock, name, write, single=single, is_cancellable=False)
        for kind, rows in items.items():
            self._kinds[kind].after_commit(rows, written[kind])
        return [(entries, written[kind]) for kind, entries in by_kind.items()]

    def _fail(self, batch: Sequence[_Entry], error: Exception) -> None:
        for entry in batch:
            self._kinds[entry.kind].after_failure([entry.item])
        _settle_all(batch, [error] * len(batch))


def _settle_all(entries: Sequence[_Entry], outcomes: Sequence[Any]) -> None:
    for number, (entry, outcome) in enumerate(zip(entries, outcomes, strict=True), start=1):
        if isinstance(outcome, Again):
            continue
        try:
            entry.settle(outcome)
        except Exception:  # of whoever hears of it: the others are told all the same
            LOGGER.exception("What was made of an answer failed")
        except BaseException:  # the process is to stop, and what is committed is committed
            _settle_all(entries[number:], outcomes[number:])
            raise


def _stopped(error: BaseException) -> Unavailable:
    return Unavailable(f"The store stopped before it answered ({type(error).__name__}).")
