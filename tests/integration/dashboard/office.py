"""A dashboard over a real engine, asked without a port by somebody who is signed in."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx

from tests.integration.server.site import BASE, Site
from windlass.api.admission import Admission
from windlass.dashboard.app import Dashboard
from windlass.dashboard.asking import Desk
from windlass.dashboard.session import LoginLinks, cookie_name
from windlass.embedded import Embedded
from windlass.model.access import Role
from windlass.runtime import Clock
from windlass.server.http.app import make_app

UI = "/ui/default"
SESSION = cookie_name(BASE.partition("//")[2])


class Office(Site):
    """A server with its pages."""

    def __init__(self, opened: Embedded, clock: Clock) -> None:
        super().__init__(opened, clock)
        self.links = LoginLinks(opened.access, clock=clock, ids=opened.ids)
        gate: Admission = self.gate
        desk = Desk(
            opened, opened.pages, gate, clock=clock, ids=opened.ids, serving=self.health, links=self.links
        )  # fmt: skip
        self.app = make_app(
            opened, gate, serving=self.health, clock=clock, ids=opened.ids, patience=1.0, dashboard=Dashboard(desk)
        )

    def visitor(self, token: str | None = None) -> httpx.AsyncClient:
        """A browser; with a token one that is signed in."""
        browser = self.asker(**{"sec-fetch-site": "same-origin"})
        if token is not None:
            browser.cookies.set(SESSION, token)
        return browser

    async def signed_in(self, *roles: Role, namespace: str = "default", **more: Any) -> httpx.AsyncClient:
        return self.visitor(await self.token(*roles, namespace=namespace, **more))


async def act(browser: httpx.AsyncClient, path: str, *, on: str = UI, **fields: str) -> httpx.Response:
    """Send a form as a page has it: with what its session needs, from the page it stands on."""
    page = await browser.get(on)
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    assert found is not None, page.text
    return await browser.post(path, data={"csrf": found[1], **fields}, headers={"origin": BASE})


def text_of(page: httpx.Response) -> str:
    """What a person reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())
