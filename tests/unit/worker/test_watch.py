"""Does a workflow that blocks the event loop get told where?"""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from windlass.runtime import SystemClock
from windlass.worker.watch import LoopWatch


async def blocking_workflow() -> None:
    time.sleep(0.4)  # noqa: ASYNC251 - the very mistake the watch is for


def wait_in_python() -> None:
    until = time.monotonic() + 0.4
    while time.monotonic() < until:
        pass


async def computing_workflow() -> None:
    wait_in_python()


async def watched(workflow: object) -> None:
    """Run one workflow under a watch with little patience, and wait until the watch has said what it has to say."""
    watch = LoopWatch(SystemClock(), lambda: {workflow.__code__: "order"}, blocked_after=0.1)  # type: ignore[attr-defined]
    watch.start()
    watch.want(wanted=True)
    await asyncio.sleep(0.02)
    await workflow()  # type: ignore[operator]
    await asyncio.sleep(0.1)
    watch.stop()


async def test_a_blocked_loop_is_reported_with_the_line_and_what_was_called(caplog: pytest.LogCaptureFixture) -> None:
    await watched(blocking_workflow)

    (report,) = caplog.records
    line = blocking_workflow.__code__.co_firstlineno + 1
    assert re.match(r"Workflow 'order' held the event loop for \d+ ms at ", report.getMessage())
    assert f" at test_watch.py:{line} (time.sleep). " in report.getMessage()
    assert report.getMessage().endswith("Make it a step: await ctx.step(time.sleep, ...); sync steps run in threads.")


async def test_python_code_that_blocks_is_named_by_its_module_and_function(caplog: pytest.LogCaptureFixture) -> None:
    await watched(computing_workflow)

    assert f"({__name__}.wait_in_python)" in caplog.records[0].getMessage()


async def test_a_loop_that_is_blocked_by_something_else_is_not_blamed_on_a_workflow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = LoopWatch(SystemClock(), dict, blocked_after=0.1)
    watch.start()
    watch.want(wanted=True)
    await asyncio.sleep(0.02)
    time.sleep(0.4)  # noqa: ASYNC251 - blocks, but is no workflow
    await asyncio.sleep(0.1)
    watch.stop()

    assert not caplog.records


async def test_an_idle_worker_is_left_in_peace(caplog: pytest.LogCaptureFixture) -> None:
    watch = LoopWatch(SystemClock(), lambda: {blocking_workflow.__code__: "order"}, blocked_after=0.1)
    watch.start()

    await blocking_workflow()
    await asyncio.sleep(0.1)
    watch.stop()

    assert not caplog.records
