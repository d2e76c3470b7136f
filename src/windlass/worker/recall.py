"""What a record means to the code that awaits it: read when its turn comes, not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.codec import Codec
from windlass.model.failure import Failure
from windlass.model.step import StepStatus
from windlass.worker.calls import Call
from windlass.worker.failures import to_exception

# The value or the error. Raises InvalidInput if the record does not fit the code, and whatever the codec's hook raises.
ValueOf = Callable[[], tuple[Any, Exception | None]]


def recorded(call: Call, codec: Codec) -> ValueOf:
    record, definition = call.record, call.definition
    assert record is not None
    if call.kind.is_wait:
        call.awaits = record.awaits
        return settled(call, record.output, record.failure)
    if definition is None:  # a sleep
        return lambda: (None, None)
    if record.status is StepStatus.COMPLETED:
        return lambda: (codec.decode(record.output or b"null", definition.return_type), None)
    assert record.failure is not None
    return failed(record.failure, call, codec)


def failed(failure: Failure, call: Call, codec: Codec) -> ValueOf:
    definition = call.definition
    assert definition is not None
    return lambda: (None, to_exception(failure, definition, codec=codec, key=call.key))


def settled(call: Call, output: bytes | None, failure: Failure | None) -> ValueOf:
    """What a wait brought, or that it was in vain."""
    read = call.read
    assert read is not None
    return lambda: read(output, failure)
