"""api.page_service.Pages, in process: reads for people, each as of one moment and within a bound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from windlass.engine.again import until_answered
from windlass.engine.long_steps import long_steps
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.errors import NotFound
from windlass.model.overview import (
    Attention,
    FoundRun,
    FoundRuns,
    ListSteps,
    LogPage,
    Minute,
    OpenApproval,
    RunPreview,
    SearchRuns,
    SentMessage,
    StepPage,
)
from windlass.model.run import RunId, RunStatus
from windlass.model.step import Step
from windlass.model.time import DAY, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.minutes import MinuteQueries
from windlass.store.queries.pages import PageQueries
from windlass.store.queries.run_reads import BEHIND_EVERY_ID
from windlass.store.queries.searches import SearchQueries

T = TypeVar("T")

LOOKED_AT = 1_000  # runs that a search goes through before it asks whether to go on
LOOKED_AT_FURTHER = 10_000  # whoever says yes wants to find it
LIVE_LOOKED_AT = 5_000  # runs that are not over: if these are all, the old ones are found as well
APPROVAL_LOOKS = 5
ATTENTION_LOOKED_AT = 1_000
ATTENTION = 20  # of each kind
FAILED_WITHIN = Duration(7 * DAY)
MOST_MINUTES = 1_500  # a day
PAYLOAD_BYTES = 64 * 1024  # of an input or an output
STEP_BYTES = 4 * 1024
ENTRY_BYTES = 4 * 1024
LIVE = (RunStatus.RUNNING, RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING)


class EnginePages:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def search_runs(self, query: SearchRuns) -> FoundRuns:
        async def look(tx: Tx) -> FoundRuns:
            runs, most = SearchQueries(tx.connection), query.limit + 1
            meant = await self._meant(runs, query)
            if query.status in LIVE and not await runs.has_more_live(query.namespace, than=LIVE_LOOKED_AT):
                return _page(query, meant, await runs.search_live(query, looked=LIVE_LOOKED_AT, limit=most))
            looked = LOOKED_AT if query.before is None else LOOKED_AT_FURTHER
            found = await runs.search(query, looked=looked, limit=most)
            if len(found) >= most:
                return _page(query, meant, found)
            return _page(query, meant, found, last=await runs.last_looked_at(query, looked=looked))

        return await self._read("search_runs", look)

    async def _meant(self, runs: SearchQueries, query: SearchRuns) -> list[FoundRun]:
        """Whoever types an id or a start key as it is means that run, however old it is."""
        if query.text is None or query.before is not None:
            return []
        id = f"run_{query.text[4:].upper()}" if query.text[:4].lower() == "run_" else ""
        return await runs.find(query, id=id, key=query.text)

    async def read_attention(self, namespace: str) -> Attention:
        async def look(tx: Tx) -> Attention:
            pages, most = PageQueries(tx.connection), ATTENTION + 1
            failed = await pages.unattended(namespace, span=FAILED_WITHIN, looked=ATTENTION_LOOKED_AT, limit=most)
            now, until = await tx.now(), await pages.unattended_until(namespace, looked=ATTENTION_LOOKED_AT)
            held = SearchRuns(namespace=namespace, status=RunStatus.PAUSED)
            paused = await SearchQueries(tx.connection).search(held, looked=ATTENTION_LOOKED_AT, limit=most)
            signals = await pages.stopped_signals(namespace, limit=most)
            approvals, approvals_more = await self._approvals(pages, namespace)
            steps, steps_more = await long_steps(tx, namespace, now=now)
            return Attention(
                now=now,
                failed=tuple(failed[:ATTENTION]),
                failed_more=len(failed) > ATTENTION or (until is not None and until > now - FAILED_WITHIN),
                paused=tuple(paused[:ATTENTION]),
                paused_more=len(paused) > ATTENTION,
                approvals=tuple(approvals[:ATTENTION]),
                approvals_more=approvals_more,
                signals=tuple(signals[:ATTENTION]),
                signals_more=len(signals) > ATTENTION,
                long_steps=tuple(steps),
                long_steps_more=steps_more,
            )

        return await self._read("read_attention", look)

    async def _approvals(self, pages: PageQueries, namespace: str) -> tuple[list[OpenApproval], bool]:
        """Runs that were ended while they asked are passed over, as many as it takes, within a bound."""
        found: list[OpenApproval] = []
        before: tuple[str, str] = (BEHIND_EVERY_ID, "")
        for looked in (2 * ATTENTION, *[ATTENTION_LOOKED_AT] * APPROVAL_LOOKS):
            some, behind = await pages.approvals(namespace, before=before, looked=looked)
            found += some
            if behind is None:
                return found, len(found) > ATTENTION
            if len(found) > ATTENTION:
                break
            before = behind
        return found, True

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
            found = await PageQueries(tx.connection).steps(query, most=STEP_BYTES, limit=query.limit + 1)
            return StepPage(steps=tuple(reversed(found[: query.limit])), is_more=len(found) > query.limit)

        return await self._read("preview_steps", look, single=True)

    async def read_output(self, namespace: str, run_id: RunId, *, step_key: str, attempt: int) -> bytes:
        async def look(tx: Tx) -> bytes | None:
            return await PageQueries(tx.connection).output(namespace, run_id, step_key=step_key, attempt=attempt)

        found = await self._read("read_output", look, single=True)
        if found is None:
            raise NotFound("output", f"{step_key} of {run_id}")
        return found

    async def find_asked(self, namespace: str, run_id: RunId) -> Step | None:
        return await self._read(
            "find_asked", lambda tx: PageQueries(tx.connection).asked(namespace, run_id), single=True
        )

    async def list_messages(self, namespace: str, run_id: RunId, limit: int = 50) -> tuple[SentMessage, ...]:
        async def look(tx: Tx) -> tuple[SentMessage, ...]:
            return tuple(await PageQueries(tx.connection).messages(namespace, run_id, limit=limit))

        return await self._read("last_messages", look, single=True)

    async def list_entries(self, namespace: str, subject_kind: str, subject_id: str, limit: int = 200) -> LogPage:
        async def look(tx: Tx) -> LogPage:
            found = await PageQueries(tx.connection).entries(
                namespace, kind=subject_kind, id=subject_id, most=ENTRY_BYTES, limit=limit + 1
            )
            return LogPage(entries=tuple(reversed(found[:limit])), is_more=len(found) > limit)

        return await self._read("list_entries", look, single=True)

    async def _read(self, name: str, look: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, look, single=single))


def _page(
    query: SearchRuns,
    meant: Sequence[FoundRun],
    found: Sequence[FoundRun],
    *,
    last: tuple[RunId, Instant] | None = None,
) -> FoundRuns:
    """`last`: where the look ended before the page was full."""
    ids = {item.run.id for item in meant}
    shown = found[: query.limit]
    runs = (*meant, *(item for item in shown if item.run.id not in ids))
    if len(found) > query.limit:
        return FoundRuns(runs=runs, next=shown[-1].run.id)
    if last is None or (query.created_after is not None and last[1] < query.created_after):
        return FoundRuns(runs=runs)
    return FoundRuns(runs=runs, next=last[0], looked_back_to=last[1])
