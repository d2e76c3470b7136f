"""Does a call whose connection was cut, and which is asked again of another server, have the effect of one call?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.wire_cases import CASES
from tests.faults.wire_site import Fault, Site, made_even, wired
from tests.invariants.wire import repeats_have_the_effect_of_one
from windlass.api.grpc.table import SERVICES
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

# Those that change nothing: asked again, they answer with what is there.
READS = {
    *("GetRun", "FindRun", "ListRuns", "ListSteps", "ListMessages", "ReadLog", "ExplainRun", "WaitForResult"),
    *("ReadHistory", "Listen", "LookAtClaims", "ReadNeeds"),
    *("ListGraphs", "GetGraph", "ListJobs"),
    *("ListPipelines", "GetPipeline", "ListHandlerRuns", "GetHandlerRun", "ListTopics", "ListEvents", "ListInputs"),
    *("TraceInput", "ExplainPipeline", "ListOpenEffects", "ReadEvents"),
    *(
        "GetItem",
        "ListItems",
        "ReadItemLog",
        "GetSignal",
        "ListSignals",
        "ReadSignalLog",
        "ListFirings",
        "ExplainSignal",
    ),
    *("GetSchedule", "ListSchedules", "ReadScheduleLog"),
    *("GetNamespace", "ListNamespaces", "ListKeys", "ListAudit"),
    *("GetServerInfo", "ListWorkers", "ListQueues", "ListGates", "ReadFeed", "FollowFeed", "CheckUp"),
}
# What the answer to a call that is asked again does not know any more: whether the run of that id was created by the
# call before, which nobody asks who lets us choose the id; which children ended with their parent then; and how many
# events were skipped.
FORGOTTEN = {
    "StartRun": ("is_repeat=True", "is_repeat=False"),
    "StartRuns": ("is_repeat=True", "is_repeat=False"),
    "SkipInput": ("skipped=1", "skipped=0"),
    "CancelRun: with a child": ("children=('run_?',)", "children=()"),
    "CancelRun: a graph": ("children=('run_?', 'run_?', 'run_?')", "children=()"),
    "CancelRun: a graph that cleans up": ("children=('run_?', 'run_?', 'run_?')", "children=()"),
    "CancelChild: a graph that cleans up": ("children=('run_?', 'run_?', 'run_?')", "children=()"),
}
PATIENCE = 20.0


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["sqlite", "postgresql"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("wire")
    server: PostgresServer | None = None
    url = f"sqlite:///{folder / 'windlass.db'}"
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_server")
        url = server.create_database()
    async with wired(url, FakeClock()) as site:
        yield site
    if server is not None:
        server.drop_database(url)


def test_every_call_that_changes_something_is_tried() -> None:
    methods = {name for service in SERVICES.values() for name in service.methods_by_name}

    tried = {name.partition(":")[0] for name in CASES}

    assert tried == methods - READS
    assert methods >= READS


@pytest.mark.spec("invariants:I-57")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CASES)
async def test_a_call_that_is_asked_again_has_the_effect_of_one(site: Site, name: str) -> None:
    case, method = CASES[name], name.partition(":")[0]
    stories = {}

    for fault in Fault:
        await site.clear()
        ground = await case.prepare(site.engine.engine)
        site.lossy.arm(fault, method)
        async with asyncio.timeout(PATIENCE):
            answer = await case.ask(site, ground)
        told = made_even(repr(answer)).replace(*FORGOTTEN.get(name, ("", "")))
        stories[fault] = (told, await site.dump())
        assert site.lossy.asked == (1 if fault is Fault.NONE else 2)

    for fault in (Fault.REQUEST, Fault.ANSWER):
        assert repeats_have_the_effect_of_one(stories[Fault.NONE], stories[fault]) == [], fault
