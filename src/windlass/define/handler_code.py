"""What the code of a handler is: where it stands, and a short text that changes when its source does."""

from __future__ import annotations

import inspect
import os
import textwrap
import types
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from windlass.define import signature
from windlass.define.workflows import Identity, identity_of

DIGEST = 8  # bytes


class Source(Struct, frozen=True, kw_only=True):
    """A function or a class, as it is written."""

    identity: Identity
    file: str
    line: int
    code: str  # a fingerprint of the source
    parts: tuple[object, ...]  # the compiled code itself, and a class

    @property
    def location(self) -> str:
        """As "shop.py:12"."""
        return f"{os.path.basename(self.file)}:{self.line}"

    def is_apart(self, other: Source) -> bool:
        """Do they stand at two places of one file? What is typed into a prompt has no places."""
        return self.file == other.file and self.line != other.line and not self.file.startswith("<")

    def is_shared(self, other: Source) -> bool:
        """Are they one piece of code, as under two decorators or in a loop? A cell that runs again is compiled anew."""
        return any(part is known for part in self.parts for known in other.parts)


def fingerprint(*parts: bytes) -> str:
    """16 characters that are the same for the same parts, in every process."""
    digest = blake2b(digest_size=DIGEST)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def read_function(function: types.FunctionType) -> Source:
    plain = signature.unwrap(function)
    code = plain.__code__ if isinstance(plain, types.FunctionType) else function.__code__
    written = _written(plain)
    return Source(
        identity=identity_of(function),
        file=code.co_filename,
        line=code.co_firstlineno,
        code=fingerprint(_code_of(code) if written is None else written[0]),
        parts=(code,),
    )


def read_class(cls: type, *, above: type) -> Source:
    """What it inherits below `above` is part of it."""
    classes = [item for item in cls.__mro__ if issubclass(item, above) and item is not above]
    written = [_written(item) for item in classes]  # once each: Python parses the whole file to find a class
    sources = zip(classes, written, strict=True)
    parts = [b"".join(_codes_of(item)) if found is None else found[0] for item, found in sources]
    file, line = _first_method(cls) if written[0] is None else (inspect.getsourcefile(cls) or "", written[0][1])
    methods = [value.__code__ for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    code = fingerprint(*parts)
    return Source(identity=identity_of(cls), file=file, line=line, code=code, parts=(cls, *methods))


def _first_method(cls: type) -> tuple[str, int]:
    """Where a class stands that was typed into a prompt, as far as can be told."""
    methods = [value.__code__ for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    first = min(methods, key=lambda code: code.co_firstlineno, default=None)
    return ("", 0) if first is None else (first.co_filename, first.co_firstlineno)


def _written(code: Any) -> tuple[bytes, int] | None:
    """The source of a function or a class, and its first line."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    return textwrap.dedent("".join(lines)).encode(), first


def _codes_of(cls: type) -> Iterator[bytes]:
    for name, value in vars(cls).items():
        if isinstance(value, types.FunctionType):
            yield name.encode() + _code_of(value.__code__)


def _code_of(code: types.CodeType) -> bytes:
    """What it does, without where it stands."""
    constants = b"".join(map(_constant, code.co_consts))
    return code.co_code + repr((code.co_names, code.co_varnames)).encode() + constants


def _constant(value: object) -> bytes:
    if isinstance(value, types.CodeType):
        return _code_of(value)
    if isinstance(value, frozenset):  # whose order is not the same in every process
        return b"".join(sorted(map(_constant, value)))
    return repr(value).encode()
