"""What if an action cannot be taken, causes itself, or comes at a time; and what if a row is broken by hand?"""

from __future__ import annotations

import pytest

from tests.conformance.given import FAILURE, NAMESPACE, claim_one, finished, start
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    coordinator,
    entered,
    fire,
    firings,
    log_of,
    move,
    new_item,
    on_any_item,
    on_item,
    on_run,
    on_workflow,
    seen,
    sends,
    standing,
    steer,
    tasks_of,
    watch,
)
from tests.conformance.hooks import Recorder, record
from tests.conformance.test_control import cancelling
from tests.integration.signals.conftest import blocked, opened_on
from windlass.engine.engine import Engine
from windlass.model.checkup import Grade
from windlass.model.commands import RetryRun
from windlass.model.run import RunStatus
from windlass.model.signal import (
    Action,
    ActionKind,
    Signal,
    Trigger,
    TriggerKind,
)
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.store.signal_rows import SignalValues
from windlass.testing.clock import FakeClock


def break_work(engine: Engine) -> Recorder:
    """From now on nothing that was fired can be worked, for a reason that nobody expects."""
    recorder = record(engine.parts.store)

    def refuse() -> None:
        if recorder.seen[-1][1] == "work_firings":
            raise ZeroDivisionError("the cable is cut")

    recorder.at["before_commit"] = refuse
    return recorder


# Actions that cannot be taken


@pytest.mark.spec("signals:27", "signals:36", "signals:50")
async def test_five_failed_attempts_pause_the_signal_and_a_resume_tries_again(engine: Engine, clock: FakeClock) -> None:
    signal = await blocked(engine)
    broken, delays = break_work(engine), []
    for _ in range(5):
        failed_at = clock.now()
        await fire(engine)
        (row,) = await firings(engine, signal)
        assert row.error == "the cable is cut"
        if row.available_at is not None:
            delays.append((row.available_at - failed_at) / SECOND)
            clock.advance(row.available_at - failed_at)

    assert [int(delay) for delay in delays] == [1, 2, 4, 8]
    assert all(delay <= 1.1 * 2**place for place, delay in enumerate(delays))
    assert (row.status, row.attempt, row.token, row.available_at) == ("failed", 5, 5, None)
    stands = await seen(engine, signal)
    assert (stands.status, stands.reason) == ("paused", "the cable is cut")
    assert (await log_of(engine, signal))[-1] == ("armed", "paused", "give_up")
    explained = await engine.signals.explain_signal(NAMESPACE, signal.id)
    assert "failed for good: the cable is cut" in explained.text
    del broken.at["before_commit"]
    await fire(engine)
    assert await standing(engine, signal) == ["failed"]
    await steer(engine, signal, "resume")
    await fire(engine)
    (row,) = await firings(engine, signal)
    assert (row.status, row.attempt, row.error) == ("done", 1, None)
    assert (await seen(engine, signal)).status == "fired"


async def test_a_failed_attempt_writes_nothing(engine: Engine, clock: FakeClock) -> None:
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    await move(engine, item, "blocked")
    broken = break_work(engine)

    await fire(engine)

    assert await tasks_of(engine, item) == ()
    assert await log_of(engine, signal) == [(None, "armed", "create")]
    assert (await seen(engine, signal)).fired == 0
    del broken.at["before_commit"]
    clock.advance(2 * SECOND)
    await fire(engine)
    assert len(await tasks_of(engine, item)) == 1


async def test_what_is_refused_for_good_fails_at_once(engine: Engine) -> None:
    run = (await engine.runs.start_run(start())).run_id
    signal = await blocked(engine, sends(run))
    await engine.control.cancel_run(cancelling(run))

    await coordinator(engine).tick()

    (row,) = await firings(engine, signal)
    assert (row.status, row.attempt) == ("failed", 1)
    assert "cancelled" in (row.error or "")
    assert (await seen(engine, signal)).status == "paused"


async def test_an_event_is_sent_to_a_run_that_waits_for_it(engine: Engine) -> None:
    run = (await engine.runs.start_run(start())).run_id
    signal = await blocked(engine, sends(run))

    await fire(engine)

    (message,) = await engine.runs.list_messages(NAMESPACE, run)
    (row,) = await firings(engine, signal)
    assert (message.name, message.id, row.run_id) == ("news", row.id, run)


# Chains


async def test_a_chain_that_feeds_itself_is_cut_after_ten(engine: Engine) -> None:
    again = Action(kind=ActionKind.START, workflow="invoice", queue="billing")
    signal = await watch(engine, on_workflow("invoice", "pending"), again, repeats=True)

    await engine.runs.start_run(start())
    for _ in range(12):
        await fire(engine)

    rows = await firings(engine, signal)
    assert [row.status.value for row in rows] == ["done"] * 10 + ["failed"]
    assert [row.depth for row in rows[:10]] == list(range(10))
    assert "a chain of 10 signals" in (rows[-1].error or "")
    stands = await seen(engine, signal)
    assert (stands.status, stands.fired) == ("paused", 10)


# Subjects of every kind


@pytest.mark.spec("signals:12")
async def test_every_run_of_a_workflow_is_followed_once(engine: Engine) -> None:
    signal = await watch(engine, on_workflow("invoice", "completed", "running"), STARTS)
    for number in (1, 2):
        await engine.runs.start_run(start(number))
        await engine.work.finish_run(finished(await claim_one(engine, number)))

    await fire(engine)

    assert await standing(engine, signal) == ["done", "superseded", "done", "superseded"]
    stands = await seen(engine, signal)
    assert (stands.status, stands.fired) == ("armed", 2)


