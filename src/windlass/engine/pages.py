"""api.page_service.Pages, in process: reads for people, each as of one moment and within a bound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from windlass.engine.again import until_answered
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.model.overview import (
    Attention,
    FoundRuns,
    ListSteps,
    LogPage,
    Minute,
    RunPreview,
    SearchRuns,
    StepPage,
)
from windlass.model.run import RunId, RunStatus
from windlass.model.time import DAY, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.minutes import MinuteQueries
from windlass.store.queries.pages import PageQueries

T = TypeVar("T")

LOOKED_AT = 1_000  # runs that a search goes through before it asks whether to go on
LOOKED_AT_FURTHER = 10_000  # whoever says yes wants to find it
ATTENTION_LOOKED_AT = 1_000
ATTENTION = 20  # of each kind
FAILED_WITHIN = Duration(7 * DAY)
MOST_MINUTES = 5_000
PAYLOAD_BYTES = 64 * 1024  # of an input or an output
STEP_BYTES = 4 * 1024
ENTRY_BYTES = 4 * 1024


class EnginePages:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def search_runs(self, query: SearchRuns) -> FoundRuns:
        async def look(tx: Tx) -> FoundRuns:
            pages = PageQueries(tx.connection)
            looked = LOOKED_AT if query.before is None else LOOKED_AT_FURTHER
            found = await pages.search(query, looked=looked, limit=query.limit + 1)
            if len(found) > query.limit:
                shown = found[: query.limit]
                return FoundRuns(runs=tuple(shown), next=shown[-1].run.id)
            last = await pages.last_looked_at(query, looked=looked)
            if last is None:
                return FoundRuns(runs=tuple(found))
            id, created_at = last
            is_out = query.created_after is not None and created_at < query.created_after
            return FoundRuns(
                runs=tuple(found), next=None if is_out else id, looked_back_to=None if is_out else created_at
            )

        return await self._read("search_runs", look)

    async def read_attention(self, namespace: str) -> Attention:
        async def look(tx: Tx) -> Attention:
            pages, most = PageQueries(tx.connection), ATTENTION + 1
            failed = await pages.unattended(namespace, span=FAILED_WITHIN, looked=ATTENTION_LOOKED_AT, limit=most)
            held = SearchRuns(namespace=namespace, status=RunStatus.PAUSED)
            paused = await pages.search(held, looked=ATTENTION_LOOKED_AT, limit=most)
            approvals = await pages.approvals(namespace, looked=ATTENTION_LOOKED_AT, limit=most)
            return Attention(
                now=await tx.now(),
                failed=tuple(failed[:ATTENTION]),
                failed_more=len(failed) > ATTENTION,
                paused=tuple(paused[:ATTENTION]),
                paused_more=len(paused) > ATTENTION,
                approvals=tuple(approvals[:ATTENTION]),
                approvals_more=len(approvals) > ATTENTION,
            )

        return await self._read("read_attention", look)

    async def read_minutes(self, namespace: str, since: Instant) -> tuple[Minute, ...]:
        async def look(tx: Tx) -> tuple[Minute, ...]:
            return tuple(await MinuteQueries(tx.connection).list(namespace, since=since, limit=MOST_MINUTES))

        return await self._read("read_minutes", look, single=True)

    async def preview_run(self, namespace: str, run_id: RunId) -> RunPreview:
        async def look(tx: Tx) -> RunPreview | None:
            return await PageQueries(tx.connection).preview(namespace, run_id, most=PAYLOAD_BYTES)

        found = await self._read("preview_run", look, single=True)
        if found is None:
            raise no_run(run_id)
        return found

    async def list_steps(self, query: ListSteps) -> StepPage:
        async def look(tx: Tx) -> StepPage:
            pages = PageQueries(tx.connection)
            found = await pages.steps(query.namespace, query.run_id, most=STEP_BYTES, limit=query.limit + 1)
            return StepPage(steps=tuple(found[: query.limit]), is_more=len(found) > query.limit)

        return await self._read("preview_steps", look, single=True)

    async def list_entries(self, namespace: str, subject_kind: str, subject_id: str, limit: int = 200) -> LogPage:
        async def look(tx: Tx) -> LogPage:
            found = await PageQueries(tx.connection).entries(
                namespace, kind=subject_kind, id=subject_id, most=ENTRY_BYTES, limit=limit + 1
            )
            return LogPage(entries=tuple(reversed(found[:limit])), is_more=len(found) > limit)

        return await self._read("list_entries", look, single=True)

    async def _read(self, name: str, look: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, look, single=single))
