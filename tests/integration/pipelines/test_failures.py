"""How does each kind of failure in each phase end an attempt, what holds the pipeline, and how does it go on?"""

from __future__ import annotations

from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.till import Order, Receipt, Till, World, pass_time, refusal, until_declared
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # kinds of failures are the worker's business, also of one behind a wire

# How an attempt ends and how its pipeline stands then, by the kind of the failure.
ENDS = {
    "transient": ("paused:transient", "backoff", None),
    "timeout": ("paused:transient", "backoff", None),
    "logic": ("failed:logic", "attention", "logic"),
    "indeterminate": ("failed:logic", "attention", "logic"),  # said by code that is no effect: nothing is in doubt
    "auth": ("paused:approval", "attention", "auth"),
    "permission": ("paused:approval", "attention", "permission"),
    "internal": ("failed:internal", "attention", "internal"),
}
# Where an attempt stops whose code fails, and what becomes of its event.
STOPS = {
    "prepare": ("preparing", ("pending", 1)),
    "mutate": ("prepared", ("pending", 2)),
    "next": ("emitting", ("reserved", 1)),
}


@pytest.mark.spec("pipelines:60", "pipelines:62", "pipelines:64", "pipelines:77", "pipelines:79", "pipelines:80")
@pytest.mark.parametrize("code", STOPS)
@pytest.mark.parametrize("kind", ENDS)
async def test_a_failure_ends_the_attempt_where_it_is_and_resuming_goes_on_from_the_right_place(
    harness: Harness, kind: str, code: str
) -> None:
    till = await Till(harness).deployed()
    phase, event = STOPS[code]
    status, holds, issue = ENDS[kind]
    till.world.plan(**{code: refusal(kind, "not today")})
    await till.settle("a")
    (run,) = await till.runs()

    assert (run.phase, run.status) == (phase, status)
    assert run.failure is not None and (run.failure.kind, run.failure.message) == (kind, "not today")
    assert await till.standing() == (holds, issue)
    assert await till.events() == {"a": event}
    assert (await till.due_in() is None) == (holds == "attention")

    await till.app.pipelines.retry("payments")
    await harness.idle()
    first, second = await till.runs()
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert first == run
    assert till.world.count("prepare") == (1 if code == "next" else 2)
    assert till.world.count("charge") == 1
    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:78", "pipelines:82", "pipelines:99", "pipelines:102", "pipelines:107", "pipelines:109")
@pytest.mark.parametrize("kind", ["logic", "auth", "permission", "internal"])
async def test_what_a_person_has_to_put_right_waits_for_one_however_long_it_takes(harness: Harness, kind: str) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=refusal(kind))
    await till.settle("a")
    await till.advance("30d")
    await till.settle("b")

    assert len(await till.runs()) == 1
    assert till.world.journal == ["prepare"]
    info = await till.app.pipelines.get("payments")
    assert info.status == "Needs attention"
    assert info.issue != ""
    await till.app.pipelines.resume("payments", by="ann")
    await harness.idle()
    assert till.world.noted == ["a", "b"]


@pytest.mark.spec("pipelines:98", "pipelines:84")
async def test_a_transient_pause_ends_by_itself_after_its_back_off(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=refusal("transient"))
    await till.settle("a")
    assert await till.due_in() == 10
    await till.advance("9s")
    assert await till.path() == [("preparing", "paused:transient")]
    await till.advance("1s")

    first, second = await till.runs()
    assert await till.path() == [("preparing", "paused:transient"), ("committed", "committed")]
    assert second.retry_of == first.id
    assert await till.standing() == ("idle", None)


