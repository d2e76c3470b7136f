"""Does a walk over the pages of a list never repeat and never miss what was there all the time?"""

from __future__ import annotations

import httpx
import pytest

from tests.integration.server.site import DEFAULT, Site
from windlass.model.access import Role


async def walk(client: httpx.AsyncClient, path: str, *, items: str, cursor: str, limit: int) -> list[list[object]]:
    found: list[list[object]] = []
    params: dict[str, object] = {"limit": limit}
    while True:
        page = (await client.get(path, params=params)).json()  # type: ignore[arg-type]
        found.append(page[items])
        if page["next"] is None:
            return found
        params[cursor] = page["next"]


@pytest.mark.spec("invariants:I-59")
@pytest.mark.parametrize("limit", [1, 7, 500])
async def test_a_walk_over_runs_that_stand_still(site: Site, limit: int) -> None:
    client = await site.client(Role.CLIENT)
    wanted = [{"workflow": "order", "allow_unknown": True} for _ in range(30)]
    started = (await client.post(f"{DEFAULT}/runs/batch", json={"runs": wanted})).json()["results"]

    pages = await walk(client, f"{DEFAULT}/runs", items="runs", cursor="before", limit=limit)
    ids = [run["id"] for page in pages for run in page]  # type: ignore[index]

    assert ids == sorted({item["run_id"] for item in started}, reverse=True)
    assert all(len(page) == limit for page in pages[:-1])


@pytest.mark.spec("invariants:I-59")
async def test_a_walk_while_runs_come_and_change(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    there = {await site.start(client, args=[number]) for number in range(25)}
    seen: list[str] = []
    params = {"limit": "4"}
    while True:
        page = (await client.get(f"{DEFAULT}/runs", params=params)).json()
        seen += [run["id"] for run in page["runs"]]
        if page["next"] is None:
            break
        params["before"] = page["next"]
        await site.start(client)  # new ones, and one that was seen or will be seen changes its status
        victim = sorted(there)[len(seen) % 25]
        await client.post(f"{DEFAULT}/runs/{victim}/cancel", json={})

    assert len(seen) == len(set(seen))
    assert there <= set(seen)


@pytest.mark.spec("invariants:I-59")
async def test_walks_over_namespaces_and_the_audit(site: Site) -> None:
    admin = await site.client(Role.ADMIN, namespace="*")
    for number in range(12):
        assert (await admin.post("/v1/namespaces", json={"name": f"n{number:02}"})).status_code == 200
        run_id = await site.start(admin)
        await admin.post(f"{DEFAULT}/runs/{run_id}/cancel", json={})

    names = await walk(admin, "/v1/namespaces", items="namespaces", cursor="after", limit=5)
    acts = await walk(admin, f"{DEFAULT}/audit", items="entries", cursor="before", limit=5)

    found = [item["name"] for page in names for item in page]  # type: ignore[index]
    assert found == sorted({"default", *(f"n{number:02}" for number in range(12))})
    numbers = [item["seq"] for page in acts for item in page]  # type: ignore[index]
    assert numbers == sorted(set(numbers), reverse=True)
    assert len(numbers) == 12


@pytest.mark.spec("invariants:I-59")
async def test_a_walk_over_the_feed_while_it_grows(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    for _ in range(10):
        await site.start(client)
    seen: list[int] = []
    cursor: str | None = None
    for turn in range(40):
        params = {"limit": "3"} | ({} if cursor is None else {"cursor": cursor})
        page = (await client.get(f"{DEFAULT}/feed", params=params)).json()
        seen += [line["entry"]["seq"] for line in page["entries"]]
        cursor = page["cursor"]
        if turn < 5:
            await site.start(client)
        elif not page["has_more"]:
            break

    assert len(seen) == len(set(seen)) == 15
    last = (await client.get(f"{DEFAULT}/feed", params={"cursor": "now"})).json()
    assert last["entries"] == []
