"""Do the hot statements touch no more rows where half a million runs of each kind concern somebody else?

run_f…   finished                                    500,000
run_l…   due in the far future, over ten priorities  500,000
run_o…   due now, but of a workflow others serve     500,000

Their payloads, steps and log are there for the few that the calls are about: what is under test is the claim index, and
the primary key of a table that has grown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import apsw
import asyncpg
import pytest

from tests.plans import test_postgres as postgres
from tests.plans import test_sqlite as sqlite
from tests.plans.given import FAR, HOT, NAMESPACE, NUMBER, SMALL, Dialect
from windlass.testing.postgres import PostgresServer

EACH = 500_000
CLAIM_INDEX = "runs_claim"
# What differs from one kind to the next: status, when it is due, when it ended, its workflow and its priority.
KINDS = {
    "f": ("'completed'", "null", "2", "'invoice'", "0"),
    "l": ("'pending'", f"{FAR} + i", "null", "'invoice'", "i % 10 - 5"),
    "o": ("'pending'", "1", "null", "'refund'", "0"),
}


def add(dialect: Dialect) -> Iterator[str]:
    """The rest of the half million, behind those that `fill` has made."""
    for letter, (status, available_at, finished_at, name, priority) in KINDS.items():
        first = SMALL.letters[letter]
        yield (
            "insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, created_at,"
            f" finished_at) select '{NAMESPACE}', 'run_{letter}' || ({NUMBER} + {first} + i), {name}, '', 'billing',"
            f" {priority}, {status}, {available_at}, 1, 1, {finished_at}"
            f" from {dialect.series.format(count=EACH - first)}"
        )


@pytest.fixture(scope="module")
def small() -> Iterator[apsw.Connection]:
    connection = sqlite.build(SMALL, analyse_when="full")
    yield connection
    connection.close()


@pytest.fixture(scope="module", params=["never", "full"])
def huge(request: pytest.FixtureRequest) -> Iterator[apsw.Connection]:
    connection = sqlite.build(SMALL, analyse_when="never")
    with connection:
        for statement in add(sqlite.SQLITE):
            connection.execute(statement)
    if request.param == "full":
        connection.execute("analyze")
    yield connection
    connection.close()


@pytest.mark.parametrize("name", HOT)
def test_sqlite_does_no_more_work(huge: apsw.Connection, small: apsw.Connection, name: str) -> None:
    assert sqlite.unexpected(sqlite.plan_of(huge, HOT[name].call), HOT[name]) == []
    assert sqlite.work_of(huge, HOT[name].call) == sqlite.work_of(small, HOT[name].call)


@pytest.fixture(scope="module")
def small_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres.build(postgres_server, SMALL, analyse_when="full")
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def huge_url(postgres_server: PostgresServer) -> Iterator[str]:
    async def build(url: str) -> None:
        session = await postgres.create_tables(url)
        await postgres.write(session, SMALL, analyse_when="never")
        # It is filled and then indexed, and without a journal: both only for the sake of time.
        await session.execute("alter table runs set unlogged")
        definition = await session.fetchval("select indexdef from pg_indexes where indexname = $1", CLAIM_INDEX)
        await session.execute(f"drop index {CLAIM_INDEX}")
        for statement in add(postgres.POSTGRES):
            await session.execute(statement)
        await session.execute(definition)
        await session.execute("vacuum runs, events, signals, firings")  # of dead rows; it takes no statistics
        await session.close()

    url = postgres_server.create_database()
    asyncio.run(build(url))
    yield url
    postgres_server.drop_database(url)


async def test_postgresql_touches_no_more_rows(huge_url: str, small_url: str) -> None:
    in_small = {name: postgres.work_of(await postgres.plans_in(small_url, hot.call)) for name, hot in HOT.items()}

    async def look(moment: str) -> None:
        for name, hot in HOT.items():
            plans = await postgres.plans_in(huge_url, hot.call)
            assert postgres.unexpected(plans, hot) == [], f"{name}, {moment}"
            work, than = postgres.work_of(plans), in_small[name]
            assert (work.probes, work.rows) == (than.probes, than.rows), f"{name}, {moment}"
            # Trees are two levels higher, and room for a new row is looked for in a map of its own.
            assert work.pages <= 3 * than.pages + 10, f"{name}, {moment}"

    await look("without statistics")
    session = await asyncpg.connect(huge_url, server_settings=postgres.SESSION)
    await session.execute("analyze")
    await session.close()
    await look("with statistics")
