"""The real engine on a real database, asked the same questions as the reference; now and then its process dies."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import asyncpg
from msgspec.structs import replace

from tests.conformance.given import engine_on
from tests.crash.places import Place, Places, PostgresPlace, PostgresPlaces, sqlite_places
from tests.lives.faults import Moment
from tests.model.context import KEYS_EXPIRE_FOR, LANES, MAX_RECOVERIES, NAMESPACE, Call
from windlass.engine.coordinator import expire_workers, fire_schedules
from windlass.engine.engine import Engine
from windlass.errors import WindlassError
from windlass.model.gate import GateKind
from windlass.model.page import ListRuns
from windlass.model.run import DEATH, SESSION_LOST, LogEntry
from windlass.model.time import Duration
from windlass.runtime import Ids, Rng, seeded_rng
from windlass.store.base import Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.checks import CheckQueries
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

T = TypeVar("T")

PATIENCE = 20.0  # real seconds for one answer
HANG_UP_TURNS = 3  # of the loop, for the sockets of the dead to be closed
# What is asked at the doors `Runs` and `Control`; all else is asked at `Work`.
OF_RUNS = frozenset(
    {"get_run", "find_run", "wait_for_result", "list_steps", "read_log", "list_messages", "list_workers", "start_run"}
)
OF_CONTROL = frozenset(
    {
        *("send_event", "decide", "pause_run", "resume_run", "cancel_run", "retry_run"),
        *("set_gate", "list_gates", "drain_worker"),
    }
)
OF_SCHEDULES = frozenset({"put_schedule", "pause_schedule", "resume_schedule", "trigger_schedule", "delete_schedule"})
GATES = tuple(
    {
        (GateKind.NAMESPACE, NAMESPACE),
        *((GateKind.QUEUE, lane.queue) for lane in LANES),
        *((GateKind.WORKFLOW, lane.name) for lane in LANES),
    }
)


LOCKED = """
select count(*) from pg_locks l join pg_database d on d.oid = l.database
 where l.locktype = 'advisory' and d.datname = current_database()
