"""What went in and came out, laid out for a person: decoded, secrets masked, and never more than a page can hold."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from msgspec import Struct

from windlass.codec import Codec
from windlass.errors import WindlassError
from windlass.rules.pretty import laid_out

LONGEST = 64 * 1024  # bytes that are decoded and shown
WIDTH = 100
MOST_ITEMS = 100  # of each list and mapping: what takes no room in JSON takes a line each here
MASK = "••••••"
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
SECRETS = frozenset(
    {
        *(
            "password",
            "passwd",
            "pwd",
            "passphrase",
            "secret",
            "secrets",
            "token",
            "apikey",
            "passwords",
            "auth",
            "bearer",
        ),
        *("authorization", "cookie", "credential", "credentials"),
    }
)
PAIRS = frozenset({("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key")})
# Each of these reads a text once: what one attempt has passed, the next cannot begin in.
STRINGS = re.compile(r'"((?:[^"\\]|\\.)*+)"?+(\s*+:)?', re.DOTALL)  # one that is cut in the middle goes on to the end
IN_URLS = re.compile(r"(://[^/\s:@]*+:)[^/\s]+@")
AT_THE_END = re.compile(r"(://[^/\s:@]*+:)[^/\s]+\Z")
DEEPEST = 40
HIDDEN = "It is large, and holds something that sounds like a secret. All of it is one click away."

_codec = Codec()


class Payload(Struct, frozen=True, kw_only=True):
    text: str
    size: int  # of the whole
    is_cut: bool = False

    @property
    def is_long(self) -> bool:
        return self.text.count("\n") > 12 or len(self.text) > 1_200


def payload(data: bytes | None, *, size: int | None = None, is_call: bool = False) -> Payload | None:
    """`data` may be the beginning of something of `size` bytes. Nothing where there is nothing."""
    if data is None:
        return None
    whole = len(data) if size is None else size
    if whole > LONGEST or len(data) < whole:
        text = data[:LONGEST].decode(errors="replace")
        return Payload(
            text=HIDDEN if _has_secret(text) else AT_THE_END.sub(rf"\1{MASK}", _without_passwords(text)),
            size=whole,
            is_cut=True,
        )
    try:
        value = masked(_codec.decode(data))
    except WindlassError:
        return Payload(text=f"{whole:,} bytes that only the program's own codec can read", size=whole)
    if is_call and isinstance(value, tuple | list):
        return Payload(text="\n".join(_laid_out(item) for item in value) or "nothing", size=whole)
    return Payload(text=_laid_out(value), size=whole)


def _has_secret(text: str) -> bool:
    """Of what is cut in the middle, and cannot be decoded. What is no JSON may hold a quotation mark too many."""
    starts = (0, text.find('"') + 1)
    names = (found[1] for start in starts for found in STRINGS.finditer(text, start) if found[2])
    return any(is_secret(_spelled_out(name)) for name in names)


def _spelled_out(name: str) -> str:
    r"""A name as it is meant, and not as JSON may write it: the p of a password can be \u0070."""
    try:
        return str(json.loads(f'"{name}"')) if "\\" in name else name
    except ValueError:
        return name


def is_secret(name: str) -> bool:
    """Whether what stands under this name sounds like nobody's business: by its words, however they are joined."""
    words = [word.lower() for word in WORDS.findall(name)]
    return not SECRETS.isdisjoint(words) or any(pair in PAIRS for pair in pairwise(words))


def masked(value: Any, depth: int = 0) -> Any:
    """The same without what stands under a name that sounds like a secret."""
    if depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {
            masked(key, depth + 1): MASK if isinstance(key, str) and is_secret(key) else masked(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item, depth + 1) for item in value]
    if isinstance(value, tuple):
        return tuple(masked(item, depth + 1) for item in value)
    if isinstance(value, set | frozenset):
        return type(value)(masked(item, depth + 1) for item in value)
    return _without_passwords(value) if isinstance(value, str) else value


def _without_passwords(text: str) -> str:
    return IN_URLS.sub(rf"\1{MASK}@", text)


def _laid_out(value: Any) -> str:
    return "\n".join(laid_out(value, width=WIDTH, max_items=MOST_ITEMS))
