"""A database of one's own: from its URL to an open engine in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from windlass.api.page_service import Pages
from windlass.api.service import (
    Access,
    Admin,
    Control,
    Feed,
    Graphs,
    Items,
    Namespaces,
    PipelineControl,
    Pipelines,
    Runs,
    Schedules,
    Signals,
    Work,
)
from windlass.engine.checkup import EngineAdmin, UnopenedAdmin
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.engine import Engine
from windlass.engine.pages import EnginePages
from windlass.engine.parts import EngineSettings
from windlass.errors import SCHEMA_BEHIND, NotAllowed, StoreRefused
from windlass.notify.local import Elsewhere, Hub
from windlass.notify.postgres import PostgresListener
from windlass.notify.sqlite import FileWatch
from windlass.notify.wire import Broadcast
from windlass.runtime import Clock, Ids, Rng, SystemClock
from windlass.settings import Location, Settings, parse_url
from windlass.store.base import Hooks, Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.file import is_read_only
from windlass.store.sqlite.read_only import ReadOnlyStore
from windlass.store.sqlite.reader import SqliteReader
from windlass.store.sqlite.store import IN_MEMORY, SqliteStore
from windlass.store.version import newest, read_postgres, read_sqlite
from windlass.telemetry.observer import Observer


class Embedded:
    """An open engine, as the layers above may see it: its doors and a way to close them."""

    def __init__(self, engine: Engine, coordinator: Coordinator | None = None) -> None:
        self.engine = engine
        self._coordinator = coordinator  # none: others look after this database
        self._coordinated = 0
        self.runs: Runs = engine.runs
        self.control: Control = engine.control
        self.schedules: Schedules = engine.schedules
        self.graphs: Graphs = engine.graphs
        self.pipelines: Pipelines = engine.pipelines
        self.pipeline_control: PipelineControl = engine.pipeline_control
        self.items: Items = engine.items
        self.signals: Signals = engine.signals
        self.work: Work = engine.work
        self.feed: Feed = engine.feed
        self.namespaces: Namespaces = engine.namespaces
        self.access: Access = engine.access
        self.admin: Admin = engine.admin
        self.pages: Pages = EnginePages(engine.parts)
        self.ids: Ids = engine.parts.ids

    @asynccontextmanager
    async def coordinated(self) -> AsyncIterator[None]:
        """Look after the database while the block lasts: schedules, silent workers, what is to be removed."""
        store = self.engine.parts.store
        if isinstance(store, ReadOnlyStore):
            raise store.refusal
        self._coordinated += 1
        if self._coordinator is not None and self._coordinated == 1:
            self._coordinator.start()
        try:
            yield
        finally:
            self._coordinated -= 1
            if self._coordinator is not None and self._coordinated == 0:
                await self._coordinator.stop()

    async def close(self) -> None:
        await self.engine.close()


def in_process(opened: object) -> Embedded:
    """What was opened, for those who look behind the doors. Raises NotAllowed if that is on a server."""
    if not isinstance(opened, Embedded):
        raise NotAllowed("This looks behind the doors of a database in this process; a server has none to look behind.")
    return opened


async def open_embedded(
    location: Location,
    settings: Settings,
    *,
    clock: Clock,
    rng: Rng,
    hooks: Hooks | None = None,
    observer: Observer | None = None,
) -> Embedded:
    """Connect, migrate, listen. Raises StoreRefused if the database cannot be used."""
    store: Store
    elsewhere: Elsewhere | None = None
    if location.kind == "sqlite" and is_read_only(location.target):
        store = ReadOnlyStore(location.target, clock=clock)
    elif location.kind == "sqlite":
        store = sqlite = SqliteStore(location.target, clock=clock, hooks=hooks)
        if location.target != IN_MEMORY:  # which nobody else has
            # A hint from outside comes in real time, also in a test whose clock stands still.
            elsewhere = FileWatch(sqlite.data_version, clock=SystemClock(), path=location.target)
    else:
        # The database's own clock decides, unless a test brings one.
        injected = None if isinstance(clock, SystemClock) else clock
        store = PostgresStore(location.target, clock=injected, hooks=hooks)
        elsewhere = Broadcast(PostgresListener(location.target, clock=SystemClock()), Ids(clock, rng))
    engine = Engine(
        store,
        Hub(elsewhere),
        clock=clock,
        rng=rng,
        settings=EngineSettings(
            max_recoveries=settings.max_recoveries,
            poll_for=settings.poll_for,
            keys_expire_for=settings.keys_expire_for,
        ),
        observer=observer,
    )
    duties = _duties(settings)
    engine.admin = EngineAdmin(store, clock=clock, is_read_only=isinstance(store, ReadOnlyStore), duties=duties)
    await engine.open()
    return Embedded(engine, Coordinator(engine.parts, duties) if settings.coordinates else None)


def _duties(settings: Settings) -> CoordinatorSettings:
    return CoordinatorSettings(
        interval_for=settings.coordinate_for,
        batch=settings.coordinate_batch,
        stale_for=settings.stale_for,
        keep_for=settings.keep_for,
        fires_signals=settings.signals_enabled,
    )


class SchemaVersion(Struct, frozen=True, kw_only=True):
    found: int  # 0 where there is none yet
    known: int  # the newest this Windlass knows

    @property
    def is_behind(self) -> bool:
        return self.found < self.known


async def read_schema_version(url: str) -> SchemaVersion:
    """How far a database is behind, read without creating or migrating it. Raises StoreRefused if it cannot be used."""
    location = parse_url(url)
    if location.kind == "postgresql":
        return SchemaVersion(found=await read_postgres(location.target), known=newest("postgres"))
    return SchemaVersion(found=await asyncio.to_thread(read_sqlite, location.target), known=newest("sqlite"))


async def refuse_to_migrate_database(url: str, *, creates: bool) -> None:
    """Raise StoreRefused if the schema is behind, or, without `creates`, if there is none."""
    location, version = parse_url(url), await read_schema_version(url)
    if not version.is_behind or location.target == IN_MEMORY or (creates and not version.found):
        return
    if version.found:
        state = f"has schema {version.found}, and this Windlass needs {version.known}. Reading does not migrate it"
    else:
        state = "has no schema yet. Reading does not create one"
    raise StoreRefused(f"The database {location.shown} {state}; to do that: windlass migrate", reason=SCHEMA_BEHIND)


@asynccontextmanager
async def open_admin(
    url: str, version: SchemaVersion, *, clock: Clock, settings: Settings | None = None
) -> AsyncIterator[Admin]:
    """Open a database only to look at it: nothing is created, migrated or written. Raises StoreRefused."""
    location, duties = parse_url(url), _duties(settings or Settings())
    if location.kind == "sqlite":
        reader = SqliteReader(location.target, clock=clock)
        reader.open()
        try:
            yield EngineAdmin(
                reader,
                clock=clock,
                is_current=not version.is_behind,
                is_read_only=reader.is_read_only,
                duties=duties,
            )
        finally:
            reader.close()
        return
    if version.is_behind:  # opening it would migrate it
        yield UnopenedAdmin()
        return
    store = PostgresStore(location.target, clock=None if isinstance(clock, SystemClock) else clock)
    await store.open()
    try:
        yield EngineAdmin(store, clock=clock, duties=duties)
    finally:
        await store.close()
