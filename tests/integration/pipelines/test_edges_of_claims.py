"""Is anything called, asked or kept that should not be, where claims end, answers come late and code changes?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.looking import cut_off, look, stands, until_quiet
from tests.integration.pipelines.till import NAME, Order, Receipt, Till, World, pass_time, refusal
from tests.programs import passes_to
from windlass import App
from windlass.model.pipeline import Phase
from windlass.settings import Settings
from windlass.store.base import NoHooks
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


class SlowAnswer(NoHooks):
    """After one commit a long time passes before its answer comes, as for a process that was stopped just then."""

    def __init__(self, clock: FakeClock, transaction: str) -> None:
        self._clock, self._transaction, self.is_armed = clock, transaction, False

    def after_commit(self, name: str) -> None:
        if self.is_armed and name == self._transaction:
            self.is_armed = False
            self._clock.advance("10m")


@pytest.mark.in_process
@pytest.mark.spec("pipelines:90", "invariants:I-39")
async def test_an_effect_is_not_called_by_one_whose_claim_ran_out_before_it_heard_that_it_may(
    open_harness: OpenHarness, clock: FakeClock
) -> None:
    hooks = SlowAnswer(clock, "handler_operations")
    till = await Till(await open_harness(hooks=hooks)).deployed()
    till.world.plan(reconcile=[windlass.DidNotHappen()])
    hooks.is_armed = True
    await till.publish("a")

    async def is_done() -> bool:
        clock.advance("1s")
        return "consumed" in {status for status, _ in (await till.events()).values()}

    await eventually(is_done, what="it is charged by the next claim")
    assert till.world.journal == ["prepare", "mutate", "reconcile", "prepare", "mutate", "charge", "next"]


class StopsThen(NoHooks):
    """The grace of a worker ends right behind one commit."""

    def __init__(self, transaction: str) -> None:
        self._transaction = transaction
        self.stop: Callable[[], None] | None = None

    def after_commit(self, name: str) -> None:
        if self.stop is not None and name == self._transaction:
            stop, self.stop = self.stop, None
            stop()


@pytest.mark.in_process
@pytest.mark.spec("pipelines:90")
async def test_of_an_effect_that_a_worker_stops_in_front_of_it_is_known_that_it_did_not_happen(
    open_harness: OpenHarness,
) -> None:
    hooks = StopsThen("handler_operations")
    till = await Till(await open_harness(hooks=hooks), has_reconcile=False).deployed()
    (worker,) = till.app._workers
    hooks.stop = worker.pipelines.stop
    await till.settle("a")
    assert await till.standing() == ("backoff", None)
    await till.advance("10s")

    assert till.world.journal == ["prepare", "mutate", "prepare", "mutate", "charge", "next"]
    assert await till.events() == {"a": ("consumed", 2)}


@pytest.mark.in_process
@pytest.mark.spec("pipelines:90", "invariants:I-39")
async def test_a_step_that_is_an_effect_is_not_called_by_one_whose_claim_ran_out_before(
    open_harness: OpenHarness, clock: FakeClock
) -> None:
    hooks, world = SlowAnswer(clock, "begin_effect"), World()
    world.plan(reconcile=[windlass.DidNotHappen()])
    harness = await open_harness(hooks=hooks)

    async def find(id: str) -> object:
        return await world.act("reconcile")

    @harness.app.effect(reconcile=find, retry=windlass.Retry(2, initial="1s"))
    async def charge(id: str) -> str:
        await world.act("charge")
        return id

    buy = harness.app.workflow(passes_to(charge))
    hooks.is_armed = True
    handle = await harness.app.start(buy, "a")

    async def is_done() -> bool:
        clock.advance("1s")
        return await handle.status() == "completed"

    await eventually(is_done, what="it is charged by the next claim")
    assert world.journal == ["reconcile", "charge"]


@pytest.mark.spec("pipelines:101", "pipelines:108")
async def test_a_worker_that_leaves_while_it_repairs_is_followed_by_one_that_asks_before_it_tries(
    open_shared: OpenHarness, gate: Gate
) -> None:
    world, asked = World(), list[str]()

    async def repair(problem: windlass.Problem) -> windlass.Fixed:
        asked.append(problem.run_id)
        world.journal.append("repair")
        if len(asked) == 1:
            await gate.wait()
        return windlass.Fixed()

    till = await Till.restarted(open_shared, world, on_logic_error=repair)
    world.journal.clear()
    world.plan(prepare=refusal("logic"))
    await till.publish("a")
    await gate.reached()
    await cut_off(till.harness)

    await Till.restarted(open_shared, world, on_logic_error=repair)
    assert world.journal == ["prepare", "repair", "repair", "prepare", "mutate", "charge", "next"]


async def test_what_needs_no_approval_any_more_goes_on_though_the_old_code_asked_for_one(
    open_shared: OpenHarness, gate: Gate
) -> None:
    world = World()
    old = await Till.restarted(open_shared, world, approval=True)
    world.plan(prepare=gate)
    await old.publish("a")
    await gate.reached()
    new = await Till.restarted(open_shared, world, is_beside=True)
    gate.open()
    await until_quiet(new.harness)

    assert await new.events() == {"a": ("consumed", 1)}
    assert world.count("charge") == 1


async def test_an_effect_that_happened_waits_for_its_code_if_its_handler_is_of_another_kind_now(
    open_shared: OpenHarness,
) -> None:
    world = World()
    till = await Till.restarted(open_shared, world)
    world.plan(next=refusal("transient"))
    await till.settle("a")
    await till.harness.aclose()

    app, polled = App(), list[str]()
    other = app.topic("order.other", int)
    pipeline = app.pipeline(NAME)

    @pipeline.producer(publishes=[other], name="Charge", every="1h")
    async def produce(ctx: windlass.ProducerContext, state: int | None) -> None:
        polled.append("produce")

    harness = await open_shared(app=app)
    harness.clock.advance("1m")
    await harness.idle()
    view = await look(harness, NAME)
    assert (view.pipeline.status, view.pipeline.issue, polled) == ("attention", "logic", [])
    assert view.run is not None and view.run.phase is Phase.EMITTING
    assert await stands(harness, NAME) == {"a": "reserved"}
    await harness.aclose()

    till = await Till.restarted(open_shared, world)
    assert world.handed[-1] == (Order("a"), "success", Receipt("a", world.keys[0]))
    assert await till.events() == {"a": ("consumed", 1)}


async def test_whatever_a_repair_says_is_kept_and_it_is_not_asked_in_a_loop(harness: Harness) -> None:
    asked = list[str]()

    async def repair(problem: windlass.Problem) -> windlass.GiveUp:
        asked.append(problem.run_id)
        return windlass.GiveUp("no\0 idea \ud800" + "x" * 3_000)

    till = await Till(harness, on_logic_error=repair).deployed()
    till.world.plan(prepare=refusal("logic"))
    await till.settle("a")
    (run,) = await till.runs()

    assert await till.standing() == ("attention", "logic")
    assert asked == [run.id]
    assert run.note is not None and run.note.startswith("no\\x00 idea \\ud800xxx")


@pytest.mark.in_process
@pytest.mark.spec("pipelines:88")
async def test_workers_that_are_lost_count_only_in_a_row(open_harness: OpenHarness) -> None:
    gates = Gate(), Gate()
    harness = await open_harness(settings=Settings(max_recoveries=1))
    till = await Till(harness).deployed()
    till.world.plan(mutate=[gates[0], refusal("transient"), gates[1]])
    await till.publish("a")
    await gates[0].reached()
    harness.crash()
    await harness.idle()
    assert await till.standing() == ("backoff", None)  # its worker was there to say so
    await pass_time(harness, "10s")
    await gates[1].reached()
    harness.crash()
    await harness.idle()

    assert till.world.noted == ["a"]
    assert [status for _, status in await till.path()] == ["crashed", "paused:transient", "crashed", "committed"]


@pytest.mark.in_process
@pytest.mark.spec("pipelines:88")
async def test_a_worker_that_says_that_nobody_knows_of_its_effect_is_not_lost(open_harness: OpenHarness) -> None:
    gates = Gate(), Gate()
    harness = await open_harness(settings=Settings(max_recoveries=1))
    till = await Till(harness).deployed()
    found = windlass.Happened(Receipt("a", "found"))
    till.world.plan(mutate=gates[0], charge=ConnectionError("reset"), reconcile=[windlass.Unknown(), gates[1], found])
    await till.publish("a")
    await gates[0].reached()
    harness.crash()
    await harness.idle()
    assert await till.standing() == ("reconciling", None)
    await pass_time(harness, "10s")
    await gates[1].reached()
    harness.crash()
    await harness.idle()

    assert await till.standing() == ("idle", None)
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "found"))]


@pytest.mark.spec("pipelines:101", "pipelines:108")
async def test_new_code_is_tried_before_it_repairs_what_the_old_one_was_repairing(
    open_shared: OpenHarness, gate: Gate
) -> None:
    world = World()

    async def repair(problem: windlass.Problem) -> windlass.GiveUp:
        world.journal.append("repair")
        if world.count("repair") == 1:
            await gate.wait()
        return windlass.GiveUp()

    old = await Till.restarted(open_shared, world, on_logic_error=repair)
    world.journal.clear()
    world.plan(prepare=refusal("logic"))
    await old.publish("a")
    await gate.reached()
    new = await Till.restarted(open_shared, world, is_beside=True, version="2", on_logic_error=repair)
    await cut_off(old.harness)
    await until_quiet(new.harness)

    assert world.journal == ["prepare", "repair", "prepare", "mutate", "charge", "next"]


class Doubling:
    """Seals what is stored in a way that takes twice the room."""

    def seal(self, data: bytes, /) -> bytes:
        return data + data

    def open(self, data: bytes, /) -> bytes:
        return data[: len(data) // 2]


async def test_a_reconcile_whose_answer_no_door_takes_is_not_asked_in_a_loop(open_harness: OpenHarness) -> None:
    told: list[windlass.Problem] = []
    till = await Till(await open_harness(codec=Doubling()), on_indeterminate=told.append).deployed()
    large = windlass.Happened(Receipt("a", "x" * 1_900_000))
    till.world.plan(charge=ConnectionError("reset"), reconcile=[windlass.Unknown(), *[large] * 5])
    await till.settle("a")
    await till.advance("10s")

    assert (till.world.count("charge"), till.world.count("reconcile")) == (1, 2)
    is_taken = (await till.standing())[0] == "idle"  # in process; a server takes less
    assert await till.events() == {"a": ("consumed" if is_taken else "reserved", 1)}
    while not is_taken and (due := await till.due_in()) is not None:
        await till.advance(f"{due:g}s")
    failures = [problem.failure for problem in told]
    assert ["payload too large" in str(failure) for failure in failures] == ([] if is_taken else [True])
