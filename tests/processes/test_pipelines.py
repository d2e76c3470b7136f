"""Is an event lost, or an effect called twice, while workers of pipelines are killed as processes of their own?"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crash.piping import Order, is_at_rest
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot
from tests.lives.journal import Event, Line
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from tests.processes.children import Child, Nursery, until
from tests.processes.database import Database
from tests.processes.piping import ORDERS, PIPELINES, declare, settings
from tests.scale import SCALE
from windlass.app import App
from windlass.model.effect import EffectStatus
from windlass.runtime import SystemClock

WORKERS = 2
KILLS = 6 * SCALE
MOST_KILLS = 10 * KILLS  # until one of them has struck inside of an effect
ORDERS_EACH = 4  # published after each kill
SHORTEST, LONGEST = 0.05, 0.3  # seconds between two of them
CHECKED = ("I-33", "I-34", "I-35", "I-37", "I-38", "I-39", "doubt", "I-41", "I-44", "I-65")
# On SQLite a death is proved, and nobody could wait for the end of such a claim. A lost session of a server proves
# none: an effect is asked about when its claim and its time-out are over. Whoever lives must not stand still for so
# long, also on a machine that has much else to do: it would call again what another one has called meanwhile.
WAYS = {"sqlite": (300.0, "60s"), "postgresql": (5.0, "3s")}


class Nemesis:
    """Keeps some workers alive, and kills them."""

    def __init__(self, nursery: Nursery, database: Database, journal: Path) -> None:
        self._nursery, self._chance = nursery, random.Random(f"kills on {database.name}")
        visibility, timeout = WAYS[database.name]
        self._arguments = {"url": database.url, "journal": journal, "visibility": visibility, "timeout": timeout}
        self.killed: list[int] = []
        self._workers = [self._start() for _ in range(WORKERS)]

    def strike(self) -> None:
        patience = 1 + len(self.killed) // KILLS  # where nobody lives long enough to begin anything, they live longer
        time.sleep(self._chance.uniform(SHORTEST, LONGEST) * patience)
        number = self._chance.randrange(WORKERS)
        victim = self._workers[number]
        assert victim.end(signal.SIGKILL) == -signal.SIGKILL, victim.complaints
        self.killed.append(victim.number)
        self._workers[number] = self._start()

    def leave(self) -> None:
        for worker in self._workers:
            worker.send(signal.SIGTERM)
        assert [worker.wait() for worker in self._workers] == [0] * WORKERS

    def _start(self) -> Child:
        return self._nursery.start("pipe", **self._arguments)


class Shop:
    """A client beside the workers, with both ends of what it publishes on record."""

    def __init__(self, url: str, journal: Path) -> None:
        self._notes = SharedJournal(journal, number=10_000, clock=SystemClock())
        self._runner = asyncio.Runner()
        self._app = App(url, settings=settings(60))
        declare(self._app, self._notes, timeout="60s")
        self._orders = self._app.topic(ORDERS, Order)
        self.published = 0

    def publish(self, count: int) -> None:
        self._runner.run(self._publish(count))

    async def _publish(self, count: int) -> None:
        for _ in range(count):
            self.published += 1
            fields = {"what": "publish", "key": str(self.published), "value": ORDERS}
            self._notes.write(Event.TOLD, **fields)
            await self._app.publish(self._orders, Order(str(self.published)), id=str(self.published))
            self._notes.write(Event.HEARD, **fields)

    def close(self) -> None:
        self._runner.run(self._app.aclose())
        self._runner.close()


@pytest.fixture
def shops() -> Iterator[Callable[[Shop], Shop]]:
    with ExitStack() as stack:

        def closed_at_last(shop: Shop) -> Shop:
            stack.callback(shop.close)
            return shop

        yield closed_at_last


@pytest.mark.spec("invariants:I-33", "invariants:I-34", "invariants:I-35", "invariants:I-37", "invariants:I-38")
@pytest.mark.spec("invariants:I-39", "invariants:I-40", "invariants:I-41", "invariants:I-44", "invariants:I-65")
def test_killing_workers_loses_no_event_and_calls_no_effect_twice(
    database: Database, nursery: Nursery, shops: Callable[[Shop], Shop], folder: Path, figures: list[str]
) -> None:
    journal = folder / "journal"
    journal.touch()
    nemesis, shop = Nemesis(nursery, database, journal), shops(Shop(database.url, journal))
    until(lambda: len(database.look().piped.pipelines) == PIPELINES + 1, what="pipelines are declared")

    snapshots = []
    while len(nemesis.killed) < (KILLS if was_cut_short(journal, nemesis.killed) else MOST_KILLS):
        shop.publish(ORDERS_EACH)
        nemesis.strike()
        snapshots.append(database.look())
    wanted = 2 * PIPELINES * shop.published  # an order in each, and what came of it in the books
    until(lambda: is_done(database.look(), wanted), what="everything is consumed")
    nemesis.leave()

    lines = read_shared_journal(journal)
    last = database.look(life=2**31)
    evidence = Evidence(snapshots=(*snapshots, last), lines=lines)
    figures += describe(f"{database.name:10}  kill -9, pipelines:", len(nemesis.killed), last, lines)
    assert [f"{number} {text}" for number in CHECKED for text in CHECKERS[number](evidence)] == []
    assert len(last.piped.events) == wanted
    assert Counter(effect.status for effect in last.piped.effects)[EffectStatus.APPLIED] == PIPELINES * shop.published
    # Else it would have proved nothing: somebody was killed inside of an effect.
    assert was_in_doubt(journal)


def was_cut_short(journal: Path, killed: list[int]) -> bool:
    """Whether somebody was killed inside of an effect, before it happened. It is asked about, sooner or later."""
    begun = set[tuple[int, str]]()
    for line in read_shared_journal(journal):
        if line.event is Event.ENTERED:
            begun.add((line.life, line.idempotency_key))
        elif line.event is Event.CALLED:
            begun.discard((line.life, line.idempotency_key))
    return any(life in killed for life, _ in begun)


def was_in_doubt(journal: Path) -> bool:
    return any(line.event is Event.RECONCILED for line in read_shared_journal(journal))


def is_done(snapshot: Snapshot, wanted: int) -> bool:
    return len(snapshot.piped.events) == wanted and is_at_rest(snapshot.piped)


def describe(what: str, kills: int, last: Snapshot, lines: tuple[Line, ...]) -> list[str]:
    asked = Counter(line.outcome for line in lines if line.event is Event.RECONCILED)
    calls = Counter(line.idempotency_key for line in lines if line.event is Event.CALLED)
    twice = sum(count > 1 for count in calls.values())
    return [
        f"{what} {kills} processes killed; {len(last.piped.events)} events, {len(last.piped.runs)} attempts",
        f"{what} {len(calls)} effects happened, {twice} of them twice; asked about: "
        f"{asked['happened']} had happened, {asked['nothing']} had not",
    ]
