"""What goes with the call of an effect, in a pipeline as in a run: its arguments, its key, what was found out."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from windlass.codec import Codec
from windlass.define.effect import DidNotHappen, Happened, Unknown
from windlass.define.handler_definition import EffectDefinition
from windlass.define.pipeline_values import TopicEvent
from windlass.errors import InvalidInput
from windlass.model.failure import Failure
from windlass.model.time import SECOND, Duration
from windlass.worker import handler_failures
from windlass.worker.running import Ran

TIMEOUT_FOR = Duration(60 * SECOND)  # of an effect that has none of its own


class Found(Struct, frozen=True, kw_only=True):
    """What `reconcile` has found out. None of the first two: it does not know, and `failure` may say why."""

    result: bytes | None = None
    value: Any = None
    did_not_happen: bool = False
    failure: Failure | None = None


def encode_arguments(definition: EffectDefinition, args: tuple[Any, ...], codec: Codec) -> bytes:
    """Raises InvalidInput for arguments that it does not take, or that could not be asked about after a crash."""
    types, what = definition.argument_types, f"Effect {definition.name!r}"
    if not definition.required <= len(args) <= len(types):
        text = f"{what} ({definition.location}) takes {len(types)} arguments, and was given {len(args)}."
        raise InvalidInput(text, reason="invalid_argument", path="args")
    codec.check_arguments(args, types[: len(args)], definition.argument_names, what=what)
    return codec.encode(args)


def decode_arguments(definition: EffectDefinition, params: bytes, codec: Codec) -> tuple[Any, ...]:
    """Raises InvalidInput if it takes others by now."""
    given: tuple[Any, ...] = codec.decode(params)
    types = definition.argument_types
    if not definition.required <= len(given) <= len(types):
        raise InvalidInput(f"it was called with {len(given)} arguments, and now takes {len(types)}")
    converted: tuple[Any, ...] = codec.decode(params, tuple[types[: len(given)]])  # type: ignore[misc]
    return converted


def key_of_events(pipeline: str, handler: str, events: Sequence[TopicEvent[Any]]) -> str:
    """The same for every attempt at the same events, whatever their order."""
    named = sorted((event.topic, event.id) for event in events)
    # Encoded, not joined: "a", "bc" and "ab", "c" are two things.
    return f"{pipeline}/{handler}/{blake2b(msgspec.msgpack.encode(named), digest_size=12).hexdigest()}"


def read_found(ran: Ran, definition: EffectDefinition, codec: Codec, *, limit: Duration) -> Found:
    """What `reconcile` answered. Whatever is no answer is one that does not know."""
    name = definition.name
    if not ran.is_over or (ran.is_timed_out and ran.error is not None):
        return Found(failure=handler_failures.timed_out(f"reconcile of effect {name!r}", limit))
    if ran.error is not None:
        return Found(failure=handler_failures.of_handler(ran.error, codec=codec, classify=None))
    answer = ran.value
    if isinstance(answer, DidNotHappen):
        return Found(did_not_happen=True)
    if isinstance(answer, Happened):
        try:
            result, value = codec.round_trip(answer.result, definition.return_type, what="reconcile of", name=name)
        except InvalidInput as refused:
            return Found(failure=handler_failures.refused(refused))
        except Exception as broken:  # the codec's hook
            return Found(failure=handler_failures.internal(broken))
        return Found(result=result, value=value)
    if isinstance(answer, Unknown):
        return Found()
    wanted = "Happened(result), DidNotHappen() or Unknown()"
    found = "None" if answer is None else f"something of type {type(answer).__name__}"
    return Found(
        failure=handler_failures.logic(f"reconcile of effect {name!r} answers with {wanted}, not with {found}.")
    )
