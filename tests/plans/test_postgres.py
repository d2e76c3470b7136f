"""Does PostgreSQL go by index, and touch no more rows in a large database than in a small one?

Every statement is explained as the product sends it: prepared, with a generic plan, in a session set up like the
store's. Work is counted in rows and pages, which are the same on every machine, and never in time.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import asyncpg
import pytest

from tests.plans.given import ENTERED_BY, HOT, LARGE, SMALL, Call, Dialect, Hot, Size, fill, move_on
from tests.plans.given_pipelines import OLD_INPUTS, WAITING_INPUTS
from windlass.store.base import Tx
from windlass.store.catalog import load
from windlass.store.postgres.connection import PostgresConnection
from windlass.store.postgres.sessions import SESSION
from windlass.store.postgres.store import PostgresStore
from windlass.testing.postgres import PostgresServer

T = TypeVar("T")
Plan = dict[str, Any]

POSTGRES = Dialect(series="generate_series(1, {count}) as g (i)", empty_blob="''::bytea", empty_list="'[]'::bytea")
TABLES = (
    *("runs", "payloads", "steps", "keys", "log", "graphs", "jobs", "edges"),
    *("pipelines", "handlers", "topics", "events", "handler_runs", "effects", "inputs", "causes"),
    *("items", "tasks", "signals", "firings"),
)


BY_INDEX = ("Index Scan", "Index Only Scan")
THROWN_AWAY = ("Rows Removed by Filter", "Rows Removed by Index Recheck")


class Work(NamedTuple):
    probes: float  # of indexes
    rows: float  # found by them, whether they were used or thrown away
    pages: int


# Databases


async def create_tables(url: str) -> asyncpg.Connection[Any]:
    """Our tables, empty, and a session like the store's."""
    store = PostgresStore(url)
    await store.open()
    await store.close()
    session = await asyncpg.connect(url, server_settings=SESSION)
    for table in TABLES:  # statistics are taken when the test says so
        await session.execute(f"alter table {table} set (autovacuum_enabled = off)")
    return session


async def write(session: asyncpg.Connection[Any], size: Size, *, analyse_when: str) -> None:
    for moment, statements in (("pending", [*fill(POSTGRES, size)]), ("full", [*move_on()])):
        for statement in statements:
            await session.execute(statement)
        if moment == analyse_when:
            await session.execute("analyze")


def build(server: PostgresServer, size: Size, *, analyse_when: str) -> str:
    async def create(url: str) -> None:
        session = await create_tables(url)
        await write(session, size, analyse_when=analyse_when)
        await session.execute("vacuum")  # of dead rows; it takes no statistics
        await session.close()

    url = server.create_database()
    asyncio.run(create(url))
    return url


