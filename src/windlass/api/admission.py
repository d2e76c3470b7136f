"""Who asks, as every door learns it: the one gate in front of gRPC, HTTP, SSE and WebSocket.

`windlass.server.gate` keeps it. A transport hands over what it was sent, acts in the caller's namespace and in no
other, sets `model.access.ACTING` to the caller's actor for the time of the call, and asks again while a stream is open.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from windlass.model.access import Actor, Role


class Caller(Struct, frozen=True, kw_only=True):
    """Somebody who was let in, for one operation in one namespace."""

    key: str  # its id
    roles: tuple[Role, ...]
    operation: str
    namespace: str  # in which the call acts, whatever the request said or left out
    queues: tuple[str, ...] = ()  # of a worker's key: the only ones it may serve; none: all
    is_of_all: bool = False  # the key is good for every namespace
    peer: str = ""
    request_id: str = ""

    @property
    def actor(self) -> Actor:
        return Actor(key=self.key, request_id=self.request_id)

    def may_serve(self, queue: str) -> bool:
        return not self.queues or queue in self.queues


class Admission(Protocol):
    async def admit(
        self, token: str | None, operation: str, namespace: str | None, *, peer: str, request_id: str
    ) -> Caller:
        """Say who asks, or refuse: `recognize` and `let_in` in one.

        `token` is the text behind "Bearer ", `namespace` what the request names: none or "" is the key's own.
        Raises NotAuthenticated, Forbidden, Busy, NotFound or InvalidInput about the namespace, WrongState if that is
        disabled and the operation changes something, Unavailable if the store cannot say.
        """
        ...

    async def recognize(self, token: str | None, operation: str, *, peer: str, request_id: str) -> Caller:
        """Say who asks, before anything else that was sent is read; the namespace is the key's own.

        Raises NotAuthenticated, Forbidden, Busy, or Unavailable.
        """
        ...

    async def let_in(self, caller: Caller, namespace: str | None) -> Caller:
        """Let who was recognized into the namespace that the request names.

        Raises Forbidden, NotFound, InvalidInput, WrongState, Unavailable, and NotAuthenticated if its key has ended.
        """
        ...

    async def still_admitted(self, caller: Caller) -> bool:
        """Whether a caller would be let in again: to be asked every 2 s while a stream or a long poll is open.

        Raises Unavailable if the store cannot say: then the caller is sent away, and not told that the key is bad.
        """
        ...
