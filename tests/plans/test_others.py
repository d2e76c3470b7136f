"""Does it cost a worker anything that others have pipelines in its queue?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import apsw
import pytest

from tests.conformance.given import NAMESPACE, engine_on
from tests.lives.pipeline_hands import DONE, Hands, pipeline
from windlass.model.pipeline import HandlerKind, HandlerSpec
from windlass.model.pipeline_commands import DeclarePipelines
from windlass.model.schedule import Timing
from windlass.model.time import HOUR
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

POLL = HandlerSpec(name="poll", kind=HandlerKind.PRODUCER, publishes=(DONE,), timing=Timing(every=HOUR))


class Measured(Hands):
    """Counts what the database does for a claim, in steps of its virtual machine."""

    async def work_of_a_claim(self) -> int:
        store: Any = self.engine.parts.store
        steps: list[int] = []

        def note(event: dict[str, Any]) -> None:
            steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

        store._database.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
        try:
            assert await self.claim() is None
        finally:
            store._database.trace_v2(0, None)
        return sum(steps)


@pytest.fixture
async def hands(clock: FakeClock) -> AsyncIterator[Measured]:
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    hands = Measured(engine_on(store, clock), "wrk_1")
    await hands.declare()
    task = await hands.claim()
    assert task is not None
    await hands.reserve(task)
    await hands.commit(task, continues=False)
    yield hands
    await hands.engine.close()
    await store.close()


@pytest.mark.parametrize("is_due", [True, False])
async def test_a_look_costs_the_same_however_many_pipelines_of_others_stand_in_the_queue(
    hands: Measured, clock: FakeClock, is_due: bool
) -> None:
    alone = await hands.work_of_a_claim()
    others = tuple(pipeline(f"other {number}", POLL) for number in range(300))
    declared = DeclarePipelines(namespace=NAMESPACE, program="other", pipelines=others)
    await hands.engine.pipeline_control.declare_pipelines(declared)
    if not is_due:
        clock.jump(-HOUR)  # new ones are due at once

    assert await hands.work_of_a_claim() == alone
