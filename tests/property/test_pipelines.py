"""Whatever workers, people and time do to pipelines: is no event lost, and does no effect happen twice?"""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from msgspec.structs import replace

from tests.conformance.given import engine_on
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot, take_snapshot
from tests.property.pipeline_hands import Hands, is_over
from tests.scale import SCALE
from windlass.model.pipeline import EventStatus
from windlass.store.queries.checks import Inconsistency
from windlass.store.queries.pipeline_checks import PipelineChecks
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

HISTORIES = 75 * SCALE
TURNS = 40
# By rows alone: nobody keeps a journal here.
CHECKED = ("I-34", "I-35", "I-37", "I-39", "I-44", "I-65")
BY_ROWS = tuple(name for name in CHECKERS if name.endswith(" by rows"))


def complaints(*snapshots: Snapshot) -> list[str]:
    evidence = Evidence(snapshots=snapshots)
    return [f"{name} {text}" for name in (*CHECKED, *BY_ROWS) for text in CHECKERS[name](evidence)]


async def one_history(number: int) -> Counter[str]:
    """Judge what stands there behind every turn, and what is left when everybody has done what they should."""
    clock = FakeClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    try:
        hands = Hands(engine_on(store, clock), clock, random.Random(f"pipelines {number}"))
        await hands.begin()
        before = await look(store, clock)
        turns: list[str] = []
        for _ in range(TURNS):
            turns.append(await hands.turn())
            after = await look(store, clock)
            assert complaints(before, after) == [], (number, turns)
            assert max(hands.happened.values(), default=0) <= 1, (number, turns)
            check_nothing_is_lost(hands, after)
            before = after
        await hands.come_to_rest()
        last = await look(store, clock)
        assert complaints(before, last) == [], number
        check_the_end(hands, last)
        return hands.done
    finally:
        await store.close()


async def look(store: SqliteStore, clock: FakeClock) -> Snapshot:
    snapshot = await take_snapshot(store, at=clock.now(), life=1, is_judged=False)
    rows = await store.read("look", lambda tx: PipelineChecks(tx.connection).inconsistencies())
    broken = [Inconsistency(rule=row[0], namespace=row[1], subject=row[2]) for row in rows]
    return replace(snapshot, inconsistencies=tuple(broken))


def check_nothing_is_lost(hands: Hands, snapshot: Snapshot) -> None:
    assert set(snapshot.piped.events) == hands.published


def check_the_end(hands: Hands, last: Snapshot) -> None:
    """Everything is over, and what was charged stands on the ledger once."""
    check_nothing_is_lost(hands, last)
    assert all(is_over(event.status) for event in last.piped.events.values())
    assert max(hands.happened.values(), default=0) <= 1
    applied = Counter(
        (run.pipeline, item.topic, item.id)
        for effect in last.piped.effects
        if effect.status == "applied"
        for run in [last.piped.runs[effect.owner]]
        for item in run.reserved
    )
    skipped = {place for place, event in last.piped.events.items() if event.status is EventStatus.SKIPPED}
    assert set(applied) - set(hands.happened) == set(), "the ledger says so, and it never happened"
    assert set(hands.happened) - set(applied) <= skipped, "it happened, and nobody has gone on with it"
    assert max(applied.values(), default=0) <= 1


@pytest.mark.spec("invariants:I-33", "invariants:I-34", "invariants:I-35", "invariants:I-36", "invariants:I-37")
@pytest.mark.spec("invariants:I-38", "invariants:I-39", "invariants:I-40", "invariants:I-41", "invariants:I-42")
@pytest.mark.spec("invariants:I-43", "invariants:I-44", "invariants:I-45")
def test_nothing_that_anybody_does_breaks_a_pipeline(figures: list[str]) -> None:
    done: Counter[str] = Counter()
    for number in range(HISTORIES):
        done += asyncio.run(one_history(number))

    figures.append(f"{HISTORIES} histories of {TURNS} turns: {done.total()} operations of {len(done)} kinds")
    for name in ("publish", "claim", "work", "steer", "decide", "resolve", "skip", "declare", "repeat", "pass_time"):
        assert done[name] > 0, name
    for refused in ("work: ClaimLost", "work: InvalidInput", "steer: WrongState"):
        assert done[refused] > 0, refused
