"""What the behaviour tests stand on: every database, one clock for all apps, and a check of every run's log."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from tests.emptying import Emptier
from tests.integration.wires import (
    WIRE,
    WIRE_POSTGRES,
    at_rest,
    forget_wires,
    is_wanted,
    is_wired,
    lead_through_wire,
)
from tests.older import make_older
from tests.scale import SCALE
from tests.wires.wired import Wired
from windlass.app import App
from windlass.client.handle import Handle
from windlass.errors import Unavailable
from windlass.model.commands import (
    Claim,
    ClaimedRun,
    ClaimRuns,
    CompleteStep,
    FailStep,
    FinishRun,
    RegisterWorker,
    Suspend,
    WaitStep,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.page import ListRuns
from windlass.model.retry import RetryPolicy
from windlass.model.run import LogEntry, Run, RunId, RunStatus, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.model.worker import Served
from windlass.notify.local import queue_topic
from windlass.rules.runs import TRANSITIONS
from windlass.settings import Settings
from windlass.store.base import NoHooks, Tx
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness
from windlass.testing.postgres import PostgresServer

HASH = b"0123456789abcdef"
FOR = Duration(300 * SECOND)  # how long a claim lasts unless a test says otherwise
BROKEN = Failure(kind=FailureKind.TRANSIENT, type="Error", message="no")
PATIENCE = 20.0  # real seconds before a test that makes no progress is given up


class OpenHarness(Protocol):
    async def __call__(self, **options: Any) -> Harness: ...


class PostgresDatabases:
    """Migrated databases without rows, one for each test that runs at the moment."""

    def __init__(self, server: PostgresServer, emptier: Emptier) -> None:
        self._server, self._emptier = server, emptier
        self._empty: list[str] = []

    def take(self) -> str:
        if not self._empty:
            url = self._server.create_database()
            _in_thread(_migrate(url))
            return url
        return self._empty.pop()

    def give_back(self, url: str) -> None:
        self._emptier.empty(url, are_others_out=True)
        self._empty.append(url)


async def _migrate(url: str) -> None:
    async with App(url, settings=Settings()):
        pass


def _in_thread(work: Coroutine[Any, Any, None]) -> None:
    """On a loop of its own: the one of the test must stay the current one."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # for the caller
            failures.append(error)

    thread = threading.Thread(target=run, name="test-postgres")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


@pytest.fixture(scope="session")
def postgres_databases(postgres_server: PostgresServer, emptier: Emptier) -> PostgresDatabases:
    return PostgresDatabases(postgres_server, emptier)


