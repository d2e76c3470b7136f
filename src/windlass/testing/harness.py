"""Try a workflow without waiting: an app on a clock that the test moves, with its worker beside it.

    async with Harness(app=shop.app) as harness:
        handle = await harness.start(shop.order, "7")
        await harness.advance("2d")
        assert await handle.result() == "order 7 done"

The database is one of its own, in memory unless a URL is given; the program's is not touched. Without `app` the harness
brings an empty one, and workflows are declared on `harness.app`. Tests that do not await have `harness.sync`.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, TypeVarTuple

from msgspec.structs import replace

from windlass.app import App
from windlass.client.handle import Handle
from windlass.define.context import Context
from windlass.embedded import Embedded, in_process
from windlass.engine.death import _bury
from windlass.errors import NotAllowed
from windlass.model.run import RunId
from windlass.model.step import Step
from windlass.model.worker import LockKind
from windlass.runtime import Ids, seeded_rng
from windlass.settings import Settings
from windlass.store.base import Hooks
from windlass.testing.clock import FakeClock, microseconds
from windlass.testing.errors import LOOK_EVERY, PATIENCE, CrashNeverCame, Stuck
from windlass.testing.home import Home
from windlass.testing.lending import Doors, Lending, give_registry, open_here, settle
from windlass.testing.mortal import Fate, MortalWork, PlannedCrash
from windlass.testing.passage import pass_grace, pass_time, pass_until, pass_until_end
from windlass.testing.rest import Rest
from windlass.testing.stand_ins import BorrowedRegistry, StandIns
from windlass.testing.sync import SyncHarness

if TYPE_CHECKING:
    from windlass.testing.crash_everywhere import CrashReport, Script

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Workflow = Callable[[Context, *Ts], Coroutine[Any, Any, R]]

MEMORY = "sqlite:///:memory:"
_NUMBERS = itertools.count()  # two harnesses on one database must not draw the same ids


def _at_home(
    method: Callable[Concatenate[Harness, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Harness, P], Coroutine[Any, Any, T]]:
    """A method of a harness that may be awaited on any loop. It is carried out on the one where the harness lives."""

    @functools.wraps(method)
    async def lead(harness: Harness, /, *args: P.args, **options: P.kwargs) -> T:
        return await harness._home.lead(lambda: method(harness, *args, **options))

    return lead


class Harness:
    """An app with a fake clock and one worker. `url` is any database; the default is SQLite in memory.

    It opens at the first call, or with `async with`, which also closes it. `sync` has the same for blocking code.
    """

    def __init__(
        self,
        url: str = MEMORY,
        *,
        app: App | None = None,
        clock: FakeClock | None = None,
        slots: int = 100,
        queues: tuple[str, ...] | None = None,
        settings: Settings | None = None,
        hooks: Hooks | None = None,
        has_worker: bool = True,
        **options: Any,
    ) -> None:
        self.clock = clock or FakeClock()
        self._url, self._settings, self._hooks = url, settings, hooks
        self._slots, self._queues, self._has_worker = slots, queues or ("default",), has_worker
        self._serves_all = queues is None
        self._seed = f"harness {next(_NUMBERS)}"
        self._cast, self._fate = StandIns(), Fate()
        self._home, self._rest = Home(self.clock), Rest(self)
        self._home.note()
        self._is_fixture = False  # then the app is given back behind the fixtures that use it
        self._theirs: App | None = None  # the program's own, if it has one
        self._lending: Lending | None = None  # of that one
        self._door: MortalWork | None = None
        self._employment: AbstractAsyncContextManager[None] | None = None
        self._takeovers: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self.app: App
        if app is None:
            self.app = self._make_app(settings or Settings(), **options)
            give_registry(self.app, BorrowedRegistry(self.app._registry, self._cast))
        elif options:
            raise NotAllowed(f"The app of the program brings its own {', '.join(sorted(options))}.")
        else:
            self._borrow(app)

    def use(self, app: App, /) -> None:
        """Run what this app of the program declares, here: with this clock, and not on the program's database.

        From here on the app itself leads to the harness, whatever of it is called first and from wherever, until the
        harness is closed. Raises NotAllowed once it is open, and for a second app.
        """
        if self._opening is not None:
            raise NotAllowed("use(app) comes first: this harness is open, and runs what another app declares.")
        if self._theirs is not None and self._theirs is not app:
            raise NotAllowed("This harness is for another app already. Make one for each: Harness(app=…).")
        self._home.note()
        if self._theirs is None:
            self._borrow(app)
        self._lend()

    def replace(self, function: Callable[..., Any], fake: Callable[..., Any]) -> None:
        """Let `fake` be called wherever a workflow calls this step, under its name and with its options.

        An effect may be replaced as well, and its `reconcile=`; and a workflow, by an `async def` of ctx and the same
        arguments. Only here, and only for as long as this harness is open.
        """
        is_workflow = any(item.function is function for item in self.app._registry.workflows)
        self._cast.add(function, fake, is_workflow=is_workflow)

    @property
    def sync(self) -> SyncHarness:
        """The same for code that does not await: `harness.sync.run(order, "7")`."""
        return SyncHarness(self)

    async def __aenter__(self) -> Harness:
        self._home.adopt()
        await self._home.lead(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
        if kind is None:
            self._check_crashes()

    async def aclose(self) -> None:
        """Stop the worker and close the database. Nothing of the program is replaced any more."""
        try:
            if self._opening is not None and not self._home.is_closed:
                await self._home.lead(self._close)
        finally:
            self._home.end()
            if not self._is_fixture:
                self._give_app_back()

    @property
    def opened(self) -> Embedded:
        """The open engine, for tests that look behind the door."""
        return in_process(self.app._opening.opened())

    async def start(self, fn: Workflow[*Ts, R], /, *args: *Ts, **options: Any) -> Handle[R]:
        """Store a run, as `app.start`. `idle` waits until it has gone as far as it can."""
        await self._home.lead(self._open)
        return await self.app.start(fn, *args, **options)

    async def run(self, fn: Workflow[*Ts, R], /, *args: *Ts, **options: Any) -> R:
        """Start a run and take it to its end, skipping every sleep and back-off. Raises what `result` raises.

        Stuck: it waits for something that only the test can give; use `start` then, and `until`.
        """
        result: R = await self._finish(await self.start(fn, *args, **options))
        return result

    @_at_home
    async def advance(self, duration: str | int | timedelta) -> None:
        """Let time pass and everything that became due happen. Where there are schedules, one thing after the other."""
        await self._open()
        await pass_time(self, microseconds(duration))

    @_at_home
    async def idle(self) -> None:
        """Wait until nothing is at work and nothing is due."""
        await self._open()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while busy := await self._busy():
            if loop.time() > deadline:
                raise Stuck(f"Still at work after {PATIENCE:g} s: {busy}.")
            await asyncio.sleep(LOOK_EVERY)

    @_at_home
    async def until(self, handle: Handle[Any], status: str, *, within: str | timedelta | None = None) -> None:
        """Wait until the run has this status: with the clock standing still, or `within` so much time of the clock.

        Time passes from one due run to the next, so that none of it is skipped. Raises Stuck.
        """
        await self._open()
        if within is not None:
            await pass_until(self, handle, status, within=within)
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while (found := await handle.status()) != status:
            if loop.time() > deadline:
                raise Stuck(f"Run {handle.id} is {found} after {PATIENCE:g} s, not {status}.")
            await asyncio.sleep(LOOK_EVERY)

    async def steps(self, handle: Handle[Any]) -> tuple[Step, ...]:
        """Every attempt of every step of a run."""
        if handle._run_id is None:  # known by its key
            await handle.status()
        runs = await self.app._services.runs()
        return await runs.list_steps(self.app._namespace, RunId(handle.id))

    def crash(self, *, before: str | None = None, after: str | None = None) -> None:
        """Let the worker die, as by `kill -9`, and another one take over; without a step, now.

        `after="pack"`: right after the result of that step is recorded. `before="pack"`: its body has run, and nothing
        of it is recorded. Both happen once, the next time the run comes there; a harness that is left without it raises
        CrashNeverCame. Steps are named by key, as in `steps`; a sleep or another wait is recorded when it begins.
        """
        if before is not None and after is not None:
            raise NotAllowed("A worker dies once: crash(before=…) or crash(after=…), or call it twice.")
        if before is None and after is None:
            if self._door is None:
                raise NotAllowed("There is no worker to crash: start a run first, or say crash(after='…').")
            self._home.do(self._door.die)
            return
        self._fate.plans.append(PlannedCrash(before or after or "", is_after=after is not None))

    async def crash_everywhere(
        self,
        fn: Workflow[*Ts, R],
        /,
        *args: *Ts,
        script: Script | None = None,
        check: Script | None = None,
        **options: Any,
    ) -> CrashReport:
        """Run the workflow once undisturbed, then once for every place where its worker may die, and compare.

        Each time on a database of its own, in memory. `script` is awaited with (harness, handle) after each start, to
        drive the run: send events, approve, let time pass; then the run is taken to its end. `check` is awaited with
        the same at the end, to look at what the test's fakes have seen.

        Raises NotCrashSafe, which names the place, if result, steps or number of runs differ.
        """
        from windlass.testing.crash_everywhere import crash_everywhere

        return await crash_everywhere(self._copy, fn, args, options, script=script, check=check)

    # Behind them

    def _make_app(self, settings: Settings, **options: Any) -> App:
        rng = seeded_rng(self._seed)
        settings = replace(settings, metrics_port=None)  # the program's own may be there already, or another test
        app = App(self._url, settings=settings, _clock=self.clock, _rng=rng, _hooks=self._hooks, **options)
        return settle(app, home=self._home, reach=self._reach)

    def _borrow(self, app: App) -> None:
        self._theirs = app
        self.app = self._make_app(
            self._settings or app._settings, namespace=app._namespace, classify=app._classify, codec=app._codec
        )
        give_registry(self.app, BorrowedRegistry(app._registry, self._cast))

    def _lend(self) -> None:
        if self._theirs is not None and self._lending is None:
            self._lending = Lending(self._theirs, self.app, home=self._home, reach=self._reach, finish=self._finish)

    def _give_app_back(self) -> None:
        if self._lending is not None:
            self._lending.end()

    def _copy(self, fate: Fate) -> Harness:
        """An empty harness for the same program and the same fakes, which draws the same ids each time."""
        twin = Harness(slots=self._slots, queues=None if self._serves_all else self._queues, settings=self._settings)
        twin._seed, twin._fate, twin._cast = "crash everywhere", fate, self._cast.counting()
        twin.use(self._theirs or self.app)
        return twin

    async def _open(self) -> None:
        if self._opening is None:
            # A task of its own and an empty context: two first calls open once, and a worker belongs to none of them.
            self._opening = asyncio.get_running_loop().create_task(self._begin(), context=contextvars.Context())
        await asyncio.shield(self._opening)

    async def _begin(self) -> None:
        opened = in_process(await open_here(self.app))
        # Workers that come and go must not change the ids of runs.
        opened.ids = Ids(self.clock, seeded_rng(f"{self._seed}: workers"))
        self._lend()
        if self._has_worker:
            await self._hire()

    async def _reach(self) -> Any:
        """What an app may ask, wherever the caller is: this opens the harness."""
        opened = await self._home.ask(self._opened)
        return opened if self._home.is_here else Doors(opened, self._home)

    async def _opened(self) -> Any:
        await self._open()
        return await open_here(self.app)

    async def _close(self) -> None:
        if self._opening is None:
            return
        try:
            await asyncio.wait([self._opening])
            await self._settle_takeovers()
            employment, self._employment = self._employment, None
            if employment is not None:
                await pass_grace(self, employment.__aexit__(None, None, None))
        finally:
            await self.app.aclose()

    def _check_crashes(self) -> None:
        missing = [plan for plan in self._fate.plans if not plan.has_happened]
        if missing:
            known = sorted({key for point in self._fate.points for key in point.keys})
            raise CrashNeverCame(
                f"{missing[0]} never happened. Steps that were recorded: {', '.join(known) or 'none'}."
            )

    async def _hire(self) -> None:
        if self._serves_all and self._theirs is not None:
            self._queues = self.app._registry.queues
        opened, known = self.opened, set(self.app._workers)
        door = MortalWork(opened.work, self._fate, on_death=self._died)
        before, opened.work = opened.work, door
        try:
            self._employment = self.app.worker(queues=self._queues, slots=self._slots)
            await self._employment.__aenter__()
        finally:
            opened.work = before
        (door.worker,) = set(self.app._workers) - known
        self._door = door

    def _died(self, door: MortalWork) -> None:
        """Called at the moment of death: nothing of what this worker had in memory may go on."""
        for execution in door.worker.executions if door.worker is not None else ():
            execution.ending.lose()
        if door.worker is not None:
            door.worker.pipelines.lose()
        task = asyncio.get_running_loop().create_task(self._take_over(door), context=contextvars.Context())
        self._takeovers.add(task)
        task.add_done_callback(self._took_over)

    async def _take_over(self, dead: MortalWork) -> None:
        """Take the dead worker away, find it dead, as another worker would by its lock, and bring a new one."""
        assert dead.worker is not None and self._employment is not None
        await self._employment.__aexit__(None, None, None)
        parts = self.opened.engine.parts
        for worker in await self.opened.runs.list_workers(self.app._namespace):
            if worker.id == dead.worker.id:
                await _bury(parts, replace(worker, lock=LockKind.FILE))
        await parts.store.locks.release(dead.worker.id, for_good=True)
        await self._hire()

    async def _settle_takeovers(self) -> None:
        """Let nobody be half dead when time moves on. Raises why no worker could take over."""
        while self._takeovers:
            over, _ = await asyncio.wait(self._takeovers)
            for task in over:
                self._took_over(task)  # its callback may not have had a turn
                if task in self._takeovers:
                    task.result()

    def _took_over(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._takeovers.discard(task)

    @_at_home
    async def _finish(self, handle: Handle[Any]) -> Any:
        return await pass_until_end(self, handle)

    async def _busy(self) -> str:
        for task in tuple(self._takeovers):
            if task.done():
                task.result()  # raises why no worker could take over
            return "a worker that takes over"
        return await self._rest.busy()
