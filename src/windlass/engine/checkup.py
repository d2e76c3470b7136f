"""Look whether a database is in order. Each question is asked by itself: a damaged one still answers some of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from windlass.engine.coordinator.coordinator import CoordinatorSettings
from windlass.errors import WindlassError
from windlass.model.checkup import Check, Checkup, FeedState, Kept, PipelineState
from windlass.model.gate import GateKind
from windlass.model.schedule import Schedule
from windlass.model.time import Instant
from windlass.model.worker import ServedPipeline, Worker
from windlass.rules import checkup as rules
from windlass.rules import checkup_signals
from windlass.rules.inputs import STALE_AFTER
from windlass.rules.workers import is_live
from windlass.runtime import Clock
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries, created_objects
from windlass.store.queries.duties import DutyQueries
from windlass.store.queries.pipeline_checks import PipelineChecks
from windlass.store.queries.signal_upkeep import SignalUpkeep

T = TypeVar("T")

OURS = ("table", "index")  # one more of these does nothing by itself
BEHIND = "its tables are those of another version"


class Readable(Protocol):
    """What a check-up needs of a store."""

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T: ...


class EngineAdmin:
    """api.service.Admin, in process. Of a schema that is behind only the files are judged.

    `duties` says what coordinators should have done by now.
    """

    def __init__(
        self,
        store: Readable,
        *,
        clock: Clock,
        is_current: bool = True,
        is_read_only: bool = False,
        duties: CoordinatorSettings | None = None,
    ) -> None:
        self._store, self._clock = store, clock
        self._is_current, self._is_read_only = is_current, is_read_only
        self._duties = duties or CoordinatorSettings()

    async def check_up(self) -> Checkup:
        settings: dict[str, str] = {}

        async def judge_settings() -> tuple[Check, ...]:
            settings.update(await self._read("settings", lambda checks: checks.settings()))
            written = rules.read_only() if self._is_read_only else (rules.durability(settings),)
            return rules.library(settings), *written

        async def judge_files() -> tuple[Check, ...]:
            return (rules.files(await self._read("damage", lambda checks: checks.damage()), settings=settings),)

        found = [
            *await _judged("durability", judge_settings),
            *await _judged("files", judge_files),
        ]

        async def judge_tables() -> tuple[Check, ...]:
            made = created_objects("sqlite" if "sqlite_version" in settings else "postgres")
            found = await self._read("tables", lambda checks: checks.schema_objects())
            missing = [f"{item.kind} {item.name}" for item in sorted(made.difference(found))]
            foreign = [f"{item.kind} {item.name}" for item in found if item.kind not in OURS]
            return (rules.tables(missing=missing, foreign=foreign),)

        for name, judge in (
            ("tables", judge_tables),
            ("consistency", self._consistency),
            ("workers", self._workers),
            ("schedules", self._schedules),
            ("pipelines", self._pipelines),
            ("signals", self._signals),
            ("time-outs", self._timeouts),
            ("retention", self._retention),
            ("feed", self._feed),
            ("clock", self._clocks),
        ):
            found += await _judged(name, judge) if self._is_current else (rules.skipped(name, BEHIND),)
        return Checkup(checks=tuple(found))

    async def _consistency(self) -> tuple[Check, ...]:
        broken = await self._read("consistency", lambda checks: checks.inconsistencies())
        return (rules.consistency([(item.rule, _named(item.namespace, item.subject)) for item in broken]),)

    async def _workers(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> tuple[list[Worker], Instant]:
            return await CheckQueries(tx.connection).workers(), await tx.now()

        workers, now = await self._store.read("check_workers", look)
        return (rules.workers(workers, now=now, silent_for=self._duties.stale_for),)

    async def _schedules(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> tuple[list[Schedule], Instant]:
            found = await CheckQueries(tx.connection).schedules()
            rows = [await tx.namespaces.load(name) for name in sorted({item.namespace for item in found})]
            # Nobody is to fire what is in one of these.
            disabled = {row.name for row in rows if row is not None and not row.is_enabled}
            return [item for item in found if item.namespace not in disabled], await tx.now()

        schedules, now = await self._store.read("check_schedules", look)
        return (rules.schedules(schedules, now=now),)

    async def _pipelines(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> tuple[list[PipelineState], list[tuple[str, str]], Instant]:
            checks, now = PipelineChecks(tx.connection), await tx.now()
            found, stale = await checks.pipelines(), await checks.stale_inputs(stale_for=STALE_AFTER)
            closed = {
                (gate.namespace, gate.name if gate.kind is GateKind.QUEUE else None)
                for name in sorted({item.namespace for item in found})
                for gate in await tx.gates.closed(name)
                if gate.kind is not GateKind.WORKFLOW
            }
            served = {
                (worker.namespace, item)
                for worker in await CheckQueries(tx.connection).workers()
                if is_live(worker, now=now)
                for item in worker.pipelines
            }
            states = [
                PipelineState(
                    pipeline=item,
                    is_served=(item.namespace, ServedPipeline(item.queue, item.name, item.revision)) in served,
                    is_closed=not closed.isdisjoint({(item.namespace, None), (item.namespace, item.queue)}),
                    stale=stale.get((item.namespace, item.name), 0),
                )
                for item in found
            ]
            return states, await checks.unheard_topics(), now

        states, unheard, now = await self._store.read("check_pipelines", look)
        return (rules.pipelines(states, unheard=[_named(*topic) for topic in unheard], now=now),)

    async def _signals(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> tuple[Check, ...]:
            upkeep, limit = SignalUpkeep(tx.connection), checkup_signals.MOST_COUNTED
            counts = await upkeep.counts(late_for=rules.LATE_FOR, limit=limit)
            given_up = await upkeep.given_up(limit=limit) if counts.given_up else []
            broken = await upkeep.broken(limit=limit)
            for live in await upkeep.live():
                problem = checkup_signals.unfit(live.kind, live.states, is_readable=live.is_readable)
                if problem is not None:
                    broken.append((live.namespace, live.id, problem))
            return (
                checkup_signals.signals(
                    live=counts.live,
                    late=counts.late,
                    given_up=[f"{_named(namespace, id)}: {reason}" for namespace, id, reason in given_up],
                    broken=[f"{_named(namespace, id)} {problem}" for namespace, id, problem in broken[:limit]],
                    is_enabled=self._duties.fires_signals,
                    unattended=rules.UNATTENDED,
                ),
            )

        return await self._store.read("check_signals", look)

    async def _timeouts(self) -> tuple[Check, ...]:
        late = await self._store.read(
            "check_timeouts", lambda tx: tx.expiry.late(late_for=rules.LATE_FOR, limit=rules.MOST_COUNTED + 1)
        )
        return (rules.timeouts([_named(run.namespace, run.id) for run in late]),)

    async def _retention(self) -> tuple[Check, ...]:
        limit = self._duties.keep_for

        async def look(tx: Tx) -> tuple[Kept, Instant]:
            duties = DutyQueries(tx.connection)
            counts = await duties.ended(keep_for=limit, late_for=rules.REMOVED_LATE_FOR)
            waiting = {count.namespace for count in counts if count.unread}
            slowest = {cursor.namespace: cursor for cursor in reversed(await duties.cursors())}
            kept = Kept(
                ended=sum(count.ended for count in counts),
                late=sum(count.late for count in counts),
                unread=sum(count.unread for count in counts),
                limit=limit,
                own_limits=len(await tx.workflows.limits()),
                cursors=tuple(slowest[namespace] for namespace in sorted(waiting)),
            )
            return kept, await tx.now()

        kept, now = await self._store.read("check_retention", look)
        return (rules.retention(kept, now=now),)

    async def _feed(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> tuple[FeedState, Instant]:
            return await CheckQueries(tx.connection).feed(), await tx.now()

        state, now = await self._store.read("check_feed", look)
        return (rules.feed(state, now=now),)

    async def _clocks(self) -> tuple[Check, ...]:
        async def look(tx: Tx) -> Instant:
            return await tx.now()

        before = self._clock.now()
        store = await self._store.read("check_clock", look)
        here = Instant((before + self._clock.now()) // 2)  # the answer was on its way for a while
        return (rules.clocks(store=store, here=here),)

    async def _read(self, name: str, ask: Callable[[CheckQueries], Awaitable[T]]) -> T:
        return await self._store.read(f"check_{name}", lambda tx: ask(CheckQueries(tx.connection)))


class UnopenedAdmin:
    """api.service.Admin of a database that must not even be opened."""

    async def check_up(self) -> Checkup:
        return Checkup(checks=(rules.skipped("database", "the rest is looked at once the schema is up to date"),))


async def _judged(name: str, judge: Callable[[], Awaitable[tuple[Check, ...]]]) -> tuple[Check, ...]:
    try:
        return await judge()
    except WindlassError as error:
        return (rules.unreadable(name, str(error)),)
    except Exception as error:  # whatever a spoilt row does to the code that reads it is a finding
        return (rules.unreadable(name, f"cannot be read: {type(error).__name__}: {error}"),)


def _named(namespace: str, subject: str) -> str:
    return f"{subject}" if namespace == "default" else f"{subject} ({namespace})"
