"""Does the engine's own consistency query find every kind of contradiction, on both databases, and none in a sound one?

The query runs beside the damage in one transaction that is rolled back: a database is made once and spoilt many times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

import windlass
from tests.invariants import broken_pipelines
from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.errors import StepError
from windlass.store.catalog import Dialect, load
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness
from windlass.testing.postgres import PostgresServer

# Of our tables, as a statement names them.
CHECKS = """
select conrelid::regclass::text, conname from pg_constraint
 where contype = 'c' and connamespace = to_regnamespace('windlass')
"""

Find = Callable[[Sequence[str]], list[str]]

OPEN = "status = 'sleeping'"
OVER = "status = 'completed' and name = 'ship'"
THE_OVER = f"(select id from runs where {OVER})"
THE_SLEEPER = f"(select id from runs where {OPEN})"


def schedule(status: str, available_at: str) -> str:
    """A statement that enters one; its input is that of any run."""
    return (
        "insert into schedules (namespace, name, workflow, version, queue, input, input_hash, every_for, tz, anchor,"
        " catch_up, max_catch_up, overlap, jitter, status, is_declared, revision, last_slot, available_at,"
        " created_at, changed_at)"
        " select namespace, 'nightly', 'ship', '', 'default', input, input, 1, 'UTC', 1, 'latest', 1, 'queue', 0,"
        f" '{status}', 1, 1, 1, {available_at}, 1, 1 from payloads where run_id = {THE_OVER}"
    )


def of_job(name: str) -> str:
    return f"parent_step = '{name}' and kind <> 'workflow'"


# rule: statements that break it
BROKEN: dict[str, str] = {
    "a run that is due has no time": f"update runs set available_at = null where {OPEN}",
    "a run that is over has a time": f"update runs set available_at = 1 where {OVER}",
    "a running run has no holder": f"update runs set status = 'running' where {OPEN}",
    "a run that nobody executes has a holder": f"update runs set worker = 'wrk_1' where {OPEN}",
    "finished_at and status disagree": f"update runs set finished_at = 1 where {OPEN}",
    "a run has more claims than tokens": f"update runs set token = 0 where {OVER}",
    "recoveries without claims": f"update runs set recoveries = 5 where {OVER}",
    "a run that was given back still counts recoveries": f"update runs set recoveries = 1, attempts = 2 where {OPEN}",
    "started_at and claims disagree": f"update runs set started_at = null where {OVER}",
    "a run has no payload": f"delete from payloads where run_id = {THE_OVER}",
    "a payload has no run": f"delete from runs where {OVER}",
    "output and status disagree": f"update payloads set output = null where run_id = {THE_OVER}",
    "failure and status disagree": f"update payloads set failure = input where run_id = {THE_OVER}",
    "a run has no log": f"delete from log where subject_id = {THE_OVER}",
    "the log ends elsewhere than the run": (
        f"delete from log where seq = (select max(seq) from log where subject_id = {THE_OVER})"
    ),
    "the log has a gap": f"delete from log where seq = (select min(seq) from log where subject_id = {THE_OVER})",
    "the log goes on after the end": (
        "insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)"
        f" select 'default', 'run', id, 'completed', 'completed', 'finish', 1 from runs where {OVER}"
    ),
    "the log tells of an unknown run": f"delete from runs where {OVER}",
    "a step belongs to no run": f"delete from runs where {OVER}",
    "a step was written under a token nobody had": f"update steps set token = 9 where run_id = {THE_OVER}",
    "an attempt follows the end of its step": (
        "insert into steps (namespace, run_id, step_key, attempt, kind, status, token, failures, input_hash)"
        " select namespace, run_id, step_key, attempt + 1, kind, 'running', token, failures, input_hash"
        f" from steps where step_key = 'pack' and run_id = {THE_OVER}"
    ),
    "an attempt is missing": f"update steps set attempt = 7 where step_key = 'pack' and run_id = {THE_OVER}",
    "attempts of one step differ in kind or input": (
        "update steps set kind = 'sleep' where step_key = 'flaky' and attempt = 1"
    ),
    "a completed step lacks its order, output or end": "update steps set step_order = null where step_key = 'pack'",
    "a failed attempt lacks its failure or end": "update steps set failure = null where step_key = 'flaky'",
    "a failed attempt is neither final nor due again": (
        "update steps set due_at = null where step_key = 'flaky' and attempt = 1"
    ),
    "an open step has a result": "update steps set finished_at = 1 where status = 'waiting'",
    "a sleep has no end": "update steps set due_at = null where status = 'waiting'",
    "a step counts failures it cannot have": "update steps set failures = 1 where step_key = 'pack'",
    "two results of a run have one place": "update steps set step_order = 0 where step_order is not null",
    "a run that nobody executes is held for a person": f"update runs set held = 1 where {OPEN}",
    "a run that does not wait counts children": f"update runs set unmet = 1 where {OPEN}",
    "a waiting run waits for nothing": f"update runs set status = 'waiting' where {OPEN}",
    "a run waits for a message that is here": "update inbox set taken_by = null, name = 'news'",
    "a run waits for a child that is over": "update runs set status = 'failed' where parent is not null",
    "a run counts other children than it waits for": "update runs set unmet = 7 where unmet > 0",
    "a child has no parent": "update runs set parent_step = null where parent is not null",
    "a run tries one again that is gone": f"update runs set retry_of = 'run_unknown' where {OPEN}",
    "a run is queued behind nothing": (
        f"update runs set status = 'waiting', attempts = 0, unmet = 1, schedule = 'nightly' where {OPEN}"
    ),
    "a run has a slot and no schedule": f"update runs set slot = 1 where {OPEN}",
    "a slot was fired twice": (
        f"drop index runs_slot; update runs set schedule = 'nightly', slot = 1 where {OPEN} or {OVER}"
    ),
    "a schedule is paused and due": schedule("paused", "1"),
    "an active schedule has no next time": schedule("active", "null"),
    "a namespace is disabled and its gate is open": "update namespaces set is_enabled = 0",
    "a message belongs to no run": "update inbox set run_id = 'run_unknown'",
    "a message was received by no step": "update inbox set taken_by = 'nobody'",
    "a step received two messages": "update inbox set taken_by = 'receive/greeting'",
    "a start key belongs to a run that was started otherwise": "update keys set name = 'other'",
    "a graph has no run": "update runs set kind = 'workflow' where kind = 'graph'",
    "a graph has no counts": "delete from graphs",
    "a graph counts other jobs than it has": "update graphs set completed = completed + 1, skipped = skipped - 1",
    "the counts of a graph do not add up": "update graphs set jobs = jobs + 1",
    "a graph is over and its jobs are not, or the other way round": "update graphs set open = 0",
    "a graph is held by a worker": "update runs set status = 'running', worker = 'wrk_1' where kind = 'graph'",
    "a job is not over and its graph is": "update runs set finished_at = 1 where kind = 'graph'",
    "a job has no place in its graph": "delete from jobs where name = 'report'",
    "a job has no run": f"delete from runs where {of_job('report')}",
    "an edge names a job that does not exist": "update edges set upstream = 'nobody' where upstream = 'late'",
    "an edge to a group leads to another job": "update edges set is_group = 1 where upstream = 'lint'",
    "a group is resolved and its generator has not completed": (
        "update edges set is_resolved = 1 where upstream = 'late'"
    ),
    "a job needs a group and not each of its members": "delete from edges where upstream = 'part-2'",
    "a job counts other needs than are open": f"update runs set unmet = unmet + 1 where {of_job('report')}",
    "a job has begun before what it needs was over, and accepted": (
        f"update runs set ready_at = 1, unmet = 0 where {of_job('report')}"
    ),
    "a job still waits although it can never begin": (
        f"update runs set status = 'skipped', finished_at = 1 where {of_job('part-1')}"
    ),
    "a job is ready and waits for what it needs, or the other way round": (
        f"update runs set ready_at = null where {of_job('part-1')}"
    ),
    "a job is skipped because of nobody": "update jobs set decided_by = null where name = 'unreachable'",
    "more of a matrix are at work than may be": "update jobs set is_held = 0 where is_held = 1",
    "a job waits for its turn although there is room": "update jobs set is_held = 1 where matrix = 'test'",
    **broken_pipelines.BROKEN,
}


async def tell(url: str) -> Snapshot:
    """A run that has ended, with a retried step and a start key; one that sleeps; a family and a graph that wait.

    And pipelines: one is done with everything, the others wait.
    """
    async with Harness(url) as harness:

        async def pack(item: str) -> str:
            return f"packed {item}"

        async def flaky(item: str) -> str:
            if windlass.current_step().attempt == 1:
                raise StepError("not now")
            return item

        @harness.app.workflow(name="ship")
        async def ship(ctx: windlass.Context, item: str) -> str:
            await ctx.step(pack, item)
            await ctx.step(flaky, item)
            return item

        @harness.app.workflow(name="rest")
        async def rest(ctx: windlass.Context, item: str) -> None:
            await ctx.step(pack, item)
            await ctx.sleep("1d")

        greeting, news = harness.app.event("greeting", str), harness.app.event("news", str)

        @harness.app.workflow(name="listen")
        async def listen(ctx: windlass.Context, number: int) -> str:
            return await ctx.receive(news)

        @harness.app.workflow(name="gather")
        async def gather(ctx: windlass.Context) -> list[str]:
            return await ctx.map(listen, [1, 2])

        @harness.app.workflow(name="chat")
        async def chat(ctx: windlass.Context) -> str:
            await ctx.receive(greeting)
            await ctx.receive(greeting)
            return await ctx.receive(news)

        release = declare_graph(harness.app, news)
        orders = broken_pipelines.declare_pipelines(harness.app)
        await harness.start(ship, "book", key="book-1")
        await harness.start(rest, "lamp")
        await harness.start(gather)
        await harness.start(release)
        talk = await harness.start(chat)
        await talk.send(greeting, "hello")
        await talk.send(greeting, "hello again")
        await harness.app.publish(orders, broken_pipelines.Order("1"), id="1")
        await harness.idle()
        await harness.advance("12s")  # steps and handlers are tried again
        store = harness.opened.engine.parts.store
        return await take_snapshot(store, at=harness.clock.now(), life=1)


def declare_graph(app: windlass.App, news: windlass.Event[str]) -> windlass.Graph:
    """Jobs that are over, that wait for news, for their turn, for jobs, and for a group that is not known yet."""
    release = app.graph("release")

    @release.job
    async def lint(ctx: windlass.JobContext) -> None: ...

    @release.job(matrix={"py": ["12", "13"]}, max_parallel=1)
    async def test(ctx: windlass.JobContext, py: str) -> None:
        await ctx.receive(news)

    @release.group(needs=[lint])
    async def parts(ctx: windlass.JobContext) -> list[windlass.Spawn]:
        return [release.spawn(test, "12", name="part-1"), release.spawn(test, "13", name="part-2")]

    @release.group
    async def late(ctx: windlass.JobContext) -> list[windlass.Spawn]:
        await ctx.receive(news)
        return []

    @release.job(needs=[lint, test, parts, late])
    async def report(ctx: windlass.JobContext) -> None: ...

    @release.job(needs=[windlass.after(lint, on="failed")])
    async def unreachable(ctx: windlass.JobContext) -> None: ...

    return release


def texts(dialect: Dialect) -> list[str]:
    """The queries that look for contradictions."""
    names = ("inconsistencies", "inconsistencies_of_graphs", "inconsistencies_of_pipelines")
    return [load(dialect)[name].statements[0].text for name in names]


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Find]:
    path = tmp_path_factory.mktemp("consistency") / "windlass.db"
    asyncio.run(tell(str(path)))
    connection = apsw.Connection(str(path))
    connection.execute("pragma ignore_check_constraints = on")
    queries = texts("sqlite")

    def find(statements: Sequence[str]) -> list[str]:
        connection.execute("begin")
        try:
            for statement in statements:
                connection.execute(statement)
            return [row[0] for text in queries for row in connection.execute(text)]
        finally:
            connection.execute("rollback")

    yield find
    connection.close()


@pytest.fixture(scope="module")
def postgresql(postgres_server: PostgresServer) -> Iterator[Find]:
    url = postgres_server.create_database()
    asyncio.run(tell(url))
    queries = texts("postgres")
    with asyncio.Runner() as runner:
        connection = runner.run(connect(url))

        async def find_all(statements: Sequence[str]) -> list[str]:
            transaction = connection.transaction()
            await transaction.start()
            try:
                for table, name in await connection.fetch(CHECKS):
                    await connection.execute(f'alter table {table} drop constraint "{name}"')
                for statement in statements:
                    await connection.execute(statement)
                return [row[0] for text in queries for row in await connection.fetch(text)]
            finally:
                await transaction.rollback()

        yield lambda statements: runner.run(find_all(statements))
        runner.run(connection.close())
    postgres_server.drop_database(url)


async def connect(url: str) -> asyncpg.Connection[Any]:
    return await asyncpg.connect(url, ssl=False, server_settings={"search_path": "windlass"})


@pytest.fixture(params=["sqlite", "postgresql"])
def find(request: pytest.FixtureRequest) -> Find:
    found: Find = request.getfixturevalue(request.param)
    return found


@pytest.mark.spec("invariants:I-65")
def test_a_sound_database_has_no_contradictions(find: Find) -> None:
    assert find([]) == []


@pytest.mark.spec("invariants:I-65")
@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_found(rule: str, find: Find) -> None:
    assert rule in find([BROKEN[rule]])


def test_every_rule_is_broken_once() -> None:
    text = "\n".join(texts("sqlite"))
    rules = {part.split("'")[1] for part in text.replace("select '", "\0'").split("\0")[1:]}

    assert rules == set(BROKEN)


@pytest.mark.spec("invariants:I-65")
async def test_a_damaged_file_is_found_and_a_sound_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    snapshot = await tell(str(path))
    assert snapshot.damage == ()

    # An index that lacks a row: the file can be read, and is wrong.
    database = apsw.Connection(str(path))
    database.execute("pragma writable_schema = on")
    database.execute("update sqlite_schema set sql = replace(sql, 'is not null', 'is null') where name = 'runs_worker'")
    database.close()
    store = SqliteStore(str(path), clock=FakeClock())
    await store.open()
    found = await take_snapshot(store, at=0, life=1)
    await store.close()

    assert found.damage != ()


async def test_postgresql_answers_the_question_about_damage_with_none(postgres_url: str) -> None:
    await tell(postgres_url)
    store = PostgresStore(postgres_url, clock=FakeClock())
    await store.open()
    found = await take_snapshot(store, at=0, life=1)
    await store.close()

    assert (found.damage, found.inconsistencies) == ((), ())
