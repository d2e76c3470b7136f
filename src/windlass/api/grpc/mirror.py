"""Structs as messages, and back. A message says the same as its struct, field by field under the same names.

What a message does not say its surroundings do: a step inside a request has the namespace of the request. What neither
says keeps its default. Which fields those are is fixed by a test, so nothing is forgotten by accident.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct

from windlass.errors import InvalidInput
from windlass.model.duration import from_instant, shown, to_instant
from windlass.model.time import Instant

S = TypeVar("S", bound=Struct)
Convert = Callable[[Any], Any]
Place = Callable[[Any, Mapping[str, Any]], Any]  # from a field of a message and what surrounds it

NOTHING: Mapping[str, Any] = {}
_MISSING: Any = object()


class Mirror:
    """One struct and the message that says the same."""

    def __init__(self, struct: type[Struct], descriptor: Any, *, renamed: Mapping[str, str] = NOTHING) -> None:
        self.struct, self.descriptor = struct, descriptor
        self.message: type[Message] = GetMessageClass(descriptor)
        hints = get_type_hints(struct)
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        self.unsaid = tuple(
            name for name in fields if renamed.get(name, name) not in descriptor.fields_by_name
        )  # by the message: filled from what surrounds it
        self._writes: list[tuple[str, str, Convert | None]] = []
        self._reads: list[tuple[str, Callable[[Any, Mapping[str, Any]], Any]]] = []
        for name in fields:
            said = renamed.get(name, name)
            if said in descriptor.fields_by_name:
                field = descriptor.fields_by_name[said]
                self._writes.append((name, said, _writer(hints[name], field)))
                self._reads.append((name, _reader(hints[name], field, fields[name].default)))

    def to_message(self, value: Struct) -> Any:
        given = {}
        for name, said, convert in self._writes:
            item = getattr(value, name)
            if item is not None:
                given[said] = item if convert is None else convert(item)
        return self.message(**given)

    def to_struct(self, message: Any, around: Mapping[str, Any] = NOTHING) -> Any:
        """Raises InvalidInput, whose path names the field, for what no message of ours would say."""
        values = {name: around[name] for name in self.unsaid if name in around}
        inside = {**around, **values}
        for name, read in self._reads:
            values[name] = inside[name] = read(message, inside)
        return self.struct(**values)


def mirror(struct: type[Any], descriptor: Any) -> Mirror:
    found = _KNOWN.get((struct, descriptor))
    if found is None:
        found = _KNOWN[struct, descriptor] = Mirror(struct, descriptor)
    return found


_KNOWN: dict[tuple[type[Any], Any], Mirror] = {}


def _plain(hint: Any) -> tuple[Any, bool]:
    """A hint without its NewType and its None, and whether it may be None."""
    is_optional = False
    while True:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        elif get_origin(hint) in (Union, UnionType):
            parts = [part for part in get_args(hint) if part is not NoneType]
            assert len(parts) == 1, hint
            (hint,), is_optional = parts, True
        else:
            return hint, is_optional


def _writer(hint: Any, field: FieldDescriptor) -> Convert | None:
    hint, _ = _plain(hint)
    if get_origin(hint) is dict:
        return None if _is_map(field) else functools.partial(_pairs, GetMessageClass(_message(field)))
    if field.is_repeated:
        item = _item_writer(get_args(hint)[0], field)
        return None if item is None else lambda values: [item(value) for value in values]
    return _item_writer(hint, field)


def _item_writer(hint: Any, field: FieldDescriptor) -> Convert | None:
    hint, _ = _plain(hint)
    if hint is datetime:
        return to_instant
    if get_origin(hint) is tuple:  # of a fixed length: the fields of a message, in their order
        message = GetMessageClass(_message(field))
        writes = [(part.name, _item_writer(kind, part)) for kind, part in _parts(hint, field)]
        return lambda value: message(
            **{name: item if write is None else write(item) for (name, write), item in zip(writes, value, strict=True)}
        )
    if isinstance(hint, type) and issubclass(hint, Struct):
        # Only when it is used: a struct may hold itself.
        return lambda value: mirror(hint, _message(field)).to_message(value)
    if isinstance(hint, type) and issubclass(hint, StrEnum) and field.enum_type is not None:
        return _numbers(hint, field.enum_type).__getitem__
    return None


def _reader(hint: Any, field: FieldDescriptor, default: Any) -> Callable[[Any, Mapping[str, Any]], Any]:
    hint, is_optional = _plain(hint)
    name = field.name
    if get_origin(hint) is dict:
        if _is_map(field):
            return lambda message, around: dict(getattr(message, name))
        first, second = (part.name for part in _message(field).fields)
        return lambda message, around: {
            getattr(pair, first): getattr(pair, second) if pair.HasField(second) else None
            for pair in getattr(message, name)
        }
    if field.is_repeated:
        each = _item_reader(get_args(hint)[0], field)
        # A list of the wire cannot say whether it was left out or is empty.
        empty: tuple[Any, ...] | None = None if is_optional else ()
        if each is None:
            return lambda message, around: tuple(getattr(message, name)) or empty
        return lambda message, around: tuple([each(value, around) for value in getattr(message, name)]) or empty
    item = _item_reader(hint, field)
    if field.has_presence:
        unsaid = None if is_optional else _default(hint, default)

        def read(message: Any, around: Mapping[str, Any]) -> Any:
            if message.HasField(name):
                value = getattr(message, name)
                return value if item is None else item(value, around)
            if unsaid is _MISSING:
                raise InvalidInput(f"{name} is missing.", reason="missing", path=name)
            return unsaid

        return read
    if item is None:
        return lambda message, around: getattr(message, name)
    return lambda message, around: item(getattr(message, name), around)


def _default(hint: Any, default: Any) -> Any:
    """Of what may be left out: what the struct around it says, or itself if it needs nothing."""
    if default is not msgspec.NODEFAULT:
        return default
    try:
        return hint()
    except TypeError:
        return _MISSING


def _item_reader(hint: Any, field: FieldDescriptor) -> Place | None:
    hint, _ = _plain(hint)
    if hint is datetime:
        return lambda value, around: from_instant(Instant(value))
    if get_origin(hint) is tuple:
        reads = [(part.name, _item_reader(kind, part)) for kind, part in _parts(hint, field)]
        return lambda value, around: tuple(
            [getattr(value, name) if read is None else read(getattr(value, name), around) for name, read in reads]
        )
    if isinstance(hint, type) and issubclass(hint, Struct):
        return lambda value, around: mirror(hint, _message(field)).to_struct(value, around)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        members: dict[Any, Any] = {member.value: member for member in hint}
        if field.enum_type is not None:
            members = {number: member for member, number in _numbers(hint, field.enum_type).items()}
        return functools.partial(_member, members, field.name)
    if get_origin(hint) is Literal:
        return functools.partial(_member, {value: value for value in get_args(hint)}, field.name)
    return None


def _member(members: Mapping[Any, Any], path: str, value: Any, around: Mapping[str, Any]) -> Any:
    found = members.get(value)
    if found is None:
        raise InvalidInput(f"{path} has a value that is not known: {shown(value)}.", reason="unknown_value", path=path)
    return found


def _numbers(kind: type[StrEnum], descriptor: EnumDescriptor) -> dict[Any, int]:
    """RunStatus.PENDING is RUN_STATUS_PENDING."""
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {member: descriptor.values_by_name[prefix + member.name].number for member in kind}


def _message(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _pairs(message: type[Message], values: Mapping[str, Any]) -> list[Any]:
    """A mapping whose values may be None, which a map of the wire cannot say."""
    first, second = (field.name for field in message.DESCRIPTOR.fields)
    return [message(**{first: key} if value is None else {first: key, second: value}) for key, value in values.items()]


def _parts(hint: Any, field: FieldDescriptor) -> list[tuple[Any, FieldDescriptor]]:
    return list(zip(get_args(hint), _message(field).fields, strict=True))
