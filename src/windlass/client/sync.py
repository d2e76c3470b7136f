"""The same names, blocking: for threads and programs without an event loop.

Nothing is written twice: every method is made from the one that is awaited, types included, and runs on the loop of a
portal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, TypeVarTuple, Unpack, overload

from windlass.client.asks import Asks
from windlass.client.graphs import GraphHandle, GraphResult, JobInfo
from windlass.client.handle import Handle, HeldRun
from windlass.client.inside import refuse_inside_a_workflow
from windlass.client.pipelines import Pipelines
from windlass.client.portal import Portal
from windlass.client.schedules import Schedules
from windlass.client.signals import Signal
from windlass.client.sync_signals import SyncItems, SyncSignal, SyncSignals, held
from windlass.define.context import Context
from windlass.define.graph import Graph
from windlass.define.options import StartOptions
from windlass.errors import NotAllowed
from windlass.model.run import RunId
from windlass.model.signal import TriggerKind

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def _asked(
    method: Callable[Concatenate[Handle[R], P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncHandle[R], P], T]:
    """A method of a handle that answers with plain data."""

    @functools.wraps(method)
    def ask(handle: SyncHandle[R], /, *args: P.args, **options: P.kwargs) -> T:
        name = method.__name__  # looked up again, because a graph answers some of it in its own way
        answer: T = handle._call(lambda inner: getattr(inner, name)(*args, **options), name)
        return answer

    return ask


def _answered_by_a_handle(
    method: Callable[Concatenate[Handle[R], P], Coroutine[Any, Any, Handle[T]]],
) -> Callable[Concatenate[SyncHandle[R], P], SyncHandle[T]]:
    """A method of a handle that answers with another one."""

    @functools.wraps(method)
    def ask(handle: SyncHandle[R], /, *args: P.args, **options: P.kwargs) -> SyncHandle[T]:
        name = method.__name__
        found: Handle[T] = handle._call(lambda inner: getattr(inner, name)(*args, **options), name)
        return _sync(found, handle._portal)

    return ask


class SyncHandle(HeldRun, Generic[R]):
    """A run, held by blocking code: a Handle whose methods answer instead of being awaited.

    Example: `print(app.sync.start(order, "7").result(timeout="1m"))`
    """

    def __init__(self, handle: Handle[R], portal: Portal) -> None:
        self._handle, self._portal = handle, portal

    @property
    def id(self) -> str:
        """The run's id. A handle made from a key looks it up."""
        try:
            return self._handle.id
        except NotAllowed:
            self.status()
            return self._handle.id

    def __repr__(self) -> str:
        return f"Sync{self._handle!r}"

    result = _asked(Handle[R].result)
    status = _asked(Handle[R].status)
    explain = _asked(Handle[R].explain)
    send = _asked(Handle[R].send)
    approve = _asked(Handle[R].approve)
    reject = _asked(Handle[R].reject)
    cancel = _asked(Handle[R].cancel)
    pause = _asked(Handle[R].pause)
    resume = _asked(Handle[R].resume)
    retry = _answered_by_a_handle(Handle[R].retry)

    async def _watched(self) -> tuple[TriggerKind, RunId]:
        return await self._handle._watched()

    def _call(self, work: Callable[[Handle[R]], Coroutine[Any, Any, T]], name: str) -> T:
        verb, instead = f"{name}() of a handle of app.sync", f"await app.handle(…).{name}()"
        refuse_inside_a_workflow(name, verb=verb)
        return self._portal.call(lambda: work(self._handle), verb=verb, instead=instead)


class SyncGraphHandle(SyncHandle[GraphResult]):
    """A graph, held by blocking code: a GraphHandle whose methods answer instead of being awaited."""

    def __init__(self, handle: GraphHandle, portal: Portal) -> None:
        super().__init__(handle, portal)
        self._graph = handle

    def jobs(self) -> list[JobInfo]:
        """Where each of its jobs stands, in the order they were written."""
        return self._call(lambda _: self._graph.jobs(), "jobs")

    def output(self, job: Callable[..., Any] | str, /) -> Any:
        """What a job returned: by its function or its name. For a matrix or a group, a list."""
        return self._call(lambda _: self._graph.output(job), "output")


def _sync(handle: Handle[Any], portal: Portal) -> SyncHandle[Any]:
    return SyncGraphHandle(handle, portal) if isinstance(handle, GraphHandle) else SyncHandle(handle, portal)