@pytest.mark.spec("pipelines:77", "pipelines:83")
async def test_back_off_doubles_and_when_it_is_exhausted_a_person_is_needed_and_resumes(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=[refusal("transient") for _ in range(6)])
    await till.settle("a")
    delays = []
    while (due := await till.due_in()) is not None:
        delays.append(due)
        await till.advance(f"{due:g}s")

    assert delays == [10, 20, 40, 80, 160]
    assert await till.standing() == ("attention", "exhausted")
    assert await till.path() == [("emitting", "paused:transient")] * 6
    assert await till.events() == {"a": ("reserved", 1)}
    await till.advance("1d")
    assert len(await till.runs()) == 6

    await till.app.pipelines.resume("payments")
    await harness.idle()
    runs = await till.runs()
    assert [run.retry_of for run in runs] == [None, *(run.id for run in runs[:-1])]
    assert (runs[-1].attempt, runs[-1].status) == (7, "committed")
    assert till.world.count("charge") == 1
    till.world.plan(next=refusal("transient"))  # counted anew
    await till.settle("b")
    assert await till.due_in() == 10


@pytest.mark.spec("pipelines:77")
async def test_a_failure_may_say_itself_when_to_try_again(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=refusal("transient", retry_after="90s"))
    await till.settle("a")

    assert await till.due_in() == 90
    await till.advance("90s")
    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:77")
async def test_back_off_follows_the_policy_of_the_pipeline(harness: Harness) -> None:
    till = await Till(harness, retry=windlass.Retry(3, initial="1s", factor=3)).deployed()
    till.world.plan(prepare=[refusal("transient") for _ in range(3)])
    await till.settle("a")
    assert await till.due_in() == 1
    await till.advance("1s")
    assert await till.due_in() == 3
    await till.advance("3s")

    assert await till.standing() == ("attention", "exhausted")


@pytest.mark.spec("pipelines:77")
async def test_back_off_and_its_count_outlive_a_restart(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world)
    world.plan(prepare=[refusal("transient") for _ in range(3)])
    await till.settle("a")
    await till.advance("10s")
    assert await till.due_in() == 20
    await till.harness.aclose()

    till = await Till.restarted(open_shared, world)
    await till.settle("b")
    assert await till.due_in() == 20
    await till.advance("20s")
    assert await till.due_in() == 40
    await till.advance("40s")
    assert world.noted == ["a", "b"]


@pytest.mark.spec("pipelines:77")
@pytest.mark.parametrize(("code", "phase"), [("prepare", "preparing"), ("mutate", "prepared"), ("next", "emitting")])
async def test_a_phase_that_passes_its_time_out_is_stopped_and_tried_again(
    harness: Harness, gate: Gate, code: str, phase: str
) -> None:
    till = await Till(harness, timeout="5s").deployed()
    till.world.plan(**{code: gate})
    await till.publish("a")
    await gate.reached()
    await pass_time(harness, "5s")
    await gate.left()
    await harness.idle()
    (run,) = await till.runs()

    assert (run.phase, run.status) == (phase, "paused:transient")
    assert run.failure is not None and (run.failure.kind, run.failure.type) == ("timeout", "TimeoutError")
    await till.advance("10s")
    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:78", "pipelines:85")
async def test_any_other_exception_of_a_handler_is_a_fault_of_its_code(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=ConnectionError("network is down"))  # whatever it is called: it was not typed
    await till.settle("a")
    (run,) = await till.runs()

    assert (run.phase, run.status) == ("preparing", "failed:logic")
    assert run.failure is not None
    assert (run.failure.kind, run.failure.type) == ("logic", "ConnectionError")
    assert "act" in run.failure.traceback


@pytest.mark.spec("pipelines:77", "pipelines:79")
@pytest.mark.parametrize("code", ["prepare", "mutate", "next"])
async def test_classify_says_of_which_kind_an_exception_is(open_harness: OpenHarness, code: str) -> None:
    kinds = {ConnectionError: "transient", PermissionError: "auth"}
    harness = await open_harness(classify=lambda error: kinds.get(type(error)))
    till = await Till(harness).deployed()
    till.world.plan(**{code: [ConnectionError("down"), PermissionError("expired")]})
    await till.settle("a")
    assert await till.standing() == ("backoff", None)
    await till.advance("10s")
    assert await till.standing() == ("attention", "auth")
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert [run.status for run in await till.runs()] == ["paused:transient", "paused:approval", "committed"]


