"""What a server answers to a worker that gives a run back: that it is given back, and nothing to count down by."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import ByHand, OpenHarness, row_of
from tests.programs import nothing
from tests.wires.wired import Wired
from windlass.model.run import RunStatus
from windlass.model.time import MINUTE
from windlass.v1 import worker_pb2

BEHIND_A_SERVER = pytest.mark.parametrize("url", ["wire"], indirect=True)


@BEHIND_A_SERVER
@pytest.mark.spec("runs:P6.4", "runs:P4.8")
@pytest.mark.parametrize("wait", ["failure", "sleep"])
async def test_a_parked_run_is_answered_without_any_time(open_harness: OpenHarness, wait: str) -> None:
    """Whoever wants to know when it goes on reads the run: its `available_at` is the only time there is."""
    harness = await open_harness(has_worker=False)
    order = harness.app.workflow(name="order")(nothing)
    handle = await harness.start(order)
    by = ByHand(harness)
    run = await by.claim_one()
    asked = {"failures": (by.failing(run),)} if wait == "failure" else {"waits": (by.waiting(run),)}
    answers: list[Any] = []
    listen_to(harness.opened, answers)

    await by.work.suspend_run(by.suspension(run, park=True, **asked))

    assert answers == [worker_pb2.SuspendResponse(is_parked=True)]
    row = await row_of(harness, handle)
    assert row.status is (RunStatus.PENDING if wait == "failure" else RunStatus.SLEEPING)
    assert row.available_at is not None and row.available_at >= harness.clock.now() + MINUTE


def listen_to(wired: Any, answers: list[Any]) -> None:
    """Note what comes over the wire, as it comes."""
    assert isinstance(wired, Wired)
    channel: Any = wired.remote._channel
    once = channel._once

    async def noting(*args: Any) -> Any:
        answer = await once(*args)
        if isinstance(answer, worker_pb2.SuspendResponse):
            answers.append(answer)
        return answer

    channel._once = noting
