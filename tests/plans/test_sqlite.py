"""Does SQLite go by index, and do no more work in a large database than in a small one?

Work is counted by SQLite itself, in steps of its virtual machine: the same on every machine, whatever the time it took.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator
from typing import Any, NamedTuple

import apsw
import pytest

from tests.plans.given import (
    COLD,
    ENTERED_BY,
    GATES,
    HOT,
    INBOX,
    KEY,
    LARGE,
    NAMESPACES,
    PAYLOAD,
    REMOVED,
    RUN,
    SMALL,
    STEP,
    WORKERS,
    Call,
    Dialect,
    Hot,
    Size,
    fill,
    move_on,
)
from tests.plans.given_graphs import EDGES, GRAPHS, JOBS
from tests.plans.given_pipelines import (
    ATTEMPTS,
    CAUSES,
    EFFECTS,
    EVENTS,
    HANDLERS,
    INPUTS,
    OLD_INPUTS,
    PIPELINES,
    TOPICS,
    WAITING_INPUTS,
)
from tests.plans.given_signals import FIRINGS, ITEMS, SIGNALS, TASKS
from windlass.model.time import Instant
from windlass.store.base import Tx
from windlass.store.catalog import NAME, SQL_FOLDER, load
from windlass.store.migrate import migrate_sqlite
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.store import keep_plans
from windlass.testing.clock import START_AT

SQLITE = Dialect(
    series="(with recursive g (i) as (select 1 union all select i + 1 from g where i < {count}) select i from g)",
    empty_blob="x''",
    empty_list="x'5b5d'",
)
MOMENTS = ("never", "empty", "pending", "full")

# A plan calls the primary key of a table by the table's alias, or by a name that SQLite made up.
PRIMARY_KEYS = {
    "p": PAYLOAD,
    "payloads": PAYLOAD,
    "k": KEY,
    "keys": KEY,
    "s": STEP,
    "m": STEP,
    "steps": STEP,
    "b": INBOX,
    "inbox": INBOX,
    "g": GATES,
    "graphs": GRAPHS,
    "j": JOBS,
    "jobs": JOBS,
    "e": EDGES,
    "edges": EDGES,
    "n": NAMESPACES,
    "r": REMOVED,
    "removed_log": REMOVED,
    "h": HANDLERS,
    "handlers": HANDLERS,
    "t": TOPICS,
    "f": EFFECTS,
    "effects": EFFECTS,
    "pipelines": PIPELINES,
    "o": INPUTS,
    "inputs": INPUTS,
    "c": CAUSES,
    "causes": CAUSES,
    "sqlite_autoindex_events_1": EVENTS,
    "sqlite_autoindex_handler_runs_1": ATTEMPTS,
    "sqlite_autoindex_runs_1": RUN,
    "sqlite_autoindex_workers_1": WORKERS,
    "sqlite_autoindex_signals_1": SIGNALS,
    "sqlite_autoindex_firings_1": FIRINGS,
    "sqlite_autoindex_items_1": ITEMS,
    "sqlite_autoindex_tasks_1": TASKS,
}
SAME_LETTERS = {"p": PIPELINES, "n": INPUTS}  # as payloads, and namespaces
SEARCH = re.compile(
    r"SEARCH (\w+) (?:EXISTS )?USING (?:(?:COVERING )?INDEX (\w+)|PRIMARY KEY) \((.+)\)(?: LEFT-JOIN)?$"
)
# What may be read from one end to the other: the lanes, the gates that are closed and those who hold something, all of
# which are few; what a claim has picked, or a part of the query whose reads are listed by themselves; and lists that
# the caller gave. A rowid was found in the claim index.
SHORT = re.compile(
    r"SCAN CONSTANT ROW$|SCAN (?:[lshkai]|closed|due|\(subquery-\d+\))$|SCAN [ijks] VIRTUAL TABLE INDEX"
    r"|SEARCH l$"
    r"|SEARCH (?:r|x|runs) USING INTEGER PRIMARY KEY \(rowid=\?\)$"
    r"|SEARCH (?:g|n|log) USING INTEGER PRIMARY KEY \(rowid[=>]\?\)$"  # the log in its order, as far as was asked for
)
LANE = "namespace=? AND queue=? AND name=? AND version=?"


class Work(NamedTuple):
    steps: int  # of the virtual machine
    full_scan_steps: int
    automatic_indexes: int
    sorts: int


def build(size: Size, *, analyse_when: str) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    keep_plans(connection)
    migrate_sqlite(connection, where="a test")
    for moment, statements in (("empty", []), ("pending", [*fill(SQLITE, size)]), ("full", [*move_on()])):
        with connection:
            for statement in statements:
                connection.execute(statement)
        if moment == analyse_when:
            connection.execute("analyze")
    return connection


@pytest.fixture(scope="module", params=MOMENTS)
def large(request: pytest.FixtureRequest) -> Iterator[apsw.Connection]:
    connection = build(LARGE, analyse_when=request.param)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def small() -> Iterator[apsw.Connection]:
    connection = build(SMALL, analyse_when="full")
    yield connection
    connection.close()


@pytest.fixture
def empty() -> Iterator[apsw.Connection]:
    connection = build(Size(0, 0, 0, 0), analyse_when="never")
    yield connection
    connection.close()


def sent_by(connection: apsw.Connection, call: Call) -> list[tuple[str, Work]]:
    """Make a call through the real queries; every statement it sent, with the work that took. All of it is undone."""
    found: list[tuple[str, Work]] = []

    def note(event: dict[str, Any]) -> None:
        status = event["stmt_status"]
        counts = [status[f"SQLITE_STMTSTATUS_{name}"] for name in ("VM_STEP", "FULLSCAN_STEP", "AUTOINDEX", "SORT")]
        found.append((event["sql"], Work(*counts)))

    queries = SqliteConnection(connection, catalog=load("sqlite"))
    queries.begin(now=Instant(START_AT), is_read_only=False)
    connection.execute("savepoint call")
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    try:
        drive(call(Tx(queries)))
    finally:
        connection.trace_v2(0, None)
        connection.execute("rollback to call; release call")
    assert found
    return found


def drive(work: Awaitable[Any]) -> Any:
    """Nothing suspends on SQLite, so one push runs it to its end."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise AssertionError("it suspended")


