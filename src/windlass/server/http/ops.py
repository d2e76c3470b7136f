"""What can be asked for over a WebSocket: rows of the table that have an op, and what only a socket has.

Each op names an operation of `api.operations`, and passes the gate by it. `register` adds more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from windlass.api.admission import Caller
from windlass.api.operations import OPERATIONS
from windlass.errors import InvalidInput
from windlass.server.http import following, frames
from windlass.server.http.calls import Call, Row, act
from windlass.server.http.plain import shaped
from windlass.server.http.table import ROWS
from windlass.server.http.told import Told

if TYPE_CHECKING:
    from windlass.server.http.conversation import Conversation


class Asking(Struct, frozen=True, kw_only=True):
    """One request on a socket that was let in."""

    conversation: Conversation
    caller: Caller
    id: str  # of the request
    params: Any


class Op(Struct, frozen=True, kw_only=True):
    name: str
    operation: str
    summary: str
    query: type[Struct]  # of its parameters, without the names
    answer: type[Told]
    run: Callable[[Asking], Awaitable[Told]]
    names: tuple[str, ...] = ()  # what a route has in its path

    def read(self, params: dict[str, Any]) -> Any:
        """The parameters as the op takes them. Raises InvalidInput."""
        given, path = dict(params), {}
        for name in self.names:
            text = given.pop(name, None)
            if not isinstance(text, str) or not text:
                raise InvalidInput(f"Invalid {name}: text was expected.", reason="invalid_input", path=name)
            path[name] = text
        query = shaped(given, self.query)
        return (path, query) if self.names else query


OPS: dict[str, Op] = {}


def register(op: Op) -> None:
    """Add an op, whose name must be new and whose operation known."""
    assert op.name not in OPS, op.name
    assert op.operation in OPERATIONS, op.operation
    OPS[op.name] = op


def _of_row(row: Row) -> Op:
    names = tuple(name for name in row.parameters if name != "namespace")
    assert row.operation is not None
    assert row.answer is not None

    async def run(asking: Asking) -> Told:
        path, query = asking.params if names else ({}, asking.params)
        site = asking.conversation.site
        given = {"query": query} if row.body is None else {"body": query}
        answer: Told = await act(row, Call(site=site, caller=asking.caller, path=path, **given))
        return answer

    return Op(
        name=row.op,
        operation=row.operation,
        summary=row.summary,
        query=row.body or row.query or frames.NoParams,
        answer=row.answer,
        run=run,
        names=names,
    )


async def _ping(asking: Asking) -> Told:
    return frames.PongAnswer()


async def _subscribe(asking: Asking) -> Told:
    return await asking.conversation.subscribe(asking.id, following.LOG, asking.params, asking.caller)


async def _subscribe_to_signals(asking: Asking) -> Told:
    return await asking.conversation.subscribe(asking.id, following.SIGNALS, asking.params, asking.caller)


async def _unsubscribe(asking: Asking) -> Told:
    return frames.UnsubscribedAnswer(is_ended=await asking.conversation.unsubscribe(asking.params.subscription))


for _row in ROWS:
    if _row.op:
        register(_of_row(_row))

register(
    Op(
        name="ping",
        operation="server_info",
        summary="Is anybody there?",
        query=frames.NoParams,
        answer=frames.PongAnswer,
        run=_ping,
    )
)
register(
    Op(
        name="feed.subscribe",
        operation="read_feed",
        summary="Follow the log from a cursor on: each entry is an event that bears the id of this request.",
        query=frames.SubscribeParams,
        answer=frames.SubscribedAnswer,
        run=_subscribe,
    )
)
register(
    Op(
        name="feed.unsubscribe",
        operation="read_feed",
        summary="Follow it no longer.",
        query=frames.UnsubscribeParams,
        answer=frames.UnsubscribedAnswer,
        run=_unsubscribe,
    )
)
register(
    Op(
        name="work.subscribe",
        operation="follow_signals",
        summary="Follow what becomes of signals from a cursor on: each event bears the id of this request.",
        query=frames.SubscribeSignalsParams,
        answer=frames.SubscribedAnswer,
        run=_subscribe_to_signals,
    )
)
register(
    Op(
        name="work.unsubscribe",
        operation="follow_signals",
        summary="Follow them no longer.",
        query=frames.UnsubscribeParams,
        answer=frames.UnsubscribedAnswer,
        run=_unsubscribe,
    )
)
