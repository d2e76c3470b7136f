"""What runs in the background, and what does it leave alone? One coordinator and one listener, and nothing else."""

from __future__ import annotations

import ast
import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Set
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

import windlass
import windlass.testing
from tests.conformance.given import NAMESPACE, VISIBLE_FOR, engine_on, poll, start
from tests.conformance.test_control import cancelling, event_wait, parking, wait_for
from tests.conformance.test_schedules import put, runs_of
from tests.conformance.test_waits import failing
from tests.conformance.test_workers import registering
from tests.integration.conftest import PATIENCE, eventually
from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.app import App
from windlass.assembly import open_engine
from windlass.embedded import Embedded
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.engine import Engine
from windlass.model.graph import AddJobs, Need, NewJob
from windlass.model.item import CreateItem, ItemStatus, TransitionItem
from windlass.model.run import RunStatus
from windlass.model.schedule import CatchUp
from windlass.model.schedule_commands import PauseSchedule, ResumeSchedule
from windlass.model.signal import CreateSignal, FiringStatus, ListFirings, Trigger, TriggerKind
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.runtime import seeded_rng
from windlass.settings import Settings
from windlass.store.base import Store, Tx
from windlass.store.queries.jobs import MetNeeds
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

T = TypeVar("T")

SOURCE = Path(windlass.__file__).parent
# What executes runs and handlers, and the lock that shows it is alive.
OF_A_WORKER = ("Worker", "Presence", "SessionLocks", "Polling.", "Pipelines.")
FORMER = ("scheduler", "watchdog")
# How each duty begins.
DUTIES = {
    "fire_schedules": "due_schedules",
    "fire_signals": "claim_firings",
    "expire_workers": "silent_worker",
    "expire_runs": "late_runs",
    "mend_graphs": "waiting_jobs",
    "count_minutes": "minutes_to_count",
    "prune": "look_at_limits",
}


