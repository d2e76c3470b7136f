"""Does a harness wait for workers that take over, and for nothing that is over?

Since Python 3.12 `gather` of what is over gives the loop no turn, so what waits for its callbacks spins for ever.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.programs import sleeps
from windlass.testing.harness import Harness

PATIENCE = 5.0


async def test_a_takeover_whose_callbacks_had_no_turn_is_not_waited_for_again() -> None:
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    over.set_result(None)
    async with Harness() as harness:
        harness._takeovers.add(over)  # type: ignore[arg-type]

        await asyncio.wait_for(harness.advance("1m"), PATIENCE)

        assert not harness._takeovers


async def test_a_takeover_is_settled_in_the_very_turn_in_which_it_ends() -> None:
    async with Harness() as harness:
        nap = harness.app.workflow(sleeps("1h", then="slept"))
        handle = await harness.start(nap)
        await harness.until(handle, "sleeping")
        harness.crash()
        while not all(task.done() for task in harness._takeovers):  # noqa: ASYNC110 - an event would come after the callbacks
            await asyncio.sleep(0)

        await harness._settle_takeovers()  # as `advance` does, in the turn in which its own reading is answered

        assert not harness._takeovers
        await harness.advance("1h")
        assert await handle.result() == "slept"


async def test_a_takeover_that_failed_is_said_each_time() -> None:
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failed.set_exception(OSError("no worker"))
    async with Harness() as harness:
        harness._takeovers.add(failed)  # type: ignore[arg-type]

        for _ in range(2):
            with pytest.raises(OSError, match="no worker"):
                await harness.advance("1m")

        harness._takeovers.clear()
