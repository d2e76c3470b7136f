"""Which values become which JSON, and back: the closed list of tags.

A tag is an object with one key that starts with "$", as in {"$tuple": [1, 2]}. A dict of the user that looks like
one is wrapped in {"$dict": …}, so data never turns into a tag. Nothing found in data is ever imported or called.
"""

from __future__ import annotations

import binascii
import dataclasses
import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Any

import msgspec

from windlass.codec_hashes import check_hashed
from windlass.codec_types import MAX_DEPTH, Refusal, name_of, part_of, with_article

MAX_DIGITS = 4_300  # what CPython itself accepts in text
SMALLEST, LARGEST = -(2**63), 2**64 - 1  # written without a second look

BAD_TEXT = re.compile("[\0\ud800-\udfff\ufffe]")
NONE = type(None)

canonical = msgspec.json.Encoder(order="deterministic").encode


def check_text(text: str) -> None:
    found = BAD_TEXT.search(text)
    if found is not None:
        point = f"U+{ord(found.group()):04X}"
        raise Refusal("invalid_text", f"text at {{path}} is not valid: {point} at position {found.start()}")


def refuse_kind(value: object) -> Refusal:
    text = f"{{path}} is {with_article(name_of(type(value)))}"
    for base in (str, *BY_KIND):
        if isinstance(value, base) and type(value) is not base:  # it may even have the same name
            return Refusal("not_serializable", f"{text}, a subclass of {base.__name__}")
    return Refusal("not_serializable", text)


