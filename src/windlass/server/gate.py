"""Who is let in: one gate for gRPC, HTTP, SSE and WebSocket, shut unless everything is in order.

    token ── a live key? ── an operation of the table, for one of its roles? ── its own namespace? ── enabled? ── in
              │ no: NotAuthenticated         │ no: Forbidden                     │ no: Forbidden      │ no: WrongState
              └ too often: Busy

One text for every token that does not open, and one for every namespace a key is not good for: a refusal says nothing
about what exists. What was looked up is believed for 2 s, so a revoked key is out within that time, streams included.
"""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn

from msgspec.structs import replace

from windlass.api.admission import Caller
from windlass.api.log_rate import OneLineASecond
from windlass.api.operations import OPERATIONS, Operation
from windlass.api.service import Access, Namespaces
from windlass.errors import (
    Busy,
    Forbidden,
    InvalidInput,
    NotAuthenticated,
    NotFound,
    Unavailable,
    WindlassError,
    WrongState,
)
from windlass.model.access import EVERY_NAMESPACE, Key
from windlass.model.namespace import Namespace
from windlass.model.time import SECOND, Instant
from windlass.rules.access import has_role, hash_secret, is_for, is_live, matches, parse_token
from windlass.rules.limits import check_namespace
from windlass.runtime import Clock
from windlass.server.connections import accept_current
from windlass.server.refusals import Refusal, Refusals
from windlass.server.remembered import Remembered
from windlass.server.throttle import Throttle, source_of

BELIEVED_FOR = 2 * SECOND
OWN = "default"  # the namespace of a key for all of them, unless a call names another
NOBODY = "This token is not accepted. Set WINDLASS_TOKEN to one that is neither expired nor revoked."
ELSEWHERE = "This key is not good for that namespace."
TOO_OFTEN = "Too many attempts without a valid token. Wait a second, then send a valid one."
OF_ALL = frozenset({"list_audit"})  # may name "*": what belongs to no namespace
_STAND_IN = Key(id="", namespace="", roles=(), secret_hash=hash_secret(b""))  # so that an unknown id takes as long

log = logging.getLogger("windlass.server.gate")
log.addFilter(OneLineASecond())  # anybody can cause them


