"""What attempts of handlers there were, what they were given, and what their effects came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from windlass.model.commands import CompleteStep
from windlass.model.effect import Effect
from windlass.model.pipeline import HandlerRun, HandlerRunId
from windlass.model.pipeline_commands import ListHandlerRuns
from windlass.store.pipeline_rows import EffectValues, HandlerRunValues, effect_from_row, handler_run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

NEWEST = "hrn_~"  # behind every id


# What an attempt has prepared, and what its effect returned, as far as these are to be written.
Contents = Callable[[HandlerRunId], tuple[bytes | None, bytes | None]]


class _Held(NamedTuple):
    namespace: str
    owner: str
    token: int


class HandlerRunQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, runs: Sequence[HandlerRun], contents: Contents) -> None:
        await self._connection.batch("create_handler_runs", [HandlerRunValues(run, *contents(run.id)) for run in runs])

    async def save(self, runs: Sequence[HandlerRun], contents: Contents) -> None:
        """What is not given of the contents stays as it is."""
        await self._connection.batch("save_handler_runs", [HandlerRunValues(run, *contents(run.id)) for run in runs])

    async def load(self, namespace: str, *, ids: Iterable[str]) -> dict[HandlerRunId, HandlerRun]:
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        rows = await self._connection.all("load_handler_runs", namespace=namespace, ids=wanted)
        return {run.id: run for run in map(handler_run_from_row, rows)}

    async def contents(self, namespace: str, *, id: HandlerRunId) -> tuple[bytes | None, bytes | None]:
        """What it has prepared, and what its effect returned."""
        row = await self._connection.first("load_contents", namespace=namespace, id=id)
        return (None, None) if row is None else (row[0], row[1])

    async def page(self, query: ListHandlerRuns) -> list[HandlerRun]:
        """The newest first."""
        place = {"namespace": query.namespace, "pipeline": query.pipeline, "before": query.before or NEWEST}
        if query.handler is None:
            rows = await self._connection.all("page_of_handler_runs", **place, limit=query.limit)
        else:
            rows = await self._connection.all("page_of_handler", **place, handler=query.handler, limit=query.limit)
        return [handler_run_from_row(row) for row in rows]

    async def last(self, namespace: str, *, pipeline: str, handler: str) -> HandlerRun | None:
        query = ListHandlerRuns(namespace=namespace, pipeline=pipeline, handler=handler, limit=1)
        return next(iter(await self.page(query)), None)

    async def titled(self, namespace: str, *, pipeline: str, limit: int) -> list[HandlerRun]:
        rows = await self._connection.all("titled_handler_runs", namespace=namespace, pipeline=pipeline, limit=limit)
        return [handler_run_from_row(row) for row in rows]

    async def chain(self, namespace: str, *, id: HandlerRunId) -> list[HandlerRunId]:
        """All attempts that belong together, the oldest first."""
        return [row[0] for row in await self._connection.all("chain_of_handler_run", namespace=namespace, id=id)]


class EffectQueries:
    """The ledger."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, effects: Sequence[Effect]) -> None:
        await self._connection.batch("insert_effects", [EffectValues(item, was_owner=item.owner) for item in effects])

    async def save(self, effects: Sequence[Effect], *, was_owner: str | None = None) -> None:
        """`was_owner`: until now it was for another attempt to write about these."""
        rows = [EffectValues(item, was_owner=was_owner or item.owner) for item in effects]
        await self._connection.batch("save_effects", rows)

    async def of(self, namespace: str, *, owners: Iterable[str]) -> dict[tuple[str, str], Effect]:
        """The last call of each step of these, by owner and step."""
        return {(effect.owner, effect.step_key): effect for effect in await self.calls(namespace, owners=owners)}

    async def calls(self, namespace: str, *, owners: Iterable[str]) -> list[Effect]:
        """Every call of these, in their order."""
        wanted = sorted(set(owners))
        if not wanted:
            return []
        return [
            effect_from_row(row)
            for row in await self._connection.all("effects_of_owners", namespace=namespace, owners=wanted)
        ]

    async def open(self, namespace: str, *, subject: str | None = None) -> list[Effect]:
        """Those of which nobody knows whether they happened."""
        if subject is None:
            rows = await self._connection.all("open_effects", namespace=namespace)
        else:
            rows = await self._connection.all("effects_left_open", namespace=namespace, subject=subject)
        return [effect_from_row(row) for row in rows]

    async def end_calls(self, namespace: str, *, owners: Iterable[tuple[str, int]]) -> None:
        """Nobody is inside any more of what these have called under these tokens."""
        held = [_Held(namespace, owner, token) for owner, token in sorted(set(owners))]
        await self._connection.batch("end_calls", held)

    async def apply(self, steps: Sequence[CompleteStep]) -> None:
        """Steps that are effects are completed in this transaction: they happened."""
        await self._connection.batch("apply_effects", steps)

    async def hand_over(self, namespace: str, *, former: str, to: str) -> None:
        """A run that tries another one again takes over what may have happened, unless a step of it says so."""
        await self._connection.run("hand_over_effects", namespace=namespace, former=former, run_id=to)
