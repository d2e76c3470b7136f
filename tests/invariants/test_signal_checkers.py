"""Do the checkers of signals complain about the one thing each is there for?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, claim_one, engine_on, finished, start
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    fire,
    move,
    new_item,
    on_any_item,
    on_item,
    on_run,
    on_workflow,
    sends,
    steer,
    watch,
)
from tests.invariants.checkers import CHECKERS, judge, stores_agree
from tests.invariants.evidence import Evidence, Snapshot, WatchedRows, take_snapshot
from windlass.model.feed import BEGINNING
from windlass.model.item import TaskId
from windlass.model.run import LogEntry, RunId, RunStatus
from windlass.model.signal import FIRED, FiringRow, FiringStatus, Signal, SignalNews, SignalStatus
from windlass.model.time import MINUTE, Duration, Instant
from windlass.store.queries.checks import PayloadRow
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

Spoil = Callable[[Snapshot], Snapshot]
Rows = Callable[[WatchedRows], WatchedRows]

TASKED, STARTING, SENDING, REPEATING, PATTERN, EVERYTHING, PAUSED, OVER = range(8)  # signals, in the order of creation
EARLIER = Instant(FakeClock().now() - MINUTE)


@cache
def healthy() -> Evidence:
    return asyncio.run(story())


async def story() -> Evidence:
    """Eight signals on two items and two runs: one is armed anew, one waits for ever, one is called off."""
    clock = FakeClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    engine = engine_on(store, clock)
    item, other = await new_item(engine), await new_item(engine)
    run = (await engine.runs.start_run(start(1))).run_id
    await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
    starting = await watch(engine, on_item(item, "doing"), STARTS)
    await watch(engine, on_item(item, "ready"), sends(run))
    await watch(engine, on_item(item, "ready", "doing"), repeats=True)
    await watch(engine, on_workflow("invoice", "completed"))
    await watch(engine, on_any_item("doing", "blocked"))
    paused = await watch(engine, on_run(run, "completed"))
    over = await watch(engine, on_item(other, "done"))
    await move(engine, item, "ready", "doing")
    await fire(engine)
    first = await take_snapshot(store, at=clock.now(), life=1)
    await steer(engine, starting, "resume")
    await steer(engine, paused, "pause")
    await steer(engine, over, "cancel")
    await move(engine, item, "blocked", "doing")
    await move(engine, other, "ready", "doing")
    await engine.work.finish_run(finished(await claim_one(engine)))
    clock.advance(MINUTE)
    await fire(engine)
    last = await take_snapshot(store, at=clock.now(), life=2)
    await store.close()
    return Evidence(snapshots=(first, last), healed_at=EARLIER, bound_for=Duration(MINUTE))


# Other stories


def with_rows(change: Rows) -> Spoil:
    return lambda last: replace(last, watched=change(last.watched))


def with_signal(place: int, **fields: Any) -> Spoil:
    def change(watched: WatchedRows) -> WatchedRows:
        rows = list(watched.signal_rows)
        rows[place] = replace(rows[place], **fields)
        return replace(watched, signal_rows=tuple(rows))

    return with_rows(change)


def with_firings(of: int, change: Callable[[list[FiringRow]], Sequence[FiringRow]]) -> Spoil:
    """Other firings of the signal at that place."""

    def other(watched: WatchedRows) -> WatchedRows:
        id = watched.signal_rows[of].id
        own = [row for row in watched.firing_rows if row.signal_id == id]
        others = [row for row in watched.firing_rows if row.signal_id != id]
        return replace(watched, firing_rows=(*others, *change(own)))

    return with_rows(other)


def with_firing(of: int, **fields: Any) -> Spoil:
    return with_firings(of, lambda rows: [replace(rows[0], **fields), *rows[1:]])


def with_log(of: int, change: Callable[[list[LogEntry]], Sequence[LogEntry]]) -> Spoil:
    """Another story of the signal at that place."""

    def spoil(last: Snapshot) -> Snapshot:
        id = last.watched.signal_rows[of].id
        own = [entry for entry in last.log if entry.subject_id == id]
        others = [entry for entry in last.log if entry.subject_id != id]
        return replace(last, log=(*others, *change(own)))

    return spoil


def fired_first(entries: list[LogEntry]) -> int:
    return next(place for place, entry in enumerate(entries) if entry.cause == FIRED)


def with_news(of: int, **fields: Any) -> Spoil:
    """Something else is told of the first firing."""

    def change(entries: list[LogEntry]) -> list[LogEntry]:
        place = fired_first(entries)
        news = msgspec.json.decode(entries[place].data or b"", type=SignalNews)
        entries[place] = replace(entries[place], data=msgspec.json.encode(replace(news, **fields)))
        return entries

    return with_log(of, change)


def told_again(entries: list[LogEntry], **news: Any) -> list[LogEntry]:
    entry = entries[fired_first(entries)]
    told = msgspec.json.decode(entry.data or b"", type=SignalNews)
    again = replace(entry, seq=10_000, from_status=entry.to_status, data=msgspec.json.encode(replace(told, **news)))
    return [*entries, again]


def both(*spoils: Spoil) -> Spoil:
    def spoil(last: Snapshot) -> Snapshot:
        for each in spoils:
            last = each(last)
        return last

    return spoil


def with_a_run_of(of: int, run_id: str) -> Spoil:
    """A run that was started by the first firing of a signal, and is not the one it has."""

    def spoil(last: Snapshot) -> Snapshot:
        id = last.watched.signal_rows[of].id
        run_of = next(row.run_id for row in last.watched.firing_rows if row.signal_id == id)
        row = next(row for row in last.rows if row.run.id == run_of)
        payload = last.payloads[run_of or ""]
        twin = replace(row, run=replace(row.run, id=RunId(run_id)))
        copied: PayloadRow = replace(payload, run_id=run_id)
        return replace(last, rows=(*last.rows, twin), payload_rows=(*last.payload_rows, copied))

    return spoil


def without_runs(last: Snapshot) -> Snapshot:
    return replace(last, rows=tuple(row for row in last.rows if row.run.name != "page"))


SPOILT: dict[str, tuple[str, Spoil]] = {
    "a firing that stands there twice": ("I-46", with_firings(TASKED, lambda rows: [*rows, *rows])),
    "a firing that is announced twice": ("I-46", with_log(REPEATING, told_again)),
    "a firing that is done again": ("I-46", with_firing(STARTING, run_id=RunId("run_other"))),
    "a firing of nothing": ("I-46", with_firing(TASKED, cause="9999")),
    "a firing that tells of another state": ("I-46", with_firing(TASKED, from_status="ready")),
    "a firing that is done and not announced": ("I-47", with_log(TASKED, lambda entries: entries[:1])),
    "a firing that is announced and not done": (
        "I-47",
        with_firing(TASKED, status=FiringStatus.QUEUED, available_at=EARLIER),
    ),
    "a firing that is announced and gone": ("I-47", with_firings(TASKED, lambda rows: [])),
    "a firing that is announced as another": ("I-47", with_news(TASKED, task_id=TaskId("tsk_other"))),
    "a firing that is not counted": ("I-47", with_signal(REPEATING, fired=1)),
    "a signal that fires twice": (
        "I-48",
        with_log(TASKED, lambda entries: told_again(entries, firing_id="sig_other.1")),
    ),
    "a signal that fires twice for one of its subjects": (
        "I-48",
        with_log(EVERYTHING, lambda entries: told_again(entries, firing_id="sig_other.1")),
    ),
    "a signal that comes back from its end": (
        "I-48",
        with_log(OVER, lambda entries: [*entries, replace(entries[0], from_status="cancelled", to_status="armed")]),
    ),
    "a signal that jumps": ("I-48", with_log(TASKED, lambda entries: [entries[0], *entries[2:], entries[1]][::-1])),
    "a transition that nobody noticed": ("I-49", with_firings(REPEATING, lambda rows: rows[:-1])),
    "a transition during a pause that nobody noticed": ("I-49", with_firings(PAUSED, lambda rows: [])),
    "a transition behind an arming that nobody noticed": ("I-49", with_firings(STARTING, lambda rows: rows[:1])),
    "a task of a firing that has another": ("effects of signals", with_firing(TASKED, task_id=TaskId("tsk_other"))),
    "a task that is not there": ("effects of signals", with_rows(lambda watched: replace(watched, tasks=()))),
    "two runs of one firing": ("effects of signals", with_a_run_of(STARTING, "run_twin")),
    "a run of two firings": (
        "effects of signals",
        with_firings(STARTING, lambda rows: [rows[0], replace(rows[1], run_id=rows[0].run_id)]),
    ),
    "a run that is not there": ("effects of signals", without_runs),
    "an event that was not sent": ("effects of signals", lambda last: replace(last, messages=())),
    "an event that was sent twice": ("effects of signals", lambda last: replace(last, messages=last.messages * 2)),
    "a cursor that goes back": (
        "examined log",
        with_rows(lambda watched: replace(watched, cursors={NAMESPACE: BEGINNING})),
    ),
    "a run of a workflow that was passed": ("examined log", with_firings(PATTERN, lambda rows: [])),
    "an item that was passed": ("examined log", with_firings(EVERYTHING, lambda rows: rows[1:])),
    "more attempts than claims": ("tokens of firings", with_firing(TASKED, attempt=9)),
    "somebody who holds what is over": ("tokens of firings", with_firing(TASKED, worker="wrk_1")),
    "nobody who holds what is at work": (
        "tokens of firings",
        with_firing(TASKED, status=FiringStatus.RUNNING, available_at=EARLIER),
    ),
    "a token that goes back": ("tokens of firings", with_firing(STARTING, token=0, attempt=0)),
    "an attempt under an old token": ("tokens of firings", with_firing(STARTING, attempt=2)),
    "a firing that is lost": ("fired and lost", with_firings(STARTING, lambda rows: rows[1:])),
    "a firing that is held back by nothing": ("fired and lost", with_signal(PAUSED, status=SignalStatus.ARMED)),
    "a firing that nobody comes for": (
        "fired and lost",
        with_firing(PAUSED, available_at=Instant(EARLIER - MINUTE)),
    ),
}


def signal_at(evidence: Evidence, place: int) -> Signal:
    return evidence.last.watched.signal_rows[place]


def test_a_story_without_fault_meets_no_complaint() -> None:
    evidence = healthy()

    assert judge(evidence) == []
    found = [(signal.status.value, signal.fired) for signal in evidence.last.watched.signal_rows]
    assert found == [
        ("fired", 1),
        ("fired", 2),
        ("fired", 1),
        ("armed", 3),
        ("armed", 1),
        ("armed", 2),
        ("paused", 0),
        ("cancelled", 0),
    ]
    held = [row for row in evidence.last.watched.firing_rows if row.signal_id == signal_at(evidence, PAUSED).id]
    assert [(row.status.value, row.available_at) for row in held] == [("queued", None)]
    assert evidence.last.runs[held[0].subject_id].status is RunStatus.COMPLETED


@pytest.mark.spec("invariants:I-46", "invariants:I-47", "invariants:I-48", "invariants:I-49")
@pytest.mark.parametrize(("number", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, spoil: Spoil) -> None:
    evidence = healthy()

    assert CHECKERS[number](replace(evidence, snapshots=(evidence.snapshots[0], spoil(evidence.last)))) != []


def test_what_is_removed_because_it_is_old_is_no_fault() -> None:
    evidence = healthy()
    gone = with_rows(lambda watched: replace(watched, firing_rows=()))(evidence.last)
    kept = replace(evidence, snapshots=(gone,), keep_for=Duration(1))

    assert [text for number in ("I-46", "I-47", "effects of signals") for text in CHECKERS[number](kept)] == []


def test_a_story_that_is_told_twice_is_the_same_but_for_what_signals_did() -> None:
    evidence = healthy()

    assert stores_agree(evidence.last, evidence.last) == []
    assert stores_agree(evidence.last, with_firing(TASKED, error="no")(evidence.last)) != []
    assert stores_agree(evidence.last, with_signal(TASKED, fired=7)(evidence.last)) != []