class Gate:
    """The `Admission` of a server."""

    def __init__(self, access: Access, namespaces: Namespaces, *, clock: Clock) -> None:
        self._clock = clock
        self._keys: Remembered[Key | None] = Remembered(
            access.find_key, clock=clock, keep_for=BELIEVED_FOR, is_kept=lambda key: key is not None
        )
        # Only what is enabled is believed: enabling a namespace takes effect at once, disabling within 2 s.
        self._namespaces: Remembered[Namespace] = Remembered(
            namespaces.get_namespace, clock=clock, keep_for=BELIEVED_FOR, is_kept=lambda found: found.is_enabled
        )
        self._of_sources, self._of_keys = Throttle(clock), Throttle(clock)
        self._one_by_one = asyncio.Lock()  # lookups of those who failed too often
        self._refusals = Refusals(access, clock=clock)

    async def admit(
        self, token: str | None, operation: str, namespace: str | None, *, peer: str, request_id: str
    ) -> Caller:
        caller = await self.recognize(token, operation, peer=peer, request_id=request_id)
        return await self.let_in(caller, namespace)

    async def recognize(self, token: str | None, operation: str, *, peer: str, request_id: str) -> Caller:
        source = source_of(peer)
        key = await self._authenticate(token, source, operation=operation, request_id=request_id)
        accept_current()
        is_of_all = key.namespace == EVERY_NAMESPACE
        caller = Caller(
            key=key.id,
            roles=key.roles,
            operation=operation,
            namespace=OWN if is_of_all else key.namespace,
            queues=key.queues,
            is_of_all=is_of_all,
            peer=source,
            request_id=request_id,
        )
        try:
            _check_role(caller, key)
        except Forbidden as refused:
            self._note(key, operation, str(refused), request_id)
            raise
        return caller

    async def let_in(self, caller: Caller, namespace: str | None) -> Caller:
        key = await self._live(caller)
        if key is None:
            raise NotAuthenticated(NOBODY)
        if namespace and namespace != caller.namespace:
            caller = replace(caller, namespace=namespace)
        try:
            return await self._in_namespace(caller, key, OPERATIONS[caller.operation])
        except Forbidden as refused:
            self._note(key, caller.operation, str(refused), caller.request_id)
            raise

    async def still_admitted(self, caller: Caller) -> bool:
        try:
            key = await self._live(caller)
            if key is None:
                return False
            _check_role(caller, key)
            await self._in_namespace(caller, key, OPERATIONS[caller.operation])
        except Unavailable:
            raise
        except WindlassError:
            return False
        return True

    async def close(self) -> None:
        """Write down who was turned away, as far as it is not yet."""
        await self._refusals.close()

    # Who it is

    async def _authenticate(self, token: str | None, source: str, *, operation: str, request_id: str) -> Key:
        parsed = parse_token(token) if token else None
        if parsed is None:
            self._refuse(None, source, actor="", operation=operation, request_id=request_id)
        key_id, secret = parsed
        key = self._keys.recall(key_id)
        if key is None or not matches(key, secret):  # a wrong secret costs a lookup, as an unknown id does
            key = await self._look_up_slowly(key_id, source)
        is_right = matches(key or _STAND_IN, secret)
        if key is None or not is_right or not is_live(key, now=Instant(self._clock.now())):
            self._refuse(key, source, actor=key_id, operation=operation, request_id=request_id)
        return key

    async def _look_up_slowly(self, key_id: str, source: str) -> Key | None:
        """Those who guess do not keep the store busy: they stand in one line, in which no known key has to wait."""
        if self._keys.was_known(key_id) or not self._of_sources.is_exhausted(source):
            return await self._look_up_key(key_id)
        async with self._one_by_one:
            return await self._look_up_key(key_id)

    async def _live(self, caller: Caller) -> Key | None:
        """The caller's key, if it is still good."""
        key = self._keys.recall(caller.key) or await self._look_up_key(caller.key)
        return key if key is not None and is_live(key, now=Instant(self._clock.now())) else None

    async def _look_up_key(self, key_id: str) -> Key | None:
        try:
            return await self._keys.ask(key_id)
        except WindlassError:
            raise
        except Exception as error:
            raise _cannot_say(error) from None

    def _refuse(self, key: Key | None, source: str, *, actor: str, operation: str, request_id: str) -> NoReturn:
        is_left = self._of_sources.take(source)
        if actor:  # of one key too, from wherever it is tried
            is_left = self._of_keys.take(actor) and is_left
        if not is_left:
            raise Busy(TOO_OFTEN)
        self._note(key, operation, "not authenticated", request_id, actor=actor)
        raise NotAuthenticated(NOBODY)

    # What it may do

    async def _in_namespace(self, caller: Caller, key: Key, row: Operation) -> Caller:
        if not row.of_namespace:
            if not caller.is_of_all:
                raise Forbidden(f"This key may not do that: {row.name} is for a key of all namespaces.")
            return caller
        if caller.is_of_all:
            if caller.namespace == EVERY_NAMESPACE and row.name in OF_ALL:
                return caller
            name = check_namespace(caller.namespace)
            await self._check_enabled(name, row)
        else:
            name = key.namespace
            if not is_for(key, _composed(caller.namespace)):
                raise Forbidden(ELSEWHERE)
            if row.changes:
                await self._check_own(name, row)
        return caller if name == caller.namespace else replace(caller, namespace=name)

    async def _check_own(self, name: str, row: Operation) -> None:
        try:
            await self._check_enabled(name, row)
        except NotFound:  # deleted a moment ago, and the key with it
            raise Forbidden(ELSEWHERE) from None

    async def _check_enabled(self, name: str, row: Operation) -> None:
        found = self._namespaces.recall(name)
        if found is None:
            try:
                found = await self._namespaces.ask(name)
            except WindlassError:
                raise
            except Exception as error:
                raise _cannot_say(error) from None
        if row.changes and not found.is_enabled:
            hint = "Nothing in it changes until somebody enables it again."
            raise WrongState("namespace", name, "disabled", wanted="an enabled one", hint=hint)

    def _note(self, key: Key | None, action: str, reason: str, request_id: str, *, actor: str | None = None) -> None:
        """Where nobody knows the key, the refusal belongs to no namespace: "*"."""
        namespace = EVERY_NAMESPACE if key is None else key.namespace
        actor = key.id if actor is None and key is not None else actor or ""
        self._refusals.note(
            Refusal(namespace=namespace, actor=actor, action=action, reason=reason, request_id=request_id)
        )


def _check_role(caller: Caller, key: Key) -> None:
    row = OPERATIONS.get(caller.operation)
    if row is None:
        raise Forbidden("There is no such operation.")
    if not has_role(key, row.roles):
        wanted = " or ".join(sorted(row.roles))
        raise Forbidden(f"This key may not do that: {row.name} is for the role {wanted}.")


def _composed(namespace: str) -> str:
    try:
        return check_namespace(namespace)
    except InvalidInput:
        return ""  # which is nobody's


def _cannot_say(error: Exception) -> Unavailable:
    log.error("The gate cannot ask the store (%s): %s", type(error).__name__, error)
    return Unavailable("The server cannot tell now who asks. Try again later.")
