"""Who may have a run, from when until when, and what may the holder of an old token still write?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import apsw
import asyncpg
import msgspec
import pytest

from tests.integration.conftest import (
    BROKEN,
    FOR,
    HASH,
    ByHand,
    OpenHarness,
    eventually,
    log_of,
    row_of,
    waits_for_work,
)
from windlass import ClaimLost, Context, NotFound
from windlass.client.handle import Handle
from windlass.model.commands import (
    BeginStep,
    ClaimedRun,
    Heartbeat,
    HoldRun,
    RegisterWorker,
)
from windlass.model.namespace import CreateNamespace
from windlass.model.run import RunId, RunStatus
from windlass.model.step import StepKind
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.store.base import NoHooks
from windlass.store.migrate import SCHEMA
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


async def start(harness: Harness, *args: Any, **options: Any) -> Handle[Any]:
    return await harness.start(harness.app._registry.find_workflow("order").function, *args, **options)


@pytest.fixture
async def shop(open_harness: OpenHarness) -> Harness:
    """An app that knows the workflow "order" and has no worker."""
    harness = await open_harness(has_worker=False)

    @harness.app.workflow
    async def order(ctx: Context, number: int = 0) -> int:
        return number

    return harness


@pytest.mark.spec("runs:P2.1", "runs:V3")
async def test_a_new_run_is_available_at_once(shop: Harness) -> None:
    handle = await start(shop)

    run = await row_of(shop, handle)
    assert (run.status, run.available_at, run.created_at) == ("pending", shop.clock.now(), shop.clock.now())
    assert (run.token, run.attempts, run.worker, run.started_at) == (0, 0, None, None)


@pytest.mark.spec("runs:P2.2", "runs:P2.10", "invariants:I-15")
async def test_a_claim_sets_everything_a_claim_is_made_of(shop: Harness) -> None:
    handle = await start(shop, 7, key="order-7")
    worker = ByHand(shop)
    shop.clock.advance("5s")
    first_at = shop.clock.now()

    claimed = await worker.claim_one()

    run = await row_of(shop, handle)
    assert (run.status, run.worker, run.poll, run.available_at) == ("running", worker.id, 1, first_at + FOR)
    assert (run.token, run.attempts, run.recoveries, run.started_at) == (1, 1, 0, first_at)
    assert (claimed.run_id, claimed.token, claimed.key, claimed.history) == (handle.id, 1, "order-7", ())
    assert shop.app._codec.decode(claimed.input) == (7,)
    await worker.work.complete_step(worker.completion(claimed))
    await worker.work.release_run(worker.claim_of(claimed))
    shop.clock.advance("5s")

    again = await worker.claim_one()

    run = await row_of(shop, handle)
    assert (run.token, run.attempts, run.started_at) == (2, 2, first_at)  # the first start stays
    assert [(record.key, record.output) for record in again.history] == [("pack", b"1")]
    assert again.input == claimed.input


@pytest.mark.spec("runs:G2", "runs:G3")
async def test_available_at_alone_decides_from_when_a_run_may_be_claimed(shop: Harness) -> None:
    worker = ByHand(shop)

    async def nothing_until(due_in: int) -> ClaimedRun:
        shop.clock.advance(due_in - 1)
        assert await worker.claim() == []
        shop.clock.advance(1)
        return await worker.claim_one()

    await start(shop, delay="1m")  # pending
    claimed = await nothing_until(MINUTE)
    claimed = await nothing_until(FOR)  # running: a claim nobody released
    await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),), park=True))
    claimed = await nothing_until(MINUTE)  # sleeping
    await worker.work.complete_step(worker.completion(claimed, "sleep", kind=StepKind.SLEEP))
    await worker.work.suspend_run(worker.suspension(claimed, failures=(worker.failing(claimed),), park=True))
    due_at = (await row_of(shop, claimed.run_id)).available_at
    assert due_at is not None and due_at >= shop.clock.now() + MINUTE
    claimed = await nothing_until(due_at - shop.clock.now())  # pending, for a retry
    assert claimed.token == 4


@pytest.mark.spec("runs:G2", "runs:P2.5", "runs:P2.7", "runs:P4.1")
async def test_no_other_column_says_when_a_run_or_a_step_may_go_on(open_shared: OpenHarness, shared_url: str) -> None:
    await open_shared(has_worker=False)

    if shared_url.startswith("sqlite"):
        database = apsw.Connection(shared_url.removeprefix("sqlite:///"))
        listing = "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'"
        columns = {(str(table), str(column)) for table, column in database.execute(listing)}
        database.close()
    else:
        connection = await asyncpg.connect(shared_url, ssl=False)
        listing = "select table_name, column_name from information_schema.columns where table_schema = $1"
        columns = {(row[0], row[1]) for row in await connection.fetch(listing, SCHEMA)}
        await connection.close()

    assert ("runs", "available_at") in columns
    former = {"wake_up_at", "locked_until", "retry_at", "deadline_at"}
    assert {column for _, column in columns} & former == set()


@pytest.mark.spec("invariants:I-10")
async def test_every_change_of_status_is_one_row_of_the_log(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()
    await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),), park=True))
    shop.clock.advance(MINUTE)
    claimed = await worker.claim_one()
    await worker.work.complete_step(worker.completion(claimed, "sleep", kind=StepKind.SLEEP))
    await worker.work.suspend_run(worker.suspension(claimed, failures=(worker.failing(claimed),), park=True))
    shop.clock.advance(2 * MINUTE)
    claimed = await worker.claim_one()
    shop.clock.advance(FOR)
    claimed = await worker.claim_one()
    await worker.work.release_run(worker.claim_of(claimed))
    claimed = await worker.claim_one()
    await worker.work.hold_run(HoldRun(namespace="default", run_id=claimed.run_id, token=claimed.token, reason=BROKEN))
    await handle.resume()
    claimed = await worker.claim_one()
    await worker.work.finish_run(worker.finish(claimed))

    log = await log_of(shop, handle.id)
    assert [(entry.from_status, entry.to_status, entry.cause) for entry in log] == [
        (None, "pending", "start"),
        ("pending", "running", "claim"),
        ("running", "sleeping", "sleep"),
        ("sleeping", "running", "claim"),
        ("running", "pending", "step"),
        ("pending", "running", "claim"),
        ("running", "running", "recover"),
        ("running", "pending", "release"),
        ("pending", "running", "claim"),
        ("running", "paused", "mismatch"),
        ("paused", "pending", "resume"),
        ("pending", "running", "claim"),
        ("running", "completed", "finish"),
    ]
    assert [entry.seq for entry in log] == sorted({entry.seq for entry in log})
    assert [entry.at for entry in log] == sorted(entry.at for entry in log)
    run = await row_of(shop, handle)
    assert (run.status, run.available_at, run.finished_at) == ("completed", None, shop.clock.now())


@pytest.mark.spec("runs:P2.3", "runs:P2.12")
async def test_parking_puts_a_run_to_sleep_and_releases_its_claim(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()

    parked = await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),), park=True))

    run = await row_of(shop, handle)
    assert parked.is_parked
    assert (run.status, run.available_at, run.worker) == ("sleeping", shop.clock.now() + MINUTE, None)
    with pytest.raises(ClaimLost):
        await worker.work.suspend_run(worker.suspension(claimed, park=True))
    assert await row_of(shop, handle) == run


@pytest.mark.spec("runs:P2.4", "runs:P2.13")
async def test_a_retry_puts_a_run_back_and_releases_its_claim(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()

    await worker.work.suspend_run(worker.suspension(claimed, failures=(worker.failing(claimed),), park=True))

    run = await row_of(shop, handle)
    assert (run.status, run.worker) == ("pending", None)
    assert run.available_at is not None
    assert MINUTE <= run.available_at - shop.clock.now() <= 1.1 * MINUTE
    (step,) = await shop.steps(handle)
    assert (step.status, step.due_at) == ("failed", run.available_at)


async def test_a_run_parks_at_the_earliest_of_its_waits(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()
    # A wait recorded earlier, while a body was still at work, counts too.
    early = msgspec.structs.replace(worker.waiting(claimed, Duration(10 * SECOND)), key="sleep/1")
    await worker.work.suspend_run(worker.suspension(claimed, waits=(early,)))
    assert (await row_of(shop, handle)).status == "running"

    await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),), park=True))

    assert (await row_of(shop, handle)).available_at == shop.clock.now() + 10 * SECOND


@pytest.mark.spec("invariants:I-07", "invariants:I-57")
async def test_a_wait_that_is_told_twice_keeps_its_first_due_time(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()
    first = await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),)))
    due_at = shop.clock.now() + MINUTE
    shop.clock.advance("10s")

    await worker.work.suspend_run(worker.suspension(claimed, waits=(worker.waiting(claimed),), park=True))

    assert [verdict.due_in for verdict in first.verdicts] == [MINUTE]
    (step,) = await shop.steps(handle)
    assert step.due_at == due_at
    assert (await row_of(shop, handle)).available_at == due_at


@pytest.mark.spec("invariants:I-25")
async def test_a_release_makes_a_run_claimable_at_once_and_costs_nothing(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)

    for _ in range(20):  # more often than the cap of recoveries
        claimed = await worker.claim_one()
        await worker.work.release_run(worker.claim_of(claimed))

    run = await row_of(shop, handle)
    assert (run.status, run.available_at, run.worker) == ("pending", shop.clock.now(), None)
    assert (run.attempts, run.recoveries) == (20, 0)
    assert await shop.steps(handle) == ()


@pytest.mark.spec("runs:G4", "runs:P3.1", "invariants:I-20")
async def test_a_heartbeat_touches_no_run(shop: Harness) -> None:
    handles = [await start(shop, number) for number in range(3)]
    worker = ByHand(shop)
    registration = RegisterWorker(namespace="default", id=worker.id, host="here", pid=1, served=(), slots=5)
    await worker.work.register_worker(registration)
    await worker.claim(limit=2)
    before = [await row_of(shop, handle) for handle in handles]

    for number in range(3):
        shop.clock.advance("99s")
        beat = Heartbeat(namespace="default", id=worker.id, active=5, completed=number, failed=1)
        await worker.work.heartbeat(beat)

    assert [await row_of(shop, handle) for handle in handles] == before
    (row,) = await shop.opened.runs.list_workers("default")
    assert (row.seen_at, row.active, row.completed, row.failed) == (shop.clock.now(), 2, 2, 1)
    shop.clock.advance("3s")
    assert len(await ByHand(shop, "B").claim()) == 3  # the claims ran out all the same


@pytest.mark.spec("runs:P3.2")
async def test_a_heartbeat_of_a_worker_that_is_unknown_or_gone_is_not_found(shop: Harness) -> None:
    worker = ByHand(shop)
    beat = Heartbeat(namespace="default", id=worker.id, active=0, completed=0, failed=0)

    with pytest.raises(NotFound):
        await worker.work.heartbeat(beat)
    registration = RegisterWorker(namespace="default", id=worker.id, host="here", pid=1, served=(), slots=5)
    await worker.work.register_worker(registration)
    await worker.work.heartbeat(beat)
    await worker.work.deregister_worker("default", worker.id)
    with pytest.raises(NotFound):
        await worker.work.heartbeat(beat)


Write = Callable[[ByHand, ClaimedRun], Awaitable[Any]]
WRITES: dict[str, Write] = {
    "begin": lambda by, run: by.work.begin_step(
        BeginStep(
            namespace="default",
            run_id=run.run_id,
            token=run.token,
            key="pack",
            kind=StepKind.STEP,
            attempt=1,
            failures=0,
            input_hash=HASH,
        )
    ),
    "complete": lambda by, run: by.work.complete_step(by.completion(run)),
    "complete and renew": lambda by, run: by.work.complete_step(by.completion(run, renew_for=FOR)),
    "complete what the other has completed": lambda by, run: by.work.complete_step(by.completion(run, "ship")),
    "fail": lambda by, run: by.work.suspend_run(by.suspension(run, failures=(by.failing(run),))),
    "wait": lambda by, run: by.work.suspend_run(by.suspension(run, waits=(by.waiting(run),))),
    "park": lambda by, run: by.work.suspend_run(by.suspension(run, waits=(by.waiting(run),), park=True)),
    "finish": lambda by, run: by.work.finish_run(by.finish(run)),
    "finish as failed": lambda by, run: by.work.finish_run(by.finish(run, RunStatus.FAILED)),
    "hold": lambda by, run: by.work.hold_run(
        HoldRun(namespace="default", run_id=run.run_id, token=run.token, reason=BROKEN)
    ),
    "release": lambda by, run: by.work.release_run(by.claim_of(run)),
    "renew": lambda by, run: by.work.renew_claim(by.claim_of(run)),
}


async def everything_about(harness: Harness, run_id: RunId) -> tuple[Any, ...]:
    view = await harness.opened.runs.get_run("default", run_id)
    return view, await harness.opened.runs.list_steps("default", run_id), await log_of(harness, run_id)


@pytest.mark.spec("runs:V5", "invariants:I-17", "invariants:I-18", "runs:P2.12", "runs:P2.13")
@pytest.mark.parametrize("write", WRITES)
async def test_the_holder_of_an_old_token_changes_nothing(shop: Harness, write: str) -> None:
    await start(shop)
    old, new = ByHand(shop, "A"), ByHand(shop, "B")
    stale = await old.claim_one()
    shop.clock.advance(FOR)
    current = await new.claim_one()
    assert current.token > stale.token
    await new.work.complete_step(new.completion(current, "ship"))
    before = await everything_about(shop, current.run_id)

    with pytest.raises(ClaimLost):
        await WRITES[write](old, stale)

    assert await everything_about(shop, current.run_id) == before
    await new.work.finish_run(new.finish(current))


@pytest.mark.spec("invariants:I-09", "invariants:I-18")
@pytest.mark.parametrize("write", [name for name in WRITES if name != "finish"])
async def test_nothing_is_written_to_a_run_that_is_over(shop: Harness, write: str) -> None:
    await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()
    await worker.work.finish_run(worker.finish(claimed))
    before = await everything_about(shop, claimed.run_id)

    with pytest.raises(ClaimLost):
        await WRITES[write](worker, claimed)

    assert await everything_about(shop, claimed.run_id) == before


@pytest.mark.spec("invariants:I-57")
async def test_the_same_report_twice_is_one_report(shop: Harness) -> None:
    await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()

    first = await worker.work.complete_step(worker.completion(claimed))
    before = await everything_about(shop, claimed.run_id)
    assert await worker.work.complete_step(worker.completion(claimed)) == first
    assert await everything_about(shop, claimed.run_id) == before
    with pytest.raises(ClaimLost):  # another result for it is no repeat
        await worker.work.complete_step(worker.completion(claimed, output=b"2"))
    await worker.work.finish_run(worker.finish(claimed))
    before = await everything_about(shop, claimed.run_id)
    await worker.work.finish_run(worker.finish(claimed))
    assert await everything_about(shop, claimed.run_id) == before


@pytest.mark.spec("invariants:I-20", "runs:G11")
async def test_only_the_holders_commits_renew_and_never_backwards(shop: Harness) -> None:
    handle = await start(shop)
    worker = ByHand(shop)
    claimed = await worker.claim_one()
    until = shop.clock.now() + FOR

    shop.clock.advance("100s")
    await worker.work.complete_step(worker.completion(claimed))
    assert (await row_of(shop, handle)).available_at == until  # a completion alone leaves the run row alone
    await worker.work.renew_claim(worker.claim_of(claimed, Duration(10 * SECOND)))
    assert (await row_of(shop, handle)).available_at == until  # never back
    await worker.work.complete_step(worker.completion(claimed, "ship", renew_for=FOR))
    assert (await row_of(shop, handle)).available_at == shop.clock.now() + FOR
    shop.clock.advance("1s")
    await worker.work.renew_claim(worker.claim_of(claimed))
    assert (await row_of(shop, handle)).available_at == shop.clock.now() + FOR


@pytest.mark.spec("runs:P2.9", "invariants:I-23")
async def test_the_most_urgent_go_first_and_among_equals_the_oldest(shop: Harness) -> None:
    expected: list[tuple[int, int, str]] = []
    for number, priority in enumerate([0, 5, -10, 5, 10, 0, -10, 10]):
        handle = await start(shop, number, priority=priority)
        expected.append((-priority, number, handle.id))
        shop.clock.advance(1)
    worker = ByHand(shop)

    claimed: list[str] = []
    while batch := await worker.claim(limit=3):
        claimed += [run.run_id for run in batch]

    assert claimed == [run_id for _, _, run_id in sorted(expected)]


@pytest.mark.spec("runs:P2.9")
async def test_a_claim_takes_only_what_is_served_and_no_more_than_asked(shop: Harness) -> None:
    @shop.app.workflow
    async def invoice(ctx: Context) -> None: ...

    @shop.app.workflow(name="pinned", version="2")
    async def pinned(ctx: Context) -> None: ...

    for queue in ("default", "slow", "other"):
        await start(shop, queue=queue)
        await shop.start(invoice, queue=queue)
    await shop.start(pinned)
    worker = ByHand(shop)

    assert len(await worker.claim(limit=1, queues=("default", "slow"))) == 1
    rest = await worker.claim(queues=("default", "slow"))
    assert len(rest) == 1
    assert {(run.queue, run.name) for run in rest} <= {("default", "order"), ("slow", "order")}
    assert await worker.claim(queues=("default", "slow")) == []
    assert await worker.claim(names=("pinned",)) == []  # another version is another thing
    assert len(await worker.claim(queues=("default", "slow", "other"), names=("order", "invoice"))) == 4


@pytest.mark.spec("runs:P2.9")
async def test_another_namespace_is_another_world(shop: Harness) -> None:
    await start(shop)
    await shop.opened.namespaces.create_namespace(CreateNamespace(name="elsewhere"))

    assert await ByHand(shop, namespace="elsewhere").claim() == []
    assert len(await ByHand(shop, "B").claim()) == 1


@pytest.mark.spec("runs:G9", "runs:P2.9", "invariants:I-17")
async def test_many_claimers_at_once_never_get_the_same_run(shop: Harness) -> None:
    handles = await asyncio.gather(*(start(shop, number) for number in range(200)))

    async def claim_all(worker: ByHand) -> list[str]:
        found: list[str] = []
        while batch := await worker.claim(limit=7):
            found += [run.run_id for run in batch]
        return found

    claimed = await asyncio.gather(*(claim_all(ByHand(shop, str(number))) for number in range(8)))

    assert sorted(run_id for batch in claimed for run_id in batch) == sorted(handle.id for handle in handles)


@pytest.mark.spec("runs:G9", "invariants:I-17")
async def test_claimers_of_two_processes_never_get_the_same_run(open_shared: OpenHarness) -> None:
    apps = [await open_shared(has_worker=False) for _ in range(2)]

    async def order(ctx: Context, number: int) -> int:
        return number

    handles = await asyncio.gather(*(apps[n % 2].start(apps[n % 2].app.workflow(order), n) for n in range(200)))

    async def claim_all(worker: ByHand) -> list[str]:
        found: list[str] = []
        misses = 0
        while misses < 3:  # due, yet locked by the other one for the moment
            batch = await worker.claim(limit=5)
            misses = 0 if batch else misses + 1
            found += [run.run_id for run in batch]
        return found

    claimed = await asyncio.gather(*(claim_all(ByHand(apps[number % 2], str(number))) for number in range(6)))

    assert sorted(run_id for batch in claimed for run_id in batch) == sorted(handle.id for handle in handles)


class SlowStore(NoHooks):
    """A store that takes longer to begin one transaction than a claim lasts."""

    def __init__(self) -> None:
        self.slow = ""
        self.clock: FakeClock | None = None

    def before_begin(self, name: str) -> None:
        if self.clock is not None and name == self.slow:
            self.slow = ""
            self.clock.advance("10m")


@pytest.mark.parametrize(
    "slow",
    [
        "claim_runs",
        pytest.param("start_runs", marks=pytest.mark.in_process("A start hands a run only to a worker beside it.")),
    ],
)
async def test_a_claim_that_is_answered_too_late_is_given_back_at_once(slow: str, open_harness: OpenHarness) -> None:
    """The store counts from its answer and the worker from its question: nobody else could have the run until then."""
    store, entered = SlowStore(), 0
    harness = await open_harness(hooks=store)

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        nonlocal entered
        entered += 1
        return "done"

    await eventually(lambda: waits_for_work(harness), what="the worker waits")
    store.slow, store.clock = slow, harness.clock
    handle = await harness.start(order, delay="1s" if slow == "claim_runs" else None)
    await harness.advance("1s")

    assert store.slow == ""
    assert (await handle.result(), entered) == ("done", 1)
    run = await row_of(harness, handle)
    assert (run.recoveries, run.attempts) == (0, 2)
