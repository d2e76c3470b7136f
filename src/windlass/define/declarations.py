"""Declare: what decorators and `event` say about functions and names. Synchronous, and nothing is written."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar, overload

from windlass.codec import Codec
from windlass.define.decorating import decorate
from windlass.define.event import Event
from windlass.define.graph import Graph
from windlass.define.handler_code import Source
from windlass.define.options import DurationLike
from windlass.define.pipeline import Pipeline
from windlass.define.pipeline_options import Hooks
from windlass.define.pipeline_values import Problem
from windlass.define.registry import Registry
from windlass.define.retry import Retry
from windlass.define.schedule import CAUGHT_UP, CatchUpLike, OverlapLike, check_args, read_plan
from windlass.define.signal import EveryItem, StateLike, declared_subject
from windlass.define.topic import Topic
from windlass.define.written import Place
from windlass.errors import InvalidInput, WindlassError
from windlass.rules.limits import check_flag

LOGGER = logging.getLogger("windlass")

T = TypeVar("T")
StepFunction = TypeVar("StepFunction", bound=Callable[..., Any])
WorkflowFunction = TypeVar("WorkflowFunction", bound=Callable[..., Coroutine[Any, Any, Any]])


class Declarations:
    """The part of an App that declares. Decorators are used bare or with options, and return the function unchanged."""

    _registry: Registry
    _codec: Codec

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
        keep: DurationLike | None = None,
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
        keep: DurationLike | None = None,
    ) -> Any:
        """Declare an `async def` whose first parameter is `ctx`. Returns the function unchanged.

        Example: `@app.workflow`, or `@app.workflow(name="order", queue="shop")`. With `version=` its runs are executed
        by this version only, and other versions may be declared beside it under the same name. With `keep="30d"` its
        runs are removed that long after they ended, whatever the settings say.
        """
        options: dict[str, Any] = {"name": name, "version": version, "queue": queue, "retry": retry}
        options |= {"timeout": timeout, "visibility": visibility, "keep": keep}
        return decorate(self._registry.declare_workflow, function, options)

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
        return decorate(self._registry.declare_step, function, options)

    @overload
    def effect(self, function: StepFunction, /) -> StepFunction: ...

    @overload
    def effect(
        self,
        *,
        reconcile: Callable[..., Any] | None = None,
        key: Callable[..., str] | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        name: str | None = None,
    ) -> Callable[[StepFunction], StepFunction]: ...

    def effect(
        self,
        function: Any = None,
        *,
        reconcile: Callable[..., Any] | None = None,
        key: Callable[..., str] | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Declare a function that does one thing in the outside world, and says what it returns. Returns it unchanged.

        It is called in `ctx.step(charge, order)`, or returned by a consumer: `windlass.Effect(charge, order)`. That it
        begins is written before it is called; if nobody knows whether it happened, `reconcile` is asked, with the same
        arguments: `Happened(result)`, `DidNotHappen()` or `Unknown()`. `key` makes a key for the outside world of them.
        """
        options = {"reconcile": reconcile, "key": key, "retry": retry, "timeout": timeout, "name": name}
        return decorate(self._registry.declare_effect, function, options)

    def schedule(
        self,
        misplaced: None = None,
        /,
        *,
        cron: str | None = None,
        every: DurationLike | None = None,
        tz: str = "UTC",
        args: Sequence[Any] = (),
        name: str | None = None,
        catch_up: CatchUpLike = "latest",
        max_catch_up: int = CAUGHT_UP,
        overlap: OverlapLike = "skip",
        jitter: DurationLike | None = None,
    ) -> Callable[[WorkflowFunction], WorkflowFunction]:
        """Start a run at these times: `@app.schedule(cron="0 9 * * *", tz="Europe/Rome")` or `every="10m"`.

        The function is declared as a workflow, unless it is one. It is entered when a worker of this App starts; taken
        out of the code, it is paused then. `catch_up` says what becomes of times that passed while nobody looked,
        `overlap` what becomes of a time while the run before is not over. `ctx.scheduled_at` is the time meant.
        """
        _refuse_misplaced(misplaced)
        plan = read_plan(
            cron=cron,
            every=every,
            tz=tz,
            catch_up=catch_up,
            max_catch_up=max_catch_up,
            overlap=overlap,
            jitter=jitter,
        )
        given = check_args(args)

        def decorator(function: WorkflowFunction) -> WorkflowFunction:
            local = sys._getframe(1).f_locals
            self._registry.declare_schedule(function, name=name, args=given, plan=plan, codec=self._codec, local=local)
            return function

        return decorator

    def on(
        self,
        subject: Callable[..., Any] | Pipeline | EveryItem | type[EveryItem],
        /,
        *,
        enters: StateLike | Collection[StateLike],
        repeat: bool = False,
        name: str | None = None,
        version: str = "",
        queue: str = "default",
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        keep: DurationLike | None = None,
    ) -> Callable[[WorkflowFunction], WorkflowFunction]:
        """Start a run whenever something enters a state: `@app.on(order, enters="failed")`, above `page(ctx, firing)`.

        The subject is a workflow, a graph or a job, for every run of it; a pipeline; or `windlass.Item`, for every work
        item. The function is declared as a workflow with these options, unless it is one; `name` is that of the signal.
        It is entered when a worker of this App starts; taken out of the code, it is paused then. It starts one run for
        each run or item that enters such a state, and of a pipeline one in all; with `repeat=True` one each time.
        """
        trigger = declared_subject(subject, enters, workflows=self._registry)
        repeats = check_flag(repeat, what="repeat")
        given: dict[str, Any] = {"version": version, "queue": queue, "retry": retry}
        given |= {"timeout": timeout, "visibility": visibility, "keep": keep}
        options = {option: value for option, value in given.items() if value not in (None, "", "default")}

        def decorator(function: WorkflowFunction) -> WorkflowFunction:
            self._registry.signals.declare(
                function,
                name=name,
                trigger=trigger,
                repeats=repeats,
                options=options,
                local=sys._getframe(1).f_locals,
            )
            return function

        return decorator

    def graph(
        self,
        name: str,
        /,
        *,
        input: Any = None,
        version: str = "",
        queue: str = "default",
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        keep: DurationLike | None = None,
    ) -> Graph:
        """Declare a graph, to which `@graph.job` adds jobs that need each other: `release = app.graph("release")`.

        `input` is the type of what it is started with, which its jobs read as `ctx.input`. `timeout` and `keep` are of
        the whole graph; `queue`, `retry` and `visibility` hold for its jobs too, unless they say otherwise.
        """
        frame = sys._getframe(1)
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", ""))
        return Graph(
            name,
            registry=self._registry,
            codec=self._codec,
            place=Place(module, code.co_qualname, code.co_filename, frame.f_lineno),
            input=input,
            version=version,
            queue=queue,
            retry=retry,
            timeout=timeout,
            visibility=visibility,
            keep=keep,
        )

    def event(self, name: str, type: type[T], /) -> Event[T]:
        """Declare something that can be sent to runs: `replied = app.event("replied", str)`."""
        return self._registry.declare_event(name, type)

    def topic(self, name: str, type: type[T], /) -> Topic[T]:
        """Declare where events are published, for consumers to take: `orders = app.topic("order.paid", Order)`."""
        return self._registry.handlers.declare_topic(name, type)

    def pipeline(
        self,
        name: str,
        /,
        *,
        queue: str = "default",
        retry: Retry | None = None,
        visibility: DurationLike | None = None,
        on_logic_error: Callable[[Problem], Any] | None = None,
        on_attention: Callable[[Problem], Any] | None = None,
        on_indeterminate: Callable[[Problem], Any] | None = None,
        version: str = "",
    ) -> Pipeline:
        """Declare a pipeline, to which `@pipeline.producer` and `@pipeline.consumer` add handlers that take turns.

        `retry` is of handlers that failed for a while. `on_logic_error` may put right what code did wrong, and answers
        `Fixed()` or `GiveUp()`; `on_attention` is told that a person is needed, `on_indeterminate` that nobody knows
        whether an effect happened, both at most once. They are functions of a `Problem`, async or not. Another
        `version` is a change of every handler, though their code is the same.
        """
        frame = sys._getframe(1)
        code = frame.f_code
        within = (str(frame.f_globals.get("__name__", "")), f"{code.co_qualname}:{name}")
        return Pipeline(
            name,
            handlers=self._registry.handlers,
            place=Source(identity=within, file=code.co_filename, line=frame.f_lineno, code="", parts=(code,)),
            hooks=Hooks(on_logic_error=on_logic_error, on_attention=on_attention, on_indeterminate=on_indeterminate),
            queue=queue,
            retry=retry,
            visibility=visibility,
            version=version,
        )


class Declaring:
    """While the block lasts, what is declared later, as in a notebook, is entered too."""

    def __init__(self, registry: Registry, enter: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._registry, self._enter = registry, enter
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._registry.listeners.append(self._declared)

    async def __aexit__(self, *_: object) -> None:
        self._registry.listeners.remove(self._declared)
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _declared(self) -> None:
        task = self._loop.create_task(self._enter_anew(), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _enter_anew(self) -> None:
        try:
            await self._enter()
        except WindlassError as error:
            LOGGER.error("What was declared cannot be entered: %s", error)


def _refuse_misplaced(given: object) -> None:
    """What most people write first: the expression by position, or no times at all."""
    if given is not None:
        shown = given if isinstance(given, str) else "0 9 * * *"
        raise InvalidInput(
            f"app.schedule takes its times by name: @app.schedule(cron={shown!r}), or every='10m'.",
            reason="invalid_schedule",
            path="cron",
        )
