"""What a handler is given: who asks for what, and the doors behind which the answer is found."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from windlass.api.admission import Admission, Caller
from windlass.api.lanes import KnownLanes
from windlass.api.service import Service
from windlass.api.serving import Serving
from windlass.api.starts import Starts
from windlass.codec import Codec
from windlass.errors import Busy, NotAuthenticated
from windlass.model.access import ACTING
from windlass.model.run import RunId
from windlass.model.time import SECOND, Duration
from windlass.rules.limits import check_run_id
from windlass.runtime import Clock, Ids
from windlass.server.http.told import Told

T = TypeVar("T")

NAMESPACE = "/v1/namespaces/{namespace}"
PATIENCE = 10.0  # seconds: a reader that takes nothing for so long is cut off; it comes back with its cursor
LOOK_AGAIN_EVERY = Duration(2 * SECOND)  # whether a caller that waits is still let in
NO_LONGER = "This key is no longer accepted."
MOST_STREAMS = 100  # that one key may hold open: streams and sockets together


class Site:
    """One server's HTTP: what all its requests share."""

    def __init__(
        self,
        service: Service,
        gate: Admission,
        *,
        clock: Clock,
        ids: Ids,
        serving: Serving,
        read_metrics: Callable[[], bytes] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.service, self.gate, self.clock, self.ids = service, gate, clock, ids
        self.serving, self.read_metrics, self.patience = serving, read_metrics, patience
        self.lanes = KnownLanes(service.runs, service.schedules, clock=clock)
        self.codec = Codec()
        self.starts = Starts(service.runs, self.lanes)
        self._streams: dict[str, int] = {}

    def take_stream(self, caller: Caller) -> None:
        """Raises Busy if the key has too many already."""
        if self._streams.get(caller.key, 0) >= MOST_STREAMS:
            raise Busy(f"This key has {MOST_STREAMS} streams open already. Close one of them first.")
        self._streams[caller.key] = self._streams.get(caller.key, 0) + 1

    def leave_stream(self, caller: Caller) -> None:
        left = self._streams[caller.key] - 1
        if left:
            self._streams[caller.key] = left
        else:
            del self._streams[caller.key]

    async def unless_stopping(self, waiting: Awaitable[T], caller: Caller | None = None) -> T | None:
        """What it comes to, or nothing as soon as the server is about to stop: whoever waits is answered then.

        With `caller`, who is looked at again meanwhile: raises NotAuthenticated once they are not let in any more.
        """
        wanted, others = asyncio.ensure_future(waiting), [asyncio.ensure_future(self.serving.until_stopping())]
        if caller is not None:
            others.append(asyncio.ensure_future(self._until_refused(caller)))
        try:
            await asyncio.wait({wanted, *others}, return_when=asyncio.FIRST_COMPLETED)
            if wanted.done():
                return wanted.result()
            if not others[0].done():
                others[-1].result()  # raises Unavailable if nobody can say
                raise NotAuthenticated(NO_LONGER)
            return None
        finally:
            await ended(wanted, *others)

    async def _until_refused(self, caller: Caller) -> None:
        while await self.gate.still_admitted(caller):
            await self.clock.sleep(LOOK_AGAIN_EVERY)


async def ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel them, and wait until they are gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Call(Struct, frozen=True, kw_only=True):
    """One request that was let in."""

    site: Site
    caller: Caller
    path: Mapping[str, str]
    query: Any = None
    body: Any = None

    @property
    def service(self) -> Service:
        return self.site.service

    @property
    def namespace(self) -> str:
        """The one the caller was let into, and no other."""
        return self.caller.namespace

    @property
    def run_id(self) -> RunId:
        return RunId(check_run_id(self.path["run_id"]))


Handler: TypeAlias = Callable[[Call], Awaitable[Told]]


class Kind(Enum):
    JSON = "application/json"
    TEXT = "text/plain; version=1.0.0; charset=utf-8"
    DOCUMENT = "application/json; document"
    STREAM = "text/event-stream"
    SOCKET = "websocket"


class Row(Struct, frozen=True, kw_only=True):
    """One thing that can be asked for over HTTP. A row without an operation is public: there are two."""

    method: str
    path: str
    operation: str | None  # of api.operations
    summary: str
    handler: Handler | None = None  # none: its kind says how it is answered
    answer: type[Told] | None = None
    body: type[Struct] | None = None
    query: type[Struct] | None = None
    id: str = ""  # unique; the operation's name unless said otherwise
    op: str = ""  # as a WebSocket asks for it; nothing: it cannot
    kind: Kind = Kind.JSON

    @property
    def name(self) -> str:
        return self.id or self.operation or ""

    @property
    def parameters(self) -> list[str]:
        """Names of the parts of its path that vary."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


async def act(row: Row, call: Call) -> Any:
    """Do what was asked, on behalf of whoever asked."""
    assert row.handler is not None
    acting = ACTING.set(call.caller.actor)
    try:
        return await row.handler(call)
    finally:
        ACTING.reset(acting)
