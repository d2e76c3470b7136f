"""What a namespace is: who shares a database without seeing each other."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.time import Instant


class Namespace(Struct, frozen=True, kw_only=True):
    """A row of `namespaces`. One that is disabled starts, claims and fires nothing; what is in it stays."""

    name: str
    is_enabled: bool = True
    note: str | None = None
    created_at: Instant = Instant(0)
    disabled_at: Instant | None = None


class CreateNamespace(Struct, frozen=True, kw_only=True):
    name: str
    note: str | None = None


class NamespacePage(Struct, frozen=True, kw_only=True):
    namespaces: tuple[Namespace, ...]
    next: str | None  # pass as `after`; null on the last page
