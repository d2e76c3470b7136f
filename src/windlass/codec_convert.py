"""Gives a decoded value the type that its annotation names, or refuses it.

A JSON list becomes a set, and text becomes keys that are UUIDs or dates, while msgspec or pydantic converts. So before
they do, the value is walked along its annotation, and what is about to be hashed is checked (`codec_hashes`).
"""

from __future__ import annotations

import datetime
import decimal
import functools
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import inspect
from msgspec.inspect import CustomType, type_info

from windlass.codec_hashes import MOST_ALIKE, check_hashed
from windlass.codec_types import Refusal, describe, is_untyped, name_of, usable

MAX_MESSAGE = 300
SETS = (inspect.SetType, inspect.FrozenSetType)
LISTS = (inspect.ListType, inspect.VarTupleType)
WITH_FIELDS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType, inspect.NamedTupleType)
NOT_CONVERTED = (inspect.StrType, inspect.AnyType)  # keys that stay text
SEVERAL = (list, tuple, set, frozenset)
MADE_OF: dict[Any, Any] = {
    list: inspect.ListType,
    tuple: inspect.VarTupleType,
    set: inspect.SetType,
    frozenset: inspect.FrozenSetType,
}
CLASSES: dict[type[inspect.Type], Any] = {
    inspect.NoneType: None,
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.StrType: str,
    inspect.BytesType: bytes,
    inspect.DateTimeType: datetime.datetime,
    inspect.DateType: datetime.date,
    inspect.TimeType: datetime.time,
    inspect.TimeDeltaType: datetime.timedelta,
    inspect.UUIDType: uuid.UUID,
    inspect.DecimalType: decimal.Decimal,
}


def convert(value: Any, type: Any) -> Any:
    """Give a decoded value the type its annotation names; strict. Raises Refusal."""
    if is_untyped(type):
        return value
    hashing = _hashing(type)
    if hashing is None:
        return value
    if hashing.known:
        hashing.check(value, hashing.root)
    try:
        return msgspec.convert(value, type, strict=True, dec_hook=_restore)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        refusal = Refusal("invalid_input", f"{_one_line(text)} at {{path}}")
        refusal.parts.append(path.rstrip("`"))
        raise refusal from error
    except Exception as error:  # __post_init__ and validators are the user's code
        text = f"{{path}} was refused by {describe(type)}: {name_of(error.__class__)}"
        raise Refusal("invalid_input", text) from error


def _restore(cls: Any, value: Any) -> Any:
    return value if cls is object else cls.__pydantic_validator__.validate_python(value)


def _one_line(text: str) -> str:
    return " ".join(text.replace("`", "").split())[:MAX_MESSAGE]


class Hashing:
    """Which parts of an annotation lead to something that will be hashed. Most annotations have none."""

    def __init__(self, type: Any) -> None:
        self.root = type_info(type)
        self.parts = {id(part): part for part in _within(self.root)}  # kept, so that no other part gets its id
        self.known = {key for key, part in self.parts.items() if any(map(_is_hashed, _within(part)))}

    def check(self, value: Any, part: Any, *, is_model: bool = False) -> None:
        if id(part) not in self.known:
            return
        if isinstance(part, inspect.Metadata):
            self.check(value, part.type, is_model=is_model)
        elif isinstance(part, inspect.UnionType):
            for arm in part.types:
                self.check(value, arm, is_model=is_model)
        elif isinstance(part, CustomType):
            is_root = getattr(part.cls, "__pydantic_root_model__", False)
            self._check_fields({"root": value} if is_root else value, _fields_of_model(part.cls), is_model=True)
        elif isinstance(part, WITH_FIELDS):
            self._check_fields(value, _fields(part, value), is_model=is_model)
        elif isinstance(value, dict):
            self._check_mapping(value, part, is_model=is_model)
        elif isinstance(value, SEVERAL):
            self._check_items(value, part, is_model=is_model)

    def _check_items(self, values: Iterable[Any], part: Any, *, is_model: bool) -> None:
        if isinstance(part, inspect.TupleType):
            for value, item in zip(values, part.item_types, strict=False):
                self.check(value, item, is_model=is_model)
        elif isinstance(part, (*LISTS, *SETS)):
            for value in values if id(part.item_type) in self.known else ():
                self.check(value, part.item_type, is_model=is_model)
            if isinstance(part, SETS):
                _check_built(values, part.item_type, what="a set", is_model=is_model)

    def _check_mapping(self, values: dict[Any, Any], part: Any, *, is_model: bool) -> None:
        key, item = getattr(part, "key_type", None), getattr(part, "value_type", None)
        for value in values.values() if id(item) in self.known else ():
            self.check(value, item, is_model=is_model)
        if key is not None and not isinstance(key, NOT_CONVERTED):
            _check_built(values, key, what="a mapping", is_model=is_model)

    def _check_fields(self, value: Any, fields: list[tuple[str, Any]], *, is_model: bool) -> None:
        if isinstance(value, dict):
            for name, field in fields:
                if name in value:
                    self.check(value[name], field, is_model=is_model)
        elif isinstance(value, SEVERAL):  # a named tuple, or a Struct that is written as a list
            for item, (_, field) in zip(value, fields, strict=False):
                self.check(item, field, is_model=is_model)


