"""HTTP for a server: an ASGI app made from the table of routes.

request ── a host of ours? ── a path of one spelling? ── a row? ── an origin of ours? ── the gate ── strict JSON
             │ no: 421          │ no: 404                │ 404, 405  │ no: 403            │ 401, 403   │ 400, 413, 415
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windlass.api.admission import Admission
from windlass.api.service import Service
from windlass.api.serving import Serving
from windlass.errors import InvalidInput
from windlass.runtime import Clock, Ids
from windlass.server.http.calls import PATIENCE, Kind, Site
from windlass.server.http.errors import body_of, headers_of, not_found, status_of
from windlass.server.http.guard import Guard, check_headers, check_target
from windlass.server.http.pages import CallerGone, Page, respond
from windlass.server.http.plain import decoded
from windlass.server.http.sockets import refuse
from windlass.server.http.table import by_path


def make_app(
    service: Service,
    gate: Admission,
    *,
    serving: Serving,
    clock: Clock,
    ids: Ids,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    read_metrics: Callable[[], bytes] | None = None,
    patience: float = PATIENCE,
    dashboard: ASGIApp | None = None,
) -> ASGIApp:
    """The app. `allowed_hosts` are the names this server goes by besides this machine's own; `patience` is how many
    seconds a reader of a stream may take nothing; `dashboard` answers for everything under /ui."""
    site = Site(service, gate, clock=clock, ids=ids, serving=serving, read_metrics=read_metrics, patience=patience)
    guard = Guard(hosts=allowed_hosts, origins=allowed_origins)
    routes: list[Route | WebSocketRoute] = []
    for path, rows in by_path().items():
        page = Page(rows, site=site, guard=guard)
        routes.append(Route(path, page))
        if any(row.kind is Kind.SOCKET for row in rows.values()):
            routes.append(WebSocketRoute(path, page))
    router = Router(routes, redirect_slashes=False, default=_nothing)
    return _App(router, site=site, guard=guard, dashboard=dashboard)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise not_found()


class _App:
    """What is true of every request: an id, a host that is ours, and one form for every refusal."""

    def __init__(self, router: Router, *, site: Site, guard: Guard, dashboard: ASGIApp | None) -> None:
        self._router, self._site, self._guard, self._dashboard = router, site, guard, dashboard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        sender = _Sender(send)
        request_id = self._site.ids.request()
        try:
            checked = self._checked(_typed(scope) if self._dashboard is not None else scope, request_id)
            await self._answerer(checked)(checked, receive, sender)
        except CallerGone:
            return
        except Exception as error:
            if sender.has_begun:  # what was promised cannot be kept: the connection ends in the middle
                raise
            if scope["type"] == "websocket":
                await refuse(error, send, request_id=request_id)
                return
            content = body_of(error, request_id=request_id)
            if scope["method"] == "HEAD":
                content = b""
            extra = headers_of(error)
            await respond(send, status_of(error), content, request_id=request_id, extra=extra)

    def _answerer(self, scope: Scope) -> ASGIApp:
        is_page = scope["path"] == "/" or scope["path"].split("/", 2)[1] == "ui"
        return self._dashboard if self._dashboard is not None and is_page and scope["type"] == "http" else self._router

    def _checked(self, scope: Scope, request_id: str) -> Scope:
        headers = scope["headers"]
        host = self._guard.check_host(headers)
        check_headers(headers)
        raw_path = scope.get("raw_path") or scope["path"].encode()
        if raw_path != b"/":
            check_target(raw_path, scope["query_string"])
        try:
            path = decoded(raw_path, what="path")
        except InvalidInput:
            raise not_found() from None
        added = {"path": path, "raw_path": raw_path, "root_path": "", "windlass.host": host}
        return {**scope, **added, "windlass.request_id": request_id}


def _typed(scope: Scope) -> Scope:
    """Whoever types the address of a page may end it with a slash."""
    raw_path = scope.get("raw_path") or scope["path"].encode()
    if scope["type"] != "http" or not (raw_path.startswith(b"/ui/") and raw_path.endswith(b"/")):
        return scope
    return {**scope, "raw_path": raw_path[:-1], "path": scope["path"][:-1]}


class _Sender:
    def __init__(self, send: Send) -> None:
        self._send, self.has_begun = send, False

    async def __call__(self, message: Message) -> None:
        self.has_begun = True
        await self._send(message)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
