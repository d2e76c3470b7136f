"""What users hold: an App declares workflows, starts runs, and executes them.

    declare   workflow · step · event                  synchronous, writes nothing
    execute   run (to the end) · serve (for ever) · worker (inside a loop you own)
    ask       start · handle                     opens the database at the first await, once

Deciding what may happen is not done here: declarations go to `define`, questions to `client`, execution to `worker`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar, TypeVarTuple, Unpack, overload

from windlass.api.service import Control, Runs
from windlass.client.client import Client
from windlass.client.handle import Door, Handle
from windlass.client.opening import Opening
from windlass.codec import Codec, Hook
from windlass.define.context import Context
from windlass.define.event import Event
from windlass.define.options import START_OPTIONS, DurationLike, StartOptions, refuse_unknown_options, shorten
from windlass.define.registry import Registry
from windlass.define.retry import Retry
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.failure import FailureKind
from windlass.rules.limits import check_limit, check_namespace, check_queue
from windlass.runtime import Clock, Ids, Rng, SystemClock, system_rng
from windlass.settings import Settings, load_settings, parse_url, resolve_url

if TYPE_CHECKING:
    from windlass.assembly import Opened
    from windlass.store.base import Hooks
    from windlass.worker.worker import Worker

R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
StepFunction = TypeVar("StepFunction", bound=Callable[..., Any])
WorkflowFunction = TypeVar("WorkflowFunction", bound=Callable[..., Coroutine[Any, Any, Any]])

SLOTS = 100
MAX_SLOTS = 10_000

log = logging.getLogger("windlass")


class App:
    """Durable workflows over one database: `App()` uses ./windlass.db, `App("postgresql://…")` a server.

    The database is chosen by the argument, else WINDLASS_URL, else windlass.toml, else ./windlass.db. `classify` names
    the failure kind of an exception, or answers None to leave it to the defaults.
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        namespace: str = "default",
        classify: Callable[[BaseException], FailureKind | str | None] | None = None,
        codec: Codec | Hook | None = None,
        settings: Settings | None = None,
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
        self._registry = Registry()
        self._client = Client(self._door())
        self._opening: Opening[Opened] = Opening(self._open_engine, lambda opened: opened.close())
        self._workers: list[Worker] = []
        self._closing: asyncio.Task[None] | None = None

    # Declare

    @overload
    def workflow(self, function: WorkflowFunction, /) -> WorkflowFunction: ...

    @overload
    def workflow(
        self,
        *,
        name: str | None = None,
        version: str = "",
        queue: str = "default",
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
    ) -> Callable[[WorkflowFunction], WorkflowFunction]: ...

    def workflow(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        version: str = "",
        queue: str = "default",
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
    ) -> Any:
        """Declare an `async def` whose first parameter is `ctx`. Returns the function unchanged.

        Example: `@app.workflow`, or `@app.workflow(name="order", queue="shop")`. With `version=` its runs are executed
        by this version only.
        """
        options: dict[str, Any] = {"name": name, "version": version, "queue": queue, "retry": retry}
        options |= {"timeout": timeout, "visibility": visibility}
        return _decorate(self._registry.declare_workflow, function, options)

    @overload
    def step(self, function: StepFunction, /) -> StepFunction: ...

    @overload
    def step(
        self,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        raises: tuple[type[Exception], ...] = (),
    ) -> Callable[[StepFunction], StepFunction]: ...

    def step(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        raises: tuple[type[Exception], ...] = (),
    ) -> Any:
        """Give a function its options as a step; without this every function may be one. Returns it unchanged."""
        options = {"name": name, "retry": retry, "timeout": timeout, "visibility": visibility, "raises": raises}
        return _decorate(self._registry.declare_step, function, options)

    def event(self, name: str, type: type[T], /) -> Event[T]:
        """Declare something that can be sent to runs: `replied = app.event("replied", str)`."""
        return self._registry.declare_event(name, type)

    # Execute

    def run(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[StartOptions],
    ) -> R:
        """Start a run, execute it here, and return its result: for scripts. Blocks; raises RunFailed.

        With `key=` a program that was killed goes on where it stood when it is run again.
        """
        definition = self._registry.find_workflow(fn)
        given: Mapping[str, Any] = options
        refuse_unknown_options(given, verb="run", function=fn, args=args, allowed=START_OPTIONS)
        self._opening.check_free("app.run()", f"handle = await app.start({_arguments(fn, args, given)})")
        try:
            result: R = asyncio.run(self._run(definition, args, given))
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # where the loop stood when it heard of it helps nobody
        return result

    def serve(self, *, queues: Iterable[str] = ("default",), slots: int = SLOTS) -> None:
        """Execute runs until SIGINT or SIGTERM, then let running bodies end. Blocks.

        A second Ctrl-C exits at once, with code 130.
        """
        self._opening.check_free("app.serve()", '"async with app.worker():"')
        if threading.current_thread() is not threading.main_thread():
            raise NotAllowed(
                'app.serve() stops on signals, which only the main thread gets. Use: "async with app.worker():".'
            )
        asyncio.run(self._serve(queues, slots))

    @asynccontextmanager
    async def worker(self, *, queues: Iterable[str] = ("default",), slots: int = SLOTS) -> AsyncIterator[None]:
        """Execute runs in this process while the block lasts: `async with app.worker(): …`."""
        from windlass.worker.worker import Worker

        lanes = _check_queues(queues)
        check_limit(slots, what="slots", low=1, high=MAX_SLOTS)
        if not self._registry.workflows:
            log.warning(
                "This worker has nothing to run: no workflow is declared. Import the modules that declare them."
            )
        opened = await self._opening.get()
        worker = Worker(
            opened.work,
            registry=self._registry,
            codec=self._codec,
            clock=self._clock,
            ids=opened.ids,
            namespace=self._namespace,
            queues=lanes,
            slots=slots,
            visibility_for=self._settings.visibility_for,
            poll_for=self._settings.poll_for,
            probe_for=self._settings.probe_for,
            classify=self._classify,
        )
        await worker.start()
        self._workers.append(worker)
        try:
            yield
        finally:
            await self._stop(worker)

    # Ask

    async def start(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[StartOptions],
    ) -> Handle[R]:
        """Store a run and return at once. It is executed by whoever serves its queue.

        The same `key` with the same arguments answers with the same run. Raises InvalidInput before anything is stored.
        Example: `handle = await app.start(order, "7", key="order-7", delay="10m")`.
        """
        handle: Handle[R] = await self._client.start(self._registry.find_workflow(fn), args, options)
        return handle

    @overload
    def handle(self, fn: Callable[Concatenate[Context, ...], Coroutine[Any, Any, R]], /, *, key: str) -> Handle[R]: ...

    @overload
    def handle(self, run_id: str, /) -> Handle[Any]: ...

    def handle(self, wanted: Any, /, *, key: str | None = None) -> Handle[Any]:
        """The handle of a run started before: by its id, or by workflow and key. Asks nothing yet."""
        if isinstance(wanted, str) and key is None:
            return self._client.handle(wanted)
        if isinstance(wanted, str) or key is None:
            raise InvalidInput(
                "handle() takes a run id, or a workflow and its key: app.handle(order, key='order-7').",
                reason="invalid_option",
                path="key",
            )
        return self._client.handle_of_key(self._registry.find_workflow(wanted), key)

    async def __aenter__(self) -> App:
        await self._opening.get()
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

    async def _runs(self) -> Runs:
        opened = await self._opening.get()
        return opened.runs

    async def _control(self) -> Control:
        opened = await self._opening.get()
        return opened.control

    async def _open_engine(self) -> Opened:
        from windlass.assembly import open_engine

        opened = await open_engine(self._url, self._settings, clock=self._clock, rng=self._rng, hooks=self._hooks)
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
        with ended_in_order():
            try:
                async with self.worker(queues=queues):
                    handle = await self._client.start(definition, args, options)
                    try:
                        return await handle.result()
                    except asyncio.CancelledError:
                        told = "Interrupted: %s (%r) is kept and goes on when it is run again."
                        log.warning(told, handle.id, definition.name)
                        raise
            finally:
                await self._release()

    async def _serve(self, queues: Iterable[str], slots: int) -> None:
        try:
            with _stop_on_signal() as stopped:
                async with self.worker(queues=queues, slots=slots):
                    await stopped.wait()
        finally:
            await self._release()

    def _door(self) -> Door:
        return Door(
            runs=self._runs,
            namespace=self._namespace,
            codec=self._codec,
            registry=self._registry,
            clock=self._clock,
            control=self._control,
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


def _decorate(declare: Callable[..., object], function: Any, options: Mapping[str, Any]) -> Any:
    """Declare now, or answer with a decorator. The caller's locals help to read annotations of nested functions."""
    if function is not None:
        declare(function, local=sys._getframe(2).f_locals, **options)
        return function

    def decorator(function: Any) -> Any:
        declare(function, local=sys._getframe(1).f_locals, **options)
        return function

    return decorator


def _shown(url: str) -> str:
    """A database as the log may name it: the whole path, or the URL without its password."""
    location = parse_url(url)
    is_file = location.kind == "sqlite" and location.target != ":memory:"
    return str(Path(location.target).absolute()) if is_file else location.shown


def _check_queues(queues: Iterable[str]) -> tuple[str, ...]:
    if isinstance(queues, str):
        raise InvalidInput(
            f"queues takes a list of names: queues=[{queues!r}].", reason="invalid_option", path="queues"
        )
    names = tuple(sorted({check_queue(queue) for queue in queues}))
    if not names:
        raise InvalidInput("queues is empty, so this worker would do nothing.", reason="invalid_option", path="queues")
    return names


def _arguments(fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    given = [f"{option}={shorten(value)}" for option, value in options.items()]
    return ", ".join([name, *map(shorten, args), *given])


@contextmanager
def _stop_on_signal() -> Iterator[asyncio.Event]:
    """An event that SIGINT or SIGTERM sets. A second one exits at once: 130 for Ctrl-C."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop(number: int) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        log.warning("Stopping: running bodies may end. Once more (Ctrl-C) to exit at once.")
        stopped.set()

    # Not loop.add_signal_handler: the second signal must be heard also while user code holds the loop.
    def hear(number: int, _: object) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        loop.call_soon_threadsafe(stop, number)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
