"""What was declared: a workflow, a step, and what their signatures say. Graphs and their jobs are workflows too."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.codec import Codec
from windlass.define.handler_definition import EffectDefinition
from windlass.define.retry import Retry, check_exceptions
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.model.graph import NewJob
from windlass.model.time import Duration
from windlass.rules.limits import check_name, check_visibility


class WorkflowDefinition(Struct, frozen=True, kw_only=True):
    name: str
    version: str  # "" unless pinned
    queue: str
    retry: Retry | None  # for its steps, unless they say otherwise
    visibility_for: Duration | None
    timeout_for: Duration | None  # of its runs, unless a start says otherwise
    keep_for: Duration | None  # how long its ended runs are kept; none: as long as all the others
    function: Callable[..., Any]
    argument_names: tuple[str, ...]  # without ctx
    argument_types: tuple[Any, ...]
    required: int  # how many of them have no default
    return_type: Any
    location: str  # "shop.py:12"
    plan: Callable[[Codec], tuple[NewJob, ...]] | None = None  # of a graph: its jobs; raises InvalidInput
    spawns: Callable[[object, Codec], tuple[NewJob, ...]] | None = None  # of a generator: what it returned, as jobs
    input_type: Any = None  # of a graph and of its jobs: what the graph is started with; none: nothing
    graph: str | None = None  # of a job: where it belongs, and its name there
    job: str | None = None

    @property
    def kind(self) -> str:
        """What it is, in a sentence about it."""
        if self.graph is not None:
            return "Job"
        return "Workflow" if self.plan is None else "Graph"


class Openable:
    """What stands for a workflow without being a function: a graph, which workers open instead of calling it."""

    def __init__(self, opening: types.FunctionType) -> None:
        self._opening = opening

    def opening(self) -> types.FunctionType:
        """The function that it is declared by. Never called."""
        return self._opening


class StepDefinition(Struct, frozen=True, kw_only=True):
    name: str
    function: Callable[..., Any]
    retry: Retry | None
    timeout_for: Duration | None
    visibility_for: Duration | None
    raises: tuple[type[BaseException], ...]
    return_type: Any  # Any if none is declared, or none that can be read
    declares_return: bool
    is_async: bool
    location: str  # "" for what was not written in Python
    effect: EffectDefinition | None = None  # of a function that was declared as one

    def with_options(self, options: Mapping[str, Any]) -> StepDefinition:
        """This step as one call wants it. Ignores `key`, which is the call's own; raises InvalidInput."""
        changes = {field: value for field, value in _resolve(options, step=self.name) if value is not None}
        return replace(self, **changes) if changes else self


def _resolve(options: Mapping[str, Any], *, step: str) -> list[tuple[str, Any]]:
    """Option by option: the field it sets and the checked value."""
    resolved: list[tuple[str, Any]] = []
    for option, value in options.items():
        if value is None or option == "key":
            continue
        if option == "name":
            resolved.append(("name", check_name(value, what="step name")))
        elif option == "retry":
            resolved.append(("retry", check_retry_option(value, what=f"retry of step {step!r}")))
        elif option == "timeout":
            resolved.append(("timeout_for", to_duration(value, what="timeout", allow_zero=False)))
        elif option == "visibility":
            resolved.append(("visibility_for", check_visibility(to_duration(value, what="visibility"))))
        elif option == "raises":
            resolved.append(("raises", check_exceptions(value, what="raises")))
    return resolved


def check_retry_option(value: object, *, what: str) -> Retry | None:
    if value is None or isinstance(value, Retry):
        return value
    hint = f"windlass.Retry({value})" if isinstance(value, int) and not isinstance(value, bool) else "windlass.Retry(5)"
    message = f"The {what} takes a Retry, not {type(value).__name__}: {hint}."
    raise InvalidInput(message, reason="invalid_option", path="retry")
