"""The stories about schedules: made, changed, declared, fired, paused, triggered, deleted; and runs that take turns.

No coordinator beside the worker: what one does is a part of these stories.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import windlass
from tests.conformance.test_schedules import putting
from tests.crash.telling import Declare as DeclareApp
from tests.crash.telling import noted, scenario
from tests.lives.life import Drive, Life
from windlass.codec import Codec
from windlass.engine.coordinator import fire_schedules
from windlass.errors import NotFound
from windlass.model.schedule_commands import Declare, PutSchedule
from windlass.model.time import HOUR, MINUTE, SECOND, Duration

GRACE = Duration(10 * SECOND)
PROGRAM = "shop.app"


def story(declare: DeclareApp, **endings: str) -> Callable[[Drive], Drive]:
    return scenario(declare, is_told_again=True, settings={"coordinates": False}, endings=endings)


def declare_reports(life: Life) -> None:
    @life.app.workflow(name="report")
    async def report(ctx: windlass.Context, item: str) -> str:
        return str(noted(life, ctx, "time", str(ctx.scheduled_at)))

    life.memory.update(report=report)


async def once(life: Life, what: str, ask: Callable[[], Awaitable[Any]]) -> None:
    """Ask for something until it is answered, and not a second time in a later life."""

    async def answered() -> str:
        try:
            await ask()
        except NotFound:  # as asked for by a life that did not hear the answer
            return "gone"
        return "done"

    await life.client._ask("schedule", "", answered, key=what)


async def fire(life: Life, passed: int) -> None:
    """Let time pass, and a coordinator fire what is due."""
    await life.advance(passed)
    while (await fire_schedules.tick(life._opened.engine.parts, grace=GRACE, batch=100)).is_more:
        pass
    await life.settle()


@story(declare_reports, report="completed")
async def schedule_that_is_made_changed_and_deleted(life: Life) -> None:
    schedules, report = life.app.schedules, life.memory["report"]
    await life.hire(slots=1)
    await once(life, "make", lambda: schedules.create(report, "book", name="nightly", every="1h"))
    await fire(life, HOUR)
    await once(life, "change", lambda: schedules.create(report, "pen", name="nightly", every="7m", replace=True))
    await fire(life, 7 * MINUTE)
    await once(life, "delete", lambda: schedules.delete("nightly"))
    await fire(life, HOUR)


@story(declare_reports, report="completed")
async def schedules_that_a_program_declares(life: Life) -> None:
    def said(name: str, **fields: Any) -> PutSchedule:
        item = Codec().encode(("book",))
        return putting(name, **({"workflow": "report", "queue": "default", "input": item} | fields))

    async def say(what: str, *schedules: PutSchedule) -> None:
        command = Declare(namespace="default", program=PROGRAM, schedules=schedules, kept={})
        await once(life, what, lambda: life._opened.schedules.declare(command))

    await life.hire(slots=1)
    await say("first", said("nightly"), said("hourly"))
    await fire(life, HOUR)
    await say("changed", said("nightly", every=7 * MINUTE))  # the other one no more
    await fire(life, HOUR)
    await say("again", said("nightly", every=7 * MINUTE), said("hourly"))
    await fire(life, 7 * MINUTE)


@story(declare_reports, report="completed")
async def runs_of_a_schedule_that_take_turns(life: Life) -> None:
    create, report = life.app.schedules.create, life.memory["report"]
    options: dict[str, Any] = {"every": "1h", "overlap": "queue", "catch_up": "all"}
    await once(life, "make", lambda: create(report, "book", name="nightly", **options))
    for _ in range(3):  # admitted, queued, and not even that
        await fire(life, HOUR)
    await life.hire(slots=1)
    await fire(life, SECOND)


@story(declare_reports)
async def cancel_of_a_run_behind_which_another_waits(life: Life) -> None:
    create, report = life.app.schedules.create, life.memory["report"]
    await once(life, "make", lambda: create(report, "book", name="nightly", every="1h", overlap="queue"))
    for _ in range(3):
        await fire(life, HOUR)
    for run_id in sorted(run.id for run in await life.open_runs())[:1]:  # none in a life after the end of the story
        await life.client.cancel(life.app.handle(run_id), by="ann")
    await fire(life, SECOND)
    await once(life, "delete", lambda: life.app.schedules.delete("nightly"))  # with the one that is queued


@story(declare_reports, report="completed")
async def schedule_that_skips_and_is_paused_and_triggered(life: Life) -> None:
    schedules, report = life.app.schedules, life.memory["report"]

    async def trigger() -> None:
        await schedules.trigger("nightly", by="ann")

    await once(life, "make", lambda: schedules.create(report, "book", name="nightly", every="1h", overlap="skip"))
    for _ in range(2):
        await fire(life, HOUR)
    await once(life, "too early", trigger)
    await once(life, "pause", lambda: schedules.pause("nightly", by="ann"))
    await life.hire(slots=1)
    await life.settle()
    await fire(life, 2 * HOUR)
    await once(life, "trigger", trigger)
    await life.settle()  # else it may be over by the next slot, or not
    await once(life, "resume", lambda: schedules.resume("nightly", by="bob", backfill=True))
    await fire(life, SECOND)
