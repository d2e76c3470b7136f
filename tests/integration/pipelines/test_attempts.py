"""What does the record of an attempt say, while it is at work and for ever after?"""

from __future__ import annotations

import msgspec
import pytest

import windlass
from tests.integration.conftest import Gate
from tests.integration.pipelines.till import Order, Receipt, Till, refusal, until_declared
from windlass.model.pipeline import HandlerKind, HandlerRun, HandlerStatus
from windlass.model.pipeline_commands import ListHandlerRuns
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # records are the engine's business; the wire carries them in test_executing


@pytest.mark.spec("pipelines:57")
async def test_an_attempt_is_a_record_of_everything_there_is_to_know(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.settle("a")
    (run,) = await till.runs()
    view = await till.view(run)

    assert run.id.startswith("hrn_")
    assert (run.pipeline, run.handler, run.kind) == ("payments", "Charge", HandlerKind.CONSUMER)
    assert (run.retry_of, run.attempt, run.phase, run.status) == (None, 1, "committed", "committed")
    assert (run.outcome, run.title, run.failure) == ("success", "Charge a", None)
    assert [(item.topic, item.id) for item in run.reserved] == [("order.paid", "a")]
    assert run.created_at <= run.updated_at == run.ended_at
    assert msgspec.json.decode(view.data or b"") == {"id": "a", "amount": 7}
    assert msgspec.json.decode(view.result or b"") == {"order": "a", "key": till.world.keys[0]}
    assert view.effect is not None and (view.effect.name, view.effect.status) == ("charge", "applied")
    assert [event.id for event in view.published] == ["a"]


@pytest.mark.spec("pipelines:57")
async def test_the_attempt_of_a_producer_is_a_record_too(harness: Harness) -> None:
    till = await Till(harness).deployed()

    @till.pipeline.producer(every="1h", publishes=[till.orders])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        raise refusal("logic", "no such page")

    await until_declared(harness, "payments")
    produced = next(run for run in await till.runs() if run.handler == "poll")

    assert (produced.kind, produced.phase, produced.status) == (HandlerKind.PRODUCER, "executing", "failed:logic")
    assert produced.outcome is None
    assert produced.failure is not None and produced.failure.message == "no such page"


@pytest.mark.spec("pipelines:58", "pipelines:59", "pipelines:60")
async def test_every_attempt_keeps_the_record_in_which_it_stopped_and_the_chain_leads_through_all(
    harness: Harness,
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=[refusal("transient"), None], mutate=refusal("transient"))
    await till.settle("a")
    before = await till.runs()
    await till.advance("10s")
    between = await till.runs()
    await till.advance("20s")
    first, second, third = await till.runs()

    assert before == [first]
    assert between == [first, second]
    assert await till.path() == [
        ("preparing", "paused:transient"),
        ("prepared", "paused:transient"),
        ("committed", "committed"),
    ]
    assert [run.retry_of for run in (first, second, third)] == [None, first.id, second.id]
    assert [run.attempt for run in (first, second, third)] == [1, 2, 3]
    for run in (first, second, third):
        assert (await till.view(run)).chain == (first.id, second.id, third.id)


@pytest.mark.spec("pipelines:61", "pipelines:75", "pipelines:86", "invariants:I-38")
async def test_a_retry_of_next_takes_over_what_was_prepared_and_found_byte_by_byte(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=refusal("transient"))
    await till.settle("a")
    assert await till.path() == [("emitting", "paused:transient")]
    await till.advance("10s")
    first, second = await till.runs()
    before, after = await till.view(first), await till.view(second)

    assert till.world.journal == ["prepare", "mutate", "charge", "next", "next"]
    assert before.data == after.data is not None
    assert before.result == after.result is not None
    assert till.world.handed == [(Order("a"), "success", Receipt("a", till.world.keys[0]))] * 2
    assert (second.retry_of, second.status, second.outcome) == (first.id, "committed", "success")
    assert second.reserved == first.reserved
    assert await till.events() == {"a": ("consumed", 1)}


async def test_attempts_are_listed_page_by_page_and_none_of_another_handler_or_pipeline(harness: Harness) -> None:
    till = await Till(harness).deployed()  # beside "notes", whose name comes first

    @till.pipeline.consumer(till.done)
    async def archive(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
        return None

    await until_declared(harness, "payments")
    for id in ("a", "b"):
        await till.settle(id)

    async def pages(name: str, handler: str | None = None) -> list[HandlerRun]:
        found: list[HandlerRun] = []
        before: str | None = None
        while True:
            query = ListHandlerRuns(namespace="default", pipeline=name, handler=handler, before=before, limit=2)
            page = await harness.opened.pipelines.list_handler_runs(query)
            found += page.runs
            before = page.next
            if before is None:
                return found

    everything = await pages("payments")
    assert {(run.pipeline, run.handler) for run in everything} == {("payments", "Charge"), ("payments", "archive")}
    assert [run.id for run in everything] == sorted((run.id for run in everything), reverse=True)
    for handler in ("Charge", "archive"):
        assert await pages("payments", handler) == [run for run in everything if run.handler == handler] != []
    assert {run.handler for run in await pages("notes")} == {"note"}
    assert await pages("payments", "nobody") == []


@pytest.mark.spec("pipelines:62", "pipelines:64")
@pytest.mark.parametrize(("code", "phase"), [("prepare", "preparing"), ("mutate", "prepared"), ("next", "emitting")])
async def test_a_pause_is_possible_in_any_phase_and_leaves_it_alone(harness: Harness, code: str, phase: str) -> None:
    till = await Till(harness).deployed()
    till.world.plan(**{code: refusal("auth")})
    await till.settle("a")

    assert await till.path() == [(phase, "paused:approval")]


@pytest.mark.spec("pipelines:63")
async def test_there_are_eight_statuses() -> None:
    assert sorted(HandlerStatus) == [
        "active",
        "committed",
        "crashed",
        "failed:internal",
        "failed:logic",
        "paused:approval",
        "paused:reconciliation",
        "paused:transient",
    ]


@pytest.mark.spec("pipelines:65", "pipelines:66", "pipelines:67", "pipelines:68", "pipelines:69", "pipelines:70")
async def test_an_attempt_goes_forward_phase_by_phase_and_each_is_stored_with_what_it_found(harness: Harness) -> None:
    till = await Till(harness).deployed()
    gates = {code: Gate() for code in ("prepare", "mutate", "charge", "next")}
    till.world.plan(**gates)
    await till.publish("a")

    await gates["prepare"].reached()
    run = await till.until_active("preparing")
    assert (run.reserved, (await till.events())["a"]) == ((), ("pending", 1))

    gates["prepare"].open()
    await gates["mutate"].reached()
    run = await till.until_active("prepared")
    view = await till.view(run)
    assert [item.id for item in run.reserved] == ["a"]
    assert (await till.events())["a"] == ("reserved", 1)
    assert (view.data is not None, view.result, view.effect) == (True, None, None)

    gates["mutate"].open()
    await gates["charge"].reached()
    view = await till.view(await till.until_active("mutating"))
    assert (view.run.outcome, view.result) == (None, None)
    assert view.effect is not None and view.effect.status == "in_flight"

    gates["charge"].open()
    await gates["next"].reached()
    view = await till.view(await till.until_active("mutated"))
    assert view.run.outcome == "success"
    assert view.effect is not None and view.effect.status == "applied"
    assert view.effect.result == view.result is not None
    assert (await till.events())["a"] == ("reserved", 1)

    gates["next"].open()
    await harness.idle()
    assert await till.path() == [("committed", "committed")]
    assert (await till.events())["a"] == ("consumed", 1)
    await till.settle("b")
    assert till.world.states == [None, 1]


@pytest.mark.spec("pipelines:67")
async def test_wake_at_is_stored_with_prepared(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()

    async def choose(ctx: windlass.PrepareContext) -> windlass.Reserve:
        found = await ctx.peek(till.orders)
        return windlass.Reserve(found, data=found[0].payload, wake_at="2020-01-01T00:00:00Z")

    till.world.plan(prepare=[choose], mutate=gate)
    await till.publish("a")
    await till.until_active("prepared")
    detail = await harness.opened.pipelines.get_pipeline("default", "payments")

    assert detail.view.handlers[0].handler.wake_at == harness.clock.now() + 30_000_000
    gate.open()
    await harness.idle()


@pytest.mark.spec("pipelines:71", "pipelines:72", "pipelines:73", "pipelines:76")
@pytest.mark.parametrize(
    ("code", "error", "phase", "attempt"),
    [
        ("prepare", refusal("transient"), "preparing", 1),
        ("mutate", refusal("transient"), "prepared", 2),
        ("charge", refusal("transient", did_not_happen=True), "mutating", 2),
    ],
)
async def test_whatever_fails_ahead_of_the_effect_begins_anew_with_a_fresh_prepare(
    harness: Harness, code: str, error: Exception, phase: str, attempt: int
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(**{code: error})
    await till.settle("a")
    assert await till.path() == [(phase, "paused:transient")]
    assert await till.events() == {"a": ("pending", attempt)}
    await till.app.publish(till.orders, Order("a", 8), id="a")  # the payload is another one by now
    await till.advance("10s")
    first, second = await till.runs()

    assert second.retry_of == first.id
    assert till.world.count("prepare") == 2
    assert (second.phase, second.status) == ("committed", "committed")
    assert till.world.handed == [(Order("a", 8), "success", Receipt("a", till.world.keys[-1]))]
    assert len(set(till.world.keys)) == 1


@pytest.mark.spec("pipelines:69", "pipelines:85", "invariants:I-40", "security:75")
async def test_a_failed_attempt_leaves_neither_state_nor_anything_it_published(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.settle("a")
    till.world.plan(next=refusal("logic"))
    await till.settle("b")

    assert [run.status for run in await till.runs()] == ["committed", "failed:logic"]
    assert await till.events(pipeline="notes") == {"a": ("consumed", 1)}
    await till.app.pipelines.retry("payments")
    await harness.idle()
    assert await till.events(pipeline="notes") == {"a": ("consumed", 1), "b": ("consumed", 1)}
    await till.settle("c")
    assert till.world.states == [None, 1, 2]
