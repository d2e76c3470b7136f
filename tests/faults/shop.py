"""Work that is done while the store fails, and what must be true of it afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import windlass
from windlass.errors import WindlassError
from windlass.model.run import RunStatus
from windlass.runtime import SystemClock
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.evidence import Readable, Snapshot, take_snapshot
from windlass.testing.journal import Event, Journal, Line, read_journal

STEPS = 3
BODY_SECONDS = 0.03  # so long that many a fault finds a body at work


def declare_order(app: windlass.App, journal: Journal) -> Callable[..., Any]:
    """Three steps, each of which tells the journal when it is entered and when its result has reached the code."""

    async def pack(number: int, text: str) -> str:
        with journal.body():
            await asyncio.sleep(BODY_SECONDS)
        return text

    @app.workflow
    async def order(ctx: windlass.Context, text: str) -> str:
        for number in range(STEPS):
            key = f"pack-{number}"
            packed = await ctx.step(pack, number, text, key=key)
            journal.write(Event.DELIVERED, run_id=ctx.run_id, key=key, value=packed)
        return text

    return order


class Client:
    """Starts runs, and keeps what it was told: a run for each key that was acknowledged, an error for each refusal."""

    def __init__(self, app: windlass.App, order: Callable[..., Any]) -> None:
        self._app, self._order = app, order
        self.acknowledged: dict[str, windlass.Handle[str]] = {}
        self.refusals: list[WindlassError] = []

    async def start(self, number: int, *, size: int = 100) -> bool:
        key = f"order-{number}"
        try:
            handle = await self._app.start(self._order, f"{number} " + "x" * size, key=key)
        except WindlassError as refusal:
            self.refusals.append(refusal)
            return False
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


def complaints(snapshot: Snapshot, lines: tuple[Line, ...], acknowledged: dict[str, str]) -> list[str]:
    """Nothing acknowledged is lost, no key has two runs, no finished step is entered, every repeat has its claim."""
    found = [*snapshot.damage, *(f"{item.rule}: {item.subject}" for item in snapshot.inconsistencies)]
    owners = Counter(payload.start_key for payload in snapshot.payload_rows)
    for key, run_id in acknowledged.items():
        run = snapshot.runs.get(run_id)
        if run is None or run.status is not RunStatus.COMPLETED:
            found.append(f"{key}: acknowledged as {run_id}, and is {run and run.status}")
    found += [f"{key}: has {times} runs" for key, times in owners.items() if times > 1]
    delivered: set[tuple[str, str]] = set()
    entered: Counter[tuple[str, str]] = Counter()
    for line in lines:
        name = (line.run_id, line.key)
        if line.event is Event.DELIVERED:
            delivered.add(name)
        elif line.event is Event.ENTERED:
            entered[name] += 1
            if name in delivered:
                found.append(f"{line.run_id} {line.key}: entered after its result had been delivered")
    for (run_id, key), times in entered.items():
        claims = len(snapshot.claims.get(run_id, []))
        if times > claims:
            found.append(f"{run_id} {key}: entered {times} times in {claims} claims")
    return found


def repeats(lines: tuple[Line, ...]) -> int:
    entered = Counter((line.run_id, line.key) for line in lines if line.event is Event.ENTERED)
    return sum(times - 1 for times in entered.values())


__all__ = ["Client", "complaints", "declare_order", "look", "look_at_file", "read_journal", "repeats"]
