"""Ask the store again when it did not answer. What is asked recognises its own repeats."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from windlass.errors import Unavailable
from windlass.model.time import MILLISECOND, SECOND
from windlass.runtime import Clock
from windlass.store.base import Store, Tx

T = TypeVar("T")

LOGGER = logging.getLogger("windlass.engine")
TRIES = 12  # about fifteen seconds in all where the store says no at once
GIVE_UP_AFTER = 15 * SECOND  # and hardly longer where it takes its time to say so
TOLD_AFTER = 3  # tries: what is over within a moment concerns nobody
FIRST_PAUSE, LONGEST_PAUSE = 50 * MILLISECOND, 2 * SECOND


async def run_until_answered(
    store: Store,
    clock: Clock,
    name: str,
    fn: Callable[[Tx], Awaitable[T]],
    *,
    single: bool = False,
    is_cancellable: bool = True,
) -> T:
    """`store.run_tx`, repeated with growing pauses while the outcome is unknown. Raises Unavailable in the end."""
    return await until_answered(clock, lambda: store.run_tx(name, fn, single=single, is_cancellable=is_cancellable))


async def until_answered(clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
    """What `ask` answers, asked with growing pauses while it raises Unavailable; in the end that is raised."""
    pause: int = FIRST_PAUSE
    deadline = clock.monotonic() + GIVE_UP_AFTER
    for tried in range(1, TRIES):
        try:
            return await ask()
        except Unavailable as error:
            if clock.monotonic() >= deadline:
                raise
            if tried == TOLD_AFTER:
                LOGGER.warning("Asking again: %s", error)
            await clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
    return await ask()
