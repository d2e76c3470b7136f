"""Is a call that is asked again, because its answer was lost, known as the one that was carried out?"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from tests.integration.signals.conftest import opened_on
from windlass.embedded import Embedded
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.model.item import CreateItem, ItemId, ItemStatus, TransitionItem
from windlass.model.signal import CreateSignal, SignalStatus, SignalVerb, SteerSignal, Trigger, TriggerKind
from windlass.testing.clock import FakeClock

NAMESPACE = "default"


@pytest.fixture
async def opened(url: str, clock: FakeClock) -> AsyncIterator[Embedded]:
    opened = await opened_on(url, clock)
    yield opened
    await opened.close()


async def an_item(opened: Embedded, *states: str) -> ItemId:
    item = await opened.items.create_item(CreateItem(namespace=NAMESPACE, title="an item"))
    for state in states:
        await move(opened, item.id, state)
    return item.id


async def move(opened: Embedded, item_id: ItemId, state: str, **fields: object) -> ItemStatus:
    command = TransitionItem(namespace=NAMESPACE, item_id=item_id, to=ItemStatus(state))
    return (await opened.items.transition_item(replace(command, **fields))).status


async def test_a_move_that_is_asked_again_does_not_take_back_what_came_after_it(opened: Embedded) -> None:
    item = await an_item(opened, "ready")
    await move(opened, item, "doing", deed_id="first")
    await move(opened, item, "blocked")

    assert await move(opened, item, "doing", deed_id="first", is_again=True) is ItemStatus.BLOCKED
    assert await move(opened, item, "doing", deed_id="second", is_again=True) is ItemStatus.DOING


async def test_a_resume_that_is_asked_again_does_not_arm_what_has_fired_since(opened: Embedded) -> None:
    item = await an_item(opened, "ready", "doing")
    trigger = Trigger(kind=TriggerKind.ITEM, subject=item, to=("blocked",))
    made = await opened.signals.create_signal(CreateSignal(namespace=NAMESPACE, trigger=trigger))
    steering = SteerSignal(namespace=NAMESPACE, signal_id=made.signal.id, verb=SignalVerb.PAUSE)
    await opened.signals.steer_signal(steering)
    resuming = replace(steering, verb=SignalVerb.RESUME, deed_id="first")
    await opened.signals.steer_signal(resuming)
    await move(opened, item, "blocked")
    await Coordinator(opened.engine.parts, CoordinatorSettings()).tick()

    again = await opened.signals.steer_signal(replace(resuming, is_again=True))

    assert again.signal.status is SignalStatus.FIRED
    assert (await opened.signals.steer_signal(replace(resuming, deed_id="second"))).signal.status is SignalStatus.ARMED


async def test_a_signal_that_is_created_again_still_says_that_its_subject_was_there(opened: Embedded) -> None:
    item = await an_item(opened, "ready", "doing")
    trigger = Trigger(kind=TriggerKind.ITEM, subject=item, to=("doing",))
    command = CreateSignal(namespace=NAMESPACE, trigger=trigger, key="once")
    first = await opened.signals.create_signal(command)

    again = await opened.signals.create_signal(command)

    assert first.already
    assert again.already
    assert (again.signal.id, again.has_changed) == (first.signal.id, False)
