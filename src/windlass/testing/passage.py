"""How a harness lets time pass: from one thing that is due to the next, so that none is skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from windlass.client.handle import Handle
from windlass.model.duration import describe, to_duration
from windlass.model.run import RunStatus
from windlass.testing.errors import LOOK_EVERY, PATIENCE, Stuck

if TYPE_CHECKING:
    from windlass.testing.harness import Harness

GRACE = 0.5  # real seconds for bodies that are at work when the harness is closed


async def pass_time(harness: Harness, left: int) -> None:
    """So much time, and all that becomes due in it."""
    while (delay := (await harness._rest.next_slot())[1]) is not None and delay <= left:
        await _move(harness, delay)
        left -= delay
    await _move(harness, left)


async def pass_until_end(harness: Harness, handle: Handle[Any]) -> Any:
    """Take a run to its end. Raises what `result` raises, and Stuck if it does not end by itself."""
    await harness.idle()
    while not (status := await handle.status()).is_terminal and status is not RunStatus.PAUSED:
        delay = (await harness._rest.look())[1]
        if delay is None:
            raise Stuck(f"This run does not end by itself. {await handle.explain()}")
        await harness.advance(delay)
    return await handle.result()


async def pass_until(harness: Harness, handle: Handle[Any], status: str, *, within: str | timedelta) -> None:
    """Until a run has this status. Raises Stuck if it has not by then."""
    left: int = to_duration(within, what="within")
    await harness.idle()
    while (found := await handle.status()) != status:
        delay = (await harness._rest.look())[1]
        if found.is_terminal or delay is None or delay > left:
            raise Stuck(f"Run {handle.id} is {found} and not {status} within {describe(to_duration(within))}.")
        left -= delay
        await harness.advance(delay)


async def pass_grace(harness: Harness, leaving: Awaitable[object]) -> None:
    """Let a worker stop. The grace of a body that is at work is time of the clock, which nothing else moves by now."""
    left = asyncio.ensure_future(leaving)
    try:
        while not (await asyncio.wait([left], timeout=GRACE))[0]:
            harness.clock.advance(harness.app._settings.grace_for)
        await left
    finally:
        left.cancel()


async def _move(harness: Harness, delay: int) -> None:
    await harness._settle_takeovers()
    while (renewal := _next_renewal(harness)) is not None and renewal < delay:  # code at work keeps its claim
        harness.clock.advance(renewal)
        delay -= renewal
        await _until_renewed(harness)
    harness.clock.advance(delay)
    await harness.idle()


def _next_renewal(harness: Harness) -> int | None:
    looks = (item.claims.next_look_in for item in harness.app._workers if item.executions or item.handled)
    return min((look for look in looks if look is not None), default=None)


async def _until_renewed(harness: Harness) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    await asyncio.sleep(0)  # the timer gets its turn
    while any(worker.claims.is_renewing for worker in harness.app._workers):
        if loop.time() > deadline:
            raise Stuck(f"Claims were not renewed within {PATIENCE:g} s.")
        await asyncio.sleep(LOOK_EVERY)
