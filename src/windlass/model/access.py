"""Who may do what: roles, keys, and the record of what was done with them."""

from __future__ import annotations

from contextvars import ContextVar
from enum import StrEnum

from msgspec import Struct

from windlass.model.time import Duration, Instant

EVERY_NAMESPACE = "*"  # of a key that is good for all of them


class Role(StrEnum):
    VIEWER = "viewer"  # reads
    CLIENT = "client"  # reads, starts runs and steers single ones
    WORKER = "worker"  # executes runs, through its claims only
    OPERATOR = "operator"  # as a client; also pauses queues, keeps schedules, drains workers, reads the audit
    ADMIN = "admin"  # everything: namespaces and keys too


class Key(Struct, frozen=True, kw_only=True):
    """A row of `api_keys`. The secret itself is kept nowhere; it has 256 bits, so a plain hash is enough."""

    id: str  # "key_" and 26 characters: the part of the token that may be shown
    namespace: str  # or "*"
    roles: tuple[Role, ...]
    queues: tuple[str, ...] = ()  # of a worker's key: the only ones it may serve; none: all
    note: str | None = None
    secret_hash: bytes = b""
    created_at: Instant = Instant(0)
    created_by: str | None = None
    expires_at: Instant | None = None
    revoked_at: Instant | None = None


class CreateKey(Struct, frozen=True, kw_only=True):
    """The secret is made by whoever asks: only its hash travels, and a call repeated after a lost answer is one key."""

    id: str
    namespace: str
    roles: tuple[Role, ...]
    secret_hash: bytes
    queues: tuple[str, ...] = ()
    note: str | None = None
    expires_for: Duration | None = None
    by: str | None = None


class Actor(Struct, frozen=True, kw_only=True):
    """On whose behalf a call from outside is carried out. The gate says so, never the caller."""

    key: str  # its id
    request_id: str


ACTING: ContextVar[Actor | None] = ContextVar("windlass_acting", default=None)  # none: code in this process


class AuditEntry(Struct, frozen=True, kw_only=True):
    """A row of `audit`: one act of a caller from outside, written in the transaction of the act; or a refusal."""

    seq: int
    at: Instant
    namespace: str
    actor: str  # the id of a key; of a refused caller whatever is known, else ""
    action: str  # the operation
    subject: str
    request_id: str
    before: str | None = None
    after: str | None = None


class ListAudit(Struct, frozen=True, kw_only=True):
    """Newest first."""

    namespace: str
    before: int | None = None  # the last number of the page before
    limit: int = 100


class AuditPage(Struct, frozen=True, kw_only=True):
    entries: tuple[AuditEntry, ...]
    next: int | None
