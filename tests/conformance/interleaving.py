"""Begin a write while a transaction of another store is open: what does it come to once that one is committed?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from tests.conformance.given import LOOK_EVERY, NAMESPACE, run_id
from windlass.store.base import Store, Tx

PATIENCE = 10.0  # real seconds; each wait ends as soon as what it waits for is there

Change = Callable[[Tx], Awaitable[Any]]
Blocked = Callable[[], Awaitable[None]]


async def meanwhile(
    second_store: Store, change: Change, write: Callable[[], Awaitable[Any]], blocked: Blocked | None
) -> Any:
    """Make a change and, before it is committed, begin the write. Answers with what the write came to.

    Without `blocked` it is not known whether the write waits: one that skips what is locked does not.
    """
    is_changed, is_blocked = threading.Event(), threading.Event()

    async def change_and_hold(tx: Tx) -> None:
        await change(tx)
        is_changed.set()
        while not is_blocked.is_set():
            await tx.runs.load(NAMESPACE, run_id(0))  # holds on, and awaits nothing but its tx

    holding_on = asyncio.create_task(second_store.run_tx("change", change_and_hold))
    try:
        assert await asyncio.to_thread(is_changed.wait, PATIENCE)
        writing = asyncio.ensure_future(write())
        if blocked is None:
            await asyncio.wait({writing}, timeout=LOOK_EVERY)
        else:
            await blocked()
            assert not writing.done()
    finally:
        is_blocked.set()
    await holding_on
    return (await asyncio.gather(writing, return_exceptions=True))[0]
