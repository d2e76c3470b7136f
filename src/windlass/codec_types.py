"""What an annotation promises, whether a value that comes back keeps it, and how a refusal names the place."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterator
from types import NoneType
from typing import Any

import msgspec
from msgspec.inspect import CustomType, type_info

MAX_DEPTH = 64
UNDECLARED = inspect.Parameter.empty
PLAIN = frozenset({str, int, bool, NoneType})
MODULES = re.compile(r"(?<![\w<>])[\w<>]++\.(?=[\w<])")
IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]{0,63}")


class Refusal(Exception):
    """Inside the codec only: why a value is refused. The path is gathered while the error climbs out."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason, self.text = reason, text  # "{path}" in the text is replaced
        self.parts: list[str] = []
        self.chain: list[int] = []

    def within(self, part: str, *, owner: object) -> None:
        self.parts.append(part)
        self.chain.append(id(owner))

    def at(self, path: str) -> tuple[str, str, str]:
        """Reason, sentence and path, seen from `path`."""
        full = path + "".join(reversed(self.parts))
        if self.reason == "depth" and len(set(self.chain)) < len(self.chain):
            # The same object twice on the way down: say so instead of reporting how deep we gave up.
            return "not_serializable", f"cycle: {path} contains itself", path
        if self.reason == "depth":
            return "invalid_input", f"depth > {MAX_DEPTH} at {path}", path
        return self.reason, self.text.replace("{path}", full), full


def name_of(kind: type) -> str:
    """A type's bare name, bounded and printable."""
    return ascii(str(kind.__name__))[1:-1][:80]


def with_article(name: str) -> str:
    return f"an {name}" if name[:1] in "AEIOaeio" else f"a {name}"


def part_of(key: object) -> str:
    """One part of a path: `.name`, or `['other key']`."""
    if isinstance(key, int):
        return f"[{key}]"
    text = str(key)
    return f".{text}" if IDENTIFIER.fullmatch(text) else f"[{text[:40]!a}]"


def is_untyped(type: Any) -> bool:
    return type is Any or type is object or type is UNDECLARED


def usable(type: Any) -> bool:
    """Say whether values can be decoded to this annotation; one that is not usable is treated as Any."""
    try:
        return _usable_cached(type)
    except TypeError:  # unhashable, as an Annotated with a list in it
        return _usable(type)


def _usable(type: Any) -> bool:
    if is_untyped(type):
        return True
    try:
        info = type_info(type)
    except Exception:  # unresolvable names inside a class raise whatever they raise
        return False
    return all(is_restorable(found.cls) for found in _walk_info(info, set()) if isinstance(found, CustomType))


_usable_cached = functools.lru_cache(maxsize=1024)(_usable)


def is_restorable(cls: Any) -> bool:
    return cls is object or hasattr(cls, "__pydantic_validator__")


def _walk_info(info: Any, seen: set[int]) -> Iterator[Any]:
    """Every part of a description of types; recursive classes make it a graph."""
    if isinstance(info, tuple):
        for item in info:
            yield from _walk_info(item, seen)
    elif isinstance(info, (msgspec.inspect.Type, msgspec.inspect.Field)) and id(info) not in seen:
        seen.add(id(info))
        yield info
        for name in info.__struct_fields__:
            yield from _walk_info(getattr(info, name), seen)


def describe(type: Any) -> str:
    """An annotation as people write it."""
    if type is None or type is NoneType:
        return "None"
    if isinstance(type, builtin_type) and not getattr(type, "__args__", None):
        return name_of(type)
    text = type.__name__ if hasattr(type, "__supertype__") else MODULES.sub("", str(type)[:1000])
    return ascii(text)[1:-1][:120]


builtin_type = type


class Difference(msgspec.Struct, frozen=True):
    """Where a value came back as something else: at `path` it was `before` and is `after`."""

    path: str  # relative to the value compared
    before: type
    after: type


def difference(before: Any, after: Any) -> Difference | None:
    """Find the first place where two values differ in type or content; an int may have become an equal float."""
    kind = type(before)
    if kind is not type(after):
        if kind is int and type(after) is float and after == before:
            return None
        return Difference("", kind, type(after))
    if kind in PLAIN:
        return None if before == after else Difference("", kind, kind)
    if kind is float:
        return None if before.hex() == after.hex() else Difference("", kind, kind)
    if kind is set or kind is frozenset:
        return _set_difference(before, after)
    inside = _parts(before)
    if inside is None:
        return None if _is_equal(before, after) else Difference("", kind, kind)
    others = _parts(after) or {}
    if len(inside) != len(others):
        return Difference("", kind, kind)
    for key, item in inside.items():
        found = difference(item, others[key]) if key in others else Difference("", type(item), NoneType)
        if found is not None:
            return Difference(part_of(key) + found.path, found.before, found.after)
    return None


def _set_difference(before: Any, after: Any) -> Difference | None:
    others = {item: item for item in after}
    for item in before:
        found = difference(item, others[item]) if item in others else Difference("", type(item), NoneType)
        if found is not None:
            return Difference("[*]" + found.path, found.before, found.after)
    return None if len(before) == len(after) else Difference("", type(before), type(after))


def _parts(value: Any) -> dict[Any, Any] | None:
    """What a value is made of, by name or position; None for a leaf."""
    kind = type(value)
    if kind is dict:
        return value  # type: ignore[no-any-return]
    if kind is list or isinstance(value, tuple):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(kind)}
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name, None) for name in value.__struct_fields__}
    if hasattr(kind, "__pydantic_validator__"):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        private = getattr(value, "__pydantic_private__", None) or {}
        return {**vars(value), **extra, **private}
    return None


def _is_equal(before: Any, after: Any) -> bool:
    try:
        return bool(before == after)
    except Exception:  # a leaf inside a pydantic model may be of any class
        return False
