"""Runs on every way from state to state: the stories that signals are tried with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    VISIBLE_FOR,
    WORKER,
    claim_one,
    create,
    finished,
    held,
    holding,
    new_run,
    poll,
    resuming,
    start,
)
from tests.conformance.given_signals import (
    on_run,
    watch,
)
from tests.conformance.test_control import cancelling, event_wait, found, parking, pausing, sending, wait_for
from tests.conformance.test_families import LETTERS, child_wait, children_of
from tests.conformance.test_graphs import (
    add,
    always,
    children,
    claim_jobs,
    end,
    group,
    job,
    of_group,
    state_of,
)
from tests.conformance.test_overlaps import triggering
from tests.conformance.test_retries import retrying
from tests.conformance.test_schedules import put, runs_of
from tests.conformance.test_waits import failing, suspended
from windlass.engine.coordinator import expire_runs, fire_schedules
from windlass.engine.engine import Engine
from windlass.model.commands import Decide
from windlass.model.graph import NewJob
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.schedule import Overlap
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, MINUTE, Duration
from windlass.testing.clock import FakeClock


class Scene(Struct):
    """Where a story takes place."""

    engine: Engine
    clock: FakeClock

    async def watched(self, id: RunId) -> RunId:
        """Every state of a run is waited for from now on."""
        for status in RunStatus:
            await watch(self.engine, on_run(id, status), repeats=True)
        return id

    async def run(self, number: int = 1, **fields: object) -> RunId:
        return await self.watched((await self.engine.runs.start_run(start(number, **fields))).run_id)

    async def running(self) -> Run:
        await self.run()
        return await claim_one(self.engine)

    async def graph(self, *jobs: NewJob) -> RunId:
        graph = await self.run()
        (claimed,) = await self.engine.work.claim_runs(poll(100))
        await add(self.engine, claimed, *jobs)
        for item in jobs:
            await self.watched((await state_of(self.engine.parts.store, graph, item.name)).run.id)
        return graph


Story = Callable[[Scene], Awaitable[object]]


# -- how a run comes from state to state -----------------------------------------------------


async def is_finished(at: Scene) -> None:
    runs = [await at.run(number) for number in (1, 2, 3)]
    claimed = await at.engine.work.claim_runs(poll())
    one, other, third = [await found(at.engine, item.run_id) for item in claimed]
    ends = [finished(one), finished(other, status=RunStatus.FAILED, output=None, failure=FAILURE), finished(third)]
    await asyncio.gather(*(at.engine.work.finish_run(command) for command in ends))
    assert len(runs) == len(claimed)


async def is_started_late(at: Scene) -> None:
    await at.run(delay_for=HOUR)
    at.clock.advance(HOUR)
    await claim_one(at.engine)


async def is_dispatched(at: Scene) -> None:
    await create(at.engine.parts.store, new_run(7, worker=WORKER, poll=1, claim_for=VISIBLE_FOR), new_run(8))


async def is_put_to_sleep(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.suspend_run(parking(run, wait_for(run, StepKind.SLEEP, due_for=HOUR)))
    at.clock.advance(HOUR)
    await at.engine.work.finish_run(finished(await claim_one(at.engine, 2)))


async def is_sent_something(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.suspend_run(parking(run, event_wait(run)))
    await at.engine.control.send_event(sending(run.id))
    await claim_one(at.engine, 2)


async def is_approved(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.suspend_run(parking(run, wait_for(run, StepKind.APPROVAL)))
    await at.engine.control.decide(Decide(namespace=NAMESPACE, run_id=run.id, is_approved=True, by="ann"))
    await claim_one(at.engine, 2)


async def is_tried_step_by_step(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.suspend_run(suspended(run, failures=(failing(run),)))
    at.clock.advance(2 * MINUTE)
    await claim_one(at.engine, 2)


async def is_recovered(at: Scene) -> None:
    await at.running()
    at.clock.advance(VISIBLE_FOR)
    again = await claim_one(at.engine, 2)
    await at.engine.work.release_run(held(again))
    await claim_one(at.engine, 3)


async def is_recovered_too_often(at: Scene) -> None:
    await at.run()
    for number in range(1, at.engine.parts.settings.max_recoveries + 2):
        await claim_one(at.engine, number)
        at.clock.advance(VISIBLE_FOR)
    assert await at.engine.work.claim_runs(poll(99)) == []


async def is_held(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.hold_run(holding(run))
    await at.engine.control.resume_run(resuming(run.id))


async def is_paused(at: Scene) -> None:
    run = await at.run()
    await at.engine.control.pause_run(pausing(run))
    await at.engine.control.resume_run(resuming(run))
    await claim_one(at.engine)
    await at.engine.control.pause_run(pausing(run))
    await at.engine.work.release_run(held(await found(at.engine, run)))


async def is_cancelled(at: Scene) -> None:
    pending, running = await at.run(1), await at.run(2)
    await at.engine.control.cancel_run(cancelling(pending))
    await claim_one(at.engine)
    await at.engine.control.cancel_run(cancelling(running))


async def is_expired(at: Scene) -> None:
    await at.run(timeout_for=HOUR)
    at.clock.advance(DAY)
    assert await expire_runs.tick(at.engine.parts, batch=10) == 1


async def is_too_late_when_claimed(at: Scene) -> None:
    await at.run(timeout_for=HOUR)
    at.clock.advance(HOUR)
    assert await at.engine.work.claim_runs(poll()) == []


async def is_retried(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.finish_run(finished(run, status=RunStatus.FAILED, output=None, failure=FAILURE))
    retried = await at.engine.control.retry_run(retrying(run.id))
    paused = await at.run(2)
    await at.engine.control.pause_run(pausing(paused))
    await at.engine.control.retry_run(retrying(paused))
    await claim_one(at.engine, 2, limit=1)
    assert retried.run_id != run.id


async def has_children(at: Scene) -> None:
    run = await at.running()
    await at.engine.work.suspend_run(parking(run, child_wait(run)))
    (child,) = (await children_of(at.engine.parts.store, run.id)).values()
    await at.watched(child)
    await at.engine.work.claim_runs(poll(9, served=LETTERS))
    row = await found(at.engine, child)
    await at.engine.work.finish_run(finished(row, parent=run.id))
    await claim_one(at.engine, 10)


async def is_a_graph(at: Scene) -> None:
    await at.graph(job("first"), job("second", "first"), job("third", "second"), job("last", always("third")))
    await end(at.engine, *(await claim_jobs(at.engine)).values())
    await end(at.engine, *(await claim_jobs(at.engine, 2)).values(), status=RunStatus.FAILED)
    await end(at.engine, *(await claim_jobs(at.engine, 3)).values())


async def is_a_graph_that_is_cancelled(at: Scene) -> None:
    graph = await at.graph(job("first"), job("second", "first"))
    await claim_jobs(at.engine)
    await at.engine.control.cancel_run(cancelling(graph))


async def is_a_graph_with_a_window(at: Scene) -> None:
    await at.graph(*children(3, max_parallel=1), group("parts"))
    claimed = await claim_jobs(at.engine)
    await add(at.engine, claimed.pop("parts"), job("one"), job("two", "one"))
    await end(at.engine, *claimed.values())
    await claim_jobs(at.engine, 2)


async def is_a_graph_that_is_paused(at: Scene) -> None:
    graph = await at.graph(job("first"), job("second", "first"))
    await at.engine.control.pause_run(pausing(graph))
    await at.engine.control.resume_run(resuming(graph))
    await claim_jobs(at.engine)


async def is_a_graph_that_is_retried(at: Scene) -> None:
    graph = await at.graph(job("first"), job("second", "first"))
    await end(at.engine, *(await claim_jobs(at.engine)).values(), status=RunStatus.FAILED)
    await at.engine.control.retry_run(retrying(graph))
    await end(at.engine, *(await claim_jobs(at.engine, 2)).values())


async def is_a_graph_that_grows_empty(at: Scene) -> None:
    await at.graph(group("parts"), job("last", of_group("parts")))
    await add(at.engine, (await claim_jobs(at.engine))["parts"])
    await end(at.engine, *(await claim_jobs(at.engine, 2)).values())


async def fire_slots(at: Scene, hours: int) -> list[Run]:
    """What a coordinator does about schedules, and nothing else."""
    for _ in range(hours):
        at.clock.advance(HOUR)
        await fire_schedules.tick(at.engine.parts, grace=Duration(HOUR), batch=100)
    return await runs_of(at.engine)


async def is_of_a_schedule(at: Scene) -> None:
    await put(at.engine, every=HOUR, overlap=Overlap.QUEUE)
    first, second = await fire_slots(at, 3)
    await at.watched(first.id)
    await at.watched(second.id)
    run = await claim_one(at.engine)
    await at.engine.work.finish_run(finished(run, schedule=run.schedule))
    assert (await found(at.engine, second.id)).status == "pending"


async def is_triggered(at: Scene) -> None:
    await put(at.engine, every=HOUR, overlap=Overlap.ALLOW)
    await at.engine.schedules.trigger_schedule(triggering())
    assert len(await fire_slots(at, 1)) == 2


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        *(is_finished, is_started_late, is_dispatched, is_put_to_sleep, is_sent_something, is_approved),
        *(is_tried_step_by_step, is_recovered, is_recovered_too_often, is_held, is_paused, is_cancelled),
        *(is_expired, is_too_late_when_claimed, is_retried, has_children, is_a_graph, is_a_graph_that_is_cancelled),
        *(is_a_graph_with_a_window, is_a_graph_that_is_paused, is_a_graph_that_is_retried),
        *(is_a_graph_that_grows_empty, is_of_a_schedule, is_triggered),
    )
}
