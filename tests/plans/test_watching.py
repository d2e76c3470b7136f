"""Does a transition that nobody watches cost nothing but one look, and one that is watched one probe for each run?"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from tests.conformance import given
from tests.plans import test_postgres as postgres
from tests.plans import test_sqlite as sqlite
from tests.plans.given import HELD, HOT, INVOICES, REFUNDS, SMALL, Call, claiming, dispatching
from tests.plans.given_graphs import IDS, creating, releasing
from tests.plans.given_signals import LIVE

# Statements that note a transition: of one run, and of several.
TRANSITIONS: dict[str, tuple[Call, Call]] = {
    "create_runs": (
        lambda tx: tx.runs.create([given.new_run(1)]),
        lambda tx: tx.runs.create([given.new_run(number) for number in (1, 2, 3)]),
    ),
    "dispatch_runs": (dispatching(1), dispatching(1, 2, 3)),
    "claim_runs": (claiming(INVOICES), claiming(REFUNDS)),
    "finish_runs": (
        lambda tx: tx.runs.finish([given.finished(HELD[0])]),
        lambda tx: tx.runs.finish([given.finished(run) for run in HELD]),
    ),
    "create_jobs": (creating(1), creating(1, 2, 3)),
    "release_jobs": (releasing(IDS[0]), releasing(*IDS)),
}
MOST = 100  # steps, of one look
NOTHING_LIVE = "update signals set status = 'cancelled', is_live = 0, available_at = null where is_live = 1"
OTHERS_LIVE = f"{NOTHING_LIVE} and subject_kind <> 'time'"


@pytest.fixture
def database() -> Iterator[apsw.Connection]:
    connection = sqlite.build(SMALL, analyse_when="never")
    yield connection
    connection.close()


def looks(connection: apsw.Connection, call: Call) -> list[int]:
    """What it takes to find those who watch, in steps of the virtual machine, for each statement that looks."""
    return [work.steps for text, work in sqlite.sent_by(connection, call) if text.startswith("insert into firings")]


@pytest.mark.parametrize("name", TRANSITIONS)
def test_sqlite_looks_once_where_only_others_are_watched_however_many_runs_there_are(
    database: apsw.Connection, name: str
) -> None:
    database.execute(OTHERS_LIVE)

    one, several = (looks(database, call) for call in TRANSITIONS[name])

    assert several == one if one else len(several) <= 1  # a claim that finds nothing looks for nobody
    assert all(cost < MOST for cost in several)


@pytest.mark.parametrize("name", TRANSITIONS)
def test_sqlite_is_not_asked_who_watches_where_nothing_is_live(database: apsw.Connection, name: str) -> None:
    database.execute(NOTHING_LIVE)

    assert [looks(database, call) for call in TRANSITIONS[name]] == [[], []]


async def test_sqlite_looks_for_each_run_where_one_is_watched(database: apsw.Connection) -> None:
    one, several = (looks(database, call) for call in TRANSITIONS["finish_runs"])

    assert several[0] > 2 * one[0]


@pytest.mark.parametrize("name", TRANSITIONS)
async def test_postgresql_probes_nothing_but_whether_anything_is_live(postgres_url: str, name: str) -> None:
    session = await postgres.create_tables(postgres_url)
    await postgres.write(session, SMALL, analyse_when="never")
    await session.execute(NOTHING_LIVE)
    await session.execute("update runs set armed = 0")
    await session.execute("vacuum signals")
    await session.close()

    plans = await postgres.plans_in(postgres_url, TRANSITIONS[name][1])

    probes = [node for node in postgres.reads_of(plans) if node.get("Index Name") == LIVE and node["Actual Loops"]]
    assert all(node["Actual Rows"] == 0 for node in probes)
    assert sum(node["Actual Loops"] for node in probes) <= 2  # whether anything is, and of which workflows


async def test_postgresql_reads_nothing_of_signals_that_watch_others(postgres_url: str) -> None:
    session = await postgres.create_tables(postgres_url)
    await postgres.write(session, SMALL, analyse_when="never")
    await session.close()

    for name in ("create_runs", "dispatch_runs"):
        plans = await postgres.plans_in(postgres_url, HOT[name].call)

        rows = sum(node["Actual Rows"] for node in postgres.reads_of(plans) if node.get("Index Name") == LIVE)
        assert rows <= 2, name  # that something is live, and the workflow that is watched, which is another one