def _new_database(kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    if kind in ("memory", WIRE):
        yield "sqlite:///:memory:"
    elif kind == "disk":
        folder: Path = request.getfixturevalue("tmp_path")
        yield f"sqlite:///{folder / 'windlass.db'}"
    else:
        databases: PostgresDatabases = request.getfixturevalue("postgres_databases")
        url = databases.take()
        yield url
        databases.give_back(url)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = filter(is_wanted, items)


# On a file stand conformance, crashes, processes, and whatever several apps share; here it is for the large size.
ON_DISK = ["disk"] if SCALE > 1 else []


@pytest.fixture(params=["memory", *ON_DISK, "postgres", WIRE, WIRE_POSTGRES])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of its own for one test; those of the wires are one in memory and PostgreSQL, behind a server."""
    yield from _new_database(request.param, request)


@pytest.fixture(params=["disk", "postgres"])
def shared_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database that several apps may open, and that outlives them."""
    yield from _new_database(request.param, request)


@pytest.fixture(params=["disk", "postgres"], scope="module")
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database of an older Windlass, for tests that leave it as it is."""
    if request.param == "disk":
        url = str(tmp_path_factory.mktemp("old") / "shop.db")
        make_older(url)
        yield url
        return
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    make_older(url)
    yield url
    server.drop_database(url)


@pytest.fixture
async def open_harness(
    url: str, clock: FakeClock, give_up: None, request: pytest.FixtureRequest
) -> AsyncIterator[OpenHarness]:
    """Open a harness with the options given; closed behind the test, once the logs have been checked."""
    async for opener in _harnesses(url, clock, is_wired=is_wired(request.node)):
        yield opener
    forget_wires()


@pytest.fixture
async def open_shared(shared_url: str, clock: FakeClock, give_up: None) -> AsyncIterator[OpenHarness]:
    """Open harnesses on one database and one clock, each as if it were a process of its own."""
    async for opener in _harnesses(shared_url, clock):
        yield opener


async def _harnesses(url: str, clock: FakeClock, *, is_wired: bool = False) -> AsyncIterator[OpenHarness]:
    opened: list[Harness] = []
    async with AsyncExitStack() as stack:

        async def open(**options: Any) -> Harness:
            harness = Harness(url, **({"clock": clock} | options))
            if is_wired:
                lead_through_wire(harness)
            opened.append(await stack.enter_async_context(harness))
            return harness

        yield open
        for harness in opened:
            if not harness.app._opening.is_closed:
                await check_all_logs(harness)
                break
        await _close(stack, clock)


async def _close(stack: AsyncExitStack, clock: FakeClock) -> None:
    loop = asyncio.get_running_loop()
    closing, deadline = asyncio.ensure_future(stack.aclose()), loop.time() + 3 * PATIENCE
    while not closing.done():  # a test that failed may have left a body behind, and the grace is fake time too
        clock.advance("1s")
        await asyncio.wait([closing], timeout=0.01)
        if loop.time() > deadline:
            at_work = "\n".join(str(task) for task in asyncio.all_tasks() if task is not asyncio.current_task())
            closing.cancel("This harness did not close.")
            pytest.fail(f"The harness was not closed within {3 * PATIENCE:g} s. Still at work:\n{at_work}")
    await closing


@pytest.fixture
async def give_up() -> AsyncIterator[None]:
    """Cancel a test that waits for something that does not come: a result has no time limit of its own."""

    def cancel() -> None:
        for task in asyncio.all_tasks():
            if getattr(task.get_coro(), "__name__", "").startswith("test_"):
                task.cancel("This test made no progress.")

    timer = asyncio.get_running_loop().call_later(3 * PATIENCE, cancel)
    yield
    timer.cancel()


@pytest.fixture
async def harness(open_harness: OpenHarness) -> Harness:
    """An app with a worker beside it."""
    return await open_harness()


@pytest.fixture
async def idle_harness(open_harness: OpenHarness) -> Harness:
    """An app without a worker: the test starts and stops workers itself, or claims by hand."""
    return await open_harness(has_worker=False, settings=Settings(grace_for=0))  # type: ignore[arg-type]


async def check_all_logs(harness: Harness) -> None:
    """Every run's log is one path through the state machine, and ends where the run stands."""
    before: str | None = None
    while True:
        page = await harness.opened.runs.list_runs(ListRuns(namespace="default", before=before, limit=500))
        for run in page.runs:
            check_log(*await _run_and_log(harness, run.id))
        if page.next is None:
            return
        before = page.next


async def _run_and_log(harness: Harness, run_id: RunId) -> tuple[Run, tuple[LogEntry, ...]]:
    """Both as of one moment: the run may still be at work."""

    async def look(tx: Tx) -> tuple[Run, tuple[LogEntry, ...]]:
        run = await tx.runs.load("default", id=run_id)
        assert run is not None
        return run, tuple(await tx.log.of_subject("default", kind="run", id=run_id))

    return await harness.opened.engine.parts.store.read("run_and_log", look)


def check_log(run: Run, log: tuple[LogEntry, ...]) -> None:
    assert [entry.seq for entry in log] == sorted({entry.seq for entry in log})
    previous: str | None = None
    for entry in log:
        assert entry.from_status == previous, (run.id, log)
        step = (None if previous is None else RunStatus(previous), RunStatus(entry.to_status))
        assert step in TRANSITIONS, (run.id, step)
        previous = entry.to_status
    assert previous == run.status, (run.id, log)
    if run.status != "waiting":  # which has a time only if what it waits for has a deadline
        assert (run.available_at is None) == (run.status.is_terminal or run.status == "paused")


async def log_of(harness: Harness, run_id: str) -> tuple[LogEntry, ...]:
    return await harness.opened.runs.read_log("default", RunId(run_id))


async def path_of(harness: Harness, handle: Handle[Any]) -> list[str]:
    """The statuses a run went through."""
    return [entry.to_status for entry in await log_of(harness, handle.id)]


async def row_of(harness: Harness, handle: Handle[Any] | str) -> Run:
    run_id = handle if isinstance(handle, str) else handle.id
    return (await harness.opened.runs.get_run("default", RunId(run_id))).run


async def step_keys(harness: Harness, handle: Handle[Any]) -> list[str]:
    return [step.key for step in await harness.steps(handle)]


async def eventually(is_true: Callable[[], bool | Awaitable[bool]], *, what: str = "the condition") -> None:
    """Wait, with the clock standing still, until something outside our control has happened."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        found = is_true()
        if found if isinstance(found, bool) else await found:
            await at_rest()
            return
        assert loop.time() < deadline, f"{what} did not come true within {PATIENCE:g} s"
        await asyncio.sleep(0.001)


def waits_for_work(harness: Harness, queue: str = "default") -> bool:
    """Whether a worker has looked, found nothing, and waits to be told."""
    subscribers = harness.opened.engine.parts.hub._subscribers.get(queue_topic("default", queue), ())
    return any(subscription.is_waiting for subscription in subscribers)


async def until_path(harness: Harness, handle: Handle[Any], status: str, *, times: int = 1) -> None:
    """Wait until a run has come into a status that many times, and stands there."""

    async def is_there() -> bool:
        path = await path_of(harness, handle)
        return path[-1] == status and path.count(status) >= times

    await eventually(is_there, what=f"{handle.id} is {status} for the {times}. time")


async def until_recorded(harness: Harness, handle: Handle[Any], key: str) -> None:
    """Wait until a step is on record, in whatever state."""

    async def is_recorded() -> bool:
        return key in await step_keys(harness, handle)

    await eventually(is_recorded, what=f"step {key} is on record")


_BEGUN: set[asyncio.Future[Any]] = set()


def begin(asked: Awaitable[Any]) -> asyncio.Future[Any]:
    """Begin something in a task of its own, which nobody awaits."""
    task = asyncio.ensure_future(asked)
    _BEGUN.add(task)
    task.add_done_callback(_BEGUN.discard)
    return task


class AnswerLost(NoHooks):
    """Loses the answer to one transaction, after it was committed."""

    def __init__(self, transaction: str) -> None:
        self.transaction, self.is_armed = transaction, False

    def after_commit(self, name: str) -> None:
        if self.is_armed and name == self.transaction:
            self.is_armed = False
            raise Unavailable("The answer was lost.")


class Gate:
    """A place where bodies stand still until the test lets them go on."""

    def __init__(self) -> None:
        self.entries = 0
        self.cancelled = 0
        self._open = asyncio.Event()
        self._news = asyncio.Event()

    async def wait(self) -> None:
        """Called by a body."""
        self.entries += 1
        self._news.set()
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            self._news.set()
            raise

    async def reached(self, times: int = 1) -> None:
        """Called by the test: until that many bodies have come here."""
        await self._until(lambda: self.entries >= times)
        await at_rest()

    async def left(self, times: int = 1) -> None:
        """Called by the test: until that many bodies have been stopped here."""
        await self._until(lambda: self.cancelled >= times)
        await at_rest()

    def open(self) -> None:
        self._open.set()

    async def _until(self, is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_true():
                self._news.clear()
                await self._news.wait()


class ByHand:
    """A worker that does only what the test tells it to."""

    def __init__(self, harness: Harness, name: str = "A", *, namespace: str = "default") -> None:
        self.harness, self.id, self.namespace = harness, WorkerId("wrk_" + name.rjust(26, "0")), namespace
        self.work = harness.opened.work
        self.polls = 0

    async def claim(
        self, *, limit: int = 10, queues: tuple[str, ...] = ("default",), **options: Any
    ) -> list[ClaimedRun]:
        self.polls += 1
        if self.polls == 1:
            await self._register()
        names = options.pop("names", ("order",))
        command = ClaimRuns(
            namespace=self.namespace,
            worker=self.id,
            poll=self.polls,
            served=tuple(Served(queue, name) for queue in queues for name in names),
            limit=limit,
            visibility_for=options.pop("visibility_for", FOR),
            wait_for=Duration(0),
            **options,
        )
        return await self.work.claim_runs(command)

    async def _register(self) -> None:
        """A server knows the workers it gives runs to."""
        if isinstance(self.harness.opened, Wired):
            served = (Served("default", "order"),)
            await self.work.register_worker(
                RegisterWorker(namespace=self.namespace, id=self.id, host="here", pid=1, served=served, slots=10)
            )

    async def claim_one(self, **options: Any) -> ClaimedRun:
        (run,) = await self.claim(**options)
        return run

    def completion(self, run: ClaimedRun, key: str = "pack", **changes: Any) -> CompleteStep:
        command = CompleteStep(
            namespace="default",
            run_id=run.run_id,
            token=run.token,
            key=key,
            kind=StepKind.STEP,
            attempt=1,
            order=0,
            failures=0,
            input_hash=HASH,
            output=b"1",
            ran_for=Duration(0),
        )
        return msgspec.structs.replace(command, **changes)

    def failing(self, run: ClaimedRun, key: str = "pack") -> FailStep:
        return FailStep(
            namespace="default",
            run_id=run.run_id,
            token=run.token,
            key=key,
            kind=StepKind.STEP,
            attempt=1,
            order=0,
            failures=0,
            input_hash=HASH,
            failure=BROKEN,
            retry=RetryPolicy(initial_for=MINUTE, factor=1, max_for=MINUTE),
            ran_for=Duration(0),
        )

    def waiting(self, run: ClaimedRun, due_for: Duration = MINUTE) -> WaitStep:
        return WaitStep(
            namespace="default",
            run_id=run.run_id,
            token=run.token,
            key="sleep",
            kind=StepKind.SLEEP,
            input_hash=HASH,
            due_for=due_for,
        )

    def suspension(self, run: ClaimedRun, **changes: Any) -> Suspend:
        return Suspend(namespace="default", run_id=run.run_id, token=run.token, **changes)

    def claim_of(self, run: ClaimedRun, visibility_for: Duration = FOR) -> Claim:
        return Claim(namespace="default", run_id=run.run_id, token=run.token, visibility_for=visibility_for)

    def finish(self, run: ClaimedRun, status: RunStatus = RunStatus.COMPLETED) -> FinishRun:
        failure = BROKEN if status is RunStatus.FAILED else None
        output = None if failure else b"1"
        return FinishRun(
            namespace="default", run_id=run.run_id, token=run.token, status=status, output=output, failure=failure
        )


@pytest.fixture
def gate() -> Gate:
    return Gate()