def plan_of(connection: apsw.Connection, call: Call) -> list[str]:
    lines: list[str] = []
    for statement in dict.fromkeys(text for text, _ in sent_by(connection, call)):
        values = (None,) * max([0, *map(int, re.findall(r"\?(\d+)", statement))])
        lines += [str(row[3]) for row in connection.execute(f"explain query plan {statement}", values)]
    return lines


def unexpected(plan: list[str], hot: Hot) -> list[str]:
    """The lines of a plan that read a table by anything but the indexes it is meant to use."""
    reads = [line for line in plan if line.startswith(("SCAN", "SEARCH")) and not SHORT.match(line)]
    return [line for line in reads if not is_expected(line, hot)]


def is_expected(line: str, hot: Hot) -> bool:
    found = SEARCH.match(line)
    if found is None:
        return False
    index = PRIMARY_KEYS.get(found[2] or found[1], found[2])
    columns = re.split(r"[=<>]\?(?: AND |$)", found[3])
    if found[1] == "g" and found[2] is None and "id" in columns:  # graphs, and not gates
        index = GRAPHS
    if found[2] is None and SAME_LETTERS.get(found[1]) in hot.indexes:
        index = SAME_LETTERS[found[1]]
    return index in hot.indexes and set(ENTERED_BY[index]) <= set(columns)


def work_of(connection: apsw.Connection, call: Call) -> Work:
    return Work(*map(sum, zip(*(work for _, work in sent_by(connection, call)), strict=True)))


def test_every_query_is_guarded_or_has_a_reason_not_to_be() -> None:
    # Checks read whole tables, on purpose.
    files = [file for file in SQL_FOLDER.glob("*.sql") if not file.stem.endswith("checks")]
    names = {name for file in files for name in NAME.findall(file.read_text())}

    assert names == {name.partition(":")[0] for name in HOT} | set(COLD)


@pytest.mark.parametrize("name", HOT)
def test_a_guard_sends_the_query_it_is_named_after(small: apsw.Connection, name: str) -> None:
    query = load("sqlite")[name.partition(":")[0]]

    assert query.statements[0].text in [text for text, _ in sent_by(small, HOT[name].call)]