@overload
def _asked_of_app(
    method: Callable[Concatenate[Asks, P], Coroutine[Any, Any, Handle[T]]],
) -> Callable[Concatenate[Sync, P], SyncHandle[T]]: ...


@overload
def _asked_of_app(
    method: Callable[Concatenate[Asks, P], Coroutine[Any, Any, list[Handle[T]]]],
) -> Callable[Concatenate[Sync, P], list[SyncHandle[T]]]: ...


@overload
def _asked_of_app(
    method: Callable[Concatenate[Asks, P], Coroutine[Any, Any, Signal]],
) -> Callable[Concatenate[Sync, P], SyncSignal]: ...


@overload
def _asked_of_app(
    method: Callable[Concatenate[Asks, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Sync, P], T]: ...


def _asked_of_app(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(sync: Sync, /, *args: Any, **options: Any) -> Any:
        name = method.__name__
        verb, instead = f"app.sync.{name}()", f"await app.{name}(…)"
        refuse_inside_a_workflow(name, verb=verb)
        answer = sync._portal.call(lambda: method(sync._app, *args, **options), verb=verb, instead=instead)
        return sync._held(answer)

    return ask


_start: Any = _asked_of_app(Asks.start)  # typed by the method of Sync that calls it: there is one per overload


@overload
def _asked_of_schedules(
    method: Callable[Concatenate[Schedules, P], Coroutine[Any, Any, Handle[T]]],
) -> Callable[Concatenate[SyncSchedules, P], SyncHandle[T]]: ...


@overload
def _asked_of_schedules(
    method: Callable[Concatenate[Schedules, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncSchedules, P], T]: ...


def _asked_of_schedules(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(schedules: SyncSchedules, /, *args: Any, **options: Any) -> Any:
        name, portal = method.__name__, schedules._portal
        verb, instead = f"app.sync.schedules.{name}()", f"await app.schedules.{name}(…)"
        refuse_inside_a_workflow(name, verb=verb)
        answer = portal.call(lambda: method(schedules._schedules, *args, **options), verb=verb, instead=instead)
        return SyncHandle(answer, portal) if isinstance(answer, Handle) else answer

    return ask


class SyncSchedules:
    """`app.sync.schedules`: the same as `app.schedules`, for code that does not await."""

    def __init__(self, schedules: Schedules, portal: Portal) -> None:
        self._schedules, self._portal = schedules, portal

    create = _asked_of_schedules(Schedules.create)
    get = _asked_of_schedules(Schedules.get)
    list = _asked_of_schedules(Schedules.list)
    pause = _asked_of_schedules(Schedules.pause)
    resume = _asked_of_schedules(Schedules.resume)
    trigger = _asked_of_schedules(Schedules.trigger)
    delete = _asked_of_schedules(Schedules.delete)


def _asked_of_pipelines(
    method: Callable[Concatenate[Pipelines, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncPipelines, P], T]:
    @functools.wraps(method)
    def ask(pipelines: SyncPipelines, /, *args: P.args, **options: P.kwargs) -> T:
        name = method.__name__
        verb, instead = f"app.sync.pipelines.{name}()", f"await app.pipelines.{name}(…)"
        refuse_inside_a_workflow(name, verb=verb)
        asked = pipelines._pipelines
        return pipelines._portal.call(lambda: method(asked, *args, **options), verb=verb, instead=instead)

    return ask


class SyncPipelines:
    """`app.sync.pipelines`: the same as `app.pipelines`, for code that does not await."""

    def __init__(self, pipelines: Pipelines, portal: Portal) -> None:
        self._pipelines, self._portal = pipelines, portal

    list = _asked_of_pipelines(Pipelines.list)
    get = _asked_of_pipelines(Pipelines.get)
    explain = _asked_of_pipelines(Pipelines.explain)
    runs = _asked_of_pipelines(Pipelines.runs)
    inputs = _asked_of_pipelines(Pipelines.inputs)
    trace = _asked_of_pipelines(Pipelines.trace)
    topics = _asked_of_pipelines(Pipelines.topics)
    open_effects = _asked_of_pipelines(Pipelines.open_effects)
    pause = _asked_of_pipelines(Pipelines.pause)
    resume = _asked_of_pipelines(Pipelines.resume)
    run_now = _asked_of_pipelines(Pipelines.run_now)
    retry = _asked_of_pipelines(Pipelines.retry)
    approve = _asked_of_pipelines(Pipelines.approve)
    reject = _asked_of_pipelines(Pipelines.reject)
    resolve = _asked_of_pipelines(Pipelines.resolve)
    skip_input = _asked_of_pipelines(Pipelines.skip_input)
    skip_event = _asked_of_pipelines(Pipelines.skip_event)


class Opens(Protocol):
    """What `sync` needs of an App besides its questions."""

    async def aclose(self) -> None: ...

    @property
    def worker(self) -> Callable[..., AbstractAsyncContextManager[None]]: ...


class Sync:
    """`app.sync`: what an App can be asked, for code that does not await. Safe from any number of threads.

    It has an event loop in a thread of its own, begun at the first call and ended by `close()`, by the end of a
    `with app.sync:`, or with the process.
    Example: `app.sync.start(order, "7", key="order-7").result()`
    """

    def __init__(self, app: Asks, *, opens: Opens, open: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self._app, self._opens, self._open = app, opens, open
        self._portal = Portal(opens.aclose)

    @overload
    def start(self, graph: Graph, /, *args: Any, **options: Unpack[StartOptions]) -> SyncGraphHandle: ...

    @overload
    def start(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[StartOptions],
    ) -> SyncHandle[R]: ...

    def start(self, fn: Callable[..., Any], /, *args: *Ts, **options: Unpack[StartOptions]) -> Any:
        """Store a run and return at once, as `app.start` does."""
        return _start(self, fn, *args, **options)

    start_many = _asked_of_app(Asks.start_many)
    publish = _asked_of_app(Asks.publish)
    publish_many = _asked_of_app(Asks.publish_many)
    when = _asked_of_app(Asks.when)
    pause = _asked_of_app(Asks.pause)
    resume = _asked_of_app(Asks.resume)

    @property
    def pipelines(self) -> SyncPipelines:
        """The pipelines of this App's database."""
        return SyncPipelines(self._app.pipelines, self._portal)

    @property
    def items(self) -> SyncItems:
        """The work items of this App's database."""
        return SyncItems(self._app.items, self._portal)

    @property
    def signals(self) -> SyncSignals:
        """The signals of this App's database."""
        return SyncSignals(self._app.signals, self._portal)

    @property
    def schedules(self) -> SyncSchedules:
        """The schedules of this App's database."""
        return SyncSchedules(self._app.schedules, self._portal)

    @overload
    def handle(self, graph: Graph, /, *, key: str) -> SyncGraphHandle: ...

    @overload
    def handle(self, graph: Graph, /, *, run_id: str) -> SyncGraphHandle: ...

    @overload
    def handle(
        self, fn: Callable[Concatenate[Context, ...], Coroutine[Any, Any, R]], /, *, key: str
    ) -> SyncHandle[R]: ...

    @overload
    def handle(
        self, fn: Callable[Concatenate[Context, ...], Coroutine[Any, Any, R]], /, *, run_id: str
    ) -> SyncHandle[R]: ...

    @overload
    def handle(self, run_id: str, /) -> SyncHandle[Any]: ...

    def handle(self, wanted: Any, /, **known: Any) -> SyncHandle[Any]:
        """The handle of a run started before: by its id, or by workflow and key or id. Asks nothing yet."""
        return _sync(self._app.handle(wanted, **known), self._portal)

    @contextmanager
    def worker(self, *, queues: Iterable[str] | None = None, slots: int | None = None) -> Iterator[None]:
        """Execute runs in the background while the block lasts: `with app.sync.worker(): …`."""
        given = {"queues": queues, "slots": slots}
        worker = self._opens.worker(**{option: value for option, value in given.items() if value is not None})
        verb, instead = "app.sync.worker()", '"async with app.worker():"'
        self._portal.call(worker.__aenter__, verb=verb, instead=instead)
        try:
            yield
        finally:
            if not self._portal.is_closed:  # else it was stopped with all the rest
                self._portal.call(lambda: worker.__aexit__(None, None, None), verb=verb, instead=instead)

    def __enter__(self) -> Sync:
        self._portal.call(self._open, verb='"with app.sync:"', instead='"async with app:"')
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the App and end the thread. Harmless if nothing was asked, and when it is repeated."""
        self._portal.close()

    def _held(self, answer: Any) -> Any:
        if isinstance(answer, list):
            return [self._held(item) for item in answer]
        return _sync(answer, self._portal) if isinstance(answer, Handle) else held(answer, self._portal)
