"""How long does the server take for a page? One case in a process of its own:
`python -m bench.page_cases CASE --db URL [--size N]`.

    pages      every page of the dashboard, asked without a network: from the request to the last byte of its answer
    picture    the page of a graph of N jobs

The database is used as it is; one line of JSON, like the programs it is measured beside.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import httpx

from bench.load import nothing
from bench.peers.protocol import Answer, answer
from windlass.app import App
from windlass.bench.durable import read_back
from windlass.dashboard.app import Dashboard
from windlass.dashboard.asking import Desk
from windlass.dashboard.session import LoginLinks, cookie_name
from windlass.define.job_context import JobContext
from windlass.define.spawn import Spawn
from windlass.embedded import Embedded, in_process
from windlass.model.page import ListRuns
from windlass.runtime import SystemClock
from windlass.server.gate import Gate
from windlass.server.health import Health
from windlass.server.http.app import make_app
from windlass.settings import Settings

UI = "/ui/default"
WARM_UP = 5
PLAIN = {
    "overview": UI,
    "runs": f"{UI}/runs",
    "runs_failed": f"{UI}/runs?status=failed",
    "runs_text": f"{UI}/runs?text=nothing+like+it",
    "runs_pending": f"{UI}/runs?status=pending",
    "graphs": f"{UI}/graphs",
    "pipelines": f"{UI}/pipelines",
    "signals": f"{UI}/signals",
    "schedules": f"{UI}/schedules",
    "workers": f"{UI}/workers",
    "queues": f"{UI}/queues",
}


async def idle(ctx: JobContext) -> None: ...


async def pages(url: str, size: int) -> Answer:
    """The median of `size` requests for each page, in milliseconds."""
    async with App(url, settings=Settings()) as app:
        opened = in_process(await app._opening.get())
        found = await opened.runs.list_runs(ListRuns(namespace="default", limit=1))
        figures = {}
        desk = _desk(opened)
        async with await _browser(desk) as browser:
            for name, path in {**PLAIN, "run": f"{UI}/runs/{found.runs[0].id}"}.items():
                figures[f"{name}_ms"] = await _median(browser, path, size, desk=desk)
        figures["slowest_ms"] = max(figures.values())
        return Answer(figures, await read_back(app))


async def picture(url: str, size: int) -> Answer:
    app = App(url, settings=Settings())
    graph = app.graph("large")
    app.workflow(nothing)

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        rows = [graph.spawn(idle, name=f"row-{number}") for number in range(10)]
        return rows + [
            graph.spawn(idle, name=f"part-{number}", needs=[rows[number % 10]]) for number in range(size - 11)
        ]

    app.workflow(idle)
    async with app, app.worker():
        handle = await app.start(graph)
        await handle.result()
        opened = in_process(await app._opening.get())
        desk = _desk(opened)
        async with await _browser(desk) as browser:
            folded = await _median(browser, f"{UI}/graphs/{handle.id}", 20, desk=desk)
            unfolded = await _median(browser, f"{UI}/graphs/{handle.id}?unfold=*", 20, desk=desk)
        return Answer({"folded_ms": folded, "unfolded_ms": unfolded}, await read_back(app))


def _desk(opened: Embedded) -> Desk:
    clock = SystemClock()
    gate = Gate(opened.access, opened.namespaces, clock=clock)
    health = Health(lambda: opened.namespaces.get_namespace("default"), clock=clock)
    links = LoginLinks(opened.access, clock=clock, ids=opened.ids)
    return Desk(opened, opened.pages, gate, clock=clock, ids=opened.ids, serving=health, links=links)


async def _browser(desk: Desk) -> httpx.AsyncClient:
    """Somebody who is signed in, without a port between them and the server."""
    app = make_app(
        desk.service, desk.gate, serving=desk.serving, clock=desk.clock, ids=desk.ids, dashboard=Dashboard(desk)
    )
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 5))
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost:7421")
    token = await desk.links.redeem(desk.links.make())
    assert token is not None
    client.cookies.set(cookie_name("localhost:7421"), token)
    return client


async def _median(browser: httpx.AsyncClient, path: str, count: int, *, desk: Desk) -> float:
    took = []
    for _ in range(WARM_UP + count):
        desk.forget("default")  # what was counted before does not make this one faster
        began = time.perf_counter()
        page = await browser.get(path)
        took.append(time.perf_counter() - began)
        assert page.status_code == 200, (path, page.status_code, page.text[:300])
    return statistics.median(took[WARM_UP:]) * 1_000


CASES = {
    "pages": lambda url, size: asyncio.run(pages(url, size)),
    "picture": lambda url, size: asyncio.run(picture(url, size)),
}

if __name__ == "__main__":
    answer(CASES, size=50)
