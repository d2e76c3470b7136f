"""From a workflow, its arguments and options to what the engine is asked: everything is checked before that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windlass.codec import Codec
from windlass.define.options import refuse_unknown_options
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.commands import StartRun
from windlass.model.duration import to_duration, to_instant
from windlass.rules.limits import check_key, check_priority, check_queue


def start_command(
    definition: WorkflowDefinition,
    args: Sequence[Any],
    options: Mapping[str, Any],
    *,
    namespace: str,
    codec: Codec,
    verb: str,
    allowed: tuple[str, ...],
) -> StartRun:
    """Raises InvalidInput; `verb` and `allowed` are what the caller offers its users."""
    if options:
        refuse_unknown_options(options, verb=verb, function=definition.function, args=args, allowed=allowed)
    encoded, hashed = _encode(definition, tuple(args), codec=codec)
    if not options:
        return StartRun(
            namespace=namespace,
            name=definition.name,
            version=definition.version,
            queue=definition.queue,
            priority=0,
            input=encoded,
            input_hash=hashed,
            timeout_for=definition.timeout_for,
        )
    given = {option: value for option, value in options.items() if value is not None}
    if "delay" in given and "at" in given:
        raise InvalidInput(f"{verb}() takes delay or at, not both.", reason="invalid_option", path="at")
    timeout = given.get("timeout")
    return StartRun(
        namespace=namespace,
        name=definition.name,
        version=definition.version,
        queue=check_queue(given["queue"], what="queue") if "queue" in given else definition.queue,
        priority=check_priority(given.get("priority", 0)),
        input=encoded,
        input_hash=hashed,
        key=check_key(given["key"], what="key") if "key" in given else None,
        delay_for=to_duration(given["delay"], what="delay") if "delay" in given else None,
        at=to_instant(given["at"], what="at") if "at" in given else None,
        timeout_for=definition.timeout_for
        if timeout is None
        else to_duration(timeout, what="timeout", allow_zero=False),
    )


def _encode(definition: WorkflowDefinition, args: tuple[Any, ...], *, codec: Codec) -> tuple[bytes, bytes]:
    if definition.required <= len(args) <= len(definition.argument_types):
        encoded = codec.encode_plain(args, definition.argument_types)
        if encoded is not None:
            return encoded
    check_arguments(definition, args, codec=codec)
    return codec.encode_hashed(args)


def check_arguments(
    definition: WorkflowDefinition, args: Sequence[Any], *, codec: Codec, call: str | None = None
) -> None:
    """Raises InvalidInput; `call` is how to write it instead, where it is no start."""
    call = _call(definition) if call is None else call
    names, types = definition.argument_names, definition.argument_types
    what = f"{definition.kind} {definition.name!r}"
    if len(args) < definition.required:
        missing = names[len(args)]
        expected = _describe_type(types[len(args)])
        raise InvalidInput(
            f"{what} needs {missing!r} ({expected}) and got {_count(len(args))}: {call}.",
            reason="missing_argument",
            path=f"$.{missing}",
        )
    if len(args) > len(names):
        raise InvalidInput(
            f"{what} takes {_count(len(names))} and got {len(args)}: {call}.",
            reason="extra_argument",
            path=f"$[{len(names)}]",
        )
    codec.check_arguments(tuple(args), types[: len(args)], names[: len(args)], what=what)


def _count(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _call(definition: WorkflowDefinition) -> str:
    verb = "app.start" if definition.graph is None else f"{definition.graph}.spawn"
    return f"{verb}({', '.join([definition.function.__name__, *definition.argument_names])})"


def _describe_type(type: Any) -> str:
    return "any value" if type is Any else getattr(type, "__name__", None) or str(type)
