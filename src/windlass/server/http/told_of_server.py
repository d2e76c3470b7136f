"""What is answered over HTTP about tenants, keys and the server itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from windlass.model.access import Role
from windlass.model.checkup import Grade
from windlass.server.http.told import Told


class NamespaceDetail(Told, frozen=True, kw_only=True):
    name: str
    is_enabled: bool
    note: str | None
    created_at: datetime
    disabled_at: datetime | None


class NamespacesAnswer(Told, frozen=True, kw_only=True):
    namespaces: list[NamespaceDetail]
    next: str | None  # pass as `after`; null on the last page


class KeyDetail(Told, frozen=True, kw_only=True):
    id: str
    namespace: str
    roles: list[Role]
    queues: list[str]
    note: str | None
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None


class KeysAnswer(Told, frozen=True, kw_only=True):
    keys: list[KeyDetail]  # the newest first


class CheckDetail(Told, frozen=True, kw_only=True):
    name: str
    grade: Grade
    text: str
    details: list[str]


class CheckupAnswer(Told, frozen=True, kw_only=True):
    is_sound: bool
    checks: list[CheckDetail]


class ServerAnswer(Told, frozen=True, kw_only=True):
    version: str
    key: str  # of the caller
    namespace: str
    roles: list[Role]


class HealthAnswer(Told, frozen=True, kw_only=True):
    status: Literal["ok", "ready", "not_ready"]