async def test_a_run_that_is_tried_again_takes_its_signals_along(engine: Engine) -> None:
    await engine.runs.start_run(start())
    run = await claim_one(engine)
    signal = await watch(engine, on_run(run.id, "completed"), STARTS)
    await engine.work.finish_run(finished(run, status=RunStatus.FAILED, output=None, failure=FAILURE))

    retried = await engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=run.id))
    await engine.work.finish_run(finished(await claim_one(engine, 2)))
    await fire(engine)

    assert await entered(engine, signal) == [(retried.run_id, "completed")]
    assert await standing(engine, signal) == ["done"]


# Times


@pytest.mark.spec("signals:15")
async def test_a_point_in_time_comes_once_however_late_somebody_looks(engine: Engine, clock: FakeClock) -> None:
    at = Instant(clock.now() + HOUR)
    signal = await watch(engine, Trigger(kind=TriggerKind.TIME, at=at), STARTS)
    clock.advance(HOUR - 1)
    await fire(engine)
    assert await firings(engine, signal) == []

    clock.advance(30 * DAY)
    for _ in range(2):
        await fire(engine)

    (row,) = await firings(engine, signal)
    assert (row.status, row.happened_at, row.to_status) == ("done", at, "due")
    assert (await seen(engine, signal)).status == "fired"


@pytest.mark.spec("signals:15")
async def test_what_passed_while_nobody_looked_is_one_firing(engine: Engine, clock: FakeClock) -> None:
    began = clock.now()
    signal = await watch(engine, Trigger(kind=TriggerKind.TIME, every=Duration(HOUR)), STARTS, repeats=True)
    clock.advance(HOUR)
    await fire(engine)
    clock.advance(99 * HOUR + MINUTE)
    await fire(engine)
    clock.advance(HOUR)
    await fire(engine)

    times = [(row.happened_at - began) // HOUR for row in await firings(engine, signal)]
    assert times == [1, 2, 101]
    assert (await seen(engine, signal)).available_at == began + 102 * HOUR


async def test_a_time_that_is_paused_does_not_come(engine: Engine, clock: FakeClock) -> None:
    signal = await watch(engine, Trigger(kind=TriggerKind.TIME, every=Duration(HOUR)), STARTS, repeats=True)
    await steer(engine, signal, "pause")
    clock.advance(DAY)
    await fire(engine)
    assert await firings(engine, signal) == []

    await steer(engine, signal, "resume")
    clock.advance(HOUR)
    await fire(engine)

    assert await standing(engine, signal) == ["done"]


# Broken by hand


async def write(engine: Engine, signal: Signal, **columns: object) -> None:
    """What no command writes, in the row of a signal."""
    values = SignalValues(signal)
    values.__dict__.update(columns)
    await engine.parts.store.run_tx("write", lambda tx: tx.connection.batch("save_signals", [values]))


@pytest.mark.spec("signals:24", "signals:23")
async def test_a_row_that_is_broken_by_hand_stops_nobody_and_doctor_says_so(url: str, clock: FakeClock) -> None:
    opened = await opened_on(url, clock)
    engine = opened.engine
    signals = [await blocked(engine) for _ in range(3)]
    empty = await watch(engine, on_any_item("done"))
    await write(engine, empty, enters=",")
    minutely = Trigger(kind=TriggerKind.TIME, every=Duration(MINUTE))
    bad = [signals[1], await watch(engine, minutely), await watch(engine, on_any_item("blocked"))]
    for signal in bad:
        await write(engine, signal, action=b"no action at all")
    good = [await watch(engine, minutely), await watch(engine, on_any_item("blocked"))]

    for _ in range(5):
        clock.advance(MINUTE)
        await fire(engine)
    later = await blocked(engine)
    await fire(engine)

    for signal in (signals[0], signals[2], later, *good):
        assert await standing(engine, signal) == ["done"]
    for signal in bad:
        assert "done" not in await standing(engine, signal)
    checks = {check.name: check for check in (await opened.admin.check_up()).checks}
    assert checks["signals"].grade is Grade.FAILED
    found = " ".join(checks["signals"].details)
    assert f"{empty.id} waits for no state" in found
    for signal in bad:
        assert f"{signal.id} does what nobody can read" in found
    await opened.close()


@pytest.mark.spec("signals:13", "signals:23")
async def test_doctor_names_a_signal_that_waits_for_a_state_that_does_not_exist(url: str, clock: FakeClock) -> None:
    opened = await opened_on(url, clock)
    engine = opened.engine
    run_id = (await engine.runs.start_run(start())).run_id
    wrong = [
        (on_any_item("blocked"), ",bolcked,", "waits for a state that does not exist: 'bolcked'"),
        (on_any_item("done"), ",done,dnoe,", "waits for a state that does not exist: 'dnoe'"),
        (on_run(run_id, "failed"), ",blocked,", "waits for a state that does not exist: 'blocked'"),
        (on_workflow("invoice", "failed"), ",fialed,over,", "waits for states that do not exist: 'fialed', 'over'"),
    ]
    right, told = await watch(engine, on_any_item("blocked")), set()
    for trigger, enters, problem in wrong:
        signal = await watch(engine, trigger)
        await write(engine, signal, enters=enters)
        told.add(f"{signal.id} {problem}")

    checks = {check.name: check for check in (await opened.admin.check_up()).checks}

    assert checks["signals"].grade is Grade.FAILED
    assert checks["signals"].text == "4 signals cannot do what was asked: cancel, or delete, and create anew"
    assert set(checks["signals"].details) == told
    assert right.id not in " ".join(checks["signals"].details)
    await opened.close()
