"""Work that is done while the store fails, and what must be true of it afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import windlass
from tests.invariants.claims import WORKER
from tests.invariants.evidence import Readable, Snapshot, take_snapshot
from tests.invariants.processes import Crowd, count_bodies, judge_crowd
from tests.lives.journal import Event, Journal, Line
from tests.lives.journalled_work import JournalledWork
from windlass.errors import WindlassError
from windlass.model.run import RunStatus
from windlass.runtime import Clock, SystemClock
from windlass.store.sqlite.store import SqliteStore

STEPS = 3
BODY_SECONDS = 0.03  # so long that many a fault finds a body at work


class Notes(Journal):
    """A journal in memory: what befalls the files of this process does not reach what the test writes down."""

    def __init__(self, clock: Clock) -> None:
        self._lock, self._acknowledged = threading.Lock(), set()
        self._clock, self._life = clock, 1
        self.lines: list[Line] = []

    def write(self, event: Event, **fields: Any) -> None:
        with self._lock:
            if self._clock is not None:
                self.lines.append(Line(event=event, life=self._life, at=self._clock.now(), **fields))


def declare_order(app: windlass.App, journal: Journal) -> Callable[..., Any]:
    """Three steps, each of which tells the journal when it is entered and when its result has reached the code."""

    async def pack(number: int, text: str) -> str:
        with journal.body():
            await asyncio.sleep(BODY_SECONDS)
        return text

    @app.workflow(name="order")
    async def order(ctx: windlass.Context, text: str) -> str:
        for number in range(STEPS):
            packed = await ctx.step(pack, number, text, key=str(number))
            journal.write(Event.DELIVERED, run_id=ctx.run_id, key=f"pack:{number}", value=packed)
        return text

    return order


async def journalled(app: windlass.App, journal: Journal) -> None:
    """Open the app with the journal between its workers and the engine: each claim and each write is noted."""
    opened = await app._opening.get()
    opened.work = JournalledWork(opened.work, journal, who=WORKER)


class Client:
    """Starts runs, and keeps what it was told: a run for each key that was acknowledged, an error for each refusal."""

    def __init__(self, app: windlass.App, journal: Journal) -> None:
        self._app, self._journal, self._order = app, journal, declare_order(app, journal)
        self.acknowledged: dict[str, windlass.Handle[str]] = {}
        self.refusals: list[WindlassError] = []

    async def start(self, number: int, *, size: int = 100) -> bool:
        key, text = f"order-{number}", f"{number} " + "x" * size
        asked = {"what": "order", "key": key, "value": [text]}
        self._journal.write(Event.ASKED, **asked)
        try:
            handle = await self._app.start(self._order, text, key=key)
        except WindlassError as refusal:
            self._journal.write(Event.REFUSED, **asked, outcome=refusal.code)
            self.refusals.append(refusal)
            return False
        self._journal.write(Event.ACKED, **asked, run_id=handle.id)
        known = self.acknowledged.setdefault(key, handle)
        assert known.id == handle.id, f"{key} was answered with {known.id} and with {handle.id}"
        return True

    async def results(self, *, seconds: float) -> int:
        """Wait for everything that was acknowledged."""
        async with asyncio.timeout(seconds):
            return len(await asyncio.gather(*[handle.result() for handle in self.acknowledged.values()]))


async def look(store: Readable) -> Snapshot:
    return await take_snapshot(store, at=SystemClock().now(), life=1)


async def look_at_file(path: Path) -> Snapshot:
    store = SqliteStore(str(path), clock=SystemClock())
    await store.open()
    try:
        return await look(store)
    finally:
        await store.close()


def complaints(crowd: Crowd, client: Client) -> list[str]:
    """Whatever the judge of several processes finds; and every key has one run, which has come to its end."""
    owners = Counter(payload.start_key for payload in crowd.last.payload_rows)
    return [
        *judge_crowd(crowd),
        *(f"{key}: acknowledged, and lost" for key in lost(crowd, client)),
        *(f"{key}: has {times} runs" for key, times in owners.items() if times > 1),
    ]


def lost(crowd: Crowd, client: Client) -> list[str]:
    """What was acknowledged and has not been done."""
    runs = {key: crowd.last.runs.get(handle.id) for key, handle in client.acknowledged.items()}
    return [key for key, run in runs.items() if run is None or run.status is not RunStatus.COMPLETED]


def described(crowd: Crowd, client: Client) -> str:
    bodies = count_bodies(crowd)
    return (
        f"{len(lost(crowd, client))} of {len(client.acknowledged)} acknowledged runs lost; {bodies.repeated} of "
        f"{bodies.started} bodies repeated, {bodies.after_lost_claims} of them after a lost claim, "
        f"{bodies.unexplained} unexplained"
    )
