"""A door to keys and namespaces that a test can fill and break: what the gate asks, and how often."""

from __future__ import annotations

import asyncio
from typing import Any

from windlass.errors import NotFound
from windlass.model.access import EVERY_NAMESPACE, AuditPage, CreateKey, Key, ListAudit, Role
from windlass.model.namespace import CreateNamespace, Namespace, NamespacePage
from windlass.model.time import Instant
from windlass.rules.access import hash_secret, make_token

SECRET = bytes(range(32))


class Keys:
    """Implements `Access` over a dictionary."""

    def __init__(self) -> None:
        self.keys: dict[str, Key] = {}
        self.lookups: list[str] = []
        self.refusals: list[dict[str, str]] = []
        self.failure: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()

    def add(self, *roles: Role, namespace: str = "shop", **more: Any) -> tuple[str, Key]:
        """A key and its token."""
        id = f"key_{len(self.keys):026}"
        key = Key(id=id, namespace=namespace, roles=roles, secret_hash=hash_secret(SECRET), **more)
        self.keys[id] = key
        return make_token(id, SECRET), key

    async def find_key(self, id: str) -> Key | None:
        self.lookups.append(id)
        await self.open.wait()
        if self.failure is not None:
            raise self.failure
        return self.keys.get(id)

    async def note_refusal(self, namespace: str, *, actor: str, action: str, reason: str, request_id: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.refusals.append(
            {"namespace": namespace, "actor": actor, "action": action, "reason": reason, "request_id": request_id}
        )

    async def create_key(self, command: CreateKey) -> Key:
        raise NotImplementedError

    async def list_keys(self, namespace: str | None = None) -> tuple[Key, ...]:
        return tuple(key for key in self.keys.values() if namespace in (None, key.namespace))

    async def revoke_key(self, id: str, by: str | None = None) -> Key:
        raise NotImplementedError

    async def list_audit(self, query: ListAudit) -> AuditPage:
        raise NotImplementedError


class Tenants:
    """Implements `Namespaces` over a dictionary: whether each is enabled."""

    def __init__(self, *names: str) -> None:
        self.enabled = dict.fromkeys(names, True)
        self.lookups: list[str] = []
        self.failure: Exception | None = None

    async def get_namespace(self, name: str) -> Namespace:
        self.lookups.append(name)
        if self.failure is not None:
            raise self.failure
        if name not in self.enabled:
            raise NotFound("namespace", name)
        return Namespace(name=name, is_enabled=self.enabled[name], created_at=Instant(0))

    async def create_namespace(self, command: CreateNamespace) -> Namespace:
        raise NotImplementedError

    async def list_namespaces(self, after: str | None = None, limit: int = 100) -> NamespacePage:
        raise NotImplementedError

    async def set_enabled(self, name: str, *, is_enabled: bool) -> Namespace:
        raise NotImplementedError

    async def delete_namespace(self, name: str) -> None:
        raise NotImplementedError


OF_ALL = EVERY_NAMESPACE
