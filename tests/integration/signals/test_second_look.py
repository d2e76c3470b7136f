"""What a second look at signals has found: loops through children, retention against declarations, silent failures."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

import windlass
from tests.integration.conftest import OpenHarness
from tests.integration.signals.conftest import opened_on
from tests.programs import raises
from windlass.embedded import Embedded
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.model.item import CreateItem, DeleteItem, ItemStatus, TransitionItem
from windlass.model.signal import (
    DEEPEST_CHAIN,
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    ListFirings,
    ListSignals,
    Signal,
    SignalStatus,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
)
from windlass.model.time import DAY, HOUR, Duration
from windlass.settings import Settings
from windlass.testing.clock import FakeClock

NAMESPACE = "default"


@pytest.fixture
async def opened(url: str, clock: FakeClock) -> AsyncIterator[Embedded]:
    opened = await opened_on(url, clock)
    yield opened
    await opened.close()


def coordinator(opened: Embedded, **settings: Duration) -> Coordinator:
    return Coordinator(opened.engine.parts, CoordinatorSettings(**settings))


async def declare(opened: Embedded, trigger: Trigger) -> Signal:
    action = Action(kind=ActionKind.START, workflow="page", queue="default")
    said = DeclaredSignal(name="page", trigger=trigger, action=action, repeats=False)
    await opened.signals.declare_signals(DeclareSignals(namespace=NAMESPACE, program="shop", signals=(said,)))
    (signal,) = (await opened.signals.list_signals(ListSignals(namespace=NAMESPACE))).signals
    return signal


FAILED = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))


async def test_a_declared_signal_that_was_cancelled_stays_so_however_long_ago(
    opened: Embedded, clock: FakeClock
) -> None:
    signal = await declare(opened, FAILED)
    cancelling = SteerSignal(namespace=NAMESPACE, signal_id=signal.id, verb=SignalVerb.CANCEL)
    await opened.signals.steer_signal(cancelling)
    clock.advance(2 * DAY)
    looking = coordinator(opened, keep_for=Duration(DAY))
    while await looking.tick():
        clock.advance(HOUR)

    again = await declare(opened, FAILED)

    assert (again.id, again.status) == (signal.id, SignalStatus.CANCELLED)


async def test_a_signal_declared_on_something_else_watches_that(opened: Embedded) -> None:
    await declare(opened, FAILED)

    signal = await declare(opened, Trigger(kind=TriggerKind.ITEM, subject="*", to=("ready",)))
    item = await opened.items.create_item(CreateItem(namespace=NAMESPACE, title="an item"))
    await opened.items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item.id, to=ItemStatus.READY))

    assert signal.trigger.kind is TriggerKind.ITEM
    assert len((await opened.signals.list_firings(ListFirings(namespace=NAMESPACE))).firings) == 1


async def test_what_fails_though_its_signal_is_over_is_said(opened: Embedded, caplog: pytest.LogCaptureFixture) -> None:
    item = await opened.items.create_item(CreateItem(namespace=NAMESPACE, title="an item"))
    trigger = Trigger(kind=TriggerKind.ITEM, subject=item.id, to=("ready",))
    action = Action(kind=ActionKind.TASK, title="look at it")
    made = await opened.signals.create_signal(CreateSignal(namespace=NAMESPACE, trigger=trigger, action=action))
    await opened.items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item.id, to=ItemStatus.READY))
    await opened.items.delete_item(DeleteItem(namespace=NAMESPACE, item_id=item.id))

    with caplog.at_level(logging.ERROR):
        await coordinator(opened).tick()

    assert any(made.signal.id in record.getMessage() for record in caplog.records)
    explained = await opened.signals.explain_signal(NAMESPACE, made.signal.id)
    assert f"A firing of it failed: windlass firings {made.signal.id}" in explained.text


async def test_a_loop_through_a_child_is_cut_like_any_other(open_harness: OpenHarness) -> None:
    """What the signal starts starts, as its child, what the signal watches."""
    app, paged = windlass.App(":memory:", settings=Settings()), list[str]()
    order = app.workflow(raises(windlass.StepError, "declined"))

    @app.on(order, enters="failed")
    async def page(ctx: windlass.Context, firing: windlass.Firing) -> None:
        paged.append(firing.subject_id)
        await ctx.start(order)

    harness = await open_harness(app=app)
    await harness.start(order)
    await harness.idle()

    (info,) = await harness.app.signals.list()
    assert len(paged) == info.fired == DEEPEST_CHAIN
    assert info.status == "paused"