@pytest.fixture(scope="module", params=["never", "pending", "full"])
def large_url(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[str]:
    url = build(postgres_server, LARGE, analyse_when=request.param)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def small_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = build(postgres_server, SMALL, analyse_when="full")
    yield url
    postgres_server.drop_database(url)


# Plans


class Explained(PostgresConnection):
    """Runs every statement twice: once to see how it is done, undone at once, and once for its answer."""

    def __init__(self, session: asyncpg.Connection[Any]) -> None:
        super().__init__(session, catalog=load("postgres", has_injected_clock=False), clock=None)
        self.plans: list[Plan] = []
        self._names: dict[str, str] = {}

    async def _send(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        text, *values = arguments
        for row in values[0] if method == self._session.executemany else [values]:
            self.plans.append(await self._explain(text, row))
        return await super()._send(method, *arguments)

    async def _explain(self, text: str, values: Sequence[Any]) -> Plan:
        if text not in self._names:
            self._names[text] = f"query_{len(self._names)}"
            await self._session.execute(f"prepare {self._names[text]} as {text}")
        arguments = f"({', '.join(map(literal, values))})" if values else ""
        await self._session.execute("savepoint explain")
        found = await self._session.fetchval(
            f"explain (analyze, buffers, timing off, format json) execute {self._names[text]}{arguments}"
        )
        await self._session.execute("rollback to savepoint explain")
        (plan,) = json.loads(found)
        return dict(plan["Plan"])


def literal(value: Any) -> str:
    """A value as it stands in a statement, of a type that the parameter decides."""
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    return "'" + element(value).replace("'", "''") + "'"


def element(value: Any) -> str:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, list | tuple):
        return "{" + ", ".join("null" if item is None else json.dumps(element(item)) for item in value) + "}"
    return str(value)


async def plans_of(connection: Explained, call: Call) -> list[Plan]:
    """How a call is done; what it changed is undone."""
    connection.plans.clear()
    transaction = connection._session.transaction()
    await transaction.start()
    try:
        await call(Tx(connection))
    finally:
        await transaction.rollback()
    assert connection.plans
    return [*connection.plans]


async def plans_in(url: str, call: Call) -> list[Plan]:
    session = await asyncpg.connect(url, server_settings=SESSION)
    try:
        return await plans_of(Explained(session), call)
    finally:
        await session.close()


def nodes_of(plans: Sequence[Plan]) -> Iterator[Plan]:
    for plan in plans:
        yield plan
        yield from nodes_of(plan.get("Plans", ()))


def reads_of(plans: Sequence[Plan]) -> list[Plan]:
    """Every place at which a table is read."""
    return [
        node
        for node in nodes_of(plans)
        if node["Node Type"] != "ModifyTable" and ("Relation Name" in node or "Index Name" in node)
    ]


def unexpected(plans: Sequence[Plan], hot: Hot) -> list[Plan]:
    """The places that read a table by anything but the indexes they are meant to use."""
    arbiters = {name for node in nodes_of(plans) for name in node.get("Conflict Arbiter Indexes", ())}
    assert arbiters <= hot.indexes
    return [node for node in reads_of(plans) if not is_expected(node, hot)]


def is_expected(node: Plan, hot: Hot) -> bool:
    index, condition = node.get("Index Name"), node.get("Index Cond", "")
    if node["Node Type"] not in BY_INDEX or index not in hot.indexes:
        return False
    return all(re.search(rf'\("?{column}"? [=<>]', condition) for column in ENTERED_BY[index])


def work_of(plans: Sequence[Plan]) -> Work:
    reads = reads_of(plans)
    rows = [
        node["Actual Loops"] * (node["Actual Rows"] + sum(node.get(reason, 0) for reason in THROWN_AWAY))
        for node in reads
    ]
    pages = [plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans]
    return Work(sum(node["Actual Loops"] for node in reads), sum(rows), sum(pages))


def assert_no_more(work: Work, than: Work) -> None:
    assert (work.probes, work.rows) == (than.probes, than.rows)
    # Each probe goes down a tree that is a level or two higher.
    assert work.pages <= 2 * than.pages + 5


@pytest.mark.parametrize("name", HOT)
async def test_a_large_database_is_read_by_index_whatever_its_statistics_say(large_url: str, name: str) -> None:
    plans = await plans_in(large_url, HOT[name].call)

    assert unexpected(plans, HOT[name]) == []


@pytest.mark.parametrize("name", HOT)
async def test_a_large_database_takes_no_more_work_than_a_small_one(large_url: str, small_url: str, name: str) -> None:
    work = work_of(await plans_in(large_url, HOT[name].call))

    assert_no_more(work, than=work_of(await plans_in(small_url, HOT[name].call)))


async def test_plans_made_on_an_empty_database_stay_right_when_it_has_grown(postgres_url: str, small_url: str) -> None:
    connection = Explained(session := await create_tables(postgres_url))
    when_empty = {name: await plans_of(connection, hot.call) for name, hot in HOT.items()}
    await write(session, LARGE, analyse_when="never")  # nor vacuumed: either would have the plans made anew

    when_large = {name: await plans_of(connection, hot.call) for name, hot in HOT.items()}

    for name, hot in HOT.items():
        assert unexpected(when_empty[name], hot) == [], name
        assert unexpected(when_large[name], hot) == [], name
        in_small = work_of(await plans_in(small_url, hot.call))
        assert work_of(when_large[name])[:2] == in_small[:2], name
    await session.close()


@pytest.mark.spec("runs:P2.8", "runs:G3")
async def test_a_claim_reads_each_lane_as_one_range_that_ends_now(large_url: str) -> None:
    plans = await plans_in(large_url, HOT["claim_runs: nothing is due"].call)

    conditions = [node["Index Cond"] for node in reads_of(plans) if node["Index Name"] == "runs_claim"]
    (lane,) = [condition for condition in conditions if "available_at" in condition]
    assert re.findall(r"\((\w+) (<?=) ", lane) == [
        ("namespace", "="),
        ("queue", "="),
        ("name", "="),
        ("version", "="),
        ("priority", "="),
        ("available_at", "<="),
    ]


async def test_a_claim_of_ten_reads_twenty_of_the_thousands_that_are_due(large_url: str) -> None:
    plans = await plans_in(large_url, HOT["claim_runs: more is due than asked for"].call)

    work = work_of(plans)

    assert work.rows <= 80  # the ten are watched, too
    assert not [node for node in nodes_of(plans) if node["Actual Rows"] > 20]


async def test_no_statement_sorts_what_an_index_has_in_order(large_url: str) -> None:
    for name in ("next_due_run: much is due", "list_runs: a later page", "log_of_subject"):
        plans = await plans_in(large_url, HOT[name].call)

        assert [node["Node Type"] for node in nodes_of(plans) if "Sort" in node["Node Type"]] == [], name


async def test_inputs_that_wait_are_counted_by_a_probe_for_each_event_that_waits(large_url: str) -> None:
    plans = await plans_in(large_url, WAITING_INPUTS)

    reads = {node["Index Name"]: (node["Actual Loops"], node["Actual Rows"]) for node in reads_of(plans)}
    assert reads == {"events_pending": (1, 10), "inputs_pkey": (10, 1)}


async def test_inputs_that_came_lately_are_not_read_when_old_ones_are_removed(large_url: str) -> None:
    *_, plan = await plans_in(large_url, OLD_INPUTS)

    inputs, causes = reads_of([plan])
    assert (inputs["Index Name"], inputs["Actual Rows"]) == ("inputs_newest", 0)
    assert "created_at <=" in inputs["Index Cond"]
    assert causes["Index Name"] == "causes_pkey"
    assert "input = " in causes["Index Cond"]


async def test_the_measure_notices_a_missing_index(small_url: str) -> None:
    idle = HOT["claim_runs: nothing is due"]
    before = work_of(await plans_in(small_url, idle.call))
    session = await asyncpg.connect(small_url, server_settings=SESSION)
    transaction = session.transaction()
    await transaction.start()
    await session.execute("drop index runs_claim")

    plans = await plans_of(Explained(session), idle.call)

    await transaction.rollback()
    await session.close()
    assert unexpected(plans, idle) != []
    assert work_of(plans).rows > 10 * before.rows
