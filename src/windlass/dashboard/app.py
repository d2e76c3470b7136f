"""The dashboard: an ASGI app for everything under /ui, behind the same gate as every other door.

request ── a file of ours? ── a session? ── the form's token and origin ── the gate, for the view's operation ── page
                               │ no: sign in   │ no: 403                    │ no: a page that says so
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from windlass.api.operations import OPERATIONS
from windlass.api.statuses import HIDDEN, http_status
from windlass.dashboard import live, rendering
from windlass.dashboard.asking import LOGIN, LOGOUT, OUTSIDE, ROOT, Ask, Desk, File, Page, Redirect, View, queried
from windlass.dashboard.pages.table import VIEWS
from windlass.dashboard.session import cookie, is_of_session, token_of
from windlass.errors import Forbidden, InvalidInput, NotAuthenticated, NotFound, WindlassError
from windlass.model.access import ACTING
from windlass.model.time import Instant

log = logging.getLogger("windlass.dashboard")

MAX_FORM = 64 * 1024
MAX_FIELDS = 50
SIGNED_OUT = "You are signed out: this session has ended, or its key is no longer accepted. Sign in again."
NOT_YOURS = "This form is not of your session. Go back, load the page again, and try once more."
NOT_ACCEPTED = "This token is not accepted: it is mistyped, expired or revoked."
USED_LINK = "This link has been used, or is too old. Sign in with a token, or start the server again."


class Dashboard:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        by_path: dict[str, dict[str, View]] = {}
        for view in VIEWS:
            by_path.setdefault(view.path, {})[view.method] = view
        routes = [
            Route(ROOT, _Plain(self._begin)),
            Route(LOGIN, _Plain(self._login, "GET", "HEAD", "POST")),
            Route(LOGOUT, _Plain(self._logout, "GET", "HEAD", "POST")),
            Route(f"{OUTSIDE}/static/{{name}}", _Plain(self._static)),
            Route(f"{ROOT}/{{namespace}}/live", _Plain(self._live, "GET")),
        ]
        for path in sorted(by_path, key=lambda path: (path.count("{"), path)):
            methods = (*by_path[path], *(["HEAD"] if "GET" in by_path[path] else []))
            routes.append(Route(f"{ROOT}/{{namespace}}{path}", _Plain(self._viewer(by_path[path]), *methods)))
        self._router = Router(routes, redirect_slashes=False, default=_Plain(self._nothing))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotFound("page", scope["path"])
        if scope["path"] == "/":
            await _Answer(scope, receive, send).redirect(ROOT)
            return
        await self._router(scope, receive, send)

    # What needs no session

    async def _nothing(self, answer: _Answer) -> None:
        await answer.show(Page("message.html", rendering.not_found(), 404))

    async def _static(self, answer: _Answer) -> None:
        found = rendering.static(answer.scope["path_params"]["name"])
        if found is None:
            await self._nothing(answer)
        else:
            await answer.send(200, found.content, kind=found.kind, cache=b"max-age=31536000, immutable")

    async def _login(self, answer: _Answer) -> None:
        query = answer.query()
        if answer.method == "POST":
            answer.check_origin()
            form = await answer.form()
            token, wanted = form.get("token", "").strip(), form.get("next", "")
            try:
                caller = await self._desk.gate.admit(
                    token, "server_info", None, peer=answer.peer, request_id=answer.request_id
                )
                if OPERATIONS["list_runs"].roles.isdisjoint(caller.roles):
                    raise Forbidden("This key is not made for looking: it has none of the roles that may see runs.")
            except WindlassError as error:
                problem = NOT_ACCEPTED if isinstance(error, NotAuthenticated) else _said(error)
                values = {"next": _inside(wanted), "problem": problem, "title": "Sign in"}
                await answer.show(Page("login.html", values, http_status(error)))
                return
            await answer.redirect(_inside(wanted), extra=(answer.cookie(token),))
        elif query.get("code"):
            await self._redeem(answer, query["code"])
        else:
            values = {"next": _inside(query.get("next", "")), "problem": "", "title": "Sign in"}
            await answer.show(Page("login.html", values))

    async def _redeem(self, answer: _Answer, code: str) -> None:
        """Once, and by a person: what only looks ahead gets nothing, and leaves the link as it is."""
        answer.is_referring = False
        if answer.method != "GET" or answer.header(b"sec-purpose"):
            await answer.send(204, b"", kind="text/plain")
            return
        made = await self._desk.links.redeem(code)
        if made is None:
            await answer.show(Page("login.html", {"next": ROOT, "problem": USED_LINK, "title": "Sign in"}, 401))
        else:
            await answer.redirect(ROOT, extra=(answer.cookie(made),))

    async def _logout(self, answer: _Answer) -> None:
        token = answer.token
        if answer.method != "POST":
            await answer.redirect(LOGIN)
            return
        answer.check_origin()
        if token is not None:
            if not is_of_session((await answer.form()).get("csrf", ""), token):
                raise Forbidden(NOT_YOURS)
            caller = await self._desk.gate.admit(
                token, "server_info", None, peer=answer.peer, request_id=answer.request_id
            )
            await self._desk.links.end(caller.key)
        await answer.redirect(LOGIN, extra=(answer.cookie(""),))

    # What needs one

    async def _begin(self, answer: _Answer) -> None:
        """Where whoever signed in belongs."""
        token = answer.token
        if token is None:
            await self._ask_who(answer)
            return
        caller = await self._desk.gate.admit(token, "server_info", None, peer=answer.peer, request_id=answer.request_id)
        await answer.redirect(f"{ROOT}/{caller.namespace}")

    async def _live(self, answer: _Answer) -> None:
        ask = await self._admitted(answer, "read_feed")
        if ask is None:
            await answer.send(401, b"", kind="text/plain")
        else:
            await live.serve(ask, answer.receive, answer.pass_on)

    def _viewer(self, views: Mapping[str, View]) -> Any:
        async def view(answer: _Answer) -> None:
            found = views["GET" if answer.method == "HEAD" else answer.method]
            if found.method == "POST":
                answer.check_origin()
            ask = await self._admitted(answer, found.operation)
            if ask is None:
                await self._ask_who(answer)
                return
            await self._answer(answer, found, ask)

        return view

    async def _answer(self, answer: _Answer, view: View, ask: Ask) -> None:
        if view.method == "POST" and not is_of_session(ask.form.get("csrf", ""), ask.token):
            raise Forbidden(NOT_YOURS)
        acting = ACTING.set(ask.caller.actor)
        try:
            made = await view.handler(ask)
        finally:
            ACTING.reset(acting)
        if view.method == "POST":
            self._desk.forget(ask.namespace)
        if isinstance(made, Redirect):
            sign = "&" if "?" in made.url else "?"
            await answer.redirect(f"{made.url}{sign}done={made.done}" if made.done else made.url)
        elif isinstance(made, File):
            named = (b"content-disposition", f'attachment; filename="{made.name}"'.encode())
            await answer.send(200, made.content, kind="application/json", extra=(named,))
        else:
            await answer.show(made, ask)

    async def _admitted(self, answer: _Answer, operation: str) -> Ask | None:
        token = answer.token
        if token is None:
            return None
        namespace = answer.scope["path_params"]["namespace"]
        caller = await self._desk.gate.admit(
            token, operation, namespace, peer=answer.peer, request_id=answer.request_id
        )
        form = await answer.form() if answer.method == "POST" else {}
        answer.ask = Ask(
            desk=self._desk,
            caller=caller,
            token=token,
            url=answer.target,
            path=answer.scope["path_params"],
            query=answer.query(),
            form=form,
            now=Instant(self._desk.clock.now()),
        )
        return answer.ask

    async def _ask_who(self, answer: _Answer) -> None:
        """A browser that comes from elsewhere keeps the cookie to itself: asked once more from here, it sends it."""
        if answer.header(b"sec-fetch-site") in ("cross-site", "same-site") and answer.method == "GET":
            await answer.show(Page("again.html", {"url": answer.target, "title": "Windlass"}))
            return
        values = {"next": answer.target if answer.method == "GET" else ROOT, "problem": "", "title": "Sign in"}
        await answer.show(Page("login.html", values, 401))


class _Plain:
    """A handler as an ASGI app: whatever it refuses becomes a page that says so, with the way back."""

    def __init__(self, handler: Any, *methods: str) -> None:
        self._handler, self._methods = handler, methods or ("GET", "HEAD")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(scope, receive, send)
        try:
            if answer.method in self._methods:
                await self._handler(answer)
            else:
                await answer.refuse_method(self._methods)
        except _Gone:
            return
        except NotAuthenticated:
            values = {"next": answer.target if answer.method == "GET" else ROOT, "problem": SIGNED_OUT}
            page = Page("login.html", {**values, "title": "Sign in"}, 401)
            await answer.show(page, extra=(answer.cookie(""),))
        except WindlassError as error:
            if not answer.has_begun:  # else it is a stream that ends here, and the page asks for another
                await answer.refuse(error, _said(error))
        except Exception as error:
            if answer.has_begun:
                raise
            log.error("Request %s failed", answer.request_id, exc_info=error)
            await answer.refuse(error, f"Something went wrong here. The server's log has it under {answer.request_id}.")


class _Gone(Exception):
    """Whoever asked has left before they had said everything."""


class _Answer:
    """One request, and what is sent back."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.raw_send = scope, receive, send
        self.method: str = scope["method"]
        self.request_id: str = scope.get("windlass.request_id", "")
        self.is_tls = scope["scheme"] == "https"
        self.has_begun = False
        self.is_referring = True  # to pages of ours, which is how a browser tells them where a form comes from
        self.ask: Ask | None = None
        self._form: dict[str, str] | None = None
        client = scope.get("client")
        self.peer = "" if client is None else str(client[0])

    @property
    def target(self) -> str:
        """Where this is, to come back to: without what was just done."""
        try:
            return _inside(quote(self.scope["path"]) + queried({**self.query(), "done": None}))
        except InvalidInput:  # which is said elsewhere
            return _inside(quote(self.scope["path"]))

    @property
    def token(self) -> str | None:
        return token_of(self.scope["headers"], host=self.header(b"host"))

    def cookie(self, token: str) -> tuple[bytes, bytes]:
        """Something else may speak TLS for this server: the browser says so with the form."""
        is_tls = self.is_tls or self.header(b"origin").startswith("https://")
        return cookie(token, host=self.header(b"host"), is_tls=is_tls)

    def header(self, name: bytes) -> str:
        return next((value.decode("latin-1") for key, value in self.scope["headers"] if key == name), "")

    def query(self) -> dict[str, str]:
        try:
            text = self.scope["query_string"].decode("ascii")
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
        except ValueError:
            raise InvalidInput("The address cannot be read: what stands behind its ? is broken.") from None

    def check_origin(self) -> None:
        """Only a page of this server may send a form. What speaks TLS for this server is at another scheme."""
        origin, site = self.header(b"origin").lower(), self.header(b"sec-fetch-site")
        host = self.header(b"host").lower()
        is_own = origin in (f"http://{host}", f"https://{host}")
        is_said = site == "same-origin" and origin in ("", "null")  # which no page can claim for itself
        if not (is_said or (is_own and site in ("", "same-origin"))):
            raise Forbidden("This was sent from a page of another site. Open the dashboard, and do it there.")

    async def form(self) -> dict[str, str]:
        """Counted while it comes, whatever its header says."""
        if self._form is None:
            self._form = await self._read_form()
        return self._form

    async def _read_form(self) -> dict[str, str]:
        if self.header(b"content-type").partition(";")[0].strip() != "application/x-www-form-urlencoded":
            raise InvalidInput("A form is sent as application/x-www-form-urlencoded.")
        parts, is_more = b"", True
        while is_more:
            message = await self.receive()
            if message["type"] != "http.request":
                raise _Gone
            parts, is_more = parts + message.get("body", b""), message.get("more_body", False)
            if len(parts) > MAX_FORM:
                raise InvalidInput(f"A form has at most {MAX_FORM:,} bytes.")
        try:
            text = parts.decode("ascii")
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
        except ValueError:
            raise InvalidInput("The form cannot be read.") from None

    async def show(self, page: Page, ask: Ask | None = None, *, extra: Any = ()) -> None:
        content = await rendering.render(page, ask)
        await self.send(page.status, content, kind="text/html; charset=utf-8", extra=extra)

    async def refuse(self, error: Exception, text: str) -> None:
        """What went wrong, and the way back."""
        status = http_status(error) if isinstance(error, WindlassError) else 500
        back = self.ask.home if self.ask is not None else ROOT
        referred = self.header(b"sec-fetch-site") == "same-origin" and self.method == "POST"
        values = {"title": rendering.TITLES.get(status, "That did not work"), "text": text, "back": back}
        if self.ask is not None and referred:
            values["back"] = _inside(self.ask.form.get("back", "")) or back
        await self.show(Page("message.html", values, status), self.ask)

    async def refuse_method(self, methods: Sequence[str]) -> None:
        text = f"This address takes {', '.join(methods)}."
        page = Page("message.html", {"title": "That cannot be done here", "text": text, "back": ROOT}, 405)
        await self.show(page, extra=((b"allow", ", ".join(methods).encode()),))

    async def redirect(self, url: str, *, extra: Any = ()) -> None:
        await self.send(303, b"", kind="text/plain", extra=((b"location", url.encode()), *extra))

    async def pass_on(self, message: Message) -> None:
        self.has_begun = True
        await self.raw_send(message)

    async def send(
        self, status: int, content: bytes, *, kind: str, extra: Any = (), cache: bytes = b"no-store"
    ) -> None:
        self.has_begun = True
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"x-request-id", self.request_id.encode()),
            (b"cache-control", cache),
            *rendering.SAFE,
            rendering.REFERRING if self.is_referring else rendering.NOT_REFERRING,
            *extra,
        ]
        await self.raw_send({"type": "http.response.start", "status": status, "headers": headers})
        await self.raw_send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else content})


def _inside(url: str) -> str:
    """An address of these pages, or their beginning: nobody is sent elsewhere from here."""
    is_ours = url == ROOT or url.startswith((f"{ROOT}/", f"{ROOT}?"))
    is_plain = url.isascii() and url.isprintable() and "\\" not in url and "//" not in url.partition("?")[0]
    return url if is_ours and is_plain else ROOT


def _said(error: WindlassError) -> str:
    return HIDDEN.get(getattr(error, "code", ""), str(error))[:2_000]