@pytest.mark.parametrize("answer", ["sometimes", ValueError("broken")])
async def test_a_classify_that_fails_or_answers_nonsense_is_a_fault_of_the_code(
    open_harness: OpenHarness, answer: Any
) -> None:
    def classify(error: BaseException) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    till = await Till(await open_harness(classify=classify)).deployed()
    till.world.plan(prepare=KeyError("x"))
    await till.settle("a")
    (run,) = await till.runs()

    assert run.status == "failed:logic"
    assert run.failure is not None and "KeyError could not be classified" in run.failure.message


@pytest.mark.spec("pipelines:79", "pipelines:80", "pipelines:83")
@pytest.mark.parametrize("kind", ["auth", "permission"])
async def test_an_effect_that_was_refused_is_called_again_with_what_was_prepared(harness: Harness, kind: str) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=refusal(kind))
    await till.settle("a")
    (run,) = await till.runs()
    assert (run.phase, run.status, run.outcome) == ("mutating", "paused:approval", "failure")
    assert await till.events() == {"a": ("reserved", 1)}
    assert await till.standing() == ("attention", kind)
    await till.app.publish(till.orders, Order("a", 99), id="a")  # later than what was prepared
    await till.app.pipelines.resume("payments", by="ann")
    await harness.idle()
    first, second = await till.runs()

    assert till.world.journal == ["prepare", "mutate", "charge", "mutate", "charge", "next"]
    assert till.world.handed == [(Order("a"), "success", Receipt("a", till.world.keys[1]))]
    assert till.world.keys[0] == till.world.keys[1]
    assert (await till.view(first)).data == (await till.view(second)).data
    assert (second.retry_of, second.status) == (first.id, "committed")


@pytest.mark.spec("pipelines:78", "pipelines:73")
async def test_an_effect_that_failed_by_its_code_did_not_happen_and_begins_anew(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=refusal("logic", "no such account"))
    await till.settle("a")
    (run,) = await till.runs()
    view = await till.view(run)

    assert (run.phase, run.status, run.outcome) == ("mutating", "failed:logic", "failure")
    assert view.effect is not None and (view.effect.status, view.effect.resolved_by) == ("failed", "call")
    assert await till.events() == {"a": ("pending", 2)}
    assert till.world.count("reconcile") == 0
    await till.app.pipelines.retry("payments")
    await harness.idle()
    assert till.world.count("prepare") == 2
    assert await till.events() == {"a": ("consumed", 2)}


