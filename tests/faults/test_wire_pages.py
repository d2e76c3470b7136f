"""Does a walk over pages, while things come and go between them, never repeat and never miss what was there?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.given import NAMESPACE, claim_one, completed, run_id
from tests.conformance.test_control import run_in, sending
from tests.conformance.test_schedules import putting
from tests.faults.wire_cases import expanding, opening, starting
from tests.faults.wire_site import Site, wired
from tests.invariants.wire import repeats_have_the_effect_of_one, walks_are_whole
from windlass.api.grpc import table
from windlass.engine.engine import Engine
from windlass.model.access import ListAudit
from windlass.model.commands import CancelRun
from windlass.model.feed import ReadFeed
from windlass.model.graph import ListGraphs, ListJobs
from windlass.model.namespace import CreateNamespace
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunStatus
from windlass.model.time import MINUTE, SECOND
from windlass.model.worker import Served
from windlass.testing.clock import FakeClock

PAGE = 3
COUNT = 10
CHANGES = 4  # between pages, until things stand still

Change = Callable[[int], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("pages")
    url = f"sqlite:///{folder / 'windlass.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_server").create_database()
    async with wired(url, FakeClock()) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="module")
async def site(opened: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """With small pages, where a server says how large they are."""
    monkeypatch.setattr(table, "PAGE_ITEMS", PAGE)
    await opened.clear()
    return opened


def between_pages(site: Site, monkeypatch: pytest.MonkeyPatch, method: str, change: Change) -> None:
    """Let something happen behind each of the first answers to this method."""
    ask, asked = site.remote._channel.ask, 0

    async def changing(service: str, name: str, *args: Any, **options: Any) -> Any:
        nonlocal asked
        answer = await ask(service, name, *args, **options)
        if name == method and asked < CHANGES:
            asked += 1
            await change(asked)
        return answer

    monkeypatch.setattr(site.remote._channel, "ask", changing)


pytestmark = [pytest.mark.spec("invariants:I-59")]
MODULE = pytest.mark.asyncio(loop_scope="module")


async def started(engine: Engine, numbers: range) -> list[str]:
    return [(await engine.runs.start_run(starting(number))).run_id for number in numbers]


@MODULE
async def test_runs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = site.engine.engine
    there = await started(engine, range(100, 100 + 2 * COUNT))
    removed = there[1::5]

    async def change(turn: int) -> None:
        await started(engine, range(turn, turn + 1))  # behind those that were seen
        await started(engine, range(1_000 + turn, 1_001 + turn))  # and before them
        for id in there[2::5]:
            await engine.control.cancel_run(CancelRun(namespace=NAMESPACE, run_id=run_id(int(id[4:]))))
        await site.remove_run(removed[turn % len(removed)])

    between_pages(site, monkeypatch, "ListRuns", change)
    seen: list[str] = []
    before = None
    while True:
        page = await site.remote.runs.list_runs(ListRuns(namespace=NAMESPACE, limit=PAGE, before=before))
        seen += [run.id for run in page.runs]
        if (before := page.next) is None:
            break

    assert walks_are_whole(seen, throughout=set(there) - set(removed)) == []
    assert seen == sorted(seen, reverse=True)


@MODULE
async def test_steps_of_a_run_at_work(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that end while others are read may have begun before those: they come in between."""
    engine = site.engine.engine
    run: Run = await run_in(engine, RunStatus.RUNNING)

    async def complete(key: str, order: int, ran_for: int) -> None:
        await engine.work.complete_step(completed(run, key=key, order=order, ran_for=ran_for))

    there = [f"step-{number}" for number in range(COUNT)]
    for order, key in enumerate(there):
        await complete(key, order, (COUNT - order) * SECOND)

    async def change(turn: int) -> None:
        await complete(f"early-{turn}", 100 + turn, MINUTE)
        await complete(f"zate-{turn}", 200 + turn, 0)

    between_pages(site, monkeypatch, "ListSteps", change)
    steps = await site.remote.runs.list_steps(NAMESPACE, run.id)

    assert walks_are_whole([step.key for step in steps], throughout=there) == []
    monkeypatch.undo()
    whole = await site.remote.runs.list_steps(NAMESPACE, run.id)
    assert list(whole) == list(await engine.runs.list_steps(NAMESPACE, run.id))  # in the order they began
    places = {step.key: place for place, step in enumerate(whole)}
    assert [places[step.key] for step in steps] == sorted(places[step.key] for step in steps)


