"""What is tried again, how often and when, and what does a failed run say?"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from tests.integration.conftest import (
    Gate,
    OpenHarness,
    eventually,
    log_of,
    path_of,
    row_of,
    until_path,
    until_recorded,
)
from tests.programs import steps
from windlass import Context, Retry, RunFailed, StepError, StepFailed
from windlass.client.handle import Handle
from windlass.model.step import StepStatus
from windlass.testing.harness import Harness

SECOND = 1_000_000
STEADY = Retry(3, initial="10s", factor=1, max_delay="10s")


async def attempts_of(harness: Harness, handle: Handle[Any]) -> list[tuple[int, int, str]]:
    return [(step.attempt, step.failures, step.status.value) for step in await harness.steps(handle)]


@pytest.mark.spec("runs:G5", "runs:P2.4", "runs:P4.3", "runs:P4.4", "runs:P4.7", "runs:P4.9", "runs:P6.5", "runs:P2.13")
async def test_a_failed_step_is_tried_again_by_replaying_its_run_after_the_delay(harness: Harness) -> None:
    entered: list[str] = []

    def pack() -> str:
        entered.append("pack")
        return "packed"

    def ship() -> str:
        entered.append("ship")
        if entered.count("ship") < 3:
            raise ConnectionError("no truck")
        return "shipped"

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        entered.append("order")
        await ctx.step(pack)
        return await ctx.step(ship, retry=STEADY)

    handle = await harness.start(order)
    await harness.idle()
    for _ in range(2):
        run = await row_of(harness, handle)
        assert (run.status, run.worker) == ("pending", None)
        assert run.available_at is not None
        delay = run.available_at - harness.clock.now()
        assert 10 * SECOND <= delay <= 11 * SECOND
        before = len(entered)
        await harness.advance(delay - 1)
        assert len(entered) == before  # never before its time
        await harness.advance(1)

    assert await handle.result() == "shipped"
    assert entered == ["order", "pack", "ship", "order", "ship", "order", "ship"]
    steps = await harness.steps(handle)
    assert [(step.key, step.attempt, step.status) for step in steps] == [
        ("pack", 1, "completed"),
        ("ship", 1, "failed"),
        ("ship", 2, "failed"),
        ("ship", 3, "completed"),
    ]
    failure = steps[1].failure
    assert failure is not None and steps[1].finished_at is not None
    assert (failure.kind, failure.type, failure.message, failure.step) == (
        "transient",
        "ConnectionError",
        "no truck",
        "ship",
    )
    assert [entry.cause for entry in await log_of(harness, handle.id)][-5:-1] == ["step", "claim", "step", "claim"]


@pytest.mark.spec("runs:P4.5", "runs:P4.6", "invariants:I-16")
async def test_without_a_policy_a_step_is_tried_three_times(harness: Harness) -> None:
    entered: list[int] = []

    def fail() -> None:
        entered.append(harness.clock.now())
        raise ConnectionError(f"try {len(entered)}")

    order = harness.app.workflow(steps(fail))

    with pytest.raises(RunFailed) as failed:
        await harness.run(order)

    assert len(entered) == 3
    first, second = entered[1] - entered[0], entered[2] - entered[1]
    assert SECOND <= first <= 1.1 * SECOND and 2 * SECOND <= second <= 2.2 * SECOND
    assert (failed.value.message, failed.value.kind) == ("try 3", "transient")


async def test_a_failed_run_says_what_failed_and_where(harness: Harness) -> None:
    def charge() -> None:
        raise ValueError("card number is too short")

    order = harness.app.workflow(name="order")(steps(charge, retry=Retry(1)))
    handle = await harness.start(order)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    error = failed.value
    assert str(error) == f"Run {handle.id} ('order') failed: ValueError: card number is too short"
    assert (error.type, error.message, error.kind) == ("ValueError", "card number is too short", "transient")
    assert 'raise ValueError("card number is too short")' in error.traceback
    view = await harness.opened.runs.get_run("default", (await row_of(harness, handle)).id)
    assert view.failure is not None and view.failure.step == "charge"
    assert view.output is None
    assert (await path_of(harness, handle))[-2:] == ["running", "failed"]


async def test_a_failure_of_the_workflow_itself_is_final(harness: Harness) -> None:
    entered: list[str] = []

    @harness.app.workflow(retry=Retry(5))
    async def order(ctx: Context) -> None:
        entered.append("order")
        raise LookupError("no such order")

    handle = await harness.start(order)

    with pytest.raises(RunFailed, match="LookupError: no such order") as failed:
        await handle.result()
    assert failed.value.kind == "logic"
    assert entered == ["order"]
    assert (await row_of(harness, handle)).finished_at == harness.clock.now()


@pytest.mark.parametrize(
    ("error", "attempts", "kind"),
    [
        (TypeError("x"), 1, "logic"),
        (NameError("x"), 1, "logic"),
        (AttributeError("x"), 1, "logic"),
        (ImportError("x"), 1, "logic"),
        (NotImplementedError("x"), 1, "logic"),
        (AssertionError("x"), 1, "logic"),
        (ValueError("x"), 3, "transient"),
        (OSError("x"), 3, "transient"),
        (TimeoutError("x"), 3, "transient"),
        (Exception("x"), 3, "transient"),
        (StepError("x"), 3, "transient"),
        (StepError("x", kind="timeout"), 3, "timeout"),
        (StepError("x", kind="logic"), 1, "logic"),
        (StepError("x", kind="auth"), 1, "auth"),
        (StepError("x", kind="permission"), 1, "permission"),
        (StepError("x", kind="indeterminate"), 1, "indeterminate"),
        (StepError("x", kind="internal"), 1, "internal"),
    ],
    ids=lambda value: f"{type(value).__name__}-{value.kind}" if isinstance(value, StepError) else None,
)
async def test_the_kind_of_a_failure_decides_whether_it_is_tried_again(
    harness: Harness, error: Exception, attempts: int, kind: str
) -> None:
    entered: list[int] = []

    def fail() -> None:
        entered.append(1)
        raise error

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        try:
            await ctx.step(fail)
        except StepFailed as failed:
            return failed.kind
        return "completed"

    assert await harness.run(order) == kind
    assert len(entered) == attempts


async def test_a_kind_that_does_not_exist_is_a_logic_error_and_says_so(harness: Harness) -> None:
    def fail() -> None:
        raise StepError("x", kind="strange")

    order = harness.app.workflow(steps(fail))

    with pytest.raises(RunFailed, match="strange") as failed:
        await harness.run(order)
    assert failed.value.kind == "logic"


async def test_a_failure_may_say_when_to_try_again(harness: Harness) -> None:
    entered: list[int] = []

    def fetch() -> str:
        entered.append(harness.clock.now())
        if len(entered) < 3:
            raise StepError("rate limited", retry_after="7m" if len(entered) == 1 else 0)
        return "page"

    crawl = harness.app.workflow(steps(fetch))

    assert await harness.run(crawl) == "page"
    assert [at - entered[0] for at in entered] == [0, 420 * SECOND, 420 * SECOND]


async def test_exceptions_listed_in_never_are_final(harness: Harness) -> None:
    entered: list[str] = []

    def charge(card: str) -> None:
        entered.append(card)
        raise KeyError(card) if card == "known" else ConnectionError(card)

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        for card in ("known", "other"):
            try:
                await ctx.step(charge, card, retry=Retry(2, initial=0, never=(LookupError,)))
            except StepFailed:
                continue

    await harness.run(order)

    assert entered == ["known", "other", "other"]


async def test_never_of_the_workflows_policy_holds_for_its_steps(harness: Harness) -> None:
    entered: list[str] = []

    def charge() -> None:
        entered.append("charge")
        raise KeyError("card")

    order = harness.app.workflow(retry=Retry(4, initial=0, never=(LookupError,)))(steps(charge))

    with pytest.raises(RunFailed):
        await harness.run(order)

    assert entered == ["charge"]


async def test_the_app_may_classify_exceptions_itself(open_harness: OpenHarness) -> None:
    seen: list[BaseException] = []

    def classify(error: BaseException) -> str | None:
        seen.append(error)
        return {"TypeError": "transient", "OSError": "auth"}.get(type(error).__name__)

    harness = await open_harness(classify=classify)
    entered: list[str] = []

    def fail(kind: str) -> None:
        entered.append(kind)
        raise {"type": TypeError, "os": OSError, "value": ValueError}[kind]("x")

    @harness.app.workflow
    async def order(ctx: Context) -> list[str]:
        kinds = []
        for kind in ("type", "os", "value"):
            try:
                await ctx.step(fail, kind, retry=Retry(2))
            except StepFailed as error:
                kinds.append(error.kind)
        return kinds

    assert await harness.run(order) == ["transient", "auth", "transient"]
    assert entered == ["type", "type", "os", "value", "value"]
    assert {type(error) for error in seen} == {TypeError, OSError, ValueError}


@pytest.mark.parametrize("answer", ["strange", RuntimeError("classify is broken")])
async def test_a_broken_classify_is_a_logic_error(open_harness: OpenHarness, answer: Any) -> None:
    def classify(error: BaseException) -> str | None:
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    harness = await open_harness(classify=classify)

    def fail() -> None:
        raise OSError("x")

    order = harness.app.workflow(steps(fail))

    with pytest.raises(RunFailed, match="OSError could not be classified") as failed:
        await harness.run(order)
    assert failed.value.kind == "logic"


async def test_the_policy_of_a_call_beats_the_steps_and_that_beats_the_workflows(harness: Harness) -> None:
    entered: list[str] = []

    def fail(name: str) -> None:
        entered.append(name)
        raise ConnectionError(name)

    @harness.app.step(retry=Retry(4, initial=0))
    def declared(name: str) -> None:
        fail(name)

    @harness.app.workflow(retry=Retry(5, initial=0))
    async def order(ctx: Context) -> None:
        with contextlib.suppress(StepFailed):
            await ctx.step(fail, "workflow")
        with contextlib.suppress(StepFailed):
            await ctx.step(declared, "step")
        with contextlib.suppress(StepFailed):
            await ctx.step(declared, "call", retry=Retry(2, initial=0))

    await harness.run(order)

    assert [entered.count(name) for name in ("workflow", "step", "call")] == [5, 4, 2]


@pytest.mark.spec("invariants:I-03", "invariants:I-25")
async def test_only_failures_count_against_the_budget(idle_harness: Harness, gate: Gate) -> None:
    app, clock = idle_harness.app, idle_harness.clock
    attempts: list[str] = []

    async def flaky() -> str:
        attempts.append("entered")
        if len(attempts) <= 4:
            await gate.wait()  # a claim that runs out, then a worker that stops, twice each
        if len(attempts) <= 6:
            raise ConnectionError("busy")
        return "done"

    @app.workflow
    async def order(ctx: Context) -> str:
        await ctx.sleep("1h")
        await ctx.sleep("1h")
        return await ctx.step(flaky, retry=STEADY)

    handle = await app.start(order)
    async with app.worker():
        for times in (1, 2):
            await until_path(idle_harness, handle, "sleeping", times=times)
            clock.advance("1h")
        await gate.reached(1)
        clock.advance("301s")
        await gate.reached(2)
        clock.advance("301s")
        await gate.reached(3)
    async with app.worker():
        await gate.reached(4)
    async with app.worker():
        pending = (await path_of(idle_harness, handle)).count("pending")
        for times in (1, 2):
            await until_path(idle_harness, handle, "pending", times=pending + times)
            clock.advance("11s")
        assert await handle.result() == "done"

    assert len(attempts) == 7
    completed = [step for step in await idle_harness.steps(handle) if step.key == "flaky"][-1]
    assert (completed.status, completed.failures) == (StepStatus.COMPLETED, 2)


async def test_a_failure_that_is_caught_lets_the_run_complete(harness: Harness) -> None:
    def charge() -> None:
        raise StepError("declined", kind="permission", data={"code": 51})

    def refund(code: int) -> int:
        return code

    @harness.app.workflow
    async def order(ctx: Context) -> int:
        try:
            await ctx.step(charge)
        except StepFailed as error:
            return await ctx.step(refund, error.data["code"])
        return 0

    assert await harness.run(order) == 51


async def test_a_branch_that_waits_for_its_retry_does_not_hold_the_other_one_back(harness: Harness) -> None:
    entered: list[str] = []

    async def flaky() -> str:
        entered.append("flaky")
        if entered.count("flaky") == 1:
            raise ConnectionError("busy")
        return "flaky"

    async def steady(number: int) -> str:
        entered.append(f"steady {number}")
        return "steady"

    @harness.app.workflow
    async def both(ctx: Context) -> list[str]:
        async def branch() -> str:
            for number in range(5):
                await ctx.step(steady, number)
            return "steady"

        return list(await asyncio.gather(ctx.step(flaky, retry=STEADY), branch()))

    handle = await harness.start(both)
    await harness.idle()
    assert entered.count("flaky") == 1 and "steady 4" in entered
    assert (await row_of(harness, handle)).status == "pending"
    await harness.advance("11s")

    assert await handle.result() == ["flaky", "steady"]
    assert entered.count("flaky") == 2


async def test_a_retry_that_comes_due_beside_a_long_body_is_entered_without_a_new_claim(
    harness: Harness, gate: Gate
) -> None:
    entered: list[int] = []

    async def flaky() -> str:
        entered.append(harness.clock.now())
        if len(entered) == 1:
            raise ConnectionError("busy")
        return "done"

    @harness.app.workflow
    async def both(ctx: Context) -> str:
        _, result = await asyncio.gather(ctx.step(gate.wait), ctx.step(flaky, retry=STEADY))
        return result

    handle = await harness.start(both)
    await gate.reached()
    await until_recorded(harness, handle, "flaky")
    executions = [execution for worker in harness.app._workers for execution in worker.executions]
    await eventually(lambda: bool(executions[0].waits.timed), what="its worker knows when to try again")
    harness.clock.advance("12s")
    await eventually(lambda: len(entered) == 2, what="the retry is entered")
    gate.open()

    assert await handle.result() == "done"
    assert (await row_of(harness, handle)).attempts == 1
    assert entered[1] - entered[0] == 12 * SECOND


async def test_a_failed_run_is_over_for_good(harness: Harness) -> None:
    entered: list[str] = []

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        entered.append("order")
        raise LookupError("x")

    handle = await harness.start(order)
    with pytest.raises(RunFailed):
        await handle.result()
    before = await harness.opened.runs.get_run("default", (await row_of(harness, handle)).id)
    await harness.advance("30d")

    assert await harness.opened.runs.get_run("default", before.run.id) == before
    assert entered == ["order"]
