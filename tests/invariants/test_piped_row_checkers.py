"""Do the checkers of pipelines that go by rows alone complain about the one thing each is there for?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import engine_on
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, PipedRows, Snapshot, take_snapshot
from tests.lives.pipeline_hands import CHARGE, NO, PIPELINE, Hands, pipeline
from windlass.model.effect import EffectStatus
from windlass.model.pipeline import (
    EffectOutcome,
    EventStatus,
    HandlerKind,
    HandlerSpec,
    HandlerStatus,
    Phase,
    PipelineStatus,
    Reservation,
)
from windlass.model.schedule import Timing
from windlass.model.time import DAY, MINUTE, Duration, Instant
from windlass.store.queries.pipeline_checks import FilledRun, PlacedEvent, StatedHandler
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

Spoil = Callable[[Snapshot], Snapshot]

POLL = HandlerSpec(name="poll", kind=HandlerKind.PRODUCER, timing=Timing(every=Duration(5 * MINUTE)))
MOMENTS = ("declared", "polled", "prepared", "mutated", "stopped", "emitting", "committed", "doubtful", "taken over")
BY_ROWS = tuple(name for name in CHECKERS if name.endswith(" by rows"))


async def tell() -> dict[str, Snapshot]:
    """A producer runs; an event is charged, and what follows is tried again; of another one nobody knows."""
    clock = FakeClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    hands = Hands(engine_on(store, clock), "wrk_1", pipeline(PIPELINE, CHARGE, POLL))
    found: dict[str, Snapshot] = {}

    async def look(name: str) -> None:
        found[name] = await take_snapshot(store, at=clock.now(), life=1, is_judged=False)

    async def claim() -> Any:
        task = await hands.claim()
        assert task is not None
        return task

    await hands.declare()
    await look("declared")
    polling = await hands.commit(await prepare_nothing(hands))
    assert polling is not None
    await hands.commit(polling)
    await look("polled")
    clock.advance(MINUTE)
    await hands.publish("a")
    task = await claim()
    await hands.reserve(task, *await hands.pending())
    await look("prepared")
    await hands.begin(task)
    await hands.apply(task)
    await look("mutated")
    await hands.stop(task, NO)
    await look("stopped")
    clock.advance(MINUTE)
    again = await claim()
    await look("emitting")
    await hands.commit(again, continues=False)
    await look("committed")
    await hands.publish("b")
    doubtful = await claim()
    await hands.reserve(doubtful, *await hands.pending())
    await hands.begin(doubtful)
    await look("doubtful")
    await hands.release()
    await look("taken over")
    await store.close()
    return found


async def prepare_nothing(hands: Hands) -> Any:
    task = await hands.claim()
    assert task is not None
    await hands.reserve(task)
    return task


@cache
def story() -> dict[str, Snapshot]:
    return asyncio.run(tell())


def evidence(until: str, spoil: Spoil | None = None) -> Evidence:
    """The story up to a moment, with that moment spoilt."""
    moments = [story()[name] for name in MOMENTS[: MOMENTS.index(until) + 1]]
    if spoil is not None:
        moments[-1] = spoil(moments[-1])
    return Evidence(snapshots=tuple(moments))


# How a moment is spoilt


def piped(change: Callable[[PipedRows], PipedRows]) -> Spoil:
    return lambda snapshot: replace(snapshot, piped=change(snapshot.piped))


def every_event(**fields: Any) -> Spoil:
    def change(rows: PipedRows) -> PipedRows:
        events = [PlacedEvent(pipeline=row.pipeline, event=replace(row.event, **fields)) for row in rows.event_rows]
        return replace(rows, event_rows=tuple(events))

    return piped(change)


def newest_run(content: dict[str, Any] | None = None, **fields: Any) -> Spoil:
    """Another state of the last attempt."""

    def change(rows: PipedRows) -> PipedRows:
        *others, last = rows.run_rows
        return replace(rows, run_rows=(*others, replace(last, run=replace(last.run, **fields), **(content or {}))))

    return piped(change)


def every_run(**fields: Any) -> Spoil:
    def change(rows: PipedRows) -> PipedRows:
        return replace(rows, run_rows=tuple(replace(row, run=replace(row.run, **fields)) for row in rows.run_rows))

    return piped(change)


def one_more_run(**fields: Any) -> Spoil:
    def change(rows: PipedRows) -> PipedRows:
        last = rows.run_rows[-1]
        new = FilledRun(run=replace(last.run, id="hrn_~", retry_of=None, **fields), data=last.data, result=last.result)
        return replace(rows, run_rows=(*rows.run_rows, new))

    return piped(change)


def the_pipeline(**fields: Any) -> Spoil:
    return piped(lambda rows: replace(rows, pipeline_rows=tuple(replace(row, **fields) for row in rows.pipeline_rows)))


def handler(name: str, **fields: Any) -> Spoil:
    def changed(row: StatedHandler) -> StatedHandler:
        return replace(row, handler=replace(row.handler, **fields)) if row.handler.name == name else row

    return piped(lambda rows: replace(rows, handlers=tuple(map(changed, rows.handlers))))


def ledger(**fields: Any) -> Spoil:
    return piped(lambda rows: replace(rows, effects=tuple(replace(row, **fields) for row in rows.effects)))


def both(*spoils: Spoil) -> Spoil:
    def change(snapshot: Snapshot) -> Snapshot:
        for spoil in spoils:
            snapshot = spoil(snapshot)
        return snapshot

    return change


LONG_AGO, MUCH_LATER = Instant(0), Instant(2**60)
TWICE = (Reservation(topic="orders", id="a"), Reservation(topic="orders", id="a"))
SPOILT: dict[str, tuple[str, str, Spoil]] = {
    "an event with another number": ("I-33", "mutated", every_event(seq=9)),
    "a consumed event that is pending again": (
        "I-33",
        "doubtful",
        every_event(status=EventStatus.PENDING, reserved_by=None),
    ),
    "a payload that changed under whoever is at it": ("I-33", "mutated", every_event(payload=b"9", version=9)),
    "an event that was counted back": ("I-33", "mutated", every_event(attempt=0)),
    "an event that was chosen twice": ("I-36", "prepared", newest_run(reserved=TWICE)),
    "an event of a topic to which nobody subscribed": (
        "I-36",
        "prepared",
        handler("charge", spec=replace(CHARGE, topics=("x",))),
    ),
    "an attempt that goes on without its events": (
        "I-36",
        "mutated",
        every_event(status=EventStatus.PENDING, reserved_by=None),
    ),
    "an attempt that begins anew with its events": (
        "I-36",
        "prepared",
        newest_run(status=HandlerStatus.PAUSED_TRANSIENT, failure=NO),
    ),
    "an attempt that went back": ("I-37", "mutated", newest_run(phase=Phase.PREPARING, outcome=None)),
    "an attempt that is over and was changed": ("I-37", "prepared", every_run(ended_at=LONG_AGO)),
    "an effect that is known, and is not any more": ("I-37", "stopped", newest_run(outcome=EffectOutcome.FAILURE)),
    "a phase behind an effect of which nothing is known": ("I-37", "mutated", newest_run(outcome=None)),
    "an attempt that begins at the effect again": (
        "I-39",
        "emitting",
        newest_run(phase=Phase.PREPARED, outcome=None),
    ),
    "another result than was found": ("I-39", "emitting", newest_run(content={"result": b"other"})),
    "other data than was prepared": ("I-39", "emitting", newest_run(content={"data": b"other"})),
    "an attempt that has not taken over what may have happened": (
        "I-39",
        "taken over",
        piped(lambda rows: replace(rows, effects=tuple(item for item in rows.effects if not item.status.is_open))),
    ),
    "an attempt behind one of which nobody knew": (
        "I-39",
        "taken over",
        ledger(status=EffectStatus.FAILED, created_at=MUCH_LATER),
    ),
    "an event of an attempt that is not committed": (
        "I-40",
        "mutated",
        lambda snapshot: every_event(created_by=snapshot.piped.run_rows[-1].run.id)(snapshot),
    ),
    "an attempt that follows one that is committed": (
        "I-40",
        "emitting",
        lambda snapshot: newest_run(retry_of=snapshot.piped.run_rows[0].run.id)(snapshot),
    ),
    "a pipeline that nobody looks at": ("I-41", "stopped", the_pipeline(available_at=None)),
    "a pipeline that is looked at too late": ("I-41", "polled", the_pipeline(available_at=MUCH_LATER)),
    "a pipeline that is paused and due": ("I-41", "polled", the_pipeline(is_paused=True)),
    "a consumer that was not told": (
        "I-41",
        "prepared",
        both(
            handler("charge", news=0, seen=0),
            every_event(status=EventStatus.PENDING, reserved_by=None),
            the_pipeline(run_id=None, status=PipelineStatus.IDLE),
        ),
    ),
    "a consumer that begins for nothing": (
        "I-42",
        "prepared",
        both(handler("charge", news=0, seen=0), newest_run(retry_of=None)),
    ),
    "a consumer that has taken nothing and looks again": ("I-42", "polled", handler("charge", seen=-1)),
    "a wake that nobody asked for": ("I-43", "mutated", handler("charge", wake_at=Instant(2**40))),
    "a wake beyond the bounds": (
        "I-43",
        "prepared",
        lambda snapshot: handler("charge", wake_at=snapshot.at + 2 * DAY)(snapshot),
    ),
    "two attempts at once": ("I-44", "prepared", one_more_run()),
    "an attempt at work that its pipeline does not know": ("I-44", "prepared", the_pipeline(run_id=None)),
    "an attempt at work under an old token": ("I-44", "prepared", newest_run(token=0)),
    "a producer whose time moved without a run": ("I-45", "mutated", handler("poll", next_at=MUCH_LATER)),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_story_without_fault_meets_no_complaint(moment: str) -> None:
    assert [text for name in BY_ROWS for text in CHECKERS[name](evidence(moment))] == []


@pytest.mark.spec("invariants:I-33", "invariants:I-36", "invariants:I-37", "invariants:I-39", "invariants:I-40")
@pytest.mark.spec("invariants:I-41", "invariants:I-42", "invariants:I-43", "invariants:I-44", "invariants:I-45")
@pytest.mark.parametrize(("number", "moment", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, moment: str, spoil: Spoil) -> None:
    assert CHECKERS[f"{number} by rows"](evidence(moment, spoil)) != []


def test_every_checker_is_spoilt() -> None:
    assert {f"{number} by rows" for number, _, _ in SPOILT.values()} == set(BY_ROWS)
