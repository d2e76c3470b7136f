"""Which events a pipeline has, how they stand, and what outside has caused them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from windlass.model.pipeline import EventRow, EventStatus, HandlerRunId, InputId, InputRow, NewInput, Reservation
from windlass.model.pipeline_commands import ListEvents, ListInputs
from windlass.model.time import Instant
from windlass.store.pipeline_rows import event_from_row, input_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

LATEST = 2**62


class StoredEvent(Struct, frozen=True, kw_only=True, gc=False):
    """An event to be inserted, or whose payload is to be replaced."""

    namespace: str
    pipeline: str
    topic: str
    id: str
    seq: int  # of a new one
    version: int
    payload: bytes
    created_by: HandlerRunId | None
    causes: str | None  # as JSON


class _Place(NamedTuple):
    namespace: str
    pipeline: str
    topic: str
    id: str
    run_id: str | None = None


class _PutBack(NamedTuple):
    namespace: str
    pipeline: str
    topic: str
    id: str
    seq: int


class _Cause(NamedTuple):
    namespace: str
    pipeline: str
    input: str
    topic: str
    event: str


class _Input(NamedTuple):
    namespace: str
    pipeline: str
    id: str
    source: str
    type: str
    external_id: str
    title: str


class EventQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def known(self, namespace: str, *, pipeline: str, topic: str, ids: Iterable[str]) -> dict[str, EventRow]:
        rows = await self._connection.all(
            "known_events", namespace=namespace, pipeline=pipeline, topic=topic, ids=list(ids)
        )
        return {event.id: event for event in map(event_from_row, rows)}

    async def insert(self, events: Sequence[StoredEvent]) -> None:
        await self._connection.batch("insert_events", events)

    async def replace(self, events: Sequence[StoredEvent]) -> None:
        await self._connection.batch("replace_events", events)

    async def by_run(self, namespace: str, *, run_id: HandlerRunId, limit: int) -> list[EventRow]:
        """What it has published."""
        rows = await self._connection.all("events_by_run", namespace=namespace, run_id=run_id, limit=limit)
        return [event_from_row(row) for row in rows]

    async def pending(self, namespace: str, *, pipeline: str, topic: str, limit: int) -> list[EventRow]:
        rows = await self._connection.all(
            "pending_events", namespace=namespace, pipeline=pipeline, topic=topic, limit=limit
        )
        return [event_from_row(row) for row in rows]

    async def oldest(self, namespace: str, *, topics: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Instant]:
        """When the first pending event of each (pipeline, topic) came; those without one are missing."""
        asked = json.dumps(sorted(set(topics)))
        rows = await self._connection.all("oldest_pending", namespace=namespace, topics=asked)
        return {(pipeline, topic): at for pipeline, topic, at in rows if at is not None}

    async def count_pending(self, namespace: str, *, pipeline: str, topic: str, limit: int) -> int:
        row = await self._connection.first(
            "count_pending", namespace=namespace, pipeline=pipeline, topic=topic, limit=limit
        )
        return 0 if row is None else int(row[0])

    async def page(self, query: ListEvents) -> list[EventRow]:
        rows = await self._connection.all(
            "page_of_events",
            namespace=query.namespace,
            pipeline=query.pipeline,
            topic=query.topic,
            status=query.status,
            after=query.after,
            limit=query.limit,
        )
        return [event_from_row(row) for row in rows]


class ReservationQueries:
    """What attempts have reserved, and what becomes of it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def take(self, namespace: str, *, pipeline: str, events: Sequence[Reservation], run_id: HandlerRunId) -> None:
        """Reserve events that this transaction has seen to be pending."""
        await self._connection.batch(
            "take_events", [_Place(namespace, pipeline, item.topic, item.id, run_id) for item in events]
        )

    async def take_oldest(self, namespace: str, *, pipeline: str, events: Sequence[EventRow], run_id: str) -> None:
        """Reserve the oldest pending events of each topic, as this transaction has read them."""
        last = {event.topic: event.seq for event in events}  # in their order, so the last of each
        for topic, seq in sorted(last.items()):
            await self._connection.run(
                "take_oldest_events", namespace=namespace, pipeline=pipeline, topic=topic, last=seq, run_id=run_id
            )

    async def end(self, namespace: str, *, run_id: HandlerRunId, status: EventStatus) -> None:
        await self._connection.run("end_events", namespace=namespace, run_id=run_id, status=status)

    async def release(self, namespace: str, *, run_id: HandlerRunId) -> None:
        await self._connection.run("release_events", namespace=namespace, run_id=run_id)

    async def put_back(self, namespace: str, *, pipeline: str, events: Sequence[EventRow], after: int) -> None:
        """Release these, numbered anew in their order, behind this number."""
        rows = [
            _PutBack(namespace, pipeline, item.topic, item.id, seq) for seq, item in enumerate(events, start=after + 1)
        ]
        await self._connection.batch("put_back_events", rows)

    async def hand_over(self, namespace: str, *, former: HandlerRunId, to: HandlerRunId) -> None:
        await self._connection.run("hand_over_events", namespace=namespace, former=former, run_id=to)

    async def skip(self, namespace: str, *, pipeline: str, events: Sequence[EventRow]) -> None:
        await self._connection.batch(
            "skip_events", [_Place(namespace, pipeline, item.topic, item.id) for item in events]
        )

    async def of_run(self, namespace: str, *, run_id: str) -> list[EventRow]:
        """What it has reserved, or had when it was committed."""
        rows = await self._connection.all("events_of_run", namespace=namespace, run_id=run_id)
        return [event_from_row(row) for row in rows]

    async def count(self, namespace: str, *, run_ids: Sequence[str]) -> dict[tuple[str, str], int]:
        """How many events of each (pipeline, topic) these attempts have reserved now."""
        rows = await self._connection.all("count_reserved", namespace=namespace, run_ids=run_ids)
        return {(pipeline, topic): count for pipeline, topic, count in rows}


class InputQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def enter(self, namespace: str, *, pipeline: str, inputs: Iterable[NewInput]) -> None:
        """One that is known stays as it was."""
        rows = [
            _Input(namespace, pipeline, item.id, item.source, item.type, item.external_id, item.title)
            for item in sorted(inputs, key=lambda item: item.id)
        ]
        await self._connection.batch("enter_inputs", rows)

    async def link(self, events: Iterable[StoredEvent], causes: Sequence[Sequence[InputId]], *, anew: bool) -> None:
        """Say which inputs have caused events; `anew`: instead of those that were said before."""
        stored = list(events)
        rows = [
            _Cause(event.namespace, event.pipeline, input, event.topic, event.id)
            for event, inputs in zip(stored, causes, strict=True)
            for input in inputs
        ]
        if anew:
            former = [_Cause(event.namespace, event.pipeline, "", event.topic, event.id) for event in stored]
            await self._connection.batch("forget_causes", former)
        if rows:
            await self._connection.batch("enter_causes", rows)

    async def load(self, namespace: str, *, pipeline: str, id: InputId) -> InputRow | None:
        row = await self._connection.first("load_input", namespace=namespace, pipeline=pipeline, id=id)
        return None if row is None else input_from_row(row)

    async def by_ids(self, namespace: str, *, pipeline: str, ids: Iterable[str]) -> list[NewInput]:
        rows = await self._connection.all("inputs_by_ids", namespace=namespace, pipeline=pipeline, ids=list(ids))
        return [NewInput(id=row[0], source=row[1], type=row[2], external_id=row[3], title=row[4]) for row in rows]

    async def page(self, query: ListInputs) -> list[InputRow]:
        rows = await self._connection.all(
            "page_of_inputs",
            namespace=query.namespace,
            pipeline=query.pipeline,
            before=query.before or "",
            newest=LATEST,
            limit=query.limit,
        )
        return [input_from_row(row) for row in rows]

    async def events(self, namespace: str, *, pipeline: str, input: InputId) -> list[EventRow]:
        rows = await self._connection.all("events_of_input", namespace=namespace, pipeline=pipeline, input=input)
        return [event_from_row(row) for row in rows]

    async def count_pending(self, namespace: str, *, pipeline: str, before: Instant, limit: int) -> int:
        """How many of them, that came before then, wait, as far as so many events tell."""
        row = await self._connection.first(
            "count_pending_inputs", namespace=namespace, pipeline=pipeline, before=before, limit=limit
        )
        return 0 if row is None else int(row[0])

    async def mark_skipped(self, namespace: str, *, pipeline: str, id: InputId, by: str | None) -> None:
        await self._connection.run(
            "mark_input_skipped", namespace=namespace, pipeline=pipeline, id=id, by=by or "somebody"
        )
