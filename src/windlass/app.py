"""What users hold: an App declares workflows, starts runs, and executes them.

    declare   workflow · step · event · schedule · graph   define/declarations.py: synchronous, writes nothing
              effect · topic · pipeline · on
    ask       start · start_many · handle · pause · resume client/asks.py: opens the database at the first await, once
              publish · publish_many · when
              schedules · pipelines · items · signals      client/schedules.py, client/pipelines.py, …
              sync: the same, blocking                     client/sync.py
    execute   run (to the end) · serve (for ever) · worker (inside a loop you own) · lifespan (of a web app)

Deciding what may happen is not done here: declarations go to `define`, questions to `client`, execution to `worker`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple, Unpack, overload

from windlass import process
from windlass.client.asks import Asks
from windlass.client.client import Client
from windlass.client.entering import enter_pipelines, enter_schedules, enter_signals
from windlass.client.graphs import GraphResult
from windlass.client.handle import Door
from windlass.client.items import Items
from windlass.client.opening import Opening
from windlass.client.pipelines import Pipelines
from windlass.client.publishing import Publishing
from windlass.client.schedules import Schedules
from windlass.client.services import Services
from windlass.client.signals import Signals
from windlass.client.sync import Sync
from windlass.codec import Codec, Hook
from windlass.define.context import Context
from windlass.define.declarations import Declarations, Declaring
from windlass.define.graph import Graph
from windlass.define.options import START_OPTIONS, StartOptions, refuse_unknown_options, shorten
from windlass.define.registry import Registry
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import NotAllowed
from windlass.model.failure import FailureKind
from windlass.rules.limits import check_limit, check_namespace, check_queues
from windlass.rules.workers import heartbeat_every
from windlass.runtime import Clock, Ids, Rng, SystemClock, system_rng
from windlass.settings import Settings, load_settings, parse_url, resolve_url
from windlass.telemetry.switch import MetricsRegistry, Telemetry

if TYPE_CHECKING:
    from windlass.assembly import Opened
    from windlass.store.base import Hooks
    from windlass.worker.worker import Worker

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

# Told once a worker is there: which queues it serves, which it leaves out because its key allows no more, its slots.
Say: TypeAlias = Callable[[Sequence[str], Sequence[str], int], None]

SLOTS = 100
MAX_SLOTS = 10_000

log = logging.getLogger("windlass")


class App(Declarations, Asks):
    """Durable workflows over one database: `App()` uses ./windlass.db, `App("postgresql://…")` a server.

    The database is chosen by the argument, else WINDLASS_URL, else windlass.toml, else ./windlass.db. `classify` names
    the failure kind of an exception, or answers None to leave it to the defaults. `metrics` is a registry of
    prometheus-client to count into.
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        namespace: str = "default",
        classify: Callable[[BaseException], FailureKind | str | None] | None = None,
        codec: Codec | Hook | None = None,
        settings: Settings | None = None,
        metrics: MetricsRegistry | None = None,
        _clock: Clock | None = None,
        _rng: Rng | None = None,
        _hooks: Hooks | None = None,
    ) -> None:
        self._settings = load_settings() if settings is None else settings
        self._url = resolve_url(os.fspath(url) if url is not None else None, self._settings)
        self._namespace = check_namespace(namespace)
        self._classify = classify
        self._codec = codec if isinstance(codec, Codec) else Codec(hook=codec)
        self._clock = _clock or SystemClock()
        self._rng = _rng or system_rng()
        self._hooks = _hooks
        self._telemetry = Telemetry(
            metrics_port=self._settings.metrics_port,
            metrics_host=self._settings.metrics_host,
            traces=self._settings.traces,
            registry=metrics,
        )
        self._registry = Registry()
        self._program = _program(sys._getframe(1).f_globals)
        self._services = Services(lambda: self._opening.get(), look=lambda: self._opening.look())
        self._make_askers()
        self._opening: Opening[Opened] = Opening(
            self._open_engine, lambda opened: opened.close(), check=self._refuse_to_migrate
        )
        self._workers: list[Worker] = []
        self._closing: asyncio.Task[None] | None = None
        self._sync = Sync(self, opens=self, open=self._opening.enter)

    # Execute

    @overload
    def run(self, graph: Graph, /, *args: Any, **options: Unpack[StartOptions]) -> GraphResult: ...

    @overload
    def run(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[StartOptions],
    ) -> R: ...

    def run(self, fn: Callable[..., Any], /, *args: *Ts, **options: Unpack[StartOptions]) -> Any:
        """Start a run, execute it here, and return its result: for scripts. Blocks; raises RunFailed.

        With `key=` a program that was killed goes on where it stood when it is run again.
        """
        definition = self._registry.find_workflow(fn, verb="app.run")
        refuse_unknown_options(options, verb="run", function=fn, args=args, allowed=START_OPTIONS)
        self._opening.check_free("app.run()", f"handle = await app.start({_arguments(definition, args, options)})")
        try:
            return asyncio.run(self._run(definition, args, options))
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # where the loop stood when it heard of it helps nobody

    def serve(self, *, queues: Iterable[str] | None = None, slots: int = SLOTS) -> None:
        """Execute runs until SIGINT or SIGTERM, then let running bodies end. Blocks.

        Without `queues`, in every queue that something declared here is in, and in "default". A second Ctrl-C exits at
        once, with code 130. It also returns once its worker was asked to leave, and has left.
        """
        self._serve_saying(_say_serving, queues=queues, slots=slots)

    def _serve_saying(self, say: Say, *, queues: Iterable[str] | None, slots: int) -> None:
        self._opening.check_free("app.serve()", '"async with app.worker():"')
        if threading.current_thread() is not threading.main_thread():
            raise NotAllowed(
                'app.serve() stops on signals, which only the main thread gets. Use: "async with app.worker():".'
            )
        for module in ("windlass.embedded", "windlass.worker.worker"):
            import_module(module)  # now, so that it is loaded when the collector is told what stays
        process.run(self._serve(queues, slots, say=say))

    @asynccontextmanager
    async def worker(self, *, queues: Iterable[str] | None = None, slots: int = SLOTS) -> AsyncIterator[None]:
        """Execute runs in this process while the block lasts: `async with app.worker(): …`.

        Without `queues`, in every queue that something declared here is in by now, or will be, and in "default".
        """
        async with self._telemetry.serving(), self._working(queues, slots, say=_say_serving):
            yield

    @asynccontextmanager
    async def _working(
        self,
        queues: Iterable[str] | None,
        slots: int = SLOTS,
        *,
        say: Say | None = None,
        is_script: bool = False,
    ) -> AsyncIterator[None]:
        """A worker, as part of a program that keeps working; or as the means of a script, which changes nothing else.

        A script enters no schedules and fires none: an old copy of it must not change those of a live program.
        """
        from windlass.worker.host import Doors, Durations
        from windlass.worker.worker import Worker

        given = None if queues is None else check_queues(queues)
        check_limit(slots, what="slots", low=1, high=MAX_SLOTS)
        if not self._registry.workflows and not self._registry.handlers.pipelines:
            log.warning(
                "This worker has nothing to run: no workflow is declared. Import the modules that declare them."
            )
        opened = await self._opening.get()
        worker = Worker(
            Doors(opened.work, self._telemetry.observer()),
            registry=self._registry,
            codec=self._codec,
            clock=self._clock,
            ids=opened.ids,
            namespace=self._namespace,
            queues=given,
            slots=slots,
            durations=Durations(
                visibility_for=self._settings.visibility_for,
                poll_for=self._settings.poll_for,
                probe_for=self._settings.probe_for,
                grace_for=self._settings.grace_for,
                heartbeat_for=heartbeat_every(self._settings.stale_for),
                longest_step_for=self._settings.longest_step_for,
            ),
            classify=self._classify,
        )
        async with nullcontext() if is_script else self._looked_after(opened):
            await worker.start()
            self._workers.append(worker)
            try:
                if say is not None:
                    say(worker.lanes.queues, worker.lanes.left_out, slots)
                yield
            finally:
                await self._stop(worker)
            if worker.drain.error is not None:  # and nothing else has ended the block
                raise worker.drain.error

    @asynccontextmanager
    async def lifespan(
        self, web: object = None, /, *, queues: Iterable[str] | None = None, slots: int = SLOTS
    ) -> AsyncIterator[None]:
        """Execute runs for the time of a web app: `Starlette(lifespan=app.lifespan)`, `FastAPI(lifespan=app.lifespan)`.

        Closes the database behind it, unless it was open before; the App may then be opened again.
        """
        was_open = self._opening.is_open
        try:
            async with self.worker(queues=queues, slots=slots):
                yield
        finally:
            if not was_open:
                await self._release()

    # Open and close

    @property
    def sync(self) -> Sync:
        """The same questions for code that does not await: `app.sync.start(order, "7").result()`."""
        return self._sync

    async def __aenter__(self) -> App:
        await self._opening.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop what runs here and close the database. The App cannot be used afterwards; closing twice is harmless."""
        if self._closing is None:
            self._opening.check_owner()
            self._opening.is_closed = True
            # A task of its own and shielded: whoever closes may be cancelled, and the rest is closed all the same.
            self._closing = asyncio.get_running_loop().create_task(self._release(), context=contextvars.Context())
        await asyncio.shield(self._closing)

    # Behind them

    def _make_askers(self) -> None:
        """What asks for users, about what is declared by now."""
        door, services = self._door(), self._services
        self._client, self._schedules = Client(door), Schedules(door, services.schedules)
        self._publishing = Publishing(
            door, services.pipelines, control=services.pipeline_control, program=self._program
        )
        self._pipelines = Pipelines(door, service=services.pipelines, control=services.pipeline_control)
        self._items, self._signals = Items(door, services.items), Signals(door, services.signals)

    @asynccontextmanager
    async def _looked_after(self, opened: Opened) -> AsyncIterator[None]:
        """Enter what the code declares, now and later, and look after the database while the block lasts."""
        await self._declare(opened)
        async with Declaring(self._registry, lambda: self._declare(opened)), opened.coordinated():
            yield

    async def _declare(self, opened: Opened) -> None:
        """Enter what the code says by now: its schedules, how long runs are kept, its pipelines and signals."""
        namespace, program = self._namespace, self._program
        await enter_schedules(opened.schedules, self._registry, namespace=namespace, program=program, codec=self._codec)
        await enter_pipelines(opened.pipeline_control, self._registry, namespace=namespace, program=program)
        await enter_signals(opened.signals, self._registry, namespace=namespace, program=program)

    async def _refuse_to_migrate(self) -> None:
        from windlass.assembly import refuse_to_migrate

        await refuse_to_migrate(self._url)  # one that does not exist yet is created: nothing in it can change

    async def _open_engine(self) -> Opened:
        from windlass.assembly import open_engine

        opened = await open_engine(
            self._url,
            self._settings,
            clock=self._clock,
            rng=self._rng,
            hooks=self._hooks,
            observer=self._telemetry.observer(),
        )
        log.info("Using %s", _shown(self._url))
        return opened

    async def _release(self) -> None:
        """Stop the workers, close the engine, and forget the loop it belonged to."""
        try:
            await asyncio.gather(*map(self._stop, tuple(self._workers)))  # together, so that there is one grace
        finally:
            await self._opening.release()

    async def _stop(self, worker: Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            await worker.stop(grace_for=self._settings.grace_for)

    async def _run(self, definition: WorkflowDefinition, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        from windlass.worker.interrupts import ended_in_order

        queues = {"default", definition.queue, options.get("queue") or definition.queue}
        if definition.plan is not None:  # its jobs have queues of their own
            queues |= {item.queue for item in self._registry.workflows}
        with ended_in_order():
            try:
                async with self._working(queues, is_script=True):
                    handle = await self._client.start(definition, args, options)
                    try:
                        return await handle.result()
                    except asyncio.CancelledError:
                        told = "Interrupted: %s (%r) is kept and goes on when it is run again."
                        log.warning(told, handle.id, definition.name)
                        raise
            finally:
                await self._release()

    async def _serve(self, queues: Iterable[str] | None, slots: int, *, say: Say) -> None:
        try:
            with process.stop_on_signal("Stopping: running bodies may end.") as stopped:
                async with self._telemetry.serving(), self._working(queues, slots, say=say):
                    await process.first_of(stopped, self._workers[-1].drain.is_over)
        finally:
            await self._release()

    def _door(self) -> Door:
        return Door(
            runs=self._services.runs,
            namespace=self._namespace,
            codec=self._codec,
            registry=self._registry,
            clock=self._clock,
            control=self._services.control,
            to_change=self._services.to_change,
            graphs=self._services.graphs,
            new_id=Ids(self._clock, self._rng).message,
            worker_command=self._worker_command,
        )

    def _worker_command(self, workflow: str) -> str:
        """The command that would serve this app, as far as it can be told: the workflow's module, our name in it."""
        definition = self._registry.workflow_or_none(workflow)
        module = sys.modules.get("__main__" if definition is None else definition.function.__module__)
        name = next((name for name, value in vars(module).items() if value is self), "app") if module else "app"
        path = getattr(module, "__file__", None)
        where = Path(path).stem if path and getattr(module, "__name__", "") == "__main__" else None
        return f"windlass worker {where or getattr(module, '__name__', 'module')}:{name}"


def _program(module: Mapping[str, Any]) -> str:
    """By what name the code that makes an App is known, whether it is run or imported."""
    name = str(module.get("__name__", "__main__"))
    path = module.get("__file__")
    return Path(path).stem if name == "__main__" and path else name


def _shown(url: str) -> str:
    """A database as the log may name it: the whole path, or the URL without its password."""
    location = parse_url(url)
    is_file = location.kind == "sqlite" and location.target != ":memory:"
    return str(Path(location.target).absolute()) if is_file else location.shown


def _say_serving(queues: Sequence[str], left_out: Sequence[str], slots: int) -> None:
    log.info("Serving queues %s, %s slots", ", ".join(queues), slots)


def _arguments(definition: WorkflowDefinition, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    name = definition.function.__name__
    given = [f"{option}={shorten(value)}" for option, value in options.items()]
    return ", ".join([name, *map(shorten, args), *given])
