"""What a key may be, and what is said about it."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from enum import StrEnum

from msgspec.structs import replace

from windlass.errors import InvalidInput
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Key, Role
from windlass.model.duration import MAX_DURATION, describe, shown
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.access import is_live
from windlass.rules.limits import check_key_id, check_namespace, check_note, check_person, check_queue

HASH_BYTES = 32
MOST_QUEUES = 100  # of one key
MOST_KEPT = 200  # characters of what a stranger sent


class Standing(StrEnum):
    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


def new_key(command: CreateKey, *, now: Instant) -> Key:
    """The key as it will be kept."""
    return Key(
        id=command.id,
        namespace=command.namespace,
        roles=command.roles,
        queues=command.queues,
        note=command.note,
        secret_hash=command.secret_hash,
        created_at=now,
        created_by=command.by,
        expires_at=None if command.expires_for is None else Instant(now + command.expires_for),
    )


def is_same(key: Key, command: CreateKey) -> bool:
    """Whether a key is what this very command asked for before."""
    was, asked = ((item.namespace, item.roles, item.queues, item.note) for item in (key, command))
    lasts_for = None if key.expires_at is None else key.expires_at - key.created_at
    is_alike = was == asked and lasts_for == command.expires_for
    return hmac.compare_digest(key.secret_hash, command.secret_hash) and is_alike


def standing(key: Key, *, now: Instant) -> Standing:
    if key.revoked_at is not None:
        return Standing.REVOKED
    return Standing.LIVE if is_live(key, now=now) else Standing.EXPIRED


def describe_key(key: Key) -> str:
    """What it allows, in a line: for the audit, and for people."""
    roles = ", ".join(key.roles)
    queues = f" of {', '.join(key.queues)}" if key.queues else ""
    where = "every namespace" if key.namespace == EVERY_NAMESPACE else key.namespace
    return f"{roles}{queues} in {where}"


def harmless(text: str) -> str:
    """Of a text by a stranger as much as may be kept: its beginning, without what could be taken for something else."""
    return "".join(character if character.isprintable() else "?" for character in text[:MOST_KEPT])


def check_create_key(command: CreateKey) -> CreateKey:
    """The command with names as they are kept. Refuses what cannot be a key."""
    check_key_id(command.id)
    if len(command.secret_hash) != HASH_BYTES:
        raise _refuse("secret_hash", "of another kind", f"a SHA-256 hash of {HASH_BYTES} bytes was expected")
    if command.expires_for is not None and not SECOND <= command.expires_for <= MAX_DURATION:
        raise _refuse("expires", _in_words(command.expires_for), "from 1 s to 10 years is accepted")
    is_for_all = command.namespace == EVERY_NAMESPACE
    return replace(
        command,
        namespace=EVERY_NAMESPACE if is_for_all else check_namespace(command.namespace),
        roles=_checked_roles(command.roles),
        queues=_checked_queues(command),
        note=check_note(command.note),
        by=check_person(command.by),
    )


def _checked_roles(roles: Collection[Role]) -> tuple[Role, ...]:
    allowed = ", ".join(Role)
    if not roles:
        raise _refuse("roles", "none", f"at least one of {allowed} was expected")
    known = set(Role)
    for role in roles:
        if role not in known:
            raise _refuse("roles", shown(role), f"one of {allowed} was expected")
    return tuple(role for role in Role if role in roles)


def _checked_queues(command: CreateKey) -> tuple[str, ...]:
    if command.queues and Role.WORKER not in command.roles:
        raise _refuse("queues", ", ".join(map(shown, command.queues[:3])), "only a key for workers is limited to some")
    if len(command.queues) > MOST_QUEUES:
        raise _refuse("queues", f"{len(command.queues):,} of them", f"at most {MOST_QUEUES} are accepted")
    return tuple(sorted({check_queue(queue) for queue in command.queues}))


def _in_words(duration: Duration) -> str:
    return describe(duration) if 0 <= duration <= MAX_DURATION else f"{duration:,} microseconds"


def _refuse(what: str, found: str, text: str) -> InvalidInput:
    return InvalidInput(f"Invalid {what} of a key, {found}: {text}.", reason="invalid_key", path=what)
