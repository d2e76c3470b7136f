"""Processes that move work items, and that work what signals on them have fired until they are killed.

move_items      move items from state to state, at random, until SIGTERM
fire_signals    a coordinator that kills itself at a hook of one of its transactions, or lives until SIGTERM
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tests.integration.signals.racing import claim, failing
from tests.lives.faults import Moment
from tests.processes.beside import told_to_leave
from tests.processes.coordinating import SharedClock
from windlass.assembly import open_engine
from windlass.embedded import Embedded, in_process
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.model.item import ItemId, ItemStatus, ListItems, TransitionItem
from windlass.runtime import system_rng
from windlass.settings import Settings
from windlass.store.base import Hooks

NAMESPACE = "default"
AT_ONCE = 4  # moves that one process has asked for and not been answered yet
BATCH = 20  # firings in one pass: few, so that coordinators meet at all of them
PACE = 0.002  # real seconds between two moves, and between two passes that found nothing

READY, DOING, BLOCKED = ItemStatus.READY, ItemStatus.DOING, ItemStatus.BLOCKED
MOVES = {READY: (DOING,), DOING: (READY, BLOCKED), BLOCKED: (READY, DOING)}  # round and round: none of them is over


class Doomed:
    """Hooks of which one is where this process kills itself: that moment of that transaction, the how manieth time."""

    def __init__(self, transaction: str, moment: str, time: int) -> None:
        self._transaction, self._moment, self._left = transaction, moment, time

    def before_begin(self, name: str) -> None:
        self._reach(name, Moment.BEFORE_BEGIN)

    def before_commit(self, name: str) -> None:
        self._reach(name, Moment.BEFORE_COMMIT)

    def after_commit(self, name: str) -> None:
        self._reach(name, Moment.AFTER_COMMIT)

    def _reach(self, name: str, moment: Moment) -> None:
        if (name, moment) == (self._transaction, self._moment):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def opened(url: str, clock: str, *, hooks: Hooks | None = None) -> Embedded:
    settings = Settings(coordinates=False)
    return in_process(await open_engine(url, settings, clock=SharedClock(Path(clock)), rng=system_rng(), hooks=hooks))


def fire_signals(*, url: str, clock: str, transaction: str, moment: str, time: int, number: int) -> None:
    async def main() -> None:
        leave, engine = told_to_leave(), await opened(url, clock, hooks=Doomed(transaction, moment, time))
        coordinator = FireSignals(engine.engine.parts, batch=BATCH, is_enabled=True)
        while not leave.is_set():
            fired = await coordinator.tick()
            if not fired.count and not fired.is_more:
                await asyncio.sleep(PACE)
        await engine.close()

    asyncio.run(main())


def move_items(*, url: str, clock: str, number: int) -> None:
    async def main() -> None:
        leave, engine = told_to_leave(), await opened(url, clock)
        page = await engine.items.list_items(ListItems(namespace=NAMESPACE, limit=100_000))
        shares = [list(page.items[part::AT_ONCE]) for part in range(AT_ONCE)]

        async def move(states: dict[ItemId, ItemStatus], chance: random.Random) -> None:
            while not leave.is_set():
                item_id = chance.choice(list(states))
                to = chance.choice(MOVES[states[item_id]])
                await engine.items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item_id, to=to))
                states[item_id] = to
                await asyncio.sleep(PACE)

        await asyncio.gather(
            *(move({item.id: item.status for item in share}, random.Random(part)) for part, share in enumerate(shares))
        )
        await engine.close()

    asyncio.run(main())


def fail_runs(*, url: str, clock: str, number: int) -> None:
    async def main() -> None:
        engine = await opened(url, clock)
        for poll in count(1):
            claimed = await claim(engine.engine, poll=poll, limit=2)
            if not claimed:
                break
            await asyncio.gather(*(engine.work.finish_run(failing(run)) for run in claimed))
            await asyncio.sleep(2 * PACE)  # so that whoever watches them comes in between
        await engine.close()

    asyncio.run(main())


ENTRIES: dict[str, Callable[..., int | None]] = {
    "fail_runs": fail_runs,
    "fire_signals": fire_signals,
    "move_items": move_items,
}