def _hashing(type: Any) -> Hashing | None:
    """None: values cannot be converted to this annotation, so they stay as they are."""
    try:
        return _hashing_cached(type)
    except TypeError:  # unhashable, as an Annotated with a list in it
        return _hashing_anew(type)


def _hashing_anew(type: Any) -> Hashing | None:
    return Hashing(type) if usable(type) else None


_hashing_cached = functools.lru_cache(maxsize=1024)(_hashing_anew)


def _check_built(values: Any, part: Any, *, what: str, is_model: bool) -> None:
    """Check items as they will be, not as they are: text hashes with a secret, and the UUID made of it does not."""
    if len(values) <= MOST_ALIKE:
        return
    annotation: Any = GenericAlias(list, (_annotation(part),))
    try:
        if is_model:
            items = _adapter(annotation).validate_python(list(values))
        else:
            items = msgspec.convert(list(values), annotation, strict=True, dec_hook=_restore)
        check_hashed(items, what=what)
    except Refusal:
        raise
    except Exception:  # the conversion itself finds the same, and says it better
        return


@functools.lru_cache(maxsize=256)
def _adapter(annotation: Any) -> Any:
    from pydantic import TypeAdapter  # only a program with models of pydantic comes here

    return TypeAdapter(annotation)


def _is_hashed(part: Any) -> bool:
    if isinstance(part, SETS):
        return not isinstance(part.item_type, inspect.StrType)
    key = getattr(part, "key_type", None)
    return key is not None and not isinstance(key, NOT_CONVERTED)


def _within(root: Any) -> Iterator[Any]:
    """A part of an annotation and all that is in it; recursive classes make it a graph."""
    seen: set[int] = set()
    ahead = [root]
    while ahead:
        part = ahead.pop()
        if isinstance(part, tuple):
            ahead.extend(part)
        elif isinstance(part, (inspect.Type, inspect.Field)) and id(part) not in seen:
            seen.add(id(part))
            yield part
            ahead.extend(getattr(part, name) for name in part.__struct_fields__)
            if isinstance(part, CustomType):
                ahead.extend(field for _, field in _fields_of_model(part.cls))


def _fields(part: Any, value: Any) -> list[tuple[str, Any]]:
    """By their names as they are written; none of another member of a union of tagged Structs."""
    tag, key = getattr(part, "tag", None), getattr(part, "tag_field", None)
    fields = [(field.encode_name, field.type) for field in part.fields]
    if tag is None:
        return fields
    if isinstance(value, dict):
        return fields if value.get(key) == tag else []
    return [(key, inspect.AnyType()), *fields]  # written as a list, the tag stands first


@functools.cache  # for good: Hashing knows these parts by their identity
def _fields_of_model(cls: Any) -> list[tuple[str, Any]]:
    """Of a model of pydantic, each field under every name that it answers to."""
    found: list[tuple[str, Any]] = []
    for name, field in getattr(cls, "__pydantic_fields__", {}).items():
        part = _part(field.annotation)
        also = getattr(field.validation_alias, "choices", (field.validation_alias,))
        found += [(alias, part) for alias in dict.fromkeys((name, field.alias, *also)) if isinstance(alias, str)]
    return found


def _part(annotation: Any) -> Any:
    """What an annotation in a model of pydantic describes, also where it says more than msgspec can."""
    origin, args = get_origin(annotation), get_args(annotation)
    is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
    with suppress(Exception):  # unions of models, and of several lists
        part = type_info(annotation)
        if not (is_mapping and isinstance(part, CustomType)):  # such as a defaultdict
            return part
    if origin is Annotated:
        return _part(args[0])
    parts = [_part(arg) for arg in args if arg is not ...]
    if origin in (Union, UnionType):
        return inspect.UnionType(tuple(parts))
    if is_mapping and parts:
        return inspect.DictType(parts[0], parts[-1])
    if origin is tuple and ... not in args:
        return inspect.TupleType(tuple(parts))
    return MADE_OF[origin](parts[0]) if origin in MADE_OF and parts else inspect.AnyType()


def _annotation(part: Any) -> Any:
    """The annotation that a part describes, without its constraints."""
    kind = type(part)
    if kind in CLASSES:
        return CLASSES[kind]
    if kind is inspect.Metadata:
        return _annotation(part.type)
    if kind is inspect.LiteralType:
        return Literal[part.values]
    if kind is inspect.UnionType:
        return Union[tuple(map(_annotation, part.types))]  # noqa: UP007  made at run time
    if kind is inspect.TupleType:
        return tuple[tuple(map(_annotation, part.item_types))]  # type: ignore[misc]
    if kind is inspect.VarTupleType:
        return tuple[_annotation(part.item_type), ...]  # type: ignore[misc]
    if kind is inspect.FrozenSetType:
        return frozenset[_annotation(part.item_type)]  # type: ignore[misc]
    return getattr(part, "cls", Any)
