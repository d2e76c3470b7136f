"""How values become bytes and come back: JSON, with a closed list of tags.

    value ── Writer ──► plain data ── JSON ──► bytes ── hook.seal ──► stored
    value ◄─ annotation ── Reader ◄── JSON ◄── bytes ◄─ hook.open ─── stored

Hashes are taken before sealing, over a canonical form in which keys and sets are sorted. A value that would come
back as something else is refused while its author is still there to read the error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from math import isfinite
from types import NoneType
from typing import Any, NoReturn, Protocol

import msgspec

from windlass.codec_convert import convert
from windlass.codec_tags import BAD_TEXT, LARGEST, SMALLEST, Reader, Writer, canonical
from windlass.codec_types import (
    MAX_DEPTH,
    Difference,
    Refusal,
    describe,
    difference,
    is_untyped,
    name_of,
    part_of,
    usable,
    with_article,
)
from windlass.errors import InvalidInput, WindlassError

MAX_PAYLOAD = 2 * 1024 * 1024
MAX_SAFE_TEXT = 8 * 1024
ADVICE = "Return plain data, a dataclass, a Struct or a pydantic model."
TUPLE = b'{"$tuple":['
SCALARS = frozenset({str, int, float, bool, NoneType})

__all__ = ["MAX_PAYLOAD", "Codec", "Hook", "safe_text", "usable"]

to_json = msgspec.json.Encoder().encode
from_json = msgspec.json.Decoder().decode
kind_of = type  # `type` is the name of a parameter below


class Hook(Protocol):
    """Applied last when writing and first when reading; for example encryption."""

    def seal(self, data: bytes, /) -> bytes: ...

    def open(self, data: bytes, /) -> bytes: ...


class Codec:
    """Values ↔ bytes. Every refusal is an InvalidInput with its reason and the path of the value."""

    def __init__(self, *, hook: Hook | None = None, max_bytes: int = MAX_PAYLOAD) -> None:
        self._hook = hook
        self._max_bytes = max_bytes

    @property
    def is_sealing(self) -> bool:
        """Is there a hook, so that only this program can read what it writes?"""
        return self._hook is not None

    def encode(self, value: Any, *, path: str = "$") -> bytes:
        data = self._quick(value)
        if data is None:
            data, _, _ = self._write(value, path=path)
        return data if self._hook is None else self._seal(data)

    def encode_hashed(self, value: Any) -> tuple[bytes, bytes]:
        """The payload, and 16 bytes that are equal for equal values whatever the order of their keys."""
        data = self._quick(value)
        if data is not None:
            digest = blake2b(data, digest_size=16).digest()
        else:
            data, tree, _ = self._write(value, path="$")
            digest = blake2b(canonical(tree), digest_size=16).digest()
        return (data if self._hook is None else self._seal(data)), digest

    def hash_of(self, value: Any) -> bytes:
        """What `encode_hashed` says of it, without the payload. A value that cannot be stored is refused."""
        data = self._quick(value)
        if data is None:
            data = canonical(self._write(value, path="$")[1])
        return blake2b(data, digest_size=16).digest()

    def decode(self, data: bytes, type: Any = Any) -> Any:
        """The value, by its annotation; strict, except that an int may stand for a float and text for a date."""
        plain = data if self._hook is None else self._open(data)
        value = self._read(plain)
        if kind_of(value) is type and type in SCALARS:
            return value
        try:
            return convert(value, type)
        except Refusal as refusal:
            refuse(refusal, "$")

    def round_trip(self, value: Any, type: Any, *, what: str, name: str) -> tuple[bytes, Any]:
        """The payload and the value as it will come back after a crash; refuse one that would come back changed.

        What it is the result of is said in two parts, which are put together only for a refusal.
        """
        kind = kind_of(value)
        if kind in SCALARS and (type is kind or type is Any or (type is None and value is None)):
            data = self._quick(value)
            if data is not None:
                return (data if self._hook is None else self._seal(data)), value
        try:
            data, _, has_typed = self._write(value, path="$")
        except InvalidInput as error:
            advice = f" {ADVICE}" if error.reason == "not_serializable" else ""
            message = f"{what} {name!r} ran, but its result cannot be stored: {error}.{advice}"
            raise InvalidInput(message, reason=error.reason, path=error.path) from None
        back = self._read(data)
        if has_typed or not is_untyped(type):
            back = self._check_result(value, back, type, what=f"{what} {name!r}")
        return (data if self._hook is None else self._seal(data)), back

    def encode_plain(self, args: tuple[Any, ...], types: Sequence[Any]) -> tuple[bytes, bytes] | None:
        """`encode_hashed` of plain values of just these types, which most arguments are; None: check them first."""
        for value, type in zip(args, types, strict=False):
            if kind_of(value) is not type:
                return None
        data = self._quick(args)
        if data is None:
            return None
        return (data if self._hook is None else self._seal(data)), blake2b(data, digest_size=16).digest()

    def check_arguments(self, args: tuple[Any, ...], types: Sequence[Any], names: Sequence[str], *, what: str) -> None:
        """Refuse an argument that is not what its parameter declares, or would not arrive as what it is."""
        for value, type, name in zip(args, types, names, strict=False):
            kind = kind_of(value)
            if kind in SCALARS and (type is kind or type is Any) and self._quick(value) is not None:
                continue
            self._check_argument(value, type, path="$" + part_of(name), what=what)

    def _check_argument(self, value: Any, type: Any, *, path: str, what: str) -> None:
        try:
            data, _, has_typed = self._write(value, path=path)
            if not has_typed and is_untyped(type):
                return
            back = convert(self._read(data), type)
        except InvalidInput as error:
            raise InvalidInput(f"{what}: {error}.", reason=error.reason, path=error.path) from None
        except Refusal as refusal:
            reason, text, full = refusal.at(path)
            raise InvalidInput(f"{what}: {text}.", reason=reason, path=full) from None
        found = difference(value, back)
        if found is None:
            return
        full = path + found.path
        was, becomes = with_article(name_of(found.before)), with_article(name_of(found.after))
        if is_untyped(type):
            text = f"{full} is {was} but declares no type; it would arrive as {becomes}. Declare one"
        elif found.before is found.after:
            text = f"{full} is {was} that would not arrive as it is under {describe(type)}"
        else:
            text = f"{full} is {was}, which would arrive as {becomes}: {describe(type)} was expected"
        raise InvalidInput(f"{what}: {text}.", path=full)

    def _check_result(self, value: Any, back: Any, type: Any, *, what: str) -> Any:
        try:
            restored = convert(back, type)
        except Refusal as refusal:
            _, text, path = refusal.at("$")
            returned = with_article(name_of(kind_of(value)))
            message = f'{what} returned {returned} but declares "-> {describe(type)}": {text}. Correct one of them.'
            raise InvalidInput(message, path=path) from None
        found = difference(value, restored)
        if found is not None:
            raise InvalidInput(sentence(found, type, what=what), path="$" + found.path)
        return restored

    def _quick(self, value: Any) -> bytes | None:
        """The bytes of a scalar or of a tuple of scalars, or None if it needs a closer look. The hot path."""
        kind = kind_of(value)
        room = self._max_bytes
        for item in value if kind is tuple else (value,):
            part = kind_of(item)
            if part is str:
                room -= len(item)
            elif part is int:
                if not SMALLEST <= item <= LARGEST:
                    return None
            elif part is not bool and item is not None and not (part is float and isfinite(item)):
                return None
        if room < 0:
            return None
        try:
            data = to_json(value)
        except UnicodeEncodeError:
            return None
        # And not `in`, which first tries whether what is sought is a number: that takes longer than all the rest.
        if len(data) + 11 > self._max_bytes or data.find(b"\\u0000") >= 0 or data.find(b"\xef\xbf\xbe") >= 0:
            return None
        return b'{"$tuple":' + data + b"}" if kind is tuple else data

    def _write(self, value: Any, *, path: str) -> tuple[bytes, Any, bool]:
        """Bytes before sealing, the plain data they came from, and whether only an annotation can restore it."""
        try:
            writer = Writer(budget=self._max_bytes)
            tree = writer.write(value)
            try:
                data = to_json(tree)
                is_suspect = b"\\u0000" in data or b"\xef\xbf\xbe" in data
            except ValueError:
                is_suspect = True
            if is_suspect:
                writer = Writer(budget=self._max_bytes, is_careful=True)
                tree = writer.write(value)
                data = to_json(tree)
            if len(data) > self._max_bytes:
                text = f"payload too large: {len(data)} bytes, limit {self._max_bytes}"
                raise Refusal("payload_too_large", text)
        except Refusal as refusal:
            refuse(refusal, path)
        return data, tree, writer.has_typed

    def _read(self, data: bytes) -> Any:
        try:
            if data.startswith(TUPLE):
                plain = _plain_tuple(data)
                if plain is not None:
                    return plain
            tree = from_json(data)
            if b"{" in data and to_json(tree) != data:
                # Not spelled as we spell it, so not from us: only then can a key stand twice.
                json.loads(data, object_pairs_hook=unique)
            is_careful = b"\\u" in data or b"\xef\xbf\xbe" in data
            # Fewer brackets than levels: it cannot be too deep, and without a "$" there is nothing to restore.
            if is_careful or b'"$' in data or data.count(b"[") + data.count(b"{") > MAX_DEPTH:
                return Reader(is_careful=is_careful).read(tree)
            return tree
        except Refusal as refusal:
            refuse(refusal, "$")
        except RecursionError:
            raise InvalidInput(f"depth > {MAX_DEPTH} at $", path="$") from None
        except UnicodeDecodeError:
            raise InvalidInput(f"text is not valid UTF-8 {bad_byte(data)}", reason="invalid_text", path="$") from None
        except msgspec.ValidationError as error:
            text = "number too long" if "Integer" in str(error) else "non-finite number"
            raise InvalidInput(f"{text} at $", path="$") from None
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            reason = "invalid_text" if has_lone_surrogate(data) else "invalid_json"
            raise InvalidInput(f"{reason.replace('_', ' ')}: {error}", reason=reason, path="$") from None

    def _seal(self, data: bytes) -> bytes:
        assert self._hook is not None
        return self._hook.seal(data)

    def _open(self, data: bytes) -> bytes:
        assert self._hook is not None
        try:
            return self._hook.open(data)
        except WindlassError:
            raise
        except Exception as error:  # whatever the hook's library raises for a wrong key or a changed byte
            kind = name_of(kind_of(error))
            raise InvalidInput(f"the payload cannot be opened: {kind}", reason="cannot_open", path="$") from error


def _plain_tuple(data: bytes) -> tuple[Any, ...] | None:
    """A tuple of plain values, as most arguments are; None if there may be more to it."""
    if not data.endswith(b"]}") or data.find(b"{", 1) >= 0 or data.count(b"[") >= MAX_DEPTH:
        return None
    if data.find(b"\\u") >= 0 or data.find(b"\xef\xbf\xbe") >= 0:
        return None
    try:
        return tuple(from_json(data[len(TUPLE) - 1 : -1]))
    except msgspec.DecodeError:  # an object with another key behind it, or none of ours
        return None


def refuse(refusal: Refusal, path: str) -> NoReturn:
    reason, text, full = refusal.at(path)
    raise InvalidInput(text, reason=reason, path=full) from refusal.__cause__


def bad_byte(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"at byte {error.start}"
    return ""


def has_lone_surrogate(data: bytes) -> bool:
    """Whether half a surrogate pair is all that is wrong; the standard library lets those pass."""
    try:
        return BAD_TEXT.search(json.dumps(json.loads(data), ensure_ascii=False)) is not None
    except (ValueError, TypeError, RecursionError):
        return False


def unique(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object in which a key stands twice."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Refusal("invalid_json", f"duplicate key {key[:40]!a}")
        seen.add(key)


def sentence(found: Difference, type: Any, *, what: str) -> str:
    """Say what a result was, what it would become, and what to write instead."""
    was, becomes = with_article(name_of(found.before)), with_article(name_of(found.after))
    place = f" at ${found.path}" if found.path else ""
    if is_untyped(type):
        advice = f'Write "-> {name_of(found.before)}".' if not place else "Declare a return type that names it."
        return (
            f"{what} returned {was}{place} but declares no return type; "
            f"after a crash it would come back as {becomes}. {advice}"
        )
    declared = f'declares "-> {describe(type)}"'
    if not usable(type):
        return (
            f"{what} returned {was}{place} and {declared}, from which it cannot be restored; "
            f"after a crash it would come back as {becomes}. Declare one class, or a union of tagged Structs."
        )
    if found.before is found.after:
        return f"{what} returned {was}{place} and {declared}; after a crash it would come back changed. {ADVICE}"
    return (
        f"{what} returned {was}{place} but {declared}; "
        f"after a crash it would come back as {becomes}. Correct one of them."
    )


def safe_text(value: object) -> str:
    """The text of an exception, or of what user code says, whatever it does when asked: at most 8 KiB, storable."""
    try:
        # A subclass of str may bring its own methods; these are the plain ones.
        text = str.__getitem__(str(value), slice(0, MAX_SAFE_TEXT))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f"<{name_of(type(value))} whose text cannot be read: {name_of(type(error))}>"
    text = BAD_TEXT.sub(lambda found: ascii(found.group())[1:-1], text)
    data = text.encode()
    if len(data) <= MAX_SAFE_TEXT:
        return text
    return data[: MAX_SAFE_TEXT - 4].decode(errors="ignore") + "…"
