"""The stories about steps that fail, sleep and branch, about code that changes, and about workers that vanish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import windlass
from tests.crash.stories_of_claims import declare_order
from tests.crash.telling import scenario, seen, slept
from tests.lives.crashes import VISIBILITY
from tests.lives.journal import Event
from tests.lives.life import Life
from windlass.errors import ClaimLost, StepError, StepFailed
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimedRun,
    CompleteStep,
    FinishRun,
    HoldRun,
    Suspend,
    WaitStep,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.time import SECOND, Duration

# --- failures ---------------------------------------------------------------------------------------------------------


def declare_failing(life: Life) -> None:
    async def flaky(name: str) -> str:
        with life.journal.body():
            if windlass.current_step().attempt < 3:
                raise ConnectionError("not now")
            return f"{name} in the end"

    async def hopeless(name: str) -> str:
        with life.journal.body():
            raise StepError(f"no {name}", kind="logic", data={"name": name})

    @life.app.workflow(name="patient")
    async def patient(ctx: windlass.Context, name: str) -> str:
        result: str = await seen(life, ctx, "flaky", ctx.step(flaky, name, retry=windlass.Retry(4, initial="2s")))
        return result

    @life.app.workflow(name="forgiving")
    async def forgiving(ctx: windlass.Context, name: str) -> str:
        try:
            await seen(life, ctx, "hopeless", ctx.step(hopeless, name))
        except StepFailed as error:
            await slept(life, ctx, "sleep", "3s")  # so that the failure is replayed
            return error.message
        return ""

    @life.app.workflow(name="strict")
    async def strict(ctx: windlass.Context, name: str) -> str:
        result: str = await seen(life, ctx, "hopeless", ctx.step(hopeless, name))
        return result

    life.memory.update(patient=patient, forgiving=forgiving, strict=strict)


@scenario(declare_failing, retry_limits={"flaky": 4})
async def failure_and_retry(life: Life) -> None:
    await life.hire()
    await life.settle()
    await life.start(life.memory["patient"], "salt")
    await life.settle()
    await life.advance("3s")
    await life.advance("5s")


@scenario(declare_failing)
async def final_failure(life: Life) -> None:
    await life.hire()
    await life.settle()
    await life.start(life.memory["forgiving"], "salt")
    await life.settle()
    await life.advance("4s")


@scenario(declare_failing)
async def failed_run(life: Life) -> None:
    await life.start(life.memory["strict"], "salt")
    await life.hire()
    await life.settle()


# --- sleeps and branches ----------------------------------------------------------------------------------------------


def declare_branches(life: Life) -> None:
    async def fetch(name: str) -> str:
        with life.journal.body():
            return name.upper()

    async def brew(name: str) -> str:
        with life.journal.body():
            await life.clock.sleep(5 * SECOND)
            return f"brewed {name}"

    @life.app.workflow(name="nap")
    async def nap(ctx: windlass.Context, name: str) -> str:
        await seen(life, ctx, "fetch", ctx.step(fetch, name))
        await slept(life, ctx, "sleep", "1h")
        result: str = await seen(life, ctx, "fetch#2", ctx.step(fetch, name + "!"))
        return result

    @life.app.workflow(name="both")
    async def both(ctx: windlass.Context, name: str) -> str:
        _, brewed = await asyncio.gather(
            slept(life, ctx, "sleep/1", "3s"), seen(life, ctx, "brew", ctx.step(brew, name))
        )
        return str(brewed)

    @life.app.workflow(name="many")
    async def many(ctx: windlass.Context, name: str) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(seen(life, ctx, f"fetch:{item}", ctx.step(fetch, item, key=item))) for item in "abc"
            ]
            group.create_task(slept(life, ctx, "sleep/4", "2s"))
        mapped = await ctx.map(fetch, [name + "1", name + "2", name + "3"], key=lambda item: item, limit=2)
        life.journal.write(Event.VALUE, run_id=ctx.run_id, what="mapped", value=mapped)
        return [*(task.result() for task in tasks), *mapped]

    life.memory.update(nap=nap, both=both, many=many)


@scenario(declare_branches)
async def sleep_and_wake(life: Life) -> None:
    await life.hire()
    await life.settle()
    await life.start(life.memory["nap"], "tea")
    await life.settle()
    await life.advance("1h")


@scenario(declare_branches)
async def sleep_beside_a_body(life: Life) -> None:
    """The body still works when the sleep is over, so the wait is written and the run is not parked."""
    await life.hire()
    await life.settle()
    await life.start(life.memory["both"], "tea")
    await life.settle()
    await life.advance("20ms")
    await life.advance("4s")
    await life.advance("2s")


@scenario(declare_branches)
async def branches_and_map(life: Life) -> None:
    await life.start(life.memory["many"], "tea")
    await life.hire()
    await life.settle()
    await life.advance("3s")


# --- code that changes ------------------------------------------------------------------------------------------------


def declare_changing(life: Life) -> None:
    async def weigh(name: str) -> int:
        with life.journal.body():
            return len(name)

    async def measure(name: str) -> int:
        with life.journal.body():
            return 2 * len(name)

    @life.app.workflow(name="changing")
    async def changing(ctx: windlass.Context, name: str) -> int:
        is_changed = life.memory.get("is_changed", False)
        if is_changed and name == "stone":
            return await ctx.step(measure, name)  # another step comes first
        # … or the same one with other input.
        weight: int = await seen(life, ctx, "weigh", ctx.step(weigh, name + "!" if is_changed else name))
        await slept(life, ctx, "sleep", "5s")
        return weight + int(await seen(life, ctx, "measure", ctx.step(measure, name)))

    life.memory["changing"] = changing


@scenario(declare_changing)
async def mismatch_and_resume(life: Life) -> None:
    await life.hire()
    await life.settle()
    await life.start(life.memory["changing"], "stone")
    await life.settle()
    await life.start(life.memory["changing"], "feather")
    await life.settle()
    life.memory["is_changed"] = True
    await life.advance("6s")
    assert [run.status for run in await life.open_runs()] == [RunStatus.PAUSED, RunStatus.PAUSED]
    life.memory["is_changed"] = False
    await life.resume_all()
    await life.settle()


# --- workers that vanish ----------------------------------------------------------------------------------------------


@scenario(declare_order)
async def recovered_run(life: Life) -> None:
    """A worker vanished with the run, so the next one has every start of a step on record before it enters the body."""
    await life.start(life.memory["order"], "book")
    await life.claim_as_ghost()
    await life.start(life.memory["quick"], "lamp")
    await life.hire()  # claims what is due, and leaves alone what is held
    await life.advance(VISIBILITY + SECOND)


@scenario(declare_order, max_recoveries=2)
async def crash_loop(life: Life) -> None:
    await life.start(life.memory["order"], "book")
    for _ in range(3):
        work, claimed = await life.claim_as_ghost()
        for run in claimed:
            await work.begin_step(beginning(run, attempt=len(life.ghosts)))
        await life.advance(VISIBILITY + SECOND)
    await life.hire()
    await life.settle()


@scenario(declare_order)
async def vanished_worker_that_comes_back(life: Life) -> None:
    """It finds its run taken: every kind of write under its old token is refused, before the run is over and after."""
    await life.start(life.memory["order"], "book")
    work, claimed = await life.claim_as_ghost()
    await life.advance(VISIBILITY + SECOND)
    _, again = await life.claim_as_ghost()
    for run in claimed:
        await write_everything(work, run)
    for run in again:
        await work.release_run(Claim(namespace="default", run_id=run.run_id, token=run.token))
    await life.hire()
    await life.settle()
    for run in claimed:
        await write_everything(work, run, is_over=True)


@scenario(declare_order)
async def holder_that_has_let_go(life: Life) -> None:
    """Nobody has claimed since, so its token is the newest; and still it may write nothing any more."""
    await life.start(life.memory["order"], "book")
    work, claimed = await life.claim_as_ghost()
    for run in claimed:
        await work.release_run(Claim(namespace="default", run_id=run.run_id, token=run.token))
        await write_everything(work, run)
    work, claimed = await life.claim_as_ghost()
    for run in claimed:
        holding: dict[str, Any] = {"namespace": "default", "run_id": run.run_id, "token": run.token}
        await work.finish_run(FinishRun(**holding, status=RunStatus.COMPLETED, output=b'"by hand"', result_hash=b"1"))
        await write_everything(work, run, is_over=True)


def beginning(run: ClaimedRun, *, attempt: int) -> BeginStep:
    return BeginStep(
        namespace="default",
        run_id=run.run_id,
        token=run.token,
        key="price",
        kind=StepKind.STEP,
        attempt=attempt,
        failures=0,
        input_hash=PRICE_HASH,
    )


PRICE_HASH = windlass.App("sqlite:///:memory:")._codec.encode_hashed(("book",))[1]


async def write_everything(work: Any, run: ClaimedRun, *, is_over: bool = False) -> None:
    """Every write a holder can make, or the worst ones on a run that is over. The journal says what came of each."""
    holding: dict[str, Any] = {"namespace": "default", "run_id": run.run_id, "token": run.token}
    failure = Failure(kind=FailureKind.LOGIC, type="Late", message="too late")
    wait = WaitStep(**holding, key="sleep", kind=StepKind.SLEEP, input_hash=b"", due_for=SECOND)
    complete = CompleteStep(
        **holding,
        key="price",
        kind=StepKind.STEP,
        attempt=1,
        order=0,
        failures=0,
        input_hash=PRICE_HASH,
        output=b"666",
        ran_for=Duration(0),
        renew_for=VISIBILITY,
    )
    finish = FinishRun(**holding, status=RunStatus.FAILED, failure=failure, result_hash=b"late")
    writes: tuple[Callable[[], Awaitable[Any]], ...] = (
        lambda: work.complete_step(complete),
        lambda: work.suspend_run(Suspend(**holding, waits=(wait,), park=True)),
        lambda: work.finish_run(finish),
        lambda: work.begin_step(beginning(run, attempt=1)),
        lambda: work.suspend_run(Suspend(**holding, waits=(wait,))),
        lambda: work.hold_run(HoldRun(**holding, reason=failure)),
        lambda: work.renew_claim(Claim(**holding, visibility_for=VISIBILITY)),
        lambda: work.release_run(Claim(**holding)),
    )
    for write in writes[:3] if is_over else writes:
        try:
            await write()
        except ClaimLost:
            continue
