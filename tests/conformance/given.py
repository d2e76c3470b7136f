"""The rows the suite begins with, and the calls it repeats."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.parts import EngineSettings
from windlass.model.commands import BeginStep, Claim, ClaimRuns, CompleteStep, FinishRun, HoldRun, ResumeRun, StartRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import LogEntry, Run, RunId, RunStatus, RunView, WorkerId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import MINUTE, Duration, Instant
from windlass.model.worker import Served
from windlass.notify.local import Hub
from windlass.runtime import seeded_rng
from windlass.store.base import Store
from windlass.store.queries.runs import ClaimedRow, NewRun
from windlass.testing.clock import FakeClock

T = TypeVar("T")

NAMESPACE = "default"
WORKER, OTHER_WORKER, THIRD_WORKER = (WorkerId(f"wrk_{number:026}") for number in (1, 2, 3))
VISIBLE_FOR = Duration(5 * MINUTE)
SERVED = (Served("billing", "invoice"),)
FAILURE = Failure(kind=FailureKind.TRANSIENT, type="OSError", message="reset", data=b"\x00\xff")

LOOK_EVERY = 0.001  # real seconds
_engines = itertools.count()


# Runs


def run_id(number: int) -> RunId:
    return RunId(f"run_{number:026}")


def resuming(id: RunId) -> ResumeRun:
    return ResumeRun(namespace=NAMESPACE, run_id=id)


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


async def create(store: Store, *runs: NewRun) -> list[int]:
    single = len({run.worker is None for run in runs}) <= 1
    return sorted(await store.run_tx("create", lambda tx: tx.runs.create(runs), single=single))


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


async def running_runs(store: Store, count: int) -> list[Run]:
    """Create runs and claim them, in the order of their numbers."""
    await create(store, *[new_run(number) for number in range(1, count + 1)])
    return [row.run for row in await claim(store, limit=count)]


async def running_run(store: Store) -> Run:
    (run,) = await running_runs(store, 1)
    return run


async def finish(store: Store, *commands: FinishRun) -> list[int]:
    return sorted(await store.run_tx("finish", lambda tx: tx.runs.finish(commands), single=True))


async def load(store: Store, number: int = 1) -> Run:
    run = await load_or_none(store, number)
    assert run is not None
    return run


async def load_or_none(store: Store, number: int = 1) -> Run | None:
    return await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(number)))


async def view(store: Store, number: int = 1) -> RunView:
    found = await store.read("view", lambda tx: tx.runs.view(NAMESPACE, run_id(number)))
    assert found is not None
    return found


async def log(store: Store, number: int = 1) -> list[LogEntry]:
    return await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="run", id=run_id(number)))


async def causes(store: Store, number: int = 1) -> list[tuple[str | None, str, str]]:
    """The log of one run: from, to, cause."""
    return [(entry.from_status, entry.to_status, entry.cause) for entry in await log(store, number)]


async def next_due(store: Store, *served: Served) -> Instant | None:
    return await store.read("next_due", lambda tx: tx.runs.next_due(namespace=NAMESPACE, served=served or SERVED))


async def renew(store: Store, run: Run, visibility_for: int = VISIBLE_FOR) -> bool:
    return await store.run_tx(
        "renew",
        lambda tx: tx.runs.renew(
            namespace=NAMESPACE, id=run.id, token=run.token, visibility_for=Duration(visibility_for)
        ),
        single=True,
    )


def stale(run: Run) -> Run:
    """The run as its former holder knows it."""
    return replace(run, token=run.token - 1)


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


# Steps


def begun(run: Run, **fields: Any) -> BeginStep:
    return BeginStep(**(_step(run) | fields))


def completed(run: Run, **fields: Any) -> CompleteStep:
    return CompleteStep(**(_step(run) | {"order": 1, "output": b"out", "ran_for": 7} | fields))


def settled(run: Run, **fields: Any) -> Step:
    """A failed attempt that is due again at 99."""
    values = _step(run) | {
        "status": StepStatus.FAILED,
        "order": None,
        "failures": 1,
        "output": None,
        "failure": FAILURE,
        "due_at": Instant(99),
        "started_at": Instant(5),
        "finished_at": Instant(9),
    }
    return Step(**(values | fields))


def waiting(run: Run, due_at: int, **fields: Any) -> Step:
    """A wait that has begun."""
    values: dict[str, Any] = {
        "key": "sleep",
        "kind": StepKind.SLEEP,
        "status": StepStatus.WAITING,
        "failures": 0,
        "failure": None,
        "due_at": Instant(due_at),
        "finished_at": None,
    }
    return settled(run, **(values | fields))


async def begin(store: Store, *commands: BeginStep) -> list[int]:
    return sorted(await store.run_tx("begin", lambda tx: tx.steps.begin(commands), single=True))


async def complete(store: Store, *commands: CompleteStep) -> list[int]:
    single = all(command.renew_for is None for command in commands)
    return sorted(await store.run_tx("complete", lambda tx: tx.steps.complete(commands), single=single))


async def settle(store: Store, *steps: Step) -> None:
    await store.run_tx("settle", lambda tx: tx.steps.settle(steps))


async def attempts(store: Store, number: int = 1) -> list[Step]:
    return await store.read("attempts", lambda tx: tx.steps.attempts(NAMESPACE, run_id(number)))


async def history(store: Store, number: int = 1) -> list[Step]:
    found = await store.read("history", lambda tx: tx.steps.histories(NAMESPACE, [run_id(number)]))
    return found.get(run_id(number), [])


async def open_waits(store: Store, number: int = 1) -> list[Step]:
    return await store.read("open_waits", lambda tx: tx.steps.open_waits(NAMESPACE, run_id(number)))


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


# The engine


def engine_on(store: Store, clock: FakeClock, **settings: Any) -> Engine:
    """An engine over a store that is open already; it hears no other process. Whoever opened the store closes it."""
    return Engine(
        # Each with chances of its own: two engines must not make the same ids.
        store,
        Hub(),
        clock=clock,
        rng=seeded_rng(f"engine {next(_engines)}"),
        settings=EngineSettings(**settings),
    )


def start(number: int = 1, **fields: Any) -> StartRun:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "name": "invoice",
        "version": "",
        "queue": "billing",
        "priority": 0,
        "input": b"[%d]" % number,
        "input_hash": b"hash of %d" % number,
    }
    return StartRun(**(values | fields))


def poll(number: int = 1, **fields: Any) -> ClaimRuns:
    """A poll that does not wait."""
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "worker": WORKER,
        "poll": number,
        "served": SERVED,
        "limit": 100,
        "visibility_for": VISIBLE_FOR,
        "wait_for": Duration(0),
    }
    return ClaimRuns(**(values | fields))


async def claim_one(engine: Engine, number: int = 1, **fields: Any) -> Run:
    """Poll once, and answer with the one run that was claimed, as it stands."""
    (claimed,) = await engine.work.claim_runs(poll(number, **fields))
    return (await engine.runs.get_run(NAMESPACE, claimed.run_id)).run


def holding(run: Run) -> HoldRun:
    return HoldRun(namespace=NAMESPACE, run_id=run.id, token=run.token, reason=FAILURE)


def held(run: Run, **fields: Any) -> Claim:
    values: dict[str, Any] = {"namespace": NAMESPACE, "run_id": run.id, "token": run.token}
    return Claim(**(values | fields))


async def while_time_passes(clock: FakeClock, work: Awaitable[T]) -> T:
    """Await work that pauses now and then: whenever it does, time moves on to the end of the pause."""
    task = asyncio.ensure_future(work)
    while not task.done():
        if (delay := clock.next_timer()) is not None:
            clock.advance(delay)
        await asyncio.wait({task}, timeout=LOOK_EVERY)
    return task.result()


async def outcomes_of(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """What became of each: a value, or the class of its error."""
    found = await asyncio.gather(*work, return_exceptions=True)
    return [type(item) if isinstance(item, BaseException) else item for item in found]
