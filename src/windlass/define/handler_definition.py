"""What was declared about pipelines: the code behind each handler and each effect, and what its signatures say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from windlass.define.retry import Retry
from windlass.model.pipeline import HandlerSpec, PipelineSpec
from windlass.model.time import Duration


class EffectDefinition(Struct, frozen=True, kw_only=True):
    """A function that does one thing in the outside world, and how to find out whether it did."""

    name: str
    function: Callable[..., Any]
    is_async: bool
    reconcile: Callable[..., Any] | None  # with the same arguments: Happened, DidNotHappen or Unknown
    key: Callable[..., Any] | None  # from the arguments to a key for the outside world; none: one of ours
    retry: Retry | None
    timeout_for: Duration | None
    argument_names: tuple[str, ...]
    argument_types: tuple[Any, ...]
    required: int
    return_type: Any
    location: str


class HandlerDefinition(Struct, frozen=True, kw_only=True):
    """The code of one handler. A function over events is the `next` of a consumer that has nothing else."""

    spec: HandlerSpec
    produce: Callable[..., Any] | None = None  # (ctx, state) -> state
    prepare: Callable[..., Any] | None = None  # (ctx, state) -> Reserve | Idle
    mutate: Callable[..., Any] | None = None  # (ctx, prepared) -> Effect | None
    next: Callable[..., Any] | None = None  # (ctx, prepared, result) -> state | None; over events: (ctx, events)
    takes_events: bool = False  # a function over events
    state_type: Any = Any
    data_type: Any = Any
    location: str = ""


class PipelineDefinition(Struct, frozen=True, kw_only=True):
    spec: PipelineSpec
    handlers: Mapping[str, HandlerDefinition]
    topics: Mapping[str, Any]  # every topic a handler names, by name: the type of what is published to it
    on_logic_error: Callable[..., Any] | None = None  # (Problem) -> Fixed | GiveUp | None
    on_attention: Callable[..., Any] | None = None  # (Problem) -> None
    on_indeterminate: Callable[..., Any] | None = None  # (Problem) -> None
    location: str = ""