@MODULE
async def test_the_log_and_the_inbox_of_a_run(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = site.engine.engine
    run = await run_in(engine, RunStatus.PENDING)

    async def send(turn: int) -> None:
        await engine.control.send_event(sending(run.id, message=f"msg_{turn}"))

    for number in range(100, 100 + COUNT):
        await send(number)
    there = [message.seq for message in await engine.runs.list_messages(NAMESPACE, run.id)]
    between_pages(site, monkeypatch, "ListMessages", send)
    messages = await site.remote.runs.list_messages(NAMESPACE, run.id)
    assert walks_are_whole([message.seq for message in messages], throughout=there) == []
    assert len(messages) > COUNT

    log = [entry.seq for entry in await site.remote.runs.read_log(NAMESPACE, run.id)]
    assert walks_are_whole(log, throughout=[e.seq for e in await engine.runs.read_log(NAMESPACE, run.id)]) == []


@MODULE
async def test_namespaces(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces = site.engine.engine.namespaces
    there = [f"n{number:02}" for number in range(COUNT)]
    for name in (*there, "n031", "n071"):
        await namespaces.create_namespace(CreateNamespace(name=name))
    gone = ["n031", "n071"]

    async def change(turn: int) -> None:
        await namespaces.create_namespace(CreateNamespace(name=f"a{turn}"))
        await namespaces.create_namespace(CreateNamespace(name=f"z{turn}"))
        if gone:
            await namespaces.set_enabled(gone[0], is_enabled=False)
            await namespaces.delete_namespace(gone.pop(0))

    between_pages(site, monkeypatch, "ListNamespaces", change)
    seen: list[str] = []
    after = None
    while True:
        page = await site.remote.namespaces.list_namespaces(after, PAGE)
        seen += [item.name for item in page.namespaces]
        if (after := page.next) is None:
            break

    assert walks_are_whole(seen, throughout=there) == []
    assert seen == sorted(seen)


@MODULE
async def test_the_audit(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(turn: int) -> None:
        await site.remote.control.move_cursor(NAMESPACE, f"reader-{turn}", 1)
        await site.remote.namespaces.create_namespace(CreateNamespace(name=f"n{turn}"))

    for number in range(100, 100 + COUNT):
        await act(number)
    query = ListAudit(namespace="*", limit=500)
    there = [entry.seq for entry in (await site.remote.access.list_audit(query)).entries]
    assert len(there) >= COUNT
    between_pages(site, monkeypatch, "ListAudit", act)
    seen: list[int] = []
    before = None
    while True:
        page = await site.remote.access.list_audit(ListAudit(namespace="*", limit=PAGE, before=before))
        seen += [entry.seq for entry in page.entries]
        if (before := page.next) is None:
            break

    assert walks_are_whole(seen, throughout=there) == []


@MODULE
async def test_the_feed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = site.engine.engine
    await started(engine, range(100, 100 + COUNT))

    async def change(turn: int) -> None:
        await started(engine, range(turn, turn + 1))

    between_pages(site, monkeypatch, "ReadFeed", change)
    seen: list[tuple[str, str]] = []
    cursor = None
    while True:
        page = await site.remote.feed.read_feed(ReadFeed(namespace=NAMESPACE, cursor=cursor, limit=PAGE))
        seen += [(item.entry.subject_id, item.entry.cause) for item in page.entries]
        cursor = page.cursor
        if not page.has_more:
            break

    runs = await engine.runs.list_runs(ListRuns(namespace=NAMESPACE, limit=100))
    assert len(runs.runs) > COUNT
    assert walks_are_whole([id for id, _ in seen], throughout=[run.id for run in runs.runs]) == []


@MODULE
async def test_schedules(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules = site.engine.engine.schedules
    there = [f"s{number:02}" for number in range(COUNT)]
    for name in there:
        await schedules.put_schedule(putting(name))

    async def change(turn: int) -> None:
        await schedules.put_schedule(putting(f"a{turn}"))
        await schedules.put_schedule(putting(f"z{turn}"))

    between_pages(site, monkeypatch, "ListSchedules", change)
    seen = [view.schedule.name for view in await site.remote.schedules.list_schedules(NAMESPACE)]

    assert walks_are_whole(seen, throughout=there) == []


@MODULE
async def test_graphs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = site.engine.engine
    polls = iter(range(1, 1_000))

    async def open_graphs(numbers: range) -> list[str]:
        ids = await started(engine, numbers)
        for _ in ids:
            await engine.work.add_jobs(opening(await claim_one(engine, next(polls), limit=1)))
        return ids

    there = await open_graphs(range(100, 100 + COUNT))
    await started(engine, range(500, 501))  # which is none yet
    await claim_one(engine, next(polls))

    async def change(turn: int) -> None:
        await open_graphs(range(turn, turn + 1))
        await open_graphs(range(1_000 + turn, 1_001 + turn))

    between_pages(site, monkeypatch, "ListGraphs", change)
    seen: list[str] = []
    before = None
    while True:
        page = await site.remote.graphs.list_graphs(ListGraphs(namespace=NAMESPACE, limit=PAGE, before=before))
        seen += [view.graph.id for view in page.graphs]
        if (before := page.next) is None:
            break

    assert walks_are_whole(seen, throughout=there) == []
    assert seen == sorted(seen, reverse=True)
    assert run_id(500) not in seen


@MODULE
async def test_jobs_of_a_graph_that_grows(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = site.engine.engine
    run: Run = await run_in(engine, RunStatus.RUNNING)
    await engine.work.add_jobs(opening(run))
    generator = await claim_one(engine, 2, served=(Served("billing", "invoice.shards"),))

    async def change(turn: int) -> None:
        if turn == 1:
            await engine.work.add_jobs(expanding(generator))

    between_pages(site, monkeypatch, "ListJobs", change)
    seen: list[str] = []
    query = ListJobs(namespace=NAMESPACE, graph=run.id, limit=2)
    while True:
        page = await site.remote.graphs.list_jobs(query)
        seen += [view.name for view in page.jobs]
        if page.next is None:
            break
        query = ListJobs(namespace=NAMESPACE, graph=run.id, limit=2, after=page.next)

    assert seen == ["shards", "lint", "report", "shard-1", "shard-2"]


def test_the_checkers_find_what_is_wrong() -> None:
    assert walks_are_whole([1, 2, 2], throughout=[1, 3]) == ["2 came more than once", "3 is missing"]
    once: Any = ("ok", {"runs": [{"id": 1, "status": "pending"}], "log": []})
    again: Any = ("no", {"runs": [{"id": 1, "status": "paused"}], "log": [{"seq": 1}]})
    assert repeats_have_the_effect_of_one(once, once) == []
    assert repeats_have_the_effect_of_one(once, again) == [
        "answered no, not ok",
        "log: 1 rows, not 0",
        "runs: status is 'paused', not 'pending'",
    ]
