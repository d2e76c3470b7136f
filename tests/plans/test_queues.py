"""Does a look at the queues cost what is in them, and nothing for what is over, on both databases?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import apsw
import asyncpg
import pytest

from tests.plans import test_postgres as postgres
from tests.plans import test_sqlite as sqlite
from tests.plans.given import FAR, NAMESPACE, Call, Size
from windlass.model.time import MINUTE, Duration
from windlass.store.queries.queues import QueueQueries
from windlass.testing.postgres import PostgresServer

YOUNG = Size(finished=500, later=200, others=100, stopped=10)
OLD = Size(finished=10_000, later=200, others=100, stopped=10)
MOST_ENDED = 20  # both have more

# What a namespace holds beside runs that are due: some that wait for a person, and some that ended just now.
LATELY = (
    "update runs set status = 'paused', available_at = null where id like 'run_l%7'",
    f"""update runs set finished_at = {FAR}
         where id in (select id from runs where id like 'run_f%' order by id limit 50)""",
)
CALLS: dict[str, Call] = {
    "count_due_runs": lambda tx: QueueQueries(tx.connection).lanes(NAMESPACE),
    "count_parked_runs": lambda tx: QueueQueries(tx.connection).parked(NAMESPACE),
    "count_ended_runs": lambda tx: QueueQueries(tx.connection).ended(NAMESPACE, span=Duration(MINUTE), most=MOST_ENDED),
}
INDEXES = {
    "count_due_runs": {"runs_claim"},
    "count_parked_runs": {"runs_parked"},
    "count_ended_runs": {"runs_ended"},
}
PLANS = {
    "count_due_runs": ["SEARCH r USING INDEX runs_claim (namespace=?)", "SCAN q"],
    "count_parked_runs": ["SEARCH r USING INDEX runs_parked (namespace=?)"],
    "count_ended_runs": [
        "SEARCH r USING INDEX runs_ended (finished_at>?)",  # from its end, as many as are asked for
        "SCAN CONSTANT ROW",  # when the span began
        "SCAN e",
    ],
}


@pytest.fixture(scope="module", params=sqlite.MOMENTS)
def old(request: pytest.FixtureRequest) -> Iterator[apsw.Connection]:
    connection = filled(OLD, analyse_when=request.param)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def young() -> Iterator[apsw.Connection]:
    connection = filled(YOUNG, analyse_when="full")
    yield connection
    connection.close()


def filled(size: Size, *, analyse_when: str) -> apsw.Connection:
    connection = sqlite.build(size, analyse_when=analyse_when)
    for statement in LATELY:
        connection.execute(statement)
    return connection


@pytest.fixture(scope="module", params=["never", "pending", "full"])
def old_url(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[str]:
    url = filled_url(postgres_server, OLD, analyse_when=request.param)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def young_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = filled_url(postgres_server, YOUNG, analyse_when="full")
    yield url
    postgres_server.drop_database(url)


def filled_url(server: PostgresServer, size: Size, *, analyse_when: str) -> str:
    url = postgres.build(server, size, analyse_when=analyse_when)

    async def go_on() -> None:
        session: asyncpg.Connection[Any] = await asyncpg.connect(url, server_settings=postgres.SESSION)
        for statement in LATELY:
            await session.execute(statement)
        await session.execute("vacuum")
        await session.close()

    asyncio.run(go_on())
    return url


@pytest.mark.parametrize("name", CALLS)
def test_sqlite_goes_by_index_and_does_the_same_work_whatever_is_over(
    old: apsw.Connection, young: apsw.Connection, name: str
) -> None:
    reads = [line for line in sqlite.plan_of(old, CALLS[name]) if line.startswith(("SCAN", "SEARCH"))]

    assert reads == PLANS[name]
    assert sqlite.work_of(old, CALLS[name]) == sqlite.work_of(young, CALLS[name])


@pytest.mark.parametrize("name", CALLS)
async def test_postgresql_goes_by_index_and_touches_the_same_rows_whatever_is_over(
    old_url: str, young_url: str, name: str
) -> None:
    plans = await postgres.plans_in(old_url, CALLS[name])

    reads = postgres.reads_of(plans)
    assert {node.get("Index Name") for node in reads} == INDEXES[name]
    postgres.assert_no_more(
        postgres.work_of(plans), than=postgres.work_of(await postgres.plans_in(young_url, CALLS[name]))
    )
