"""Whether pipelines are in order, and everything that stands in them. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from windlass.model.effect import Effect
from windlass.model.pipeline import EventRow, Handler, HandlerRun, Pipeline
from windlass.model.time import Duration
from windlass.store.pipeline_rows import (
    effect_from_row,
    event_from_row,
    handler_from_row,
    handler_run_from_row,
    pipeline_from_row,
)

if TYPE_CHECKING:
    from windlass.store.base import Connection
    from windlass.store.rows import Row


class StatedHandler(Struct, frozen=True, kw_only=True):
    handler: Handler
    state: bytes | None


class FilledRun(Struct, frozen=True, kw_only=True):
    run: HandlerRun
    data: bytes | None  # what it has prepared
    result: bytes | None  # of its effect


class PlacedEvent(Struct, frozen=True, kw_only=True):
    pipeline: str
    event: EventRow


class Cause(NamedTuple):
    pipeline: str
    input: str
    topic: str
    event: str


class PipelineChecks:
    """Beside CheckQueries, which asks it what is broken. It reads whole tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def inconsistencies(self) -> Sequence[Row]:
        return await self._connection.all("inconsistencies_of_pipelines")

    async def stale_inputs(self, *, stale_for: Duration) -> dict[tuple[str, str], int]:
        """How many inputs have waited for longer than that, by namespace and pipeline."""
        rows = await self._connection.all("count_stale_inputs", stale_for=stale_for)
        return {(row[0], row[1]): row[2] for row in rows}

    async def unheard_topics(self) -> list[tuple[str, str]]:
        """Namespace and name of those that are published, and subscribed to by nobody."""
        return [(row[0], row[1]) for row in await self._connection.all("unheard_topics")]

    async def pipelines(self) -> list[Pipeline]:
        return [pipeline_from_row(row) for row in await self._connection.all("every_pipeline")]

    async def handlers(self) -> list[StatedHandler]:
        rows = await self._connection.all("every_handler")
        return [StatedHandler(state=row[0], handler=handler_from_row(row[1:])) for row in rows]

    async def runs(self) -> list[FilledRun]:
        rows = await self._connection.all("every_handler_run")
        return [FilledRun(data=row[0], result=row[1], run=handler_run_from_row(row[2:])) for row in rows]

    async def events(self) -> list[PlacedEvent]:
        rows = await self._connection.all("every_event")
        return [PlacedEvent(pipeline=row[0], event=event_from_row(row[1:])) for row in rows]

    async def effects(self) -> list[Effect]:
        return [effect_from_row(row) for row in await self._connection.all("every_effect")]

    async def causes(self) -> list[Cause]:
        return [Cause(*row) for row in await self._connection.all("every_cause")]
