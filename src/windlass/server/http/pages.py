"""What is under one path: find the row of the table, let the caller in, read what was sent, answer."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.types import Message, Receive, Scope, Send

from windlass.api.admission import Caller
from windlass.errors import NotAllowed
from windlass.server.http import openapi, sockets, stream
from windlass.server.http.calls import Call, Kind, Row, Site, act
from windlass.server.http.errors import Refused, not_found
from windlass.server.http.following import FOLLOWED
from windlass.server.http.guard import SAFE, Guard, Headers, check_content, token_of
from windlass.server.http.plain import read_json, read_query, shaped
from windlass.server.http.told_of_server import HealthAnswer

MAX_BODY = 4 * 1024 * 1024


class CallerGone(Exception):
    """Nobody waits for the answer any more."""


class Page:
    """The rows of one path, as an ASGI app."""

    def __init__(self, rows: Mapping[str, Row], *, site: Site, guard: Guard) -> None:
        self._rows, self._site, self._guard = rows, site, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        row = self._row(scope)
        if row.operation is None:
            await self._answer_anybody(row, scope, send)
            return
        headers = scope["headers"]
        self._guard.check_origin(headers, host=scope["windlass.host"], scheme=scope["scheme"])
        caller = await self._admit(row, scope)
        if row.kind is Kind.SOCKET:
            if scope["type"] != "websocket":
                raise Refused(426, "upgrade_required", "This path is for a WebSocket: ask for the upgrade.")
            await sockets.serve(self._site, caller, token_of(headers), scope, receive, send)
            return
        query = read_query(scope["query_string"], row.query)
        call = Call(site=self._site, caller=caller, path=scope["path_params"], query=query)
        if row.kind is Kind.STREAM:
            await stream.serve(call, FOLLOWED[row.name], headers, receive, send)
            return
        if row.body is None:
            _refuse_body(headers)
        else:
            check_content(headers)
            data = await read_body(headers, receive)
            call = msgspec.structs.replace(call, body=shaped(read_json(data), row.body))
        content, kind = await self._answer(row, call)
        await respond(send, 200, content, kind=kind, request_id=scope["windlass.request_id"])

    def _row(self, scope: Scope) -> Row:
        is_socket = scope["type"] == "websocket"
        method = "GET" if is_socket else scope["method"]
        row = self._rows.get(method)
        if method == "HEAD":
            public = self._rows.get("GET")
            row = public if public is not None and public.operation is None else None
        if row is None:
            allow = sorted(self._rows) + (["HEAD"] if any(row.operation is None for row in self._rows.values()) else [])
            raise Refused(405, "method_not_allowed", f"Here is only {', '.join(allow)}.", allow=", ".join(allow))
        if is_socket and row.kind is not Kind.SOCKET:
            raise not_found()
        return row

    async def _answer_anybody(self, row: Row, scope: Scope, send: Send) -> None:
        if scope["raw_path"] != row.path.encode():
            raise not_found()
        answer, is_good = HealthAnswer(status="ok"), True
        if row.id == "readyz":
            is_good = await self._site.serving.is_ready()
            answer = HealthAnswer(status="ready" if is_good else "not_ready")
        content = b"" if scope["method"] == "HEAD" else msgspec.json.encode(answer)
        await respond(send, 200 if is_good else 503, content, request_id=scope["windlass.request_id"])

    async def _admit(self, row: Row, scope: Scope) -> Caller:
        assert row.operation is not None
        return await self._site.gate.admit(
            token_of(scope["headers"]),
            row.operation,
            scope["path_params"].get("namespace"),
            peer=peer_of(scope),
            request_id=scope["windlass.request_id"],
        )

    async def _answer(self, row: Row, call: Call) -> tuple[bytes, bytes]:
        if row.kind is Kind.TEXT:
            if self._site.read_metrics is None:
                raise NotAllowed("This server keeps no metrics. One with windlass[metrics] installed does.")
            return self._site.read_metrics(), b"text/plain; version=1.0.0; charset=utf-8"
        if row.kind is Kind.DOCUMENT:
            return openapi.document(row.name), b"application/json"
        return msgspec.json.encode(await act(row, call)), b"application/json"


def _refuse_body(headers: Headers) -> None:
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            raise Refused(400, "invalid_input", "Nothing is read from the body of this request: send none.")


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """Counted while it comes, whatever its header says."""
    for name, value in headers:
        if name == b"content-length" and (not value.isdigit() or int(value[:20]) > MAX_BODY):
            raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message: Message = await receive()
        if message["type"] != "http.request":
            raise CallerGone
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            raise _too_large()
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large() -> Refused:
    return Refused(413, "payload_too_large", f"A body has at most {MAX_BODY:,} bytes.")


async def respond(
    send: Send,
    status: int,
    content: bytes,
    *,
    request_id: str,
    kind: bytes = b"application/json",
    extra: Headers = (),
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(content)).encode()),
        (b"x-request-id", request_id.encode()),
        *SAFE,
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def peer_of(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])
