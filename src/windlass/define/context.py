"""What a workflow may do: the typed surface of `ctx`. The worker's context implements it.

Whoever has a `ctx` is replayed; whoever has not runs once. `step`, `map` and the sleeps are plain functions that
reserve their key when called and return a coroutine, so `asyncio.gather` and `TaskGroup` work on them as they are.

Their results are typed `Coroutine[object, None, R]`: with `Any` in the first two places mypy calls the overloads of
`asyncio.gather` ambiguous and answers `Any`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack, overload
from uuid import UUID

from windlass.define.child import Child
from windlass.define.event import Receivable
from windlass.define.options import ChildOptions, DurationLike, MapChildOptions, MapOptions, StepOptions
from windlass.model.message import Decision

D = TypeVar("D")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OF_JOBS = frozenset({"needs", "input", "graph_id", "job"})  # what only a JobContext has
RAISE = object()  # receive() without a default raises


class Context(ABC):
    """The first parameter of every workflow. Its calls are remembered: what is done once is not done again.

    Example::

        @app.workflow
        async def order(ctx: windlass.Context, id: str) -> str:
            receipt = await ctx.step(charge, id, retry=windlass.Retry(5))
            await ctx.sleep("1d")
            return receipt
    """

    run_id: str
    """The id of this run: "run_" and 26 characters."""

    key: str | None
    """The key the run was started with, if there was one."""

    scheduled_at: datetime | None
    """The time its schedule meant, in UTC, however late it began; none if no schedule started the run."""

    log: logging.LoggerAdapter[logging.Logger]
    """A logger that adds the run's id and stays silent while the run is replayed."""

    random: Random
    """Random numbers that are the same at every replay: the seed is the run's id."""

    if not TYPE_CHECKING:  # to a type checker, a Context would have every name

        def __getattr__(self, name: str) -> Any:
            if name in OF_JOBS:
                raise AttributeError(
                    f"ctx.{name} is there in the jobs of a graph, and this run is none: start a graph that has it as a "
                    "job, or that spawns it."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @abstractmethod
    def uuid(self) -> UUID:
        """A UUID that is the same at every replay."""

    @abstractmethod
    def now(self) -> datetime:
        """The time of the last delivered record, in UTC: the same at every replay, and no extra write."""

    @overload
    @abstractmethod
    def step(
        self, fn: Callable[[*Ts], Awaitable[R]], /, *args: *Ts, **options: Unpack[StepOptions]
    ) -> Coroutine[object, None, R]: ...

    @overload
    @abstractmethod
    def step(
        self, fn: Callable[[*Ts], R], /, *args: *Ts, **options: Unpack[StepOptions]
    ) -> Coroutine[object, None, R]: ...

    @abstractmethod
    def step(
        self, fn: Callable[..., Any], /, *args: *Ts, **options: Unpack[StepOptions]
    ) -> Coroutine[object, None, Any]:
        """Run `fn(*args)` until it has completed once, and remember what it returned.

        `fn` may be sync (it runs in a thread) or async. Arguments go by position; keyword arguments of `fn` go by
        `functools.partial`. Raises StepFailed when the retries are used up, or the exception itself if it is one of
        `raises`. Example: `await ctx.step(fetch, 42, key="user-42", timeout="30s")`.
        """

    @overload
    @abstractmethod
    def map(
        self,
        fn: Callable[[Context, T], Coroutine[Any, Any, R]],
        items: Iterable[T],
        /,
        *,
        key: Callable[[T], str] | None = None,
        limit: int | None = None,
        **options: Unpack[MapChildOptions],
    ) -> Coroutine[object, None, list[R]]: ...

    @overload
    @abstractmethod
    def map(
        self,
        fn: Callable[[T], Awaitable[R]],
        items: Iterable[T],
        /,
        *,
        key: Callable[[T], str] | None = None,
        limit: int | None = None,
        **options: Unpack[MapOptions],
    ) -> Coroutine[object, None, list[R]]: ...

    @overload
    @abstractmethod
    def map(
        self,
        fn: Callable[[T], R],
        items: Iterable[T],
        /,
        *,
        key: Callable[[T], str] | None = None,
        limit: int | None = None,
        **options: Unpack[MapOptions],
    ) -> Coroutine[object, None, list[R]]: ...

    @abstractmethod
    def map(
        self,
        fn: Callable[..., Any],
        items: Iterable[Any],
        /,
        *,
        key: Callable[[Any], str] | None = None,
        limit: int | None = None,
        **options: Any,
    ) -> Coroutine[object, None, list[Any]]:
        """One step per item, or one child run where `fn` is a workflow; the results in the order of the items.

        At most `limit` are at work at a time. `key` makes an item's key from the item; without it items are numbered,
        so their order must be repeatable.
        Example: `await ctx.map(resize, images, key=lambda image: image.id, limit=8)`.
        """

    @abstractmethod
    def run(
        self,
        child: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[ChildOptions],
    ) -> Coroutine[object, None, R]:
        """Start another workflow as a run of its own and wait for its result, without holding a worker.

        It is created once, however often this run is replayed. Raises RunFailed or RunCancelled if it ended so. When
        this run is cancelled the child is too, unless `on_cancel="abandon"`.
        """

    @abstractmethod
    def start(
        self,
        child: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        **options: Unpack[ChildOptions],
    ) -> Coroutine[object, None, Child[R]]:
        """Start another workflow and go on; `await child.result()` waits for it later, if at all."""

    @overload
    @abstractmethod
    def receive(
        self, event: Receivable[T], /, *, timeout: DurationLike | None = None
    ) -> Coroutine[object, None, T]: ...

    @overload
    @abstractmethod
    def receive(
        self, event: Receivable[T], /, *, timeout: DurationLike, default: D
    ) -> Coroutine[object, None, T | D]: ...

    @abstractmethod
    def receive(
        self, event: Receivable[Any], /, *, timeout: DurationLike | None = None, default: Any = RAISE
    ) -> Coroutine[object, None, Any]:
        """Wait for an event sent to this run; one that was sent before is here at once. Each is received once.

        After `timeout` the answer is `default`, which is given with a `timeout` only, or WaitTimeout is raised.
        """

    @abstractmethod
    def approval(
        self, title: str, /, *, data: Any = None, timeout: DurationLike | None = None
    ) -> Coroutine[object, None, Decision]:
        """Wait for a person: `handle.approve(by="ann")` or `windlass approve RUN`. After `timeout` it has expired."""

    @abstractmethod
    def race(self, **awaitables: Awaitable[Any]) -> Coroutine[object, None, tuple[str, Any]]:
        """Wait for the first of several: `name, value = await ctx.race(reply=ctx.receive(…), late=ctx.sleep("1d"))`.

        The others are given up: a step among them may still run to its end, and nobody sees its result.
        """

    @abstractmethod
    def sleep(self, duration: DurationLike, /) -> Coroutine[object, None, None]:
        """Wait for `"10s"`, `"1d12h"`, seconds or a timedelta. Survives restarts and holds no worker."""

    @abstractmethod
    def sleep_until(self, when: datetime, /) -> Coroutine[object, None, None]:
        """Wait until a time that carries its zone. One that has passed does not wait."""
