"""Where a reader of the feed stands, as text it can keep, and when that is of no use any more.

A cursor is believed in nothing: its namespace is compared, its places must be ones that the feed has reached, and a sum
tells what was cut off or mistyped. Whoever makes one up can read no more with it than without.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import NamedTuple

import msgspec

from windlass.errors import CursorExpired, InvalidInput
from windlass.model.feed import FEED_LIMIT, FROM_NOW, Place, ReadFeed
from windlass.rules.limits import check_limit

VERSION = "f1"
LONGEST_TEXT = 2_000
SUM_BYTES = 8
LARGEST = 2**63 - 1
BEGIN_ANEW = 'Read without a cursor for what is kept, or from "now".'


class Cursor(NamedTuple):
    """Everything up to `place` was read. Up to `since` the reader takes what is kept; behind it, it misses nothing."""

    place: Place
    since: Place


class _Written(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    namespace: str
    xid: int
    seq: int
    since_xid: int
    since_seq: int


def check_read(command: ReadFeed) -> Cursor | None:
    """The cursor a reader came with; none: it begins, at the beginning or from now on."""
    check_limit(command.limit, what="limit", low=1, high=FEED_LIMIT)
    if command.subject_id is not None and command.subject_kind is None:
        raise InvalidInput("A subject has a kind: say which one.", reason="invalid_filter", path="subject_kind")
    if command.cursor is None or command.cursor == FROM_NOW:
        return None
    return read_cursor(command.cursor, namespace=command.namespace)


def write_cursor(cursor: Cursor, *, namespace: str) -> str:
    body = msgspec.msgpack.encode(_Written(namespace, *cursor.place, *cursor.since))
    return f"{VERSION}.{_text(_sum(body) + body)}"


def read_cursor(text: str, *, namespace: str) -> Cursor:
    """Raises InvalidInput for what is no cursor, or one of another namespace."""
    version, _, rest = text.partition(".")
    if len(text) > LONGEST_TEXT or version != VERSION or not rest.isascii():
        raise _refused("it is none")
    try:
        found = base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4))
        written = msgspec.msgpack.decode(found[SUM_BYTES:], type=_Written)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise _refused("it is none") from None
    numbers = written.xid, written.seq, written.since_xid, written.since_seq
    is_whole = found[:SUM_BYTES] == _sum(found[SUM_BYTES:]) and rest == _text(found)
    if not is_whole or not all(0 <= number <= LARGEST for number in numbers):
        raise _refused("it was changed")
    if written.namespace != namespace:
        raise _refused("it is of another namespace")
    return Cursor(Place(*numbers[:2]), Place(*numbers[2:]))


def check_place(cursor: Cursor, *, horizon: Place, removed: Place) -> None:
    """Whether one can go on from there: the feed has come that far, and nothing behind it is gone."""
    if cursor.place > horizon or cursor.since > max(horizon, removed):
        raise _refused("the log has not come that far: it is of another database")
    if removed > max(cursor.place, cursor.since):
        raise CursorExpired(f"What follows this cursor is not kept any more. {BEGIN_ANEW}")


def _refused(why: str) -> InvalidInput:
    return InvalidInput(f"This cursor cannot be used: {why}. {BEGIN_ANEW}", reason="invalid_cursor", path="cursor")


def _sum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=SUM_BYTES, person=b"windlass feed").digest()


def _text(found: bytes) -> str:
    return base64.urlsafe_b64encode(found).decode().rstrip("=")