"""


class NotedIds(Ids):
    """The ids of the product, and which were made: of a start that was never answered nobody else knows."""

    def __init__(self, clock: FakeClock, rng: Rng) -> None:
        super().__init__(clock, rng)
        self.made: list[str] = []

    def run(self) -> str:
        self.made.append(super().run())
        return self.made[-1]


class Chance:
    """The jitter that the operation at hand asks for."""

    jitter = 0.0

    def random(self) -> float:
        return self.jitter

    def getrandbits(self, k: int, /) -> int:
        raise AssertionError("Ids have numbers of their own.")


class Trap:
    """Hooks that kill the store at the first such moment once they are set."""

    def __init__(self, died: asyncio.Event) -> None:
        self.moment: Moment | None = None
        self.store: SqliteStore | PostgresStore | None = None
        self._died, self._loop = died, asyncio.get_running_loop()

    def before_begin(self, name: str) -> None:
        self._reach(Moment.BEFORE_BEGIN)

    def before_commit(self, name: str) -> None:
        self._reach(Moment.BEFORE_COMMIT)

    def after_commit(self, name: str) -> None:
        self._reach(Moment.AFTER_COMMIT)

    def _reach(self, moment: Moment) -> None:
        if moment is self.moment and self.store is not None:
            self.moment = None
            self.store.kill()
            self._loop.call_soon_threadsafe(self._died.set)  # SQLite calls from its writer thread


class Doors(NamedTuple):
    """For those who ask, those who steer, those who execute, those who plan."""

    runs: Any
    control: Any
    work: Any
    schedules: Any

    def of(self, call: Call) -> Any:
        if call.name in OF_RUNS:
            return self.runs
        if call.name in OF_SCHEDULES:
            return self.schedules
        return self.control if call.name in OF_CONTROL else self.work


class Subject:
    """One story on one database. Between calls its loop stands still, as the clock does."""

    def __init__(self, name: str, place: Place, runner: asyncio.Runner, clock: FakeClock) -> None:
        self.name = name
        self.died_inside = False  # the last time it died, at the moment asked for
        self._place, self._runner, self._clock = place, runner, clock
        self._chance, self._numbers = Chance(), seeded_rng("ids of the model test")
        self._engine: Engine
        self._store: SqliteStore | PostgresStore
        self._trap: Trap
        self._died: asyncio.Event
        self._run(self._open())

    @property
    def made_ids(self) -> list[str]:
        """The ids that the last call has made."""
        ids: Any = self._engine.parts.ids
        return list(ids.made)

    def doors(self) -> Doors:
        """A test with a planted bug opens others."""
        return Doors(self._engine.runs, self._engine.control, self._engine.work, self._engine.schedules)

    def ask(self, call: Call) -> Any:
        """The answer, or as a value whatever was raised: what nobody expects is a difference too."""
        return self._run(self._ask(call))

    def ask_and_die(self, call: Call | None, moment: Moment) -> list[str]:
        """Ask, die at that moment, begin anew. What is answered nobody hears; the ids that were made remain."""
        with warnings.catch_warnings():
            # Tasks that had not begun yet never will.
            warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
            self._run(self._die(call, moment))
        made = self.made_ids
        if isinstance(self._place, PostgresPlace):
            self._place._settle()  # the server has let go of what the dead one had locked
            self._run(_until_unlocked(self._place.url))
        self._run(self._open())
        return made

    def rows(self, *tables: str) -> dict[str, dict[Any, Any]]:
        """What stands in these tables, by the same names as in the reference."""
        return self._run(self._store.read("rows", lambda tx: _read(tx, tables), single=True))

    def inconsistencies(self) -> list[str]:
        found = self._run(self._store.read("inconsistencies", lambda tx: CheckQueries(tx.connection).inconsistencies()))
        return [f"{item.rule}: {item.subject}" for item in found]

    def close(self) -> None:
        self._run(self._engine.close())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        # Not Runner.run: it sets a signal handler around every call, which costs more than many a call does.
        return self._runner.get_loop().run_until_complete(work)

    async def _open(self) -> None:
        self._died = asyncio.Event()
        self._trap = trap = Trap(self._died)
        kind = SqliteStore if self.name == "sqlite" else PostgresStore
        self._store = trap.store = kind(self._place.url, clock=self._clock, hooks=trap)
        if isinstance(self._store, PostgresStore):  # believed at the first look, as on SQLite
            self._store.locks.free_for = self._store.locks.settled_after = 0
        self._engine = engine_on(
            self._store, self._clock, max_recoveries=MAX_RECOVERIES, keys_expire_for=KEYS_EXPIRE_FOR
        )
        self._engine.parts.ids = NotedIds(self._clock, self._numbers)
        self._engine.parts.rng = self._chance
        await self._engine.open()

    async def _ask(self, call: Call) -> Any:
        doors = self.doors()
        self._chance.jitter = call.jitter
        ids: Any = self._engine.parts.ids
        ids.made.clear()
        try:
            async with asyncio.timeout(PATIENCE):
                if call.name == "walk_runs":
                    return await _walk(doors.runs, *call.arguments)
                if call.name == "expire_workers":
                    return await _expire(self._engine, *call.arguments)
                if call.name == "fire_schedules":
                    return await _fire(self._engine, *call.arguments)
                return _comparable(call, await getattr(doors.of(call), call.name)(*call.arguments))
        except Exception as error:
            return error

    async def _die(self, call: Call | None, moment: Moment) -> None:
        if call is not None:
            self._trap.moment = moment
            answered, dead = asyncio.ensure_future(self._ask(call)), asyncio.ensure_future(self._died.wait())
            await asyncio.wait([answered, dead], return_when=asyncio.FIRST_COMPLETED)
            answer = answered.result() if answered.done() else None
            if isinstance(answer, Exception) and not isinstance(answer, WindlassError):
                raise answer
        self.died_inside = self._died.is_set()
        if not self.died_inside:
            self._store.kill()
        for _ in range(HANG_UP_TURNS):
            await asyncio.sleep(0)
        mine = asyncio.current_task()
        while others := asyncio.all_tasks() - {mine}:
            for task in others:
                task.cancel()
            await asyncio.sleep(0)


async def _until_unlocked(url: str) -> None:
    """Wait until the server has noticed that the sessions of the dead are gone."""
    connection = await asyncpg.connect(url, ssl=False)
    try:
        async with asyncio.timeout(PATIENCE):
            while await connection.fetchval(LOCKED):
                pass  # the question itself takes its time
    finally:
        await connection.close()


async def _read(tx: Tx, tables: tuple[str, ...]) -> dict[str, dict[Any, Any]]:
    return {table: await READERS[table](tx, CheckQueries(tx.connection)) for table in tables}


async def _runs(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {row.run.id: row for row in await checks.runs()}


async def _payloads(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {row.run_id: row for row in await checks.payloads()}


async def _steps(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {(step.run_id, step.key, step.attempt): step for step in await checks.steps()}


async def _log(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    found: dict[str, list[Any]] = {}
    for entry in await checks.log():
        found.setdefault(entry.subject_id, []).append(_told(entry))
    return found


async def _keys(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {row.key: row for row in await checks.keys()}


async def _workers(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {worker.id: worker for worker in await checks.workers()}


async def _inbox(tx: Tx, checks: CheckQueries) -> dict[Any, Any]:
    ids = [row.run.id for row in await checks.runs()]
    found = {id: await tx.inbox.of_run(NAMESPACE, run_id=id) for id in ids}
    return {id: messages for id, messages in found.items() if messages}


async def _gates(tx: Tx, _: CheckQueries) -> dict[Any, Any]:
    found = {(kind, name): await tx.gates.load(NAMESPACE, kind=kind, name=name) for kind, name in GATES}
    return {place: gate for place, gate in found.items() if gate is not None}


async def _schedules(_: Tx, checks: CheckQueries) -> dict[Any, Any]:
    return {schedule.name: schedule for schedule in await checks.schedules()}


READERS = {
    "runs": _runs,
    "payloads": _payloads,
    "steps": _steps,
    "log": _log,
    "keys": _keys,
    "workers": _workers,
    "inbox": _inbox,
    "gates": _gates,
    "schedules": _schedules,
}


def _comparable(call: Call, answer: Any) -> Any:
    """Without what is left open: the order in which waits are said to be over, and what a free lock proves."""
    if call.name == "suspend_run":
        return replace(answer, settled=tuple(sorted(answer.settled, key=lambda item: item.key)))
    return tuple(map(_told, answer)) if call.name == "read_log" else answer


def _told(entry: LogEntry) -> LogEntry:
    """What a free lock proves is the one thing in which the databases differ."""
    return replace(entry, cause=DEATH) if entry.cause == SESSION_LOST else entry


async def _expire(engine: Engine, silent_for: Duration, batch: int) -> int:
    return await expire_workers.tick(engine.parts, silent_for=silent_for, batch=batch)


async def _fire(engine: Engine, grace: Duration, batch: int) -> int:
    return (await fire_schedules.tick(engine.parts, grace=grace, batch=batch)).fired


async def _walk(runs: Any, query: ListRuns) -> list[list[str]]:
    pages: list[list[str]] = []
    before: str | None = None
    while not pages or before is not None:
        page = await runs.list_runs(replace(query, before=before))
        pages.append([run.id for run in page.runs])
        before = page.next
    return pages


class EmptyInboxes(PostgresPlaces):
    """With nothing sent, and nothing paused, before a story begins."""

    def fresh(self) -> Place:
        self._runner.run(self._connection.execute("delete from windlass.inbox; delete from windlass.gates"))
        return super().fresh()


class Stores:
    """Databases, each of which gives every story an empty one. Each has a loop of its own: the dead leave it empty."""

    def __init__(self, *places: Places) -> None:
        self._places = [(item, asyncio.Runner()) for item in places]

    @contextmanager
    def subjects(self, clock: FakeClock, kind: type[Subject] = Subject) -> Iterator[list[Subject]]:
        opened: list[Subject] = []
        try:
            for places, runner in self._places:
                opened.append(kind(places.name, places.fresh(), runner, clock))
            yield opened
        finally:
            for subject in opened:
                subject.close()

    def close(self) -> None:
        for _, runner in self._places:
            runner.close()


@contextmanager
def stores_in(folder: Path, server: PostgresServer | None = None) -> Iterator[Stores]:
    """SQLite, and PostgreSQL too if there is a server."""
    with ExitStack() as stack:
        places: list[Places] = [stack.enter_context(sqlite_places(_made(folder / "sqlite")))]
        if server is not None:
            url = server.create_database()
            stack.callback(server.drop_database, url)
            places.append(stack.enter_context(closing(EmptyInboxes(url, _made(folder / "postgresql")))))
        yield stack.enter_context(closing(Stores(*places)))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