class Writer:
    """Turns a value into plain JSON data. `budget` bounds the work before a single byte is written."""

    def __init__(self, *, budget: int, is_careful: bool = False) -> None:
        self.limit = self.budget = budget
        self.is_careful = is_careful  # look at each text, to say where a bad one stands
        self.has_typed = False  # something was met that only an annotation can restore

    def write(self, value: Any, depth: int = 1) -> Any:
        kind = type(value)
        if kind is str:
            self.take(len(value))
            if self.is_careful:
                check_text(value)
            return value
        if kind is bool or value is None or (kind is int and SMALLEST <= value <= LARGEST):
            return value
        write = BY_KIND.get(kind)
        return self._typed(value, depth) if write is None else write(self, value, depth)

    def take(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            size = self.limit - self.budget
            raise Refusal("payload_too_large", f"payload too large: at least {size} bytes, limit {self.limit}")

    def _float(self, value: float, _: int) -> float:
        if math.isfinite(value):
            return value
        raise Refusal("invalid_input", "non-finite number at {path}")

    def _big(self, value: int, _: int) -> dict[str, str]:
        # Measured in bits first: the text of a huge number takes quadratic time.
        if value.bit_length() <= MAX_DIGITS * 10 // 3:
            try:
                digits = str(value)
            except ValueError:
                digits = ""
            if 0 < len(digits.lstrip("-")) <= MAX_DIGITS:
                self.take(len(digits))
                return {"$int": digits}
        raise Refusal("invalid_input", "number too long at {path}")

    def _bytes(self, value: bytes, _: int) -> dict[str, str]:
        self.take(len(value))
        return {"$bytes": _to_base64(value)}

    def _scalar(self, value: Any, _: int) -> dict[str, Any]:
        tag, _read, spell = SPELLINGS[type(value)]
        try:
            return {tag: spell(value)}
        except Refusal:
            raise
        except Exception as error:  # a tzinfo is the user's code
            raise refuse_kind(value) from error

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        return self._items(value, depth, owner=value)

    def _tuple(self, value: tuple[Any, ...], depth: int) -> dict[str, Any]:
        return {"$tuple": self._items(value, depth, owner=value)}

    def _set(self, value: set[Any] | frozenset[Any], depth: int) -> dict[str, Any]:
        check_hashed(value, what="a set")
        # Sorted, so that equal sets have equal bytes.
        return {"$" + type(value).__name__: sorted(self._items(value, depth, owner=value), key=canonical)}

    def _dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        return self._object(value, depth, owner=value)

    def _items(self, items: Collection[Any], depth: int, *, owner: object) -> list[Any]:
        if depth > MAX_DEPTH:
            raise Refusal("depth", "")
        self.take(2 * len(items))
        if self._is_flat(items):
            return items if type(items) is list else list(items)
        written: list[Any] = []
        try:
            for item in items:
                written.append(self.write(item, depth + 1))
        except Refusal as refusal:
            part = "[*]" if isinstance(items, (set, frozenset)) else f"[{len(written)}]"
            refusal.within(part, owner=owner)
            raise
        return written

    def _object(self, items: dict[Any, Any], depth: int, *, owner: object) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise Refusal("depth", "")
        self.take(4 * len(items))
        self._check_keys(items)
        written: dict[str, Any] = {}
        if self._is_flat(items.values()):
            written = items if type(owner) is dict else dict(items)
        else:
            key: Any = None
            try:
                for key, item in items.items():
                    written[key] = self.write(item, depth + 1)
            except Refusal as refusal:
                refusal.within(part_of(key), owner=owner)
                raise
        if len(written) == 1 and next(iter(written)).startswith("$"):
            return {"$dict": written}
        return written

    def _check_keys(self, items: dict[Any, Any]) -> None:
        if not items:
            return
        if set(map(type, items)) != {str}:
            wrong = next(key for key in items if type(key) is not str)
            kind = name_of(type(wrong))
            raise Refusal("invalid_input", f"keys must be strings: {{path}} has {with_article(kind)} as a key")
        self.take(sum(map(len, items)))
        if self.is_careful:
            try:
                for key in items:
                    check_text(key)
            except Refusal as refusal:
                refusal.within(part_of(key), owner=items)
                raise

    def _is_flat(self, items: Collection[Any]) -> bool:
        """Whether items can be written as they are; decided without a loop in Python."""
        if self.is_careful or not items:
            return not items
        kinds = set(map(type, items))
        if kinds == {str}:
            self.take(sum(map(len, items)))
            return True
        if kinds == {int}:
            return bool(min(items) >= SMALLEST and max(items) <= LARGEST)
        if kinds == {float}:
            return all(map(math.isfinite, items))
        return kinds <= {bool, NONE}

    def _typed(self, value: Any, depth: int) -> Any:
        """Plain data of something that its annotation will restore."""
        self.has_typed = True
        kind = type(value)
        try:
            if isinstance(value, Enum):
                if type(value.value) in (str, int):
                    return self.write(value.value, depth)
                raise refuse_kind(value)
            if dataclasses.is_dataclass(kind):
                fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
                return self._object(fields, depth, owner=value)
            if isinstance(value, msgspec.Struct):
                return self._struct(value, depth)
            if isinstance(value, tuple) and hasattr(kind, "_fields"):
                return self._items(tuple(value), depth, owner=value)
            if hasattr(kind, "__pydantic_validator__"):
                return self._model(value, depth)
        except Refusal:
            raise
        except Exception as error:  # a property or a serializer of the user
            raise refuse_kind(value) from error
        raise refuse_kind(value)

    def _struct(self, value: msgspec.Struct, depth: int) -> Any:
        config = value.__struct_config__
        fields: dict[str, Any] = {}
        if config.tag is not None:
            fields[config.tag_field or "type"] = config.tag
        for name, written_as in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            item = getattr(value, name)
            if item is not msgspec.UNSET:
                fields[written_as] = item
        if config.array_like:
            return self._items(list(fields.values()), depth, owner=value)
        return self._object(fields, depth, owner=value)

    def _model(self, value: Any, depth: int) -> Any:
        dump = type(value).__pydantic_serializer__.to_python
        before = self.budget
        try:
            return self._dumped(
                dump(value, mode="python", by_alias=True, round_trip=True, warnings=False), depth, owner=value
            )
        except Refusal as refusal:
            if refusal.reason != "not_serializable":
                raise
        # Types of pydantic's own, such as URLs: it knows their text.
        self.budget = before
        return self._dumped(
            dump(value, mode="json", by_alias=True, round_trip=True, warnings=False), depth, owner=value
        )

    def _dumped(self, dumped: Any, depth: int, *, owner: object) -> Any:
        return self._object(dumped, depth, owner=owner) if type(dumped) is dict else self.write(dumped, depth)


def _to_base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


def _from_base64(text: str) -> bytes:
    return binascii.a2b_base64(text, strict_mode=True)


def _spell_datetime(value: datetime.datetime) -> str:
    if value.utcoffset() is None:
        raise Refusal("invalid_input", "timezone required: {path} is a naive datetime")
    return value.isoformat()


def _spell_time(value: datetime.time) -> str:
    if value.tzinfo is not None and value.utcoffset() is None:
        raise Refusal("invalid_input", "a fixed offset is required: {path} is a time whose zone depends on the date")
    return value.isoformat()


def _spell_decimal(value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise Refusal("invalid_input", "non-finite number at {path}")
    return str(value)


def _spell_timedelta(value: datetime.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _read_timedelta(body: list[Any]) -> datetime.timedelta:
    if list(map(type, body)) != [int, int, int]:
        raise ValueError
    return datetime.timedelta(*body)


def _read_int(text: str) -> int:
    if len(text) > MAX_DIGITS + 1:
        raise Refusal("invalid_input", "number too long at {path}")
    return int(text)


# The tag of a type, how its text is read, and how it is written.
SPELLINGS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytes: ("$bytes", _from_base64, _to_base64),
    datetime.datetime: ("$datetime", datetime.datetime.fromisoformat, _spell_datetime),
    datetime.date: ("$date", datetime.date.fromisoformat, datetime.date.isoformat),
    datetime.time: ("$time", datetime.time.fromisoformat, _spell_time),
    datetime.timedelta: ("$timedelta", _read_timedelta, _spell_timedelta),
    decimal.Decimal: ("$decimal", decimal.Decimal, _spell_decimal),
    uuid.UUID: ("$uuid", uuid.UUID, str),
    int: ("$int", _read_int, str),
}
BY_KIND: dict[type, Callable[[Writer, Any, int], Any]] = {
    **dict.fromkeys(SPELLINGS, Writer._scalar),
    bytes: Writer._bytes,
    int: Writer._big,
    float: Writer._float,
    list: Writer._list,
    dict: Writer._dict,
    tuple: Writer._tuple,
    set: Writer._set,
    frozenset: Writer._set,
}
SCALARS = {tag: (read, spell) for tag, read, spell in SPELLINGS.values()}
COLLECTIONS: dict[str, Callable[[Iterable[Any]], Any]] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
BODIES: dict[str, type] = {**dict.fromkeys(SCALARS, str), **dict.fromkeys(COLLECTIONS, list)}
BODIES |= {"$timedelta": list, "$dict": dict}


class Reader:
    """Turns plain JSON data back into values."""

    def __init__(self, *, is_careful: bool) -> None:
        self.is_careful = is_careful

    def read(self, tree: Any, depth: int = 1) -> Any:
        kind = type(tree)
        if kind is list:
            return self._items(tree, depth)
        if kind is dict:
            if len(tree) == 1:
                ((key, body),) = tree.items()
                if key.startswith("$"):
                    return self._tagged(key, body, depth)
            return self._object(tree, depth)
        if kind is str and self.is_careful:
            check_text(tree)
        return tree

    def _items(self, items: list[Any], depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise Refusal("depth", "")
        values: list[Any] = []
        try:
            for item in items:
                values.append(self.read(item, depth + 1))
        except Refusal as refusal:
            refusal.within(f"[{len(values)}]", owner=items)
            raise
        return values

    def _object(self, items: dict[str, Any], depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise Refusal("depth", "")
        values: dict[str, Any] = {}
        key = ""
        try:
            for key, item in items.items():
                if self.is_careful:
                    check_text(key)
                values[key] = self.read(item, depth + 1)
        except Refusal as refusal:
            refusal.within(part_of(key), owner=items)
            raise
        return values

    def _tagged(self, tag: str, body: Any, depth: int) -> Any:
        if tag not in BODIES:
            raise Refusal("invalid_json", f"unknown tag {tag[:40]!a} at {{path}}")
        if type(body) is BODIES[tag]:
            try:
                return self._restored(tag, body, depth)
            except (ValueError, TypeError, ArithmeticError):
                pass
        raise Refusal("invalid_json", f"malformed {tag} at {{path}}")

    def _restored(self, tag: str, body: Any, depth: int) -> Any:
        if tag == "$dict":
            return self._object(body, depth)
        if tag in COLLECTIONS:
            items = self._items(body, depth)
            if tag != "$tuple":
                check_hashed(items, what="a set")
            value = COLLECTIONS[tag](items)
            is_same = len(value) == len(items)
        else:
            read, spell = SCALARS[tag]
            value = read(body)
            is_same = spell(value) == body  # one spelling per value: no underscores, no other digits, no spaces
        if not is_same:
            raise ValueError
        return value
