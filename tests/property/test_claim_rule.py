"""Do the guarded statements of the hot path decide what the plain rules say, on any history, on both databases?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.property.claim_model import (
    CLAIM_FOR,
    SECOND,
    Advance,
    Begin,
    ClaimDue,
    Complete,
    Create,
    Finish,
    Model,
    Operation,
    Release,
    Renew,
)
from windlass.model.commands import BeginStep, CompleteStep, FinishRun
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import Duration
from windlass.model.worker import Served
from windlass.rules import runs as rules
from windlass.store.base import Store, Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.runs import NewRun
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

EXAMPLES = 250  # histories, on each database
LONGEST = 25  # operations in one

numbers = some.integers(0, 2)
names = some.sampled_from(["order", "refund"])
workers = some.sampled_from(["wrk_a", "wrk_b"])
behind = some.sampled_from([0, 0, 0, 1, -1])
keys = some.sampled_from(["pack", "ship"])
attempts = some.integers(1, 2)
spans = some.sampled_from([0, 3 * SECOND, CLAIM_FOR, 30 * SECOND])


creations = some.builds(Create, numbers, names, some.integers(-1, 1), some.none() | spans, some.none() | workers)


def batches(rows: Any) -> Any:
    """No row twice in a batch: PostgreSQL sends it once and answers for the first."""
    return some.lists(rows, min_size=1, max_size=3, unique=True).map(tuple)


operations: some.SearchStrategy[Operation] = some.one_of(
    batches(creations),
    some.builds(Advance, spans),
    some.builds(ClaimDue, workers, some.frozensets(names, min_size=1), some.integers(1, 3)),
    batches(some.builds(Begin, numbers, behind, keys, attempts)),
    batches(some.builds(Complete, numbers, behind, keys, attempts, some.none() | spans)),
    batches(some.builds(Finish, numbers, behind, some.sampled_from(["completed", "failed"]))),
    some.builds(Renew, numbers, behind, spans),
    some.builds(Release, numbers),
)


class Told:
    """One history on one database, in a namespace of its own, beside the model."""

    def __init__(self, store: Store, clock: FakeClock, namespace: str) -> None:
        self._store, self._clock, self._namespace = store, clock, namespace
        self.model = Model(now=clock.now())

    async def tell(self, history: Sequence[Operation]) -> None:
        for place, operation in enumerate(history):
            found, expected = await self._do(operation)
            assert found == expected, f"{place}: {operation}"
        await self._compare()

    async def _do(self, operation: Operation) -> tuple[object, object]:
        match operation:
            case Advance(duration):
                self._clock.advance(duration)
                self.model.now = self._clock.now()
                return None, None
            case ClaimDue():
                return await self._claim(operation), self.model.claim(operation)
            case Renew():
                token = self.model.token_of(operation.run, operation.behind)
                return await self._renew(operation, token), self.model.renew(operation, token)
            case Release():
                await self._release(operation)
                self.model.release(operation)
                return None, None
            case _:
                return await self._batch(operation)

    async def _batch(self, rows: tuple[Any, ...]) -> tuple[object, object]:
        first = rows[0]
        if isinstance(first, Create):
            created = await self._run(lambda tx: tx.runs.create([self._new_run(row) for row in rows]))
            return set(created), self.model.create(rows)
        tokens = [self.model.token_of(row.run, row.behind) for row in rows]
        pairs = list(zip(rows, tokens, strict=True))
        if isinstance(first, Begin):
            begun = await self._run(lambda tx: tx.steps.begin([self._begin_step(*pair) for pair in pairs]))
            return set(begun), self.model.begin(rows, tokens)
        if isinstance(first, Complete):
            done = await self._run(lambda tx: tx.steps.complete([self._complete_step(*pair) for pair in pairs]))
            return set(done), self.model.complete(rows, tokens)
        ended = await self._run(lambda tx: tx.runs.finish([self._finish_run(*pair) for pair in pairs]))
        return set(ended), self.model.finish(rows, tokens)

    async def _claim(self, command: ClaimDue) -> list[tuple[int, int]]:
        rows = await self._run(
            lambda tx: tx.runs.claim(
                namespace=self._namespace,
                served=[Served("default", name) for name in command.names],
                limit=command.limit,
                worker=WorkerId(command.worker),
                poll=1,
                claim_for=lambda name: Duration(CLAIM_FOR),
            )
        )
        return [(int(row.run.id[-1]), row.run.token) for row in rows]

    async def _renew(self, command: Renew, token: int) -> bool:
        renewed: bool = await self._run(
            lambda tx: tx.runs.renew(
                namespace=self._namespace,
                id=self._id(command.run),
                token=token,
                visibility_for=Duration(command.visibility_for),
            )
        )
        return renewed

    async def _release(self, command: Release) -> None:
        async def release(tx: Tx) -> None:
            run = await tx.runs.lock(self._namespace, id=self._id(command.run))
            if run is not None and run.status is RunStatus.RUNNING:
                await tx.runs.save(rules.release(run, now=await tx.now(), delay_for=Duration(0)), was=run)

        await self._run(release)

    async def _compare(self) -> None:
        for number, row in self.model.runs.items():
            run = await self._run(lambda tx, number=number: tx.runs.load(self._namespace, id=self._id(number)))
            assert {name: getattr(run, name) for name in vars(row)} == vars(row), number
            attempts = await self._run(
                lambda tx, number=number: tx.steps.attempts(self._namespace, run_id=self._id(number))
            )
            found = {(number, step.key, step.attempt): _known(step) for step in attempts}
            assert found == {place: _known(step) for place, step in self.model.steps.items() if place[0] == number}

    async def _run(self, fn: Any) -> Any:
        return await self._store.run_tx("told", fn)

    def _id(self, number: int) -> RunId:
        return RunId(f"{self._namespace}_{number}")

    def _new_run(self, row: Create) -> NewRun:
        return NewRun(
            namespace=self._namespace,
            id=self._id(row.run),
            name=row.name,
            version="",
            queue="default",
            priority=row.priority,
            input=b"1",
            delay_for=None if row.delay_for is None else Duration(row.delay_for),
            worker=None if row.worker is None else WorkerId(row.worker),
            claim_for=Duration(CLAIM_FOR),
        )

    def _begin_step(self, row: Begin, token: int) -> BeginStep:
        return BeginStep(**self._step(row, token))

    def _complete_step(self, row: Complete, token: int) -> CompleteStep:
        return CompleteStep(
            **self._step(row, token),
            order=0,
            output=b"1",
            ran_for=Duration(0),
            renew_for=None if row.renew_for is None else Duration(row.renew_for),
        )

    def _step(self, row: Begin | Complete, token: int) -> dict[str, Any]:
        return {
            "namespace": self._namespace,
            "run_id": self._id(row.run),
            "token": token,
            "key": row.key,
            "kind": StepKind.STEP,
            "attempt": row.attempt,
            "failures": 0,
            "input_hash": b"",
        }

    def _finish_run(self, row: Finish, token: int) -> FinishRun:
        return FinishRun(
            namespace=self._namespace,
            run_id=self._id(row.run),
            token=token,
            status=RunStatus(row.status),
            output=b"1",
            result_hash=b"1",
        )


def _known(step: Any) -> tuple[object, ...]:
    return (str(step.status), step.token, step.started_at, step.finished_at)


class Databases:
    """Both stores on one clock, each opened once; every history gets a namespace nobody has used."""

    def __init__(self, runner: asyncio.Runner, stores: Sequence[Store], clock: FakeClock) -> None:
        self._runner, self._stores, self._clock = runner, stores, clock
        self._names = (f"n{number}" for number in itertools.count())

    def tell(self, history: Sequence[Operation]) -> None:
        namespace = next(self._names)
        for store in self._stores:
            self._runner.run(Told(store, self._clock, namespace).tell(history))


@pytest.fixture(scope="module")
def databases(postgres_server: PostgresServer) -> Iterator[Databases]:
    clock = FakeClock()
    url = postgres_server.create_database()
    stores: list[Store] = [SqliteStore(":memory:", clock=clock), PostgresStore(url, clock=clock)]
    with asyncio.Runner() as runner:
        for store in stores:
            runner.run(store.open())
        yield Databases(runner, stores, clock)
        for store in stores:
            runner.run(store.close())
    postgres_server.drop_database(url)


@pytest.mark.spec("invariants:I-17", "invariants:I-18", "invariants:I-20", "invariants:I-23", "invariants:I-60")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    first=some.lists(creations, min_size=3, max_size=3, unique_by=lambda row: row.run).map(tuple),
    history=some.lists(operations, min_size=5, max_size=LONGEST),
)
def test_the_hot_statements_decide_as_the_plain_rules_do(
    databases: Databases, first: tuple[Create, ...], history: list[Operation]
) -> None:
    databases.tell([first, *history])
