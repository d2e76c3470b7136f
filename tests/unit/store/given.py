"""The rows these tests begin with, and the calls they repeat."""

from __future__ import annotations

from typing import Any

from windlass.model.commands import BeginStep, CompleteStep, FinishRun
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step, StepKind
from windlass.model.time import MINUTE, Duration
from windlass.model.worker import Served
from windlass.store.base import Store
from windlass.store.queries.runs import ClaimedRow, NewRun

NAMESPACE = "default"
WORKER = WorkerId("wrk_1")
VISIBLE_FOR = Duration(5 * MINUTE)
SERVED = (Served("billing", "invoice"),)


def new_run(number: int = 1, **fields: Any) -> NewRun:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "id": run_id(number),
        "name": "invoice",
        "version": "",
        "queue": "billing",
        "priority": 0,
        "input": b"[%d]" % number,
    }
    return NewRun(**(values | fields))


def run_id(number: int) -> RunId:
    return RunId(f"run_{number:026}")


async def create(store: Store, *runs: NewRun) -> list[int]:
    return sorted(await store.run_tx("create", lambda tx: tx.runs.create(runs), single=True))


async def claim(
    store: Store,
    *,
    limit: int = 100,
    poll: int = 1,
    served: tuple[Served, ...] = SERVED,
    worker: WorkerId = WORKER,
    visibility_for: Duration = VISIBLE_FOR,
) -> list[ClaimedRow]:
    return await store.run_tx(
        "claim",
        lambda tx: tx.runs.claim(
            namespace=NAMESPACE,
            served=served,
            limit=limit,
            worker=worker,
            poll=poll,
            claim_for=lambda name: visibility_for,
        ),
        single=True,
    )


async def running_run(store: Store, *, number: int = 1) -> Run:
    """Create a run and claim it."""
    await create(store, new_run(number))
    (row,) = await claim(store)
    return row.run


async def finish(store: Store, *commands: FinishRun) -> list[int]:
    return sorted(await store.run_tx("finish", lambda tx: tx.runs.finish(commands), single=True))


async def load(store: Store, number: int = 1) -> Run:
    run = await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(number)))
    assert run is not None
    return run


async def causes(store: Store, number: int = 1) -> list[tuple[str | None, str, str]]:
    """The log of one run: from, to, cause."""
    entries = await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="run", id=run_id(number)))
    return [(entry.from_status, entry.to_status, entry.cause) for entry in entries]


def finished(run: Run, **fields: Any) -> FinishRun:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "status": RunStatus.COMPLETED,
        "output": b"42",
        "result_hash": b"hash",
    }
    return FinishRun(**(values | fields))


def begun(run: Run, **fields: Any) -> BeginStep:
    return BeginStep(**(_step(run) | fields))


def completed(run: Run, **fields: Any) -> CompleteStep:
    return CompleteStep(**(_step(run) | {"order": 1, "output": b"out", "ran_for": 7} | fields))


async def begin(store: Store, *commands: BeginStep) -> list[int]:
    return sorted(await store.run_tx("begin", lambda tx: tx.steps.begin(commands), single=True))


async def complete(store: Store, *commands: CompleteStep) -> list[int]:
    return sorted(await store.run_tx("complete", lambda tx: tx.steps.complete(commands), single=True))


async def attempts(store: Store, number: int = 1) -> list[Step]:
    return await store.read("attempts", lambda tx: tx.steps.attempts(NAMESPACE, run_id(number)))


def _step(run: Run) -> dict[str, Any]:
    return {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "key": "fetch",
        "kind": StepKind.STEP,
        "attempt": 1,
        "failures": 0,
        "input_hash": b"in",
    }
