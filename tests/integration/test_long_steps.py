"""A body at work keeps its claim for as long as it needs, and no longer than it may."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from tests.integration.conftest import (
    FOR,
    ByHand,
    Gate,
    OpenHarness,
    eventually,
    log_of,
    row_of,
)
from tests.programs import nothing, steps
from windlass import Context, Retry, RunFailed, StepInfo, current_step
from windlass.client.handle import Handle
from windlass.model.claims import Renewal, RenewClaims
from windlass.model.commands import CancelRun
from windlass.model.run import RunId
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.settings import Settings
from windlass.store.base import NoHooks
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

TWENTY_MINUTES = 20 * MINUTE


class Transactions(NoHooks):
    """When each transaction of one name was committed."""

    def __init__(self, name: str, clock: FakeClock) -> None:
        self._name, self._clock = name, clock
        self.at: list[int] = []

    def after_commit(self, name: str) -> None:
        if name == self._name:
            self.at.append(self._clock.now())


@pytest.mark.spec("runs:G11", "invariants:I-20")
async def test_an_async_body_of_twenty_minutes_is_entered_once(harness: Harness) -> None:
    entered: list[StepInfo] = []

    async def train() -> str:
        entered.append(current_step())
        await harness.clock.sleep(TWENTY_MINUTES)
        return "trained"

    night = harness.app.workflow(steps(train))
    handle = await harness.start(night)
    await eventually(lambda: bool(entered))
    await harness.advance("20m")

    assert await handle.result() == "trained"
    assert len(entered) == 1
    assert entered[0].deadline is not None
    run = await row_of(harness, handle)
    assert (run.attempts, run.recoveries) == (1, 0)
    assert [entry.cause for entry in await log_of(harness, handle.id)] == ["start", "claim", "finish"]


@pytest.mark.spec("runs:G11", "invariants:I-20")
async def test_a_sync_body_of_twenty_minutes_is_entered_once(harness: Harness) -> None:
    entered: list[str] = []
    door = threading.Event()

    def convert() -> str:
        entered.append(current_step().key)
        door.wait(20)
        return "converted"

    night = harness.app.workflow(steps(convert))
    handle = await harness.start(night)
    await eventually(lambda: bool(entered))
    harness.clock.call_later(TWENTY_MINUTES, door.set)
    await harness.advance("20m")

    assert await handle.result() == "converted"
    assert entered == ["convert"]
    assert (await row_of(harness, handle)).recoveries == 0


@pytest.mark.spec("runs:G11")
async def test_a_job_of_twenty_minutes_is_entered_once(harness: Harness) -> None:
    entered: list[str] = []
    release = harness.app.graph("release")

    async def build() -> None:
        entered.append("build")
        await harness.clock.sleep(TWENTY_MINUTES)

    @release.job
    async def lint(ctx: Context) -> None: ...

    @release.job(needs=[lint])
    async def package(ctx: Context) -> None:
        await ctx.step(build)

    handle = await harness.app.start(release)
    await eventually(lambda: bool(entered))
    await harness.advance("20m")

    await handle.result()
    assert entered == ["build"]


@pytest.mark.spec("runs:G11")
async def test_a_timeout_alone_is_enough_and_is_kept(harness: Harness) -> None:
    entered: list[int] = []

    async def slow() -> None:
        entered.append(harness.clock.now())
        await asyncio.Event().wait()

    night = harness.app.workflow(steps(slow, timeout="10m", retry=Retry(2, initial="1s")))
    begun_at = harness.clock.now()
    handle = await harness.start(night)
    for attempt in range(2):
        await eventually(lambda attempt=attempt: len(entered) == attempt + 1)  # type: ignore[misc]
        await pass_time(harness, Duration(10 * MINUTE))
        if attempt == 0:
            await eventually_advancing(harness, lambda: len(entered) == 2)

    with pytest.raises(RunFailed, match="did not end within 10 min") as failed:
        await handle.result()
    assert failed.value.kind == "timeout"
    assert (entered[0], entered[1] >= begun_at + 10 * MINUTE) == (begun_at, True)
    assert (await row_of(harness, handle)).recoveries == 0
    assert await reason_of(harness, handle) == "too_long"


@pytest.mark.spec("runs:G11")
async def test_a_step_without_a_timeout_may_take_as_long_as_the_setting_says(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=Settings(longest_step_for=Duration(HOUR)))
    entered, stopped = list[str](), list[str]()

    async def endless() -> None:
        entered.append("endless")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("endless")

    night = harness.app.workflow(steps(endless, retry=Retry(1)))
    handle = await harness.start(night)
    await eventually(lambda: bool(entered))
    await pass_time(harness, Duration(HOUR - SECOND))
    assert not stopped
    await pass_time(harness, Duration(SECOND))

    with pytest.raises(RunFailed, match="did not end within 1 h"):
        await handle.result()
    assert (entered, stopped) == (["endless"], ["endless"])
    assert await reason_of(harness, handle) == "too_long"


@pytest.mark.spec("security:105")
@pytest.mark.parametrize("is_thread", [False, True], ids=["task", "thread"])
async def test_a_body_that_never_returns_fails_at_its_timeout_and_other_runs_go_on(
    harness: Harness, is_thread: bool
) -> None:
    entered, door = list[str](), threading.Event()

    async def hang() -> None:
        entered.append("hang")
        await asyncio.Event().wait()

    def hang_in_a_thread() -> None:
        entered.append("hang")
        door.wait(20)

    @harness.app.workflow
    async def stuck(ctx: Context) -> None:
        await ctx.step(hang_in_a_thread if is_thread else hang, name="hang", timeout="10m", retry=Retry(1))

    @harness.app.workflow
    async def healthy(ctx: Context) -> str:
        return await ctx.step(str.upper, "done")

    handle = await harness.start(stuck)
    await eventually(lambda: bool(entered))
    await pass_time(harness, Duration(9 * MINUTE))
    assert await (await harness.start(healthy)).result() == "DONE"
    assert (await handle.status()) == "running"
    await pass_time(harness, Duration(MINUTE))

    door.set()
    with pytest.raises(RunFailed, match="did not end within 10 min"):
        await handle.result()
    assert entered == ["hang"]


@pytest.mark.spec("invariants:I-20")
async def test_renewals_are_one_write_a_second_however_many_runs_there_are(
    open_harness: OpenHarness, clock: FakeClock, url: str
) -> None:
    renewals = Transactions("renew_claims", clock)
    harness = await open_harness(hooks=renewals, clock=clock, slots=30)
    entered: list[int] = []

    async def work(number: int) -> None:
        entered.append(number)
        await harness.clock.sleep(TWENTY_MINUTES)

    @harness.app.workflow
    async def night(ctx: Context, number: int) -> int:
        await ctx.step(work, number)
        return number

    handles = []
    for number in range(20):  # each claim ends at another moment
        handles.append(await harness.start(night, number))
        await eventually(lambda number=number: len(entered) == number + 1)  # type: ignore[misc]
        clock.advance("100ms")
    await pass_time(harness, Duration(TWENTY_MINUTES))

    assert [await handle.result() for handle in handles] == list(range(20))
    assert sorted(entered) == list(range(20))
    assert renewals.at
    assert all(later - earlier >= SECOND for earlier, later in zip(renewals.at, renewals.at[1:], strict=False))
    assert len(renewals.at) < 20 * 8  # a few for each half of a claim, and not one for each run


@pytest.mark.spec("runs:G11", "invariants:I-20", "security:105")
async def test_a_body_is_stopped_where_the_loop_gave_no_sign_of_life_for_a_whole_claim(
    harness: Harness, gate: Gate
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> int:
        await ctx.step(gate.wait)
        return gate.entries

    handle = await harness.start(order)
    await gate.reached()
    await pass_time(harness, Duration(10 * MINUTE))
    assert gate.cancelled == 0
    harness.clock.advance("300s")  # in one go: the loop saw nothing of it
    await gate.left()
    await eventually_advancing(harness, lambda: gate.entries == 2)
    gate.open()

    assert await handle.result() == 2


async def test_a_renewal_finds_out_that_the_run_was_cancelled(open_shared: OpenHarness, gate: Gate) -> None:
    harness, other = await open_shared(), await open_shared(has_worker=False)
    order = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(order)
    await gate.reached()
    await other.opened.control.cancel_run(CancelRun(namespace="default", run_id=RunId(handle.id)))
    await pass_time(harness, Duration(160 * SECOND))

    await gate.left()
    assert (await row_of(harness, handle)).status == "cancelled"


async def test_a_worker_that_lets_bodies_end_renews_until_they_have(open_harness: OpenHarness) -> None:
    harness = await open_harness(has_worker=False, settings=Settings(grace_for=Duration(HOUR)))
    entered: list[str] = []

    async def work() -> str:
        entered.append("work")
        await harness.clock.sleep(TWENTY_MINUTES)
        return "worked"

    order = harness.app.workflow(steps(work))
    worker = harness.app.worker()
    await worker.__aenter__()
    handle = await harness.app.start(order)
    await eventually(lambda: bool(entered))
    stopping = asyncio.ensure_future(worker.__aexit__(None, None, None))
    await pass_time(harness, Duration(TWENTY_MINUTES))
    await stopping

    run = await row_of(harness, handle)
    assert (run.recoveries, entered) == (0, ["work"])
    async with harness.app.worker():
        assert await handle.result() == "worked"
    assert entered == ["work"]


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_a_worker_that_dies_at_a_renewal_is_followed_by_another(harness: Harness, is_after: bool) -> None:
    entered: list[int] = []

    async def work() -> int:
        entered.append(current_step().attempt)
        await harness.clock.sleep(Duration(4 * MINUTE))
        return len(entered)

    order = harness.app.workflow(steps(work))
    handle = await harness.start(order)
    await eventually(lambda: bool(entered))
    door = harness._door
    assert door is not None
    real = door._fate.reach

    def reach(point: object) -> bool:
        found = real(point)  # type: ignore[arg-type]
        is_renewal = getattr(point, "write", "") == "renew_claims" and getattr(point, "is_after", None) is is_after
        return found or (is_renewal and len(entered) == 1)

    door._fate.reach = reach  # type: ignore[method-assign]
    await pass_time(harness, Duration(3 * MINUTE))
    await harness._settle_takeovers()
    await eventually(lambda: len(entered) == 2)
    await harness.advance("4m")

    assert await handle.result() == 2
    assert entered == [1, 2]
    assert (await row_of(harness, handle)).recoveries == 1


async def test_a_longer_visibility_is_how_long_a_holder_may_be_silent(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> int:
        await ctx.step(gate.wait, visibility="1h")
        return gate.entries

    handle = await harness.start(order)
    await gate.reached()
    await pass_time(harness, Duration(3 * HOUR))
    assert gate.cancelled == 0
    harness.clock.advance("29m")  # in one go, and less than an hour
    gate.open()

    assert await handle.result() == 1


@pytest.mark.spec("invariants:I-15")
async def test_a_loop_that_stands_still_again_and_again_is_no_crash_loop(open_harness: OpenHarness, gate: Gate) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=1))
    order = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(order)
    for times in range(1, 3):
        await eventually_advancing(harness, lambda times=times: gate.entries == times)  # type: ignore[misc]
        harness.clock.advance("20ms")
        await eventually_recorded(harness, handle)
        harness.clock.advance("300s")
    while not (await handle.status()).is_terminal:
        await pass_a_second(harness)

    with pytest.raises(RunFailed, match=r"Its claim ran out 2 times in a row.*no sign of life for 5 min") as failed:
        await handle.result()
    assert (failed.value.kind, failed.value.type) == ("timeout", "ClaimRanOut")
    assert await reason_of(harness, handle) == "claim_ran_out"


@pytest.mark.spec("invariants:I-15")
async def test_a_worker_that_dies_again_and_again_is_a_crash_loop(open_harness: OpenHarness, gate: Gate) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=1))
    order = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(order)
    for times in range(1, 3):
        await gate.reached(times)
        harness.clock.advance("20ms")
        await eventually_recorded(harness, handle)
        harness.crash()
        await harness._settle_takeovers()
        harness.clock.advance("1m")

    with pytest.raises(RunFailed, match="Its worker died or was cut off 2 times in a row") as failed:
        await handle.result()
    assert (failed.value.kind, failed.value.type) == ("crash_loop", "CrashLoop")
    assert await reason_of(harness, handle) == "worker_lost"


async def test_claims_of_others_are_not_renewed_with_ours(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    order = harness.app.workflow(name="order")(nothing)
    first, second = await harness.start(order), await harness.start(order)
    worker = ByHand(harness)
    claimed = await worker.claim()
    before = await row_of(harness, claimed[1].run_id)
    harness.clock.advance("60s")

    tokens = (claimed[0].token, claimed[1].token - 1)  # the second is that of an older claim
    runs = [Renewal(id=run.run_id, token=token, visibility_for=FOR) for run, token in zip(claimed, tokens, strict=True)]
    renewed = await worker.work.renew_claims(RenewClaims(namespace="default", runs=tuple(runs)))

    assert renewed.lost_runs == (claimed[1].run_id,)
    rows = {run.id: run for run in (await row_of(harness, first), await row_of(harness, second))}
    assert rows[claimed[0].run_id].available_at == harness.clock.now() + 300 * SECOND
    assert rows[claimed[1].run_id].available_at == before.available_at


async def pass_time(harness: Harness, left: int) -> None:
    """From timer to timer, so that each of them sees its own time."""
    while (delay := harness.clock.next_timer()) is not None and delay <= left:
        harness.clock.advance(delay)
        left -= delay
        await at_rest(harness)
    harness.clock.advance(left)
    await at_rest(harness)


async def at_rest(harness: Harness) -> None:
    for _ in range(5):
        await asyncio.sleep(0)
    await eventually(lambda: not any(worker.claims.is_renewing for worker in harness.app._workers))


async def eventually_advancing(harness: Harness, is_true: Callable[[], bool]) -> None:
    """A worker that was silent for so long may have to register anew, and pauses before it claims again."""
    while not is_true():
        await pass_a_second(harness)


async def pass_a_second(harness: Harness) -> None:
    harness.clock.advance("1s")
    await asyncio.sleep(0.01)


async def eventually_recorded(harness: Harness, handle: Handle[None]) -> None:
    async def is_recorded() -> bool:
        token = (await row_of(harness, handle)).token
        return any(step.token == token for step in await harness.steps(handle))

    recorded: Callable[[], Awaitable[bool]] = is_recorded
    await eventually(recorded)


async def reason_of(harness: Harness, handle: Handle[None]) -> str | None:
    view = await harness.opened.runs.get_run("default", RunId(handle.id))
    return None if view.failure is None else view.failure.reason


async def test_explain_names_a_body_that_takes_ten_times_the_median(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()
    naps = [Duration(MINUTE)] * 3

    async def train() -> None:
        if naps:
            return await harness.clock.sleep(naps.pop())
        await gate.wait()

    @harness.app.workflow
    async def night(ctx: Context, number: int) -> None:
        await ctx.step(train)

    for number in range(3):
        await harness.start(night, number)
    await eventually(lambda: not naps)
    await harness.advance("1m")
    handle = await harness.start(night, 4)
    await gate.reached()
    harness.clock.advance("20ms")
    await eventually_recorded(harness, handle)
    await heard(harness, 9 * MINUTE)
    early = await harness.opened.runs.explain_run("default", RunId(handle.id))
    await heard(harness, MINUTE + SECOND)
    found = await harness.opened.runs.explain_run("default", RunId(handle.id))
    attention = await harness.opened.pages.read_attention("default")
    gate.open()
    await handle.result()

    assert (early.code, found.code, found.step) == ("held", "long_step", "train")
    assert "Half of its last attempts ended within 1 min." in found.text
    assert found.text.endswith(f"If it hangs, end it: windlass cancel {handle.id}")
    assert [(item.run.id, item.step, item.typical_for) for item in attention.long_steps] == [
        (handle.id, "train", MINUTE)
    ]
    after = await harness.opened.pages.read_attention("default")
    assert after.long_steps == ()


async def test_a_body_without_a_history_is_named_after_an_hour(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()
    night = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(night)
    await gate.reached()
    harness.clock.advance("20ms")
    await eventually_recorded(harness, handle)
    await heard(harness, 59 * MINUTE)
    early = await harness.opened.runs.explain_run("default", RunId(handle.id))
    await heard(harness, 2 * MINUTE)
    found = await harness.opened.runs.explain_run("default", RunId(handle.id))
    gate.open()

    assert (early.code, found.code) == ("held", "long_step")
    assert "No earlier attempt of it is known to have ended." in found.text


async def heard(harness: Harness, left: int) -> None:
    """Let time pass with a worker that says at every step that it lives."""

    async def is_heard() -> bool:
        (worker,) = await harness.opened.runs.list_workers("default")
        return worker.seen_at == harness.clock.now() and not harness.app._workers[0].claims.is_renewing

    while left > 0:
        harness.clock.advance(min(left, 140 * SECOND))
        left -= 140 * SECOND
        await eventually(is_heard)
