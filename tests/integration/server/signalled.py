"""Work items, and signals on them, as those who speak HTTP make them; and firings worked when a test says so."""

from __future__ import annotations

from typing import Any

import httpx

from tests.integration.server.site import DEFAULT, Site
from windlass.engine.signal.work import work_firings

ITEMS, SIGNALS, FIRINGS = f"{DEFAULT}/items", f"{DEFAULT}/signals", f"{DEFAULT}/firings"
ITEM, TASK, SIGNAL, RUN = ("itm_" + "0" * 26, "tsk_" + "0" * 26, "sig_" + "0" * 26, "run_" + "0" * 26)


async def posted(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def read(client: httpx.AsyncClient, path: str, **params: Any) -> dict[str, Any]:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def new_item(client: httpx.AsyncClient, *states: str, **body: Any) -> str:
    """In the last of these states, by way of the others."""
    item: str = (await posted(client, ITEMS, **({"title": "a leak in the cellar"} | body)))["id"]
    await moved(client, item, *states)
    return item


async def moved(client: httpx.AsyncClient, item: str, *states: str) -> None:
    for state in states:
        await posted(client, f"{ITEMS}/{item}/transition", to=state)


async def new_signal(client: httpx.AsyncClient, item: str, *to: str, **body: Any) -> str:
    made = await posted(client, SIGNALS, trigger=on_item(item, *to), **body)
    id: str = made["id"]
    return id


def on_item(item: str, *to: str) -> dict[str, Any]:
    return {"kind": "work_item.status.transition", "item_id": item, "to": list(to)}


async def fire(site: Site) -> int:
    """Work what is due, as the coordinator of a server does; how many it was."""
    done = 0
    while claimed := await work_firings(site.opened.engine.parts, worker="here", batch=100):
        done += claimed
    return done
