"""Does the claim let through what the rule about gates lets through, and nothing else, on both databases?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from windlass.model.gate import Gate, GateKind
from windlass.model.run import RunId, WorkerId
from windlass.model.time import Duration
from windlass.model.worker import Served
from windlass.rules.gates import is_behind
from windlass.store.base import Store, Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.gates import NewGate
from windlass.store.queries.runs import NewRun
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

EXAMPLES = 100
NAMES = ("default", "mail", "order")  # of queues and of workflows alike, so that one may be taken for the other
LANES = [Served(queue, name, version) for queue in NAMES for name in NAMES for version in ("", "2")]

kinds = some.sampled_from([GateKind.QUEUE, GateKind.WORKFLOW])


async def tell(store: Store, namespace: str, closed: Sequence[Gate], served: Sequence[Served]) -> None:
    due = [
        NewRun(
            namespace=namespace,
            id=RunId(f"run_{number}"),
            name=lane.name,
            version=lane.version,
            queue=lane.queue,
            priority=0,
            input=b"",
        )
        for number, lane in enumerate(LANES)
    ]

    async def prepare(tx: Tx) -> None:
        await tx.runs.create(due)
        await tx.gates.enter([NewGate(namespace, gate.kind, gate.name) for gate in closed])
        for gate in closed:
            assert await tx.gates.set(gate)

    async def claim(tx: Tx) -> set[Served]:
        rows = await tx.runs.claim(
            namespace=namespace,
            served=served,
            limit=100,
            worker=WorkerId("wrk_a"),
            poll=1,
            claim_for=lambda name: Duration(1),
        )
        return {Served(row.run.queue, row.run.name, row.run.version) for row in rows}

    await store.run_tx("prepare", prepare)
    due_at, now = await store.read("look", lambda tx: tx.runs.look(namespace=namespace, served=served))
    claimed = await store.run_tx("claim", claim)

    assert claimed == {lane for lane in served if is_behind(lane, closed) is None}
    assert (due_at is not None and due_at <= now) == bool(claimed)


class Databases:
    """Both stores, each opened once; every example gets a namespace nobody has used."""

    def __init__(self, runner: asyncio.Runner, stores: Sequence[Store]) -> None:
        self._runner, self._stores = runner, stores
        self._names = (f"n{number}" for number in itertools.count())

    def tell(self, closed: Sequence[tuple[GateKind, str]], *, is_all_closed: bool, served: Sequence[Served]) -> None:
        namespace = next(self._names)
        wanted = [*closed, (GateKind.NAMESPACE, namespace)] if is_all_closed else closed
        shut = [Gate(namespace=namespace, kind=kind, name=name, is_paused=True) for kind, name in wanted]
        for store in self._stores:
            self._runner.run(tell(store, namespace, shut, served))


@pytest.fixture(scope="module")
def databases(postgres_server: PostgresServer) -> Iterator[Databases]:
    clock = FakeClock()
    url = postgres_server.create_database()
    stores: list[Store] = [SqliteStore(":memory:", clock=clock), PostgresStore(url, clock=clock)]
    with asyncio.Runner() as runner:
        for store in stores:
            runner.run(store.open())
        yield Databases(runner, stores)
        for store in stores:
            runner.run(store.close())
    postgres_server.drop_database(url)


@pytest.mark.spec("invariants:I-24")
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    closed=some.lists(some.tuples(kinds, some.sampled_from(NAMES)), max_size=3, unique=True),
    is_all_closed=some.booleans(),
    served=some.lists(some.sampled_from(LANES), unique=True, max_size=6),
)
def test_a_claim_takes_what_is_behind_no_closed_gate(
    databases: Databases, closed: list[tuple[GateKind, str]], is_all_closed: bool, served: list[Served]
) -> None:
    databases.tell(closed, is_all_closed=is_all_closed, served=served)
