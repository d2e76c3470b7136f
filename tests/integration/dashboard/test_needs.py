"""Is everything that waits for a person listed on the overview, with what can be done about it, and nothing else?"""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from textwrap import indent
from typing import Any

import httpx
import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    claim,
    claim_one,
    create,
    finish,
    finished,
    new_run,
    poll,
    start,
)
from tests.conformance.given_signals import fire, move, new_item, on_item, sends, steer, watch
from tests.conformance.test_control import cancelling, parking, wait_for
from tests.conformance.test_declarations import declaring
from tests.conformance.test_pipelines import prepared
from tests.conformance.test_schedules import go_on, putting, spoil
from tests.conformance.test_workers import registering
from tests.integration.dashboard.office import UI, Office, act, text_of
from tests.integration.pipelines.shop import Shop
from tests.lives.pipeline_hands import Hands, pipeline
from windlass.dashboard import first
from windlass.engine import pages
from windlass.engine.coordinator import expire_workers
from windlass.engine.engine import Engine
from windlass.model.commands import PauseRun, RetryRun, SetGate
from windlass.model.gate import GateKind
from windlass.model.page import ListRuns
from windlass.model.pipeline_work import Verdict
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.schedule import Overlap
from windlass.model.schedule_commands import PauseSchedule
from windlass.model.signal import Signal
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, MINUTE, SECOND
from windlass.rules.workers import LIVE_FOR
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

MANY = 1_100


class Desk:
    """An engine without a worker or a coordinator, and somebody who looks at its overview."""

    def __init__(self, harness: Harness, office: Office) -> None:
        self.harness, self.office, self.clock = harness, office, harness.clock
        self.engine: Engine = harness.opened.engine

    async def overview(self) -> httpx.Response:
        page = await (await self.office.signed_in()).get(UI)
        assert page.status_code == 200
        return page

    async def needs(self) -> dict[str, str]:
        return needs_of(await self.overview())


def needs_of(page: httpx.Response) -> dict[str, str]:
    """What is listed, by its id, as it stands on the page."""
    return dict(re.findall(r'<li class="card need[^"]*" id="need-([^"]*)">(.*?)</li>', page.text, re.DOTALL))


def words_of(need: str) -> str:
    return " ".join(unescape(re.sub(r"<details.*?</details>|<[^>]+>", " ", need, flags=re.DOTALL)).split())


def buttons_of(need: str) -> list[str]:
    return re.findall(r"<summary[^>]*>([^<]*)</summary>", need)


@asynccontextmanager
async def open_desk(clock: FakeClock) -> AsyncIterator[Desk]:
    async with Harness(clock=clock, has_worker=False) as harness:
        office = Office(harness.opened, clock)
        yield Desk(harness, office)
        await office.close()


@pytest.fixture
async def desk(clock: FakeClock) -> AsyncIterator[Desk]:
    async with open_desk(clock) as opened:
        yield opened