@pytest.mark.parametrize("name", HOT)
def test_an_empty_database_is_read_by_index(empty: apsw.Connection, name: str) -> None:
    assert unexpected(plan_of(empty, HOT[name].call), HOT[name]) == []


@pytest.mark.parametrize("name", HOT)
def test_a_large_database_is_read_by_index_whatever_its_statistics_say(large: apsw.Connection, name: str) -> None:
    assert unexpected(plan_of(large, HOT[name].call), HOT[name]) == []


@pytest.mark.parametrize("name", HOT)
def test_a_large_database_takes_no_more_work_than_a_small_one(
    large: apsw.Connection, small: apsw.Connection, name: str
) -> None:
    work = work_of(large, HOT[name].call)

    assert (work.full_scan_steps, work.automatic_indexes) == (0, 0)
    assert work == work_of(small, HOT[name].call)


@pytest.mark.parametrize("name", HOT)
def test_no_statement_is_planned_again_for_the_next_values(small: apsw.Connection, name: str) -> None:
    planned: list[int] = []

    def note(action: int, *_: str | None) -> int:
        planned.append(action)
        return apsw.SQLITE_OK

    small.authorizer = note  # asked whenever a statement is planned
    try:
        sent_by(small, HOT[name].call)
        assert planned != []
        planned.clear()
        sent_by(small, HOT[name].call)
    finally:
        small.authorizer = None

    assert planned == []


@pytest.mark.spec("runs:P2.8", "runs:G3")
def test_a_claim_reads_each_lane_as_one_range_that_ends_now(large: apsw.Connection) -> None:
    plan = plan_of(large, HOT["claim_runs: nothing is due"].call)

    assert f"SEARCH d USING COVERING INDEX runs_claim ({LANE} AND priority=? AND available_at<?)" in plan
    assert f"SEARCH r USING COVERING INDEX runs_claim ({LANE} AND priority<?)" in plan


def test_the_next_due_time_is_one_look_at_each_lane(large: apsw.Connection) -> None:
    plan = plan_of(large, HOT["next_due_run: all is due later"].call)

    assert f"SEARCH r USING COVERING INDEX runs_claim ({LANE} AND priority=? AND available_at>?)" in plan


def test_what_a_poll_holds_is_found_by_its_worker(large: apsw.Connection) -> None:
    plan = plan_of(large, HOT["runs_of_poll"].call)

    assert "SEARCH r USING INDEX runs_worker (namespace=? AND worker=? AND poll=?)" in plan


def test_inputs_that_wait_are_counted_by_a_probe_for_each_event_that_waits(
    large: apsw.Connection, small: apsw.Connection
) -> None:
    plan = plan_of(large, WAITING_INPUTS)

    assert [line for line in plan if line.startswith("SEARCH")] == [
        "SEARCH e USING INDEX events_pending (namespace=? AND pipeline=?)",
        "SEARCH n USING PRIMARY KEY (namespace=? AND pipeline=? AND id=?)",
    ]
    assert work_of(large, WAITING_INPUTS) == work_of(small, WAITING_INPUTS)


def test_inputs_that_came_lately_are_not_read_when_old_ones_are_removed(large: apsw.Connection) -> None:
    plan = plan_of(large, OLD_INPUTS)

    assert [line for line in plan if line.startswith(("SEARCH inputs", "SEARCH c "))] == [
        "SEARCH inputs USING INDEX inputs_newest (namespace=? AND pipeline=? AND created_at>? AND created_at<?)",
        "SEARCH c USING PRIMARY KEY (namespace=? AND pipeline=? AND input=?)",
    ]


def test_the_measure_notices_a_missing_index(small: apsw.Connection) -> None:
    idle = HOT["claim_runs: nothing is due"]
    before = work_of(small, idle.call)

    small.execute("savepoint missing; drop index runs_claim")
    try:
        plan, work = plan_of(small, idle.call), work_of(small, idle.call)
    finally:
        small.execute("rollback to missing; release missing")

    assert unexpected(plan, idle) != []
    assert work.steps > 10 * before.steps
