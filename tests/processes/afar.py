"""What processes do at the other end of a wire: work for servers they know by their URL, and ask them for runs.

    work_afar   a worker; SIGTERM makes it leave in order
    ask_afar    a client that starts so many runs, at its pace, and waits for the result of each; what it was told is
                written to a file

Bodies do next to nothing, and every step of a run tells the journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import windlass
from tests.invariants.claims import WORKER
from tests.lives.journal import Event, Journal
from tests.lives.journalled_work import JournalledWork
from tests.lives.shared_journal import SharedJournal
from tests.processes.beside import told_to_leave
from windlass.app import App
from windlass.errors import Unavailable
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings
from windlass.settings_values import Secret

T = TypeVar("T")

STEPS = 5
SLOTS = 16
IN_FLIGHT = 200  # runs that the client cares for at a time
SLOW, SLOW_SECONDS = 4, 0.03  # every so-manieth run has bodies that last, so that a death finds them at work
LOOK_EVERY = 0.05


def declare(app: App, journal: Journal) -> Callable[..., Any]:
    async def carry(number: int, place: int) -> int:
        with journal.body():
            if number % SLOW == 0:
                await asyncio.sleep(SLOW_SECONDS)
            return number + place

    @app.workflow(name="errand")
    async def errand(ctx: windlass.Context, number: int) -> int:
        for place in range(STEPS):
            carried = await ctx.step(carry, number, place, key=str(place))
            journal.write(Event.DELIVERED, run_id=ctx.run_id, key=f"carry:{place}", value=carried)
        return STEPS * number

    return errand


def settings(token: str, *, visibility: float) -> Settings:
    return Settings(token=Secret(token), visibility_for=Duration(round(visibility * SECOND)))


def work_afar(*, url: str, token: str, journal: str, number: int, visibility: float) -> None:
    async def main() -> None:
        leave, notes = told_to_leave(), SharedJournal(Path(journal), number=number, clock=SystemClock())
        async with App(url, settings=settings(token, visibility=visibility)) as app:
            declare(app, notes)
            opened = await app._opening.get()
            opened.work = JournalledWork(opened.work, notes, who=WORKER)
            while True:
                try:
                    async with app.worker(slots=SLOTS):
                        await leave.wait()
                    return
                except Unavailable:  # no server answers when it comes: whoever starts workers starts them again
                    if leave.is_set():
                        return

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    asyncio.run(main())


class Asker:
    """Starts runs and awaits them. What is refused because nobody answered is asked again, with the same words."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app, self._journal, self._errand = app, journal, declare(app, journal)
        self._free = asyncio.Semaphore(IN_FLIGHT)
        self.told: Counter[str] = Counter()
        self.longest = 0.0  # seconds from asking for a run to its result
        self.refusals: list[str] = []

    async def ask(self, numbers: range, *, every: float) -> None:
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                await self._free.acquire()
                group.create_task(self._one(number)).add_done_callback(lambda _: self._free.release())
                await asyncio.sleep(every)

    async def _one(self, number: int) -> None:
        asked, began_at = {"what": "errand", "key": f"errand-{number}", "value": [number]}, time.monotonic()
        self._journal.write(Event.ASKED, **asked)
        handle = await self._answered(lambda: self._app.start(self._errand, number, key=f"errand-{number}"))
        self._journal.write(Event.ACKED, **asked, run_id=handle.id)
        self.told["started"] += 1
        result = await self._answered(handle.result)
        assert result == STEPS * number, f"{handle.id}: {result!r} instead of {STEPS * number}"
        self.told["ended"] += 1
        self.longest = max(self.longest, time.monotonic() - began_at)

    async def _answered(self, call: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await call()
            except Unavailable as error:
                self.told["asked again"] += 1
                self.refusals.append(str(error))


def ask_afar(
    *, url: str, token: str, journal: str, number: int, runs: int, late: int, every: float, gate: str, answers: str
) -> None:
    """The last `late` runs are asked for when the gate is there."""

    async def main() -> None:
        told_to_leave()
        notes = SharedJournal(Path(journal), number=number, clock=SystemClock())
        async with App(url, settings=settings(token, visibility=300)) as app:
            asker = Asker(app, notes)
            await asker.ask(range(runs - late), every=every)
            while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - a process has no event for that
                await asyncio.sleep(LOOK_EVERY)
            await asker.ask(range(runs - late, runs), every=0)
        text = {**asker.told, "longest": asker.longest, "refusals": asker.refusals}
        Path(answers).write_text(json.dumps(text))  # noqa: ASYNC240

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    asyncio.run(main())


ENTRIES: dict[str, Callable[..., int | None]] = {"work_afar": work_afar, "ask_afar": ask_afar}