@pytest.fixture
def short_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were fifty times as much of everything."""
    monkeypatch.setattr(pages, "ATTENTION", 3)
    monkeypatch.setattr(pages, "ATTENTION_LOOKED_AT", 20)


# Failures


async def failing(desk: Desk, number: int = 1, **fields: Any) -> Run:
    """A run that has failed."""
    await desk.engine.runs.start_run(start(number, **fields))
    run = await claim_one(desk.engine, desk.clock.now() + number)
    await desk.engine.work.finish_run(finished(run, status=RunStatus.FAILED, output=None, failure=FAILURE))
    return run


async def failing_children(desk: Desk, count: int) -> None:
    """Runs of a parent that have failed, the newest of all."""
    store, parent = desk.engine.parts.store, RunId("run_" + "Z" * 26)
    ids = [RunId(f"run_7{number:025}") for number in range(count)]
    await create(store, *[new_run(id=id, parent=parent, parent_step=id) for id in ids])
    claimed = [row.run for row in await claim(store, limit=count)]
    assert len(claimed) == count
    await finish(store, *[finished(run, status=RunStatus.FAILED, output=None, failure=b"{}") for run in claimed])


async def test_a_failure_is_not_hidden_by_a_thousand_failed_children(desk: Desk) -> None:
    run = await failing(desk)
    await failing_children(desk, MANY)

    found = await desk.harness.opened.pages.read_attention(NAMESPACE)

    assert [item.run.id for item in found.failed] == [run.id]
    assert list(await desk.needs()) == [run.id]


async def test_a_failure_is_not_hidden_by_failures_that_were_tried_again(desk: Desk, short_sighted: None) -> None:
    run = await failing(desk)
    for number in range(2, 24):
        other = await failing(desk, number)
        await desk.engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=other.id))
        await desk.engine.control.cancel_run(cancelling((await newest(desk)).id))

    page = await desk.overview()

    assert run.id in needs_of(page) or "Not all are shown" in text_of(page)


async def newest(desk: Desk) -> Run:
    return (await desk.engine.runs.list_runs(ListRuns(namespace=NAMESPACE, limit=1))).runs[0]


async def test_a_failure_stays_for_a_week(desk: Desk) -> None:
    run = await failing(desk)
    desk.clock.advance(7 * DAY - 1)
    before = await desk.needs()
    desk.clock.advance(1)

    assert list(before) == [run.id]
    assert await desk.needs() == {}


async def test_a_run_that_took_its_workers_along_is_called_a_crash_loop(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())
    number = 1
    while await desk.engine.work.claim_runs(poll(number, worker=WorkerId(f"wrk_{number:026}"))):
        number += 1
        desk.clock.advance(VISIBLE_FOR)

    (need,) = [need for id, need in (await desk.needs()).items() if id.startswith("run_")]

    assert number == 12  # it was tried again ten times
    assert "Crash loop: every worker that executed it disappeared." in words_of(need)
    assert buttons_of(need) == ["Retry"]


# What people are asked


async def asking(desk: Desk, number: int) -> Run:
    """A run that waits for an approval."""
    await desk.engine.runs.start_run(start(number))
    run = await claim_one(desk.engine, desk.clock.now() + number)
    await desk.engine.work.suspend_run(parking(run, wait_for(run, StepKind.APPROVAL, awaits=f"Ship {number}?")))
    return run


@pytest.mark.parametrize("count", [7, 30, 90])
async def test_an_approval_is_found_behind_those_of_cancelled_runs(desk: Desk, short_sighted: None, count: int) -> None:
    run = await asking(desk, 0)
    for number in range(1, count + 1):
        await desk.engine.control.cancel_run(cancelling((await asking(desk, number)).id))

    needs = await desk.needs()

    assert list(needs) == [f"approval-{run.id}-approval"]
    assert "Waits for somebody to decide: Ship 0?" in words_of(needs[f"approval-{run.id}-approval"])


async def test_a_page_that_could_not_look_at_everything_does_not_say_that_all_is_well(
    desk: Desk, short_sighted: None
) -> None:
    await asking(desk, 0)
    for number in range(1, 3 * 2 + 20 * 5 + 2):
        await desk.engine.control.cancel_run(cancelling((await asking(desk, number)).id))

    page = await desk.overview()

    assert "Nothing needs attention" not in text_of(page)
    assert "Not all are shown" in text_of(page)


async def test_a_paused_run_that_asks_is_listed_once(desk: Desk) -> None:
    run = await asking(desk, 1)
    await desk.engine.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=run.id))

    needs = await desk.needs()

    assert list(needs) == [f"approval-{run.id}-approval"]
    assert buttons_of(needs[f"approval-{run.id}-approval"]) == ["Approve", "Reject", "Resume", "Cancel"]


async def test_a_run_that_somebody_paused_is_listed_with_what_lets_it_go_on(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())
    run = await newest(desk)
    await desk.engine.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=run.id))

    (need,) = (await desk.needs()).values()

    assert "Somebody paused it. It goes on when it is resumed." in words_of(need)
    assert buttons_of(need) == ["Resume", "Cancel"]


# Workers


async def test_a_worker_that_says_nothing_is_silent_then_lost_then_forgotten(desk: Desk) -> None:
    await desk.engine.work.register_worker(registering())
    live = await desk.needs()
    desk.clock.advance(LIVE_FOR + 1)
    silent = await desk.needs()
    await expire_workers.tick(desk.engine.parts, silent_for=LIVE_FOR, batch=10)
    lost = await desk.needs()
    desk.clock.advance(15 * MINUTE)
    still = await desk.needs()
    desk.clock.advance(1)

    assert live == {}
    assert [list(needs) for needs in (silent, lost, still)] == [[WORKER]] * 3
    assert "silent Worker on here, process 42" in words_of(silent[WORKER])
    assert "lost Worker on here, process 42" in words_of(lost[WORKER])
    assert "See workers" in lost[WORKER]
    assert await desk.needs() == {}


@pytest.mark.parametrize("after", [0, LIVE_FOR + 1])
async def test_a_worker_that_said_goodbye_is_not_missed(desk: Desk, after: int) -> None:
    await desk.engine.work.register_worker(registering())
    desk.clock.advance(after)
    await desk.engine.work.deregister_worker(NAMESPACE, WORKER)
    desk.clock.advance(SECOND)

    assert await desk.needs() == {}


async def test_a_worker_that_comes_back_is_not_missed(desk: Desk) -> None:
    await desk.engine.work.register_worker(registering())
    desk.clock.advance(LIVE_FOR + 1)
    await expire_workers.tick(desk.engine.parts, silent_for=LIVE_FOR, batch=10)
    await desk.engine.work.register_worker(registering())

    assert await desk.needs() == {}


# Schedules


async def test_a_schedule_that_nobody_fires_is_late(desk: Desk) -> None:
    await desk.engine.schedules.put_schedule(putting("nightly"))
    desk.clock.advance(HOUR + 10 * SECOND)
    on_time = await desk.needs()
    desk.clock.advance(1)

    (need,) = (await desk.needs()).values()

    assert on_time == {}
    assert "late Schedule nightly" in words_of(need)
    assert "and nobody fires it. A worker does: windlass worker MODULE:APP" in words_of(need)
    assert buttons_of(need) == ["Run now", "Pause"]


async def test_a_late_schedule_of_a_disabled_namespace_says_what_would_help(desk: Desk) -> None:
    await desk.engine.schedules.put_schedule(putting("nightly"))
    await desk.engine.namespaces.set_enabled(NAMESPACE, is_enabled=False)
    desk.clock.advance(2 * HOUR)

    (need,) = (await desk.needs()).values()

    assert f"Its namespace is disabled: windlass namespaces enable {NAMESPACE}" in words_of(need)


async def test_a_schedule_that_is_no_longer_declared_can_be_deleted(desk: Desk) -> None:
    await desk.engine.schedules.declare(declaring(putting("nightly"), putting("hourly")))
    await desk.engine.schedules.declare(declaring(putting("hourly")))
    browser = await desk.office.signed_in()

    (need,) = needs_of(await browser.get(UI)).values()
    done = await act(browser, f"{UI}/schedules/nightly/delete")

    assert "undeclared Schedule nightly" in words_of(need)
    assert "No longer declared in shop.app: declare it there again, or delete it" in words_of(need)
    assert "Delete" in buttons_of(need)
    assert done.headers["location"] == f"{UI}/schedules?done=deleted"
    assert await desk.needs() == {}


async def test_a_schedule_behind_one_of_its_runs_is_blocked(desk: Desk) -> None:
    await desk.engine.schedules.put_schedule(putting("nightly", overlap=Overlap.QUEUE))
    for _ in range(3):  # one is at work, one waits for it
        await go_on(desk.engine, desk.clock, HOUR)

    need = (await desk.needs())["schedule-nightly"]

    assert "blocked Schedule nightly" in words_of(need)
    assert "is not over, and one more waits for it already" in words_of(need)


async def test_a_schedule_whose_times_cannot_be_computed_is_broken(desk: Desk) -> None:
    await desk.engine.schedules.put_schedule(putting("nightly"))
    await spoil(desk.engine, "nightly", available_at=None, error="no such zone")

    need = (await desk.needs())["schedule-nightly"]

    assert "broken Schedule nightly" in words_of(need)
    assert "its times cannot be computed: no such zone" in words_of(need)


async def test_a_schedule_that_is_paused_needs_nobody(desk: Desk) -> None:
    await desk.engine.schedules.put_schedule(putting("nightly"))
    await desk.engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))
    desk.clock.advance(DAY)

    assert await desk.needs() == {}


# Signals


async def giving_up(desk: Desk) -> Signal:
    """A signal that was to send something to a run that is over."""
    run = (await desk.engine.runs.start_run(start())).run_id
    item = await new_item(desk.engine, state="doing")
    signal = await watch(desk.engine, on_item(item, "blocked"), sends(run))
    await move(desk.engine, item, "blocked")
    await desk.engine.control.cancel_run(cancelling(run))
    await fire(desk.engine)
    return signal


async def test_a_signal_that_gave_up_is_listed_with_its_reason(desk: Desk) -> None:
    signal = await giving_up(desk)
    browser = await desk.office.signed_in()

    (need,) = needs_of(await browser.get(UI)).values()
    done = await act(browser, f"{UI}/signals/{signal.id}/resume")

    assert "It is paused, because this failed:" in words_of(need)
    assert "cancelled" in words_of(need)
    assert buttons_of(need) == ["Resume", "Call off"]
    assert done.headers["location"] == f"{UI}/signals/{signal.id}?done=resumed"
    assert await desk.needs() == {}


async def test_a_signal_that_somebody_paused_needs_nobody(desk: Desk) -> None:
    signal = await watch(desk.engine, on_item(await new_item(desk.engine), "done"))
    await steer(desk.engine, signal, "pause")

    assert await desk.needs() == {}


# Queues


async def test_a_queue_that_nobody_serves_is_listed(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())

    (need,) = (await desk.needs()).values()

    assert "late Queue billing" in words_of(need)
    assert "1 run in queue 'billing' is due, and no live worker serves it." in words_of(need)
    assert "<code>windlass worker MODULE:APP --queue billing</code>" in need
    assert "See queues" in need


async def test_a_queue_that_falls_behind_is_listed_after_five_minutes(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())
    desk.clock.advance(5 * MINUTE)
    await desk.engine.work.register_worker(registering(served=SERVED))
    before = await desk.needs()
    desk.clock.advance(1)

    (need,) = (await desk.needs()).values()

    assert before == {}
    assert "late Queue billing" in words_of(need)
    assert "1 run is due for 5 min: its 10 slots do not keep up." in words_of(need)


async def test_a_queue_that_somebody_paused_is_not_late(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())
    await desk.engine.control.set_gate(
        SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=True)
    )
    desk.clock.advance(HOUR)

    assert await desk.needs() == {}


# Effects


async def in_doubt(desk: Desk, *names: str) -> None:
    """Pipelines of which each has an effect that may have happened."""
    hands = Hands(desk.engine, WORKER, *[pipeline(name) for name in names or ("payments",)])
    await hands.declare()
    await hands.publish("a")
    for _ in hands.specs:
        task = await prepared(hands)
        await hands.begin(task, has_reconcile=False)
        await hands.stop(task, verdict=Verdict.UNKNOWN)


ANSWERS = ["It happened", "It did not happen", "Skip it"]


async def test_a_pipeline_in_doubt_has_the_three_answers_on_the_overview(desk: Desk) -> None:
    await in_doubt(desk)

    needs = await desk.needs()

    assert list(needs) == ["pipeline-payments"]
    assert "Needs attention payments" in words_of(needs["pipeline-payments"])
    assert "windlass" not in words_of(needs["pipeline-payments"])
    assert buttons_of(needs["pipeline-payments"]) == ANSWERS


async def test_an_effect_of_a_run_in_doubt_has_the_three_answers(
    memory_harness: Harness, memory_office: Office
) -> None:
    shop = Shop(memory_harness, has_reconcile=False)
    shop.world.plan(charge=ConnectionError("reset"))
    handle = await shop.app.start(shop.buy, "a")
    await memory_harness.until(handle, "paused")
    browser = await memory_office.signed_in()

    needs = needs_of(await browser.get(UI))
    form = {"step": "charge", "owner": handle.id, "attempt": "1", "resolution": "skip"}
    done = await act(browser, f"{UI}/runs/{handle.id}/resolve", **form)

    (need,) = needs.values()  # once, and not as a paused run beside it
    assert "indeterminate charge" in words_of(need)
    assert "Nobody knows whether 'charge' happened. Find out, and say so." in words_of(need)
    assert buttons_of(need) == ANSWERS
    assert done.headers["location"] == f"{UI}/runs/{handle.id}?done=resolved"
    assert needs_of(await browser.get(UI)) == {}


# Where there is nothing


async def test_an_empty_database_says_how_to_begin(desk: Desk) -> None:
    page = await desk.overview()

    assert "Nothing has run here yet" in text_of(page)
    assert "@app.workflow" in page.text
    assert "windlass start MODULE:app hello you" in page.text


async def test_a_database_in_which_all_is_well_says_so(desk: Desk) -> None:
    await desk.engine.runs.start_run(start())
    await desk.engine.work.finish_run(finished(await claim_one(desk.engine)))

    page = await desk.overview()

    assert "Nothing needs attention" in text_of(page)
    assert "Nothing has run here yet" not in text_of(page)


@pytest.mark.parametrize("name", ["PROGRAM", "GRAPH", "SCHEDULE", "PIPELINE", "SIGNAL"])
def test_what_a_page_says_to_begin_with_compiles(name: str) -> None:
    text = getattr(first, name)

    assert ast.parse(f"async def body():\n{indent(text, '    ')}")


async def test_the_program_that_a_page_says_to_begin_with_runs(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    exec(first.PROGRAM.replace("App()", f"App({str(tmp_path / 'windlass.db')!r})"), found)
    async with Harness(app=found["app"]) as harness:
        assert await harness.run(found["hello"], "you") == "YOU"
