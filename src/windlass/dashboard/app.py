"""The dashboard: an ASGI app for everything under /ui, behind the same gate as every other door.

request ── a file of ours? ── a session? ── the form's token and origin ── the gate, for the view's operation ── page
                               │ no: sign in   │ no: 403                    │ no: a page that says so
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from windlass.api.operations import OPERATIONS
from windlass.api.statuses import http_status
from windlass.dashboard import live, rendering
from windlass.dashboard.answer import Answer, Plain, inside, said
from windlass.dashboard.asking import LOGIN, LOGOUT, OUTSIDE, ROOT, Ask, Desk, File, Page, Redirect, View
from windlass.dashboard.pages.table import VIEWS
from windlass.dashboard.session import is_of_session
from windlass.errors import Forbidden, NotAuthenticated, NotFound, WindlassError
from windlass.model.access import ACTING
from windlass.model.time import Instant

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
            Route(ROOT, Plain(self._begin)),
            Route(LOGIN, Plain(self._login, "GET", "HEAD", "POST")),
            Route(LOGOUT, Plain(self._logout, "GET", "HEAD", "POST")),
            Route(f"{OUTSIDE}/static/{{name}}", Plain(self._static)),
            Route(f"{ROOT}/{{namespace}}/live", Plain(self._live, "GET")),
        ]
        for path in sorted(by_path, key=lambda path: (path.count("{"), path)):
            methods = (*by_path[path], *(["HEAD"] if "GET" in by_path[path] else []))
            routes.append(Route(f"{ROOT}/{{namespace}}{path}", Plain(self._viewer(by_path[path]), *methods)))
        self._router = Router(routes, redirect_slashes=False, default=Plain(self._nothing))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotFound("page", scope["path"])
        if scope["path"] == "/":
            await Answer(scope, receive, send).redirect(ROOT)
            return
        await self._router(scope, receive, send)

    # What needs no session

    async def _nothing(self, answer: Answer) -> None:
        await answer.show(Page("message.html", rendering.not_found(), 404))

    async def _static(self, answer: Answer) -> None:
        found = rendering.static(answer.scope["path_params"]["name"])
        if found is None:
            await self._nothing(answer)
        else:
            await answer.send(200, found.content, kind=found.kind, cache=b"max-age=31536000, immutable")

    async def _login(self, answer: Answer) -> None:
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
                problem = NOT_ACCEPTED if isinstance(error, NotAuthenticated) else said(error)
                values = {"next": inside(wanted), "problem": problem, "title": "Sign in"}
                await answer.show(Page("login.html", values, http_status(error)))
                return
            await answer.redirect(inside(wanted), extra=(answer.cookie(token),))
        elif query.get("code"):
            await self._redeem(answer, query["code"])
        else:
            values = {"next": inside(query.get("next", "")), "problem": "", "title": "Sign in"}
            await answer.show(Page("login.html", values))

    async def _redeem(self, answer: Answer, code: str) -> None:
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

    async def _logout(self, answer: Answer) -> None:
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

    async def _begin(self, answer: Answer) -> None:
        """Where whoever signed in belongs."""
        token = answer.token
        if token is None:
            await self._ask_who(answer)
            return
        caller = await self._desk.gate.admit(token, "server_info", None, peer=answer.peer, request_id=answer.request_id)
        await answer.redirect(f"{ROOT}/{caller.namespace}")

    async def _live(self, answer: Answer) -> None:
        ask = await self._admitted(answer, "read_feed")
        if ask is None:
            await answer.send(401, b"", kind="text/plain")
        else:
            await live.serve(ask, answer.receive, answer.pass_on)

    def _viewer(self, views: Mapping[str, View]) -> Any:
        async def view(answer: Answer) -> None:
            found = views["GET" if answer.method == "HEAD" else answer.method]
            if found.method == "POST":
                answer.check_origin()
            ask = await self._admitted(answer, found.operation)
            if ask is None:
                await self._ask_who(answer)
                return
            await self._answer(answer, found, ask)

        return view

    async def _answer(self, answer: Answer, view: View, ask: Ask) -> None:
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

    async def _admitted(self, answer: Answer, operation: str) -> Ask | None:
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

    async def _ask_who(self, answer: Answer) -> None:
        """A browser that comes from elsewhere keeps the cookie to itself: asked once more from here, it sends it."""
        if answer.header(b"sec-fetch-site") in ("cross-site", "same-site") and answer.method == "GET":
            await answer.show(Page("again.html", {"url": answer.target, "title": "Windlass"}))
            return
        values = {"next": answer.target if answer.method == "GET" else ROOT, "problem": "", "title": "Sign in"}
        await answer.show(Page("login.html", values, 401))
