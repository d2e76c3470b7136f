"""Where more of a kind needs somebody than a page holds, does it say so, and lead to all of it?"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conformance.given import FAILURE, NAMESPACE, claim_one, holding, start
from tests.conformance.test_schedules import putting
from tests.conformance.test_workers import registering
from tests.integration.dashboard.office import UI, text_of
from tests.integration.dashboard.test_needs import Desk, asking, failing, giving_up, in_doubt, needs_of, open_desk
from windlass.model.commands import PauseRun
from windlass.model.pipeline_work import BeginEffect, FailEffect, Verdict
from windlass.model.run import WorkerId
from windlass.model.time import HOUR
from windlass.rules.workers import LIVE_FOR
from windlass.testing.clock import FakeClock


@pytest.fixture
async def desk(clock: FakeClock) -> AsyncIterator[Desk]:
    async with open_desk(clock) as opened:
        yield opened


async def doubting(desk: Desk, number: int) -> None:
    """A run that is paused because nobody knows whether an effect of it happened."""
    await desk.engine.runs.start_run(start(number))
    run = await claim_one(desk.engine, desk.clock.now() + number)
    named: dict[str, Any] = {"namespace": NAMESPACE, "run_id": run.id, "token": run.token, "step_key": "charge"}
    effect: dict[str, Any] = {"subject": run.id, "name": "charge", "params": b"[]", "has_reconcile": False}
    await desk.engine.work.begin_effect(BeginEffect(**named, **effect, idempotency_key=run.id))
    await desk.engine.work.fail_effect(FailEffect(**named, attempt=1, verdict=Verdict.UNKNOWN, failure=FAILURE))
    await desk.engine.work.hold_run(holding(run))


async def pause_many(desk: Desk, count: int) -> None:
    for number in range(count):
        started = await desk.engine.runs.start_run(start(number))
        await desk.engine.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=started.run_id))


async def fail_many(desk: Desk, count: int) -> None:
    for number in range(count):
        await failing(desk, number)


async def ask_many(desk: Desk, count: int) -> None:
    for number in range(count):
        await asking(desk, number)


async def give_up_many(desk: Desk, count: int) -> None:
    for _ in range(count):
        await giving_up(desk)


async def doubt_many(desk: Desk, count: int) -> None:
    for number in range(count):
        await doubting(desk, number)


async def stop_pipelines(desk: Desk, count: int) -> None:
    await in_doubt(desk, *[f"payments-{number}" for number in range(count)])


async def silence_many(desk: Desk, count: int) -> None:
    for number in range(count):
        await desk.engine.work.register_worker(registering(WorkerId(f"wrk_{number:026}")))
    desk.clock.advance(LIVE_FOR + 1)


async def be_late(desk: Desk, count: int) -> None:
    for number in range(count):
        await desk.engine.schedules.put_schedule(putting(f"nightly-{number}"))
    desk.clock.advance(2 * HOUR)


async def fill_queues(desk: Desk, count: int) -> None:
    for number in range(count):
        await desk.engine.runs.start_run(start(number, queue=f"billing-{number}"))


# What there is much of, and where all of it is listed.
MANY_OF = {
    "failed": (fail_many, "/runs?status=failed"),
    "paused": (pause_many, "/runs?status=paused"),
    "approvals": (ask_many, "/runs?status=waiting"),
    "signals": (give_up_many, "/signals"),
    "effects": (doubt_many, "/runs?status=paused"),
    "pipelines": (stop_pipelines, "/pipelines"),
    "workers": (silence_many, "/workers"),
    "schedules": (be_late, "/schedules"),
    "queues": (fill_queues, "/queues"),
}


@pytest.mark.parametrize("kind", MANY_OF)
async def test_twenty_of_a_kind_are_all_shown(desk: Desk, kind: str) -> None:
    await MANY_OF[kind][0](desk, 20)

    page = await desk.overview()

    assert len(needs_of(page)) == 20
    assert "Needs attention · 20 " in text_of(page)
    assert "Not all are shown" not in text_of(page)


@pytest.mark.parametrize("kind", MANY_OF)
async def test_of_more_than_twenty_it_is_said_that_there_are_more(desk: Desk, kind: str) -> None:
    make, listed = MANY_OF[kind]
    await make(desk, 21)

    page = await desk.overview()

    assert len(needs_of(page)) == 20
    assert "Needs attention · 20+" in text_of(page)
    (note,) = re.findall(r"Not all are shown\.(.*?)</p>", page.text, re.DOTALL)
    assert f'href="{UI}{listed}' in note
