"""Messages that are right but for one field: each field of each call, with everything that could be in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from tests.integration.server.test_grpc_messages import BLOBS, DOUBLES, FINE, NUMBERS, TEXTS
from tests.integration.server.test_grpc_tenants import Things, commands, creations, furnish, reads
from tests.integration.server.wire import Wire
from windlass.model.access import Role

VALUES: dict[str, tuple[Any, ...]] = {
    "str": TEXTS,
    "bytes": BLOBS,
    "int": NUMBERS,
    "float": DOUBLES,
    "bool": (True, False),
}


def nearly(message: Any) -> Iterator[tuple[str, Any]]:
    """The message with one field changed, and the way to that field."""
    for field, value in list(message.ListFields()):
        if field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                continue
            part = value[0] if field.is_repeated else value
            for path, _ in nearly(part):
                yield f"{field.name}.{path}", message
            if not field.is_repeated:
                kept = type(value).FromString(value.SerializeToString())
                value.Clear()
                yield f"{field.name} is empty", message
                message.ClearField(field.name)
                yield f"{field.name} is missing", message
                value = getattr(message, field.name)
                value.CopyFrom(kept)
            continue
        kind = type(value[0] if field.is_repeated else value).__name__
        kept = list(value) if field.is_repeated else value
        for strange in (*field.enum_type.values_by_number, 99) if field.enum_type else VALUES[kind]:
            _put(message, field, [strange] if field.is_repeated else strange)
            yield f"{field.name} is {strange!r:.20}", message
        _put(message, field, kept)


def _put(message: Any, field: FieldDescriptor, value: Any) -> None:
    if not field.is_repeated:
        setattr(message, field.name, value)
        return
    message.ClearField(field.name)
    getattr(message, field.name).extend(value)


@pytest.mark.spec("security:88", "security:S-30", "security:S-22")
async def test_one_strange_field_makes_no_call_fail(wire: Wire, figures: list[str]) -> None:
    things: Things = await furnish(wire)
    caller = await wire.caller(*Role)
    tried = refused = 0

    for make in (reads, creations, commands):
        for path, request in make(things).items():
            if request is None:
                continue
            for what, changed in nearly(request):
                if hasattr(changed, "wait_for"):
                    changed.wait_for = min(changed.wait_for, 0)
                found = await caller.tried(path, changed)
                assert found is None or found.status in FINE, (path, what, found)
                tried, refused = tried + 1, refused + (found is not None)

    assert await wire.is_serving()
    assert tried > 2_000
    figures.append(f"calls over gRPC with one strange field: {tried} tried, {refused} refused, none failed")
