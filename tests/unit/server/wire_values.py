"""Values of every kind that the wire carries, made from the structs and messages themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import strategies as some
from hypothesis.strategies import DrawFn, SearchStrategy
from msgspec import Struct

from windlass.api.grpc import server
from windlass.api.grpc.mirror import Mirror, _message, _parts, _plain, mirror
from windlass.api.grpc.remote_pipeline_work import _CLAIMED as _CLAIMED_PIPELINE
from windlass.api.grpc.remote_work import _CLAIMED, _POLL
from windlass.api.grpc.server import AROUND
from windlass.api.grpc.table import Row
from windlass.api.starts import Starts
from windlass.model.commands import Started
from windlass.model.duration import from_instant
from windlass.model.pipeline_commands import Published
from windlass.model.signal import CreateSignal
from windlass.model.time import Instant
from windlass.v1.model_pb2 import StartedRun
from windlass.v1.pipeline_pb2 import PublishedEvent
from windlass.v1.signal_pb2 import CreateSignalRequest

LATEST = 4_102_444_800_000_000  # the year 2100
DEEPEST = 2  # an explanation holds explanations


class _NoDoors:
    """The table is only read here: nothing of it is called."""


def rows() -> list[Row]:
    nobody: Any = _NoDoors()
    starts: Starts = nobody
    return server.rows(starts)


class Whole(NamedTuple):
    """A mirror that stands alone on the wire, and what whoever reads it puts around it."""

    name: str
    mirror: Mirror
    around: Mapping[str, Any]


def wholes() -> list[Whole]:
    """Every request and every answer of the table, and those that are answered item by item."""
    found = [Whole(f"{row.name} asked", row.request_mirror, AROUND) for row in rows()]
    found += [Whole(f"{row.name} answered", row.answer_mirror, {}) for row in rows() if row.answer_mirror is not None]
    found.append(Whole("Poll of a client", _POLL, AROUND))
    found.append(Whole("ClaimedRun", _CLAIMED, {"asked_at": Instant(5)}))
    found.append(Whole("ClaimedPipeline", _CLAIMED_PIPELINE, {"asked_at": Instant(5)}))
    found.append(Whole("StartedRun", mirror(Started, StartedRun.DESCRIPTOR), {}))
    found.append(Whole("PublishedEvent", mirror(Published, PublishedEvent.DESCRIPTOR), {}))
    found.append(Whole("CreateSignal of a client", mirror(CreateSignal, CreateSignalRequest.DESCRIPTOR), {}))
    return found


def mirrors() -> list[Mirror]:
    """Every struct that goes over the wire with its message, nested ones too."""
    found: dict[tuple[type[Struct], str], Mirror] = {}
    left = [whole.mirror for whole in wholes()]
    while left:
        one = left.pop()
        if (one.struct, one.descriptor.full_name) not in found:
            found[one.struct, one.descriptor.full_name] = one
            left.extend(_inner(one))
    return list(found.values())


def _inner(outer: Mirror) -> Iterator[Mirror]:
    hints = get_type_hints(outer.struct)
    for name, said, _ in outer._writes:
        yield from _mirrors_of(hints[name], outer.descriptor.fields_by_name[said])


def _mirrors_of(hint: Any, field: FieldDescriptor) -> Iterator[Mirror]:
    hint, _ = _plain(hint)
    if is_list(hint):
        yield from _mirrors_of(get_args(hint)[0], field)
    elif get_origin(hint) is tuple:
        for kind, part in _parts(hint, field):
            yield from _mirrors_of(kind, part)
    elif isinstance(hint, type) and issubclass(hint, Struct):
        yield mirror(hint, _message(field))


def is_list(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_args(hint)[1:] == (...,)


@some.composite
def structs(draw: DrawFn, one: Mirror, around: Mapping[str, Any], depth: int = 0) -> Any:
    """Any struct of this mirror, as it may come out of a message: what that does not say is as its surroundings say."""
    hints, given = get_type_hints(one.struct), dict[str, Any]()
    said = {name: one.descriptor.fields_by_name[said] for name, said, _ in one._writes}
    for field in msgspec.structs.fields(one.struct):
        if field.name in said:
            inside = {**around, **given}
            given[field.name] = draw(_values(hints[field.name], said[field.name], inside, depth))
        elif field.name in around:
            given[field.name] = around[field.name]
        else:
            assert not field.required, f"nothing says {one.struct.__name__}.{field.name}"
    return one.struct(**given)


def _values(hint: Any, field: FieldDescriptor, around: Mapping[str, Any], depth: int) -> SearchStrategy[Any]:
    hint, is_optional = _plain(hint)
    if get_origin(hint) is dict:
        return some.dictionaries(some.text(), _pair_values(hint), max_size=3)
    if is_list(hint):
        if depth > DEEPEST:
            return some.just(None if is_optional else ())
        items = _one(get_args(hint)[0], field, around, depth)
        if is_optional:  # left out, or at least one: the wire cannot say that there is none
            return some.none() | some.lists(items, min_size=1, max_size=2).map(tuple)
        return some.lists(items, max_size=2).map(tuple)
    values = _one(hint, field, around, depth)
    if is_optional:
        return some.none() if depth > DEEPEST else some.none() | values
    return values


def _pair_values(hint: Any) -> SearchStrategy[Any]:
    kind, is_optional = _plain(get_args(hint)[1])
    values = {int: _numbers(), str: some.text()}[kind]
    return some.none() | values if is_optional else values


def _one(hint: Any, field: FieldDescriptor, around: Mapping[str, Any], depth: int) -> SearchStrategy[Any]:
    hint, _ = _plain(hint)
    if get_origin(hint) is tuple:
        return some.tuples(*(_one(kind, part, around, depth) for kind, part in _parts(hint, field)))
    if get_origin(hint) is Literal:
        return some.sampled_from(get_args(hint))
    if issubclass(hint, Struct):
        return structs(mirror(hint, _message(field)), around, depth + 1)
    if issubclass(hint, StrEnum):
        return some.sampled_from(list(hint))
    if hint is datetime:
        return some.integers(0, LATEST).map(lambda at: from_instant(Instant(at)))
    return {
        bool: some.booleans(),
        int: _numbers(),
        str: some.text(),
        bytes: some.binary(max_size=20),
        float: some.floats(allow_nan=False),
    }[hint]


def _numbers() -> SearchStrategy[int]:
    return some.integers(-(2**63), 2**63 - 1)
