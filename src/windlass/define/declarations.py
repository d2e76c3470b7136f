"""Declare: what decorators and `event` say about functions and names. Synchronous, and nothing is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, overload

from windlass.define.event import Event
from windlass.define.options import DurationLike
from windlass.define.registry import Registry
from windlass.define.retry import Retry

T = TypeVar("T")
StepFunction = TypeVar("StepFunction", bound=Callable[..., Any])
WorkflowFunction = TypeVar("WorkflowFunction", bound=Callable[..., Coroutine[Any, Any, Any]])


class Declarations:
    """The part of an App that declares. Decorators are used bare or with options, and return the function unchanged."""

    _registry: Registry

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
        by this version only, and other versions may be declared beside it under the same name.
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


def _decorate(declare: Callable[..., object], function: Any, options: Mapping[str, Any]) -> Any:
    """Declare now, or answer with a decorator. The caller's locals help to read annotations of nested functions."""
    if function is not None:
        declare(function, local=sys._getframe(2).f_locals, **options)
        return function

    def decorator(function: Any) -> Any:
        declare(function, local=sys._getframe(1).f_locals, **options)
        return function

    return decorator