@pytest.mark.spec("pipelines:112")
async def test_a_handler_has_nothing_to_catch_because_its_effect_is_called_behind_it(harness: Harness) -> None:
    app, journal = harness.app, list[str]()
    orders = app.topic("order.paid", Order)
    careless = app.pipeline("careless")

    @app.effect
    async def charge(order: Order) -> Receipt:
        journal.append("charge")
        raise refusal("permission")

    @careless.consumer(orders)
    class Charge(windlass.Consumer[Order, Receipt]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[Receipt] | None:
            try:
                return windlass.Effect(charge, prepared.data)
            except Exception:
                journal.append("caught")
                return None
            finally:
                journal.append("mutate is over")

    await until_declared(harness, "careless")
    await app.publish(orders, Order("a"), id="a")
    await harness.idle()
    (run,) = await app.pipelines.runs("careless")

    assert journal == ["mutate is over", "charge"]
    assert (run.phase, run.status) == ("mutating", "paused:approval")


@pytest.mark.spec("pipelines:84", "pipelines:85")
@pytest.mark.parametrize(
    ("kind", "status"), [("transient", "paused:transient"), ("logic", "failed:logic"), ("auth", "paused:approval")]
)
async def test_a_producer_that_fails_keeps_its_state_and_its_time_and_begins_anew(
    harness: Harness, kind: str, status: str
) -> None:
    app, world, states = harness.app, World(), list[int | None]()
    numbers = app.topic("number", int)
    counting = app.pipeline("counting")

    @counting.producer(every="1h", publishes=[numbers])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        states.append(state)
        number = (state or 0) + 1
        ctx.publish(numbers, number, id=str(number))
        await world.act("poll")
        return number

    @counting.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        world.noted.extend(event.id for event in events)

    await eventually(lambda: world.noted == ["1"], what="the first number")
    world.plan(poll=refusal(kind))
    await harness.advance("1h")
    (failed, *_) = await app.pipelines.runs("counting", handler="poll")
    assert (failed.phase, failed.status) == ("executing", status)
    assert world.noted == ["1"]
    await app.pipelines.retry("counting")
    await harness.idle()
    (retried, *_) = await app.pipelines.runs("counting", handler="poll")

    assert (retried.retry_of, retried.status) == (failed.id, "committed")
    assert states == [None, 1, 1]
    assert world.noted == ["1", "2"]


@pytest.mark.spec("pipelines:83", "pipelines:101")
async def test_changed_code_counts_as_the_fix(open_shared: OpenHarness) -> None:
    seen: list[str] = []

    async def open(*, is_fixed: bool) -> tuple[Harness, windlass.Topic[Order]]:
        app = windlass.App("sqlite:///:memory:")
        orders = app.topic("order.paid", Order)
        pipeline = app.pipeline("fragile")
        if is_fixed:

            @pipeline.consumer(orders, name="take")
            async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
                seen.extend(event.id for event in events)
        else:

            @pipeline.consumer(orders, name="take")
            async def take_badly(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
                raise KeyError("typo")

        harness = await open_shared(app=app)
        await until_declared(harness, "fragile")
        return harness, orders

    first, orders = await open(is_fixed=False)
    await first.app.publish(orders, Order("a"), id="a")
    await first.idle()
    assert [run.status for run in await first.app.pipelines.runs("fragile")] == ["failed:logic"]
    await first.advance("1s")
    await first.aclose()

    same, orders = await open(is_fixed=False)
    await same.app.publish(orders, Order("b"), id="b")
    await same.idle()
    assert len(await same.app.pipelines.runs("fragile")) == 1
    await same.advance("1s")
    await same.aclose()

    second, _ = await open(is_fixed=True)
    runs = (await second.app.pipelines.runs("fragile"))[::-1]
    assert seen == ["a", "b"]
    assert [run.status for run in runs] == ["failed:logic", "committed", "committed"]
    assert runs[1].retry_of == runs[0].id


async def test_where_nothing_stopped_there_is_nothing_to_try_again(harness: Harness) -> None:
    till = await Till(harness).deployed()
    with pytest.raises(windlass.WrongState, match="'payments' is idle; one whose handler has stopped was expected"):
        await till.app.pipelines.retry("payments")
    with pytest.raises(windlass.NotFound, match=r"paymemts.*payments"):
        await till.app.pipelines.retry("paymemts")
    await till.app.pipelines.resume("payments")  # nothing to resume is no error
    await harness.idle()

    assert await till.runs() == []


@pytest.mark.spec("pipelines:97")
@pytest.mark.parametrize("code", ["prepare", "mutate", "charge", "next"])
async def test_a_pause_in_any_phase_is_no_failure_of_the_attempt_at_work(
    harness: Harness, gate: Gate, code: str
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(**{code: gate})
    await till.publish("a", "b")
    await gate.reached()
    await till.app.pipelines.pause("payments", by="ann")
    gate.open()
    await harness.idle()
    assert await till.path() == [("committed", "committed")]
    assert till.world.noted == ["a"]
    assert (await till.app.pipelines.get("payments")).status == "Stopped"
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert till.world.noted == ["a", "b"]
