"""The upgrade to a WebSocket, or its refusal."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from windlass.api.admission import Caller
from windlass.server.http.calls import Site
from windlass.server.http.conversation import Conversation
from windlass.server.http.errors import body_of, headers_of, status_of
from windlass.server.http.guard import SAFE
from windlass.server.http.plain import read_query


async def serve(site: Site, caller: Caller, token: str | None, scope: Scope, receive: Receive, send: Send) -> None:
    """Hold the conversation that was asked for. Raises Busy if the key has too many."""
    read_query(scope["query_string"], None)
    site.take_stream(caller)
    try:
        await receive()  # websocket.connect
        await send({"type": "websocket.accept", "headers": [(b"x-request-id", caller.request_id.encode())]})
        await Conversation(site, caller, token, receive=receive, send=send).hold()
    finally:
        site.leave_stream(caller)


async def refuse(error: Exception, send: Send, *, request_id: str) -> None:
    """Before the upgrade a refusal is an answer of HTTP like any other."""
    content = body_of(error, request_id=request_id)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"x-request-id", request_id.encode()),
        *SAFE,
        *headers_of(error),
    ]
    await send({"type": "websocket.http.response.start", "status": status_of(error), "headers": headers})
    await send({"type": "websocket.http.response.body", "body": content})
