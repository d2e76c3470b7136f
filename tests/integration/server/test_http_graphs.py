"""Can graphs be started by name, looked at and steered over HTTP, as the runs that they are?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.integration.conftest import Gate, OpenHarness
from tests.integration.server.live import listening, talking
from tests.integration.server.site import DEFAULT, Site, error_of
from tests.integration.server.test_http_pages import walk
from windlass import Graph, JobContext, Spawn, after
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.testing.harness import Harness

GRAPHS = f"{DEFAULT}/graphs"


class Ci(NamedTuple):
    harness: Harness
    site: Site
    client: httpx.AsyncClient
    gate: Gate  # behind which the first job stands

    async def start(self, **body: Any) -> str:
        """By its name, with the tag as its input."""
        return await self.site.start(self.client, **({"workflow": "release", "args": ["v1"]} | body))

    async def ended(self, run_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"{DEFAULT}/runs/{run_id}/result", params={"wait_secs": 20})
        found: dict[str, Any] = answer.json()
        return found

    async def jobs(self, graph: str, **params: Any) -> dict[str, Any]:
        answer = (await self.client.get(f"{GRAPHS}/{graph}/jobs", params=params)).json()
        return {job["name"]: job for job in answer["jobs"]}


@pytest.fixture
async def ci(open_shared: OpenHarness) -> AsyncIterator[Ci]:
    harness, gate = await open_shared(), Gate()
    declare(harness.app.graph("release", input=str), gate)
    site = Site(harness.opened, harness.clock)
    yield Ci(harness, site, await site.client(Role.CLIENT), gate)
    await site.close()


def declare(release: Graph, gate: Gate) -> None:
    @release.job
    async def lint(ctx: JobContext) -> str:
        await gate.wait()
        if ctx.input == "v0":
            raise ValueError("not clean")
        return f"{ctx.input} is clean"

    @release.job(needs=[lint], matrix={"python": ["3.11", "3.12"]}, max_parallel=1)
    async def test(ctx: JobContext, python: str) -> str:
        return python

    @release.group(needs=[lint])
    async def shards(ctx: JobContext) -> list[Spawn]:
        return [release.spawn(shard, number, name=f"shard-{number}") for number in (1, 2)]

    @release.job(name="shard", needs=[after(lint, on="failed")])
    async def shard(ctx: JobContext, number: int = 0) -> int:
        return number

    @release.job(needs=[after(test, on="always"), shards], timeout="5m")
    async def report(ctx: JobContext) -> list[int]:
        return [need.output for need in ctx.needs[shards]]


async def test_a_graph_is_started_by_name_looked_at_and_awaited(ci: Ci) -> None:
    graph = await ci.start(key="release-1")
    await ci.gate.reached()

    found = (await ci.client.get(f"{GRAPHS}/{graph}")).json()
    assert (found["id"], found["name"], found["status"], found["ending"]) == (graph, "release", "waiting", None)
    assert found["jobs"] == {
        "all": 6, "open": 6, "held": 1, "completed": 0, "failed": 0, "cancelled": 0, "skipped": 0,
    }  # fmt: skip
    run = (await ci.client.get(f"{DEFAULT}/runs/{graph}")).json()
    assert (run["kind"], run["key"]) == ("graph", "release-1")
    assert await ci.start(key="release-1") == graph
    jobs = await ci.jobs(graph)
    assert list(jobs) == ["lint", "test[3.11]", "test[3.12]", "shards", "shard", "report"]
    assert (jobs["lint"]["status"], jobs["lint"]["needs_satisfied"], jobs["lint"]["needs"]) == ("running", True, [])
    report = jobs["report"]
    assert (report["status"], report["needs_satisfied"], report["unmet"], report["ready_at"]) == (
        "waiting", False, 3, None,
    )  # fmt: skip
    assert report["timeout_secs"] == 300
    every = ["cancelled", "completed", "failed", "skipped"]
    assert sorted(report["needs"], key=lambda need: str(need["job"])) == [
        {"job": "shards", "accepts": ["completed"], "is_group": True, "is_resolved": False},
        {"job": "test[3.11]", "accepts": every, "is_group": False, "is_resolved": False},
        {"job": "test[3.12]", "accepts": every, "is_group": False, "is_resolved": False},
    ]
    held = jobs["test[3.12]"]
    assert (held["matrix"], held["max_parallel"], held["is_held"]) == ("test", 1, True)
    told = (await ci.client.get(f"{DEFAULT}/runs/{report['run_id']}/explanation")).json()
    assert told["code"] == "waiting_for_needs"

    ci.gate.open()
    assert (await ci.ended(graph))["status"] == "completed"
    jobs = await ci.jobs(graph)
    assert {name: job["status"] for name, job in jobs.items()} == {
        "lint": "completed", "test[3.11]": "completed", "test[3.12]": "completed", "shards": "completed",
        "shard": "skipped", "report": "completed", "shard-1": "completed", "shard-2": "completed",
    }  # fmt: skip
    assert (jobs["shard"]["decided_by"], jobs["shard-1"]["group"]) == ("lint", "shards")
    output = (await ci.client.get(f"{DEFAULT}/runs/{jobs['report']['run_id']}")).json()
    assert (output["kind"], output["parent"], output["parent_step"], output["output"]) == (
        "job", graph, "report", [1, 2],
    )  # fmt: skip
    assert output["ready_at"] is not None


async def test_a_graph_that_failed_says_why_and_is_tried_again(ci: Ci) -> None:
    ci.gate.open()
    graph = await ci.start(args=["v0"])

    ended = await ci.ended(graph)
    found = (await ci.client.get(f"{GRAPHS}/{graph}")).json()

    assert (ended["status"], found["status"]) == ("failed", "failed")
    assert found["failure"] == ended["failure"]
    assert found["jobs"]["open"] == 0
    lint = (await ci.jobs(graph))["lint"]
    assert (lint["failure"]["type"], lint["failure"]["message"]) == ("ValueError", "not clean")
    retried = (await ci.client.post(f"{DEFAULT}/runs/{graph}/retry", json={})).json()["run_id"]
    assert (await ci.ended(retried))["status"] == "failed"
    assert (await ci.client.get(f"{GRAPHS}/{retried}")).json()["retry_of"] == graph


async def test_graphs_are_listed_newest_first_page_by_page(ci: Ci) -> None:
    ci.gate.open()
    graphs = [await ci.start(args=[f"v{number}"]) for number in range(4)]
    for graph in graphs:
        await ci.ended(graph)

    pages = await walk(ci.client, GRAPHS, items="graphs", cursor="before", limit=3)
    jobs = await walk(ci.client, f"{GRAPHS}/{graphs[1]}/jobs", items="jobs", cursor="after", limit=3)
    alone = (await ci.client.get(GRAPHS, params={"name": "other"})).json()
    open = (await ci.client.get(GRAPHS, params={"is_open": "true"})).json()
    over = (await ci.client.get(GRAPHS, params={"is_open": "false", "name": "release"})).json()

    assert [graph["id"] for page in pages for graph in page] == graphs[::-1]  # type: ignore[index]
    assert [len(page) for page in pages] == [3, 1]
    assert [job["position"] for page in jobs for job in page] == list(range(8))  # type: ignore[index]
    assert (alone["graphs"], open["graphs"], len(over["graphs"])) == ([], [], 4)


async def test_a_graph_is_paused_resumed_and_cancelled_as_the_run_that_it_is(ci: Ci) -> None:
    graph = await ci.start()
    await ci.gate.reached()

    await ci.client.post(f"{DEFAULT}/runs/{graph}/pause", json={"by": "ann"})
    assert (await ci.client.get(f"{GRAPHS}/{graph}")).json()["is_paused"] is True
    await ci.client.post(f"{DEFAULT}/runs/{graph}/resume", json={})
    assert (await ci.client.get(f"{GRAPHS}/{graph}")).json()["is_paused"] is False
    await ci.client.post(f"{DEFAULT}/runs/{graph}/cancel", json={})

    found = (await ci.client.get(f"{GRAPHS}/{graph}")).json()
    assert (found["status"], found["jobs"]["open"]) == ("cancelled", 0)


async def test_over_a_websocket_it_is_the_same(ci: Ci) -> None:
    ci.gate.open()
    graph = await ci.start()
    await ci.ended(graph)

    async with listening(ci.site) as port, talking(port, await ci.site.token(Role.VIEWER)) as talker:
        listed = (await talker.ask("graphs.list", limit=5))["result"]
        found = (await talker.ask("graphs.get", run_id=graph))["result"]
        jobs = (await talker.ask("graphs.jobs", run_id=graph, limit=2, after=1))["result"]

    assert listed["graphs"] == [found]
    assert found == (await ci.client.get(f"{GRAPHS}/{graph}")).json()
    assert ([job["name"] for job in jobs["jobs"]], jobs["next"]) == (["test[3.12]", "shards"], 3)


@pytest.mark.spec("invariants:I-58", "security:S-09")
async def test_what_is_no_graph_and_what_is_one_of_somebody_else_are_not_found_alike(ci: Ci) -> None:
    ci.gate.open()
    graph = await ci.start()
    await ci.ended(graph)
    plain = await ci.site.start(ci.client, workflow="nobody_serves_it")
    await ci.site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await ci.site.client(Role.VIEWER, namespace="other")

    for path in ("", "/jobs"):
        none = await ci.client.get(f"{GRAPHS}/{plain}{path}")
        theirs = await stranger.get(f"/v1/namespaces/other/graphs/{graph}{path}")
        assert (none.status_code, theirs.status_code) == (404, 404)
        assert error_of(none)["message"].replace(plain, graph) == error_of(theirs)["message"]
    assert (await stranger.get("/v1/namespaces/other/graphs")).json() == {"graphs": [], "next": None}


@pytest.mark.parametrize(
    ("path", "params", "where"),
    [
        ("", {"limit": "0"}, "limit"),
        ("", {"limit": "501"}, "limit"),
        ("", {"before": "x"}, "before"),
        ("", {"is_open": "perhaps"}, "is_open"),
        ("", {"name": "a b"}, "graph name"),
        ("", {"status": "failed"}, "status"),
        ("/run_1", {}, "run id"),
        ("/run_" + "0" * 26 + "/jobs", {"after": "-1"}, "after"),
        ("/run_" + "0" * 26 + "/jobs", {"after": str(2**31)}, "after"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_its_path(
    memory_site: Site, path: str, params: dict[str, str], where: str
) -> None:
    client = await memory_site.client(Role.VIEWER)

    answer = await client.get(GRAPHS + path, params=params)

    assert (answer.status_code, error_of(answer)["path"]) == (400, where)