class Refusing:
    """A store that fails at some transactions, with an error that nobody expects, or is changed by others meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.refused: set[str] = set()
        self.times = 0
        self.meanwhile: dict[str, Callable[[], Awaitable[object]]] = {}  # what others do just before a read

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        self._refuse(name)
        if (others := self.meanwhile.pop(name, None)) is not None:
            await others()
        return await self._store.read(name, fn, single=single)

    async def run_tx(self, name: str, fn: Callable[[Tx], Awaitable[T]], **options: bool) -> T:
        self._refuse(name)
        return await self._store.run_tx(name, fn, **options)

    def _refuse(self, name: str) -> None:
        if name in self.refused:
            self.times += 1
            raise ZeroDivisionError(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
async def opened(url: str, clock: FakeClock) -> AsyncIterator[Embedded]:
    opened = await open_engine(url, Settings(coordinates=False), clock=clock, rng=seeded_rng("coordinator"))
    yield opened
    await opened.close()


def tasks() -> Counter[str]:
    """What goes on in this process, by the names of its coroutines."""
    names = (getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks() - {asyncio.current_task()})
    return Counter(name for name in names if "test_" not in name)


@pytest.mark.spec("runs:G1", "runs:P5.5")
async def test_beside_its_workers_a_process_has_one_coordinator_and_one_listener(shared_url: str) -> None:
    async with App(shared_url, settings=Settings()) as app:
        for workers in (1, 2):
            async with app.worker(), app.worker() if workers == 2 else asyncio.timeout(None):
                await eventually(lambda: tasks()["Coordinator._keep_going"] == 1, what="a coordinator")
                await eventually(lambda: len(_of_nobody()) == 2, what="a listener")

                assert _of_nobody().keys() - {"Coordinator._keep_going"} <= {
                    "FileWatch._watch",
                    "PostgresListener._stay",
                }
        await eventually(lambda: not tasks()["Coordinator._keep_going"], what="the end of the coordinator")


def _of_nobody() -> Counter[str]:
    """Tasks that are no part of a worker."""
    return Counter({name: count for name, count in tasks().items() if not name.startswith(OF_A_WORKER)})


@pytest.mark.spec("runs:P5.1")
@pytest.mark.parametrize("broken", DUTIES)
async def test_a_fault_in_one_duty_stops_neither_the_others_nor_the_loop(
    opened: Embedded, clock: FakeClock, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    store = Refusing(opened.engine.parts.store)
    engine = engine_on(cast("Store", store), clock)
    await given_something_for_every_duty(engine, clock)
    store.refused = {DUTIES[broken]}
    coordinator = Coordinator(engine.parts, CoordinatorSettings(keep_for=Duration(DAY)))
    assert [duty.name for duty in coordinator.duties] == list(DUTIES)

    coordinator.start()
    await looking(clock, lambda: what_is_done(opened), until=DUTIES.keys() - {broken})
    await looking(clock, lambda: what_was_refused(store), until={DUTIES[broken]})
    assert f"{broken} failed" in [record.getMessage() for record in caplog.records]
    store.refused.clear()
    await looking(clock, lambda: what_is_done(opened), until=DUTIES.keys())

    await coordinator.stop()
    assert not tasks()["Coordinator._keep_going"]


async def given_something_for_every_duty(engine: Engine, clock: FakeClock) -> None:
    """A run that ended long ago; and a slot, what has fired, a worker that is silent, a run that nobody comes for."""
    ended = await engine.runs.start_run(start(1))
    await engine.control.cancel_run(cancelling(ended.run_id))
    clock.advance(2 * DAY)
    await put(engine, every=HOUR)
    await engine.work.register_worker(registering())
    await engine.runs.start_run(start(2, timeout_for=Duration(MINUTE), queue="nobody"))
    await given_a_graph_that_counts_wrong(engine)
    await given_something_that_has_fired(engine)
    clock.advance(HOUR)


async def given_something_that_has_fired(engine: Engine) -> None:
    item = await engine.items.create_item(CreateItem(namespace=NAMESPACE, title="an item"))
    trigger = Trigger(kind=TriggerKind.ITEM, subject=item.id, to=("ready",))
    await engine.signals.create_signal(CreateSignal(namespace=NAMESPACE, trigger=trigger))
    await engine.items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item.id, to=ItemStatus.READY))


async def given_a_graph_that_counts_wrong(engine: Engine) -> None:
    """Its second job needs the first, and seems to need one more."""
    await engine.runs.start_run(start(3))
    (graph,) = await engine.work.claim_runs(poll(limit=1))
    jobs = tuple(
        NewJob(name=name, workflow=graph.name, version=graph.version, queue="nobody", needs=needs)
        for name, needs in (("first", ()), ("second", (Need(upstream="first"),)))
    )
    await engine.work.add_jobs(AddJobs(namespace=NAMESPACE, run_id=graph.run_id, token=graph.token, jobs=jobs))

    async def spoil(tx: Tx) -> None:
        job = (await tx.jobs.lock(NAMESPACE, graph.run_id, names=["second"]))["second"]
        await tx.needs.add([MetNeeds(namespace=NAMESPACE, id=job.run.id, more=1)])

    await engine.parts.store.run_tx("spoil", spoil)


async def what_is_done(opened: Embedded) -> set[str]:
    found = await take_snapshot(opened.engine.parts.store, at=0, life=1, is_judged=False)
    runs = found.runs.values()
    fired = await opened.signals.list_firings(ListFirings(namespace=NAMESPACE, status=FiringStatus.DONE))
    done = {
        "fire_schedules": any(run.slot is not None for run in runs),
        "fire_signals": bool(fired.firings),
        "expire_workers": all(worker.stopped_at is not None for worker in found.workers),
        "expire_runs": any(run.status is RunStatus.FAILED for run in runs),
        "mend_graphs": all(run.unmet < 2 for run in runs),
        "prune": all(run.status is not RunStatus.CANCELLED for run in runs),
        "count_minutes": bool(await opened.pages.read_minutes(NAMESPACE, Instant(0))),
    }
    return {name for name, is_done in done.items() if is_done}


async def what_was_refused(store: Refusing) -> set[str]:
    return store.refused if store.times else set()


async def looking(clock: FakeClock, look: Callable[[], Awaitable[set[str]]], *, until: Set[str]) -> None:
    """Let time pass from look to look, until that much has been done and no more."""
    async with asyncio.timeout(PATIENCE):
        while (done := await look()) != until:
            assert done <= until
            await eventually(lambda: clock.next_timer() is not None, what="a pause")
            clock.advance(5 * SECOND)


@pytest.mark.spec("runs:P5.1")
async def test_the_loop_ends_when_it_is_told_to_and_fires_nothing_behind_that(
    opened: Embedded, clock: FakeClock
) -> None:
    engine = opened.engine
    await put(engine, every=HOUR)
    coordinator = Coordinator(engine.parts, CoordinatorSettings())
    coordinator.start()
    await coordinator.stop()
    await coordinator.stop()  # once is enough

    clock.advance(HOUR)
    await eventually(lambda: not tasks()["Coordinator._keep_going"])

    assert await runs_of(engine) == []
    coordinator.start()
    await eventually(lambda: _has_fired(engine), what="the slot, once it goes on")
    await coordinator.stop()


async def test_what_others_make_due_between_a_round_and_the_rest_is_fired_without_waiting(
    opened: Embedded, clock: FakeClock
) -> None:
    """It is due since a time before the round, and no slot that the round has left."""
    store, others = Refusing(opened.engine.parts.store), opened.engine
    engine = engine_on(cast("Store", store), clock)
    await put(others, every=HOUR, catch_up=CatchUp.LATEST)
    name = (await others.schedules.list_schedules(NAMESPACE))[0].schedule.name
    await others.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name=name))
    clock.advance(3 * HOUR)
    resuming = ResumeSchedule(namespace=NAMESPACE, name=name, backfill=True)
    store.meanwhile["next_schedule"] = lambda: others.schedules.resume_schedule(resuming)
    coordinator = Coordinator(engine.parts, CoordinatorSettings())

    coordinator.start()

    await eventually(lambda: _has_fired(engine), what="the slot, while the clock stands still")
    await coordinator.stop()


async def _has_fired(engine: Engine) -> bool:
    return bool(await runs_of(engine))


@pytest.mark.spec("runs:P5.4")
async def test_no_duty_wakes_a_sleeper_recovers_a_run_or_tries_a_step_again(opened: Embedded, clock: FakeClock) -> None:
    """All of that is due, and stays so until somebody claims it."""
    engine = opened.engine
    for number in range(1, 5):
        await engine.runs.start_run(start(number))
    sleeper, waiter, flaky, _held = [
        (await engine.runs.get_run(NAMESPACE, claimed.run_id)).run for claimed in await engine.work.claim_runs(poll())
    ]
    await engine.work.suspend_run(parking(sleeper, wait_for(sleeper, StepKind.SLEEP, due_for=MINUTE)))
    await engine.work.suspend_run(parking(waiter, event_wait(waiter, due_for=MINUTE)))
    await engine.work.suspend_run(parking(flaky, failures=(failing(flaky),)))
    before = await everything(engine)
    assert sorted(run.status for run in before.runs.values()) == ["pending", "running", "sleeping", "waiting"]
    coordinator = Coordinator(engine.parts, CoordinatorSettings())

    for _ in range(10):
        clock.advance(VISIBLE_FOR)
        while await coordinator.tick():
            pass

    after = await everything(engine)
    assert (after.rows, after.steps, after.payload_rows, after.log) == (
        before.rows,
        before.steps,
        before.payload_rows,
        before.log,
    )
    assert len(await engine.work.claim_runs(poll(2))) == 4  # a claim does all of that


async def everything(engine: Engine) -> Snapshot:
    return await take_snapshot(engine.parts.store, at=0, life=1)


@pytest.mark.spec("runs:P5.5", "runs:P6.1", "runs:P6.3")
def test_nothing_carries_a_former_name() -> None:
    """No module, no class, no function, no setting, and nothing for a harness to start."""
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in (path.stem, *_defined(path))
        if is_former(name)
    ]

    assert found == []
    names = (*windlass.__all__, *windlass.testing.__all__, *Settings.__struct_fields__)
    assert [name for name in names if is_former(name)] == []
    assert is_former("SchedulerLoop") and is_former("run_watchdogs") and not is_former("ScheduleRequest")
    assert "coordinate_for" in Settings.__struct_fields__


def is_former(name: str) -> bool:
    """Whether one of its words is: a ScheduleRequest is no scheduler."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return any(word.lower().removesuffix("s") in FORMER for word in words)


def _defined(path: Path) -> list[str]:
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, definitions)]


@pytest.mark.spec("runs:P6.3", "runs:V6")
async def test_a_harness_runs_the_coordinator_beside_its_worker(url: str) -> None:
    seen = []
    harness = Harness(url)

    @harness.app.schedule(cron="0 9 * * *", tz="Europe/Rome")
    async def report(ctx: windlass.Context) -> None:
        seen.append(ctx.scheduled_at)

    async with harness:
        assert tasks()["Coordinator._keep_going"] == 1
        await harness.advance("2d")

    assert [str(at) for at in seen] == ["2026-01-01 08:00:00+00:00", "2026-01-02 08:00:00+00:00"]
