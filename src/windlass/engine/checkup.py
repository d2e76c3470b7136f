"""Look whether a database is in order. Each question is asked by itself: a damaged one still answers some of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from windlass.errors import WindlassError
from windlass.model.checkup import Check, Checkup
from windlass.model.time import Instant
from windlass.model.worker import Worker
from windlass.rules import checkup as rules
from windlass.runtime import Clock
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries, created_objects

T = TypeVar("T")

OURS = ("table", "index")  # one more of these does nothing by itself
BEHIND = "its tables are those of another version"


class Readable(Protocol):
    """What a check-up needs of a store."""

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T: ...


class EngineAdmin:
    """api.service.Admin, in process. Of a schema that is behind only the files are judged."""

    def __init__(self, store: Readable, *, clock: Clock, is_current: bool = True) -> None:
        self._store, self._clock, self._is_current = store, clock, is_current

    async def check_up(self) -> Checkup:
        settings: dict[str, str] = {}

        async def judge_settings() -> tuple[Check, ...]:
            settings.update(await self._read("settings", lambda checks: checks.settings()))
            return rules.library(settings), rules.durability(settings)

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
        return (rules.workers(workers, now=now),)

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
