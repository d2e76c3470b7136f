"""With what a run was started, as its code takes it now."""

from __future__ import annotations

from typing import Any

from windlass.codec import Codec
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.commands import ClaimedRun


def read_arguments(run: ClaimedRun, definition: WorkflowDefinition, codec: Codec) -> tuple[Any, ...]:
    """Raises InvalidInput if that is something else by now."""
    types = definition.argument_types
    given: tuple[Any, ...] = codec.decode(run.input)
    if not definition.required <= len(given) <= len(types):
        raise InvalidInput(f"it was started with {len(given)} arguments, and now takes {len(types)}")
    for value, kind in zip(given, types, strict=False):
        if type(value) is not kind:
            break
    else:
        return given  # nothing to convert, as with most arguments
    converted: tuple[Any, ...] = codec.decode(run.input, tuple[types[: len(given)]])  # type: ignore[misc]
    return converted
