"""The tenants, for whoever has a key of all of them."""

from __future__ import annotations

from windlass.dashboard.asking import Ask, Page, View


async def show(ask: Ask) -> Page:
    found = await ask.service.namespaces.list_namespaces(limit=500)
    return Page("namespaces.html", {"title": "Namespaces", "place": "", "namespaces": found.namespaces})


VIEWS = (View(path="/namespaces", operation="list_namespaces", handler=show),)
