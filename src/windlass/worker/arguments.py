"""With what a run was started, as its code takes it now."""

from __future__ import annotations

from typing import Any

from windlass.codec import Codec
from windlass.define.signal import takes_firing
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.commands import ClaimedRun
from windlass.rules.firing_inputs import FIRING_INPUT, NO_ARGUMENTS, read_firing_input


def read_arguments(run: ClaimedRun, definition: WorkflowDefinition, codec: Codec) -> tuple[Any, ...]:
    """Raises InvalidInput if that is something else by now."""
    types = definition.argument_types
    handed_over = _handed_over(run, definition, codec)
    if handed_over is not None:
        return handed_over
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


def _handed_over(run: ClaimedRun, definition: WorkflowDefinition, codec: Codec) -> tuple[Any, ...] | None:
    """What a signal has started it with, which the engine writes and no codec seals; None: somebody else started it."""
    if run.input == NO_ARGUMENTS and definition.required == 0:
        return ()
    if not run.input.startswith(FIRING_INPUT):
        return None
    firing = read_firing_input(run.input, codec)
    if firing is None:
        return None
    types = definition.argument_types
    if definition.required <= 1 and types and takes_firing(types[0]):
        return (firing,)
    if codec.is_sealing:  # else it may be what somebody wrote by hand, and its own type says so
        raise InvalidInput("it was started by a signal, with a firing, and takes none now")
    return None
