"""One request to the dashboard and what is sent back: cookies, forms, origins, refusals as pages, safe headers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.types import Message, Receive, Scope, Send

from windlass.api.statuses import HIDDEN, http_status
from windlass.dashboard import rendering
from windlass.dashboard.asking import ROOT, Ask, Page, queried
from windlass.dashboard.session import cookie, token_of
from windlass.errors import Forbidden, InvalidInput, NotAuthenticated, WindlassError

log = logging.getLogger("windlass.dashboard")

MAX_FORM = 64 * 1024
MAX_FIELDS = 50
SIGNED_OUT = "You are signed out: this session has ended, or its key is no longer accepted. Sign in again."


class Plain:
    """A handler as an ASGI app: whatever it refuses becomes a page that says so, with the way back."""

    def __init__(self, handler: Any, *methods: str) -> None:
        self._handler, self._methods = handler, methods or ("GET", "HEAD")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = Answer(scope, receive, send)
        try:
            if answer.method in self._methods:
                await self._handler(answer)
            else:
                await answer.refuse_method(self._methods)
        except Gone:
            return
        except NotAuthenticated:
            values = {"next": answer.target if answer.method == "GET" else ROOT, "problem": SIGNED_OUT}
            page = Page("login.html", {**values, "title": "Sign in"}, 401)
            await answer.show(page, extra=(answer.cookie(""),))
        except WindlassError as error:
            if not answer.has_begun:  # else it is a stream that ends here, and the page asks for another
                await answer.refuse(error, said(error))
        except Exception as error:
            if answer.has_begun:
                raise
            log.error("Request %s failed", answer.request_id, exc_info=error)
            await answer.refuse(error, f"Something went wrong here. The server's log has it under {answer.request_id}.")


class Gone(Exception):
    """Whoever asked has left before they had said everything."""


class Answer:
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
            return inside(quote(self.scope["path"]) + queried({**self.query(), "done": None}))
        except InvalidInput:  # which is said elsewhere
            return inside(quote(self.scope["path"]))

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
                raise Gone
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
            values["back"] = inside(self.ask.form.get("back", "")) or back
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


def inside(url: str) -> str:
    """An address of these pages, or their beginning: nobody is sent elsewhere from here."""
    is_ours = url == ROOT or url.startswith((f"{ROOT}/", f"{ROOT}?"))
    is_plain = url.isascii() and url.isprintable() and "\\" not in url and "//" not in url.partition("?")[0]
    return url if is_ours and is_plain else ROOT


def said(error: WindlassError) -> str:
    return HIDDEN.get(getattr(error, "code", ""), str(error))[:2_000]
