"""Do the checkers of pipelines complain about the one thing each is there for?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.crash.places import sqlite_places
from tests.crash.scenarios import named
from tests.invariants.checkers import CHECKERS, judge
from tests.invariants.evidence import Evidence, PipedRows
from tests.lives.crashes import play
from tests.lives.journal import Event, Line
from windlass.model.effect import EffectStatus
from windlass.model.pipeline import EventStatus, HandlerStatus, Phase, PipelineStatus
from windlass.store.queries.pipeline_checks import FilledRun, PlacedEvent, StatedHandler

Spoil = Callable[[Evidence], Evidence]
Change = Callable[[PipedRows], PipedRows]

CHARGED, COUNTED = "effect that can be asked about", "producer that is paused and asked for"


@cache
def healthy(name: str) -> Evidence:
    with tempfile.TemporaryDirectory() as folder, sqlite_places(Path(folder)) as places:
        return play(named(name), places.fresh()).evidence


# What is spoilt


def with_last(change: Change) -> Spoil:
    def spoil(evidence: Evidence) -> Evidence:
        last = replace(evidence.last, piped=change(evidence.last.piped))
        return replace(evidence, snapshots=(*evidence.snapshots[:-1], last))

    return spoil


def and_then(change: Change) -> Spoil:
    """One more look at the end, at which something has changed."""

    def spoil(evidence: Evidence) -> Evidence:
        after = replace(evidence.last, piped=change(evidence.last.piped))
        return replace(evidence, snapshots=(*evidence.snapshots, after))

    return spoil


def first_event(**fields: Any) -> Change:
    def change(piped: PipedRows) -> PipedRows:
        row, *others = piped.event_rows
        return replace(
            piped, event_rows=(PlacedEvent(pipeline=row.pipeline, event=replace(row.event, **fields)), *others)
        )

    return change


def no_event(piped: PipedRows) -> PipedRows:
    return replace(piped, event_rows=piped.event_rows[1:])


def no_order(piped: PipedRows) -> PipedRows:
    return replace(piped, event_rows=tuple(row for row in piped.event_rows if row.event.created_by is not None))


def last_event_of(creator: Callable[[PipedRows], Any]) -> Change:
    def change(piped: PipedRows) -> PipedRows:
        *others, row = piped.event_rows
        event = replace(row.event, created_by=creator(piped))
        return replace(piped, event_rows=(*others, PlacedEvent(pipeline=row.pipeline, event=event)))

    return change


def every_run(is_meant: Callable[[FilledRun], bool], *, result: bytes | None = None, **fields: Any) -> Change:
    def change(piped: PipedRows) -> PipedRows:
        def spoilt(row: FilledRun) -> FilledRun:
            if not is_meant(row):
                return row
            return replace(row, run=replace(row.run, **fields), result=row.result if result is None else result)

        return replace(piped, run_rows=tuple(map(spoilt, piped.run_rows)))

    return change


def every_effect(**fields: Any) -> Change:
    return lambda piped: replace(piped, effects=tuple(replace(effect, **fields) for effect in piped.effects))


def every_pipeline(**fields: Any) -> Change:
    return lambda piped: replace(piped, pipeline_rows=tuple(replace(row, **fields) for row in piped.pipeline_rows))


def every_state(state: bytes) -> Change:
    def change(piped: PipedRows) -> PipedRows:
        return replace(piped, handlers=tuple(StatedHandler(handler=row.handler, state=state) for row in piped.handlers))

    return change


def is_committed(row: FilledRun) -> bool:
    return row.run.status is HandlerStatus.COMMITTED


def lines(change: Callable[[Line], list[Line]]) -> Spoil:
    return lambda evidence: replace(evidence, lines=tuple(new for line in evidence.lines for new in change(line)))


def called_twice(line: Line) -> list[Line]:
    return [line, line] if line.event is Event.CALLED else [line]


def asked_early(line: Line) -> list[Line]:
    """By another process, right after the call."""
    return [replace(line, life=line.life + 1, at=line.at + 1)] if line.event is Event.RECONCILED else [line]


SPOILT: dict[str, tuple[str, str, Spoil]] = {
    "an event that was published is lost": ("I-33", CHARGED, with_last(no_event)),
    "an event that was acknowledged is lost": ("I-33", CHARGED, with_last(no_order)),
    "an event is there though nobody published it": (
        "I-33",
        CHARGED,
        with_last(last_event_of(lambda piped: piped.run_rows[0].run.id)),
    ),
    "an event is pending and was taken": ("I-34", CHARGED, with_last(first_event(status=EventStatus.PENDING))),
    "an event that was consumed is pending again": ("I-34", CHARGED, and_then(first_event(status=EventStatus.PENDING))),
    "an event changed its place": ("I-34", CHARGED, and_then(first_event(seq=99))),
    "an event is reserved by nobody": ("I-35", CHARGED, with_last(first_event(status=EventStatus.RESERVED))),
    "an attempt is active and holds nothing": (
        "I-35",
        CHARGED,
        with_last(every_run(is_committed, status=HandlerStatus.ACTIVE)),
    ),
    "an attempt went back": ("I-37", CHARGED, and_then(every_run(is_committed, phase=Phase.PREPARED))),
    "an attempt that was committed is not any more": (
        "I-37",
        CHARGED,
        and_then(every_run(is_committed, status=HandlerStatus.FAILED_LOGIC)),
    ),
    "an attempt has another number than the one before it": (
        "I-37",
        CHARGED,
        with_last(every_run(lambda row: row.run.retry_of is not None, attempt=9)),
    ),
    "an effect is called twice": ("I-38", CHARGED, lines(called_twice)),
    "an effect is applied that never happened": (
        "I-38",
        CHARGED,
        with_last(every_effect(status=EffectStatus.APPLIED, idempotency_key="other")),
    ),
    "what was known of an effect is forgotten": (
        "I-39",
        CHARGED,
        and_then(every_effect(status=EffectStatus.IN_FLIGHT)),
    ),
    "an effect is open and holds nobody up": ("I-39", CHARGED, with_last(every_effect(status=EffectStatus.IN_FLIGHT))),
    "somebody asks while whoever called may be inside": ("doubt", CHARGED, lines(asked_early)),
    "an event is left at the end": ("I-41", CHARGED, with_last(first_event(status=EventStatus.PENDING))),
    "a pipeline is left for a person": ("I-41", CHARGED, with_last(every_pipeline(status=PipelineStatus.ATTENTION))),
    "the log ends elsewhere": ("I-44", CHARGED, with_last(every_pipeline(status=PipelineStatus.ATTENTION))),
    "a pipeline at rest is held": ("I-44", CHARGED, with_last(every_pipeline(worker="wrk_1"))),
    "a token went back": ("I-44", CHARGED, and_then(every_pipeline(token=0))),
    "a state is ahead of the events": ("I-45", COUNTED, with_last(every_state(b"9"))),
    "a producer's event is missing": ("I-45", COUNTED, with_last(no_event)),
}


@pytest.mark.parametrize("name", [CHARGED, COUNTED])
def test_nobody_complains_about_a_story_in_order(name: str) -> None:
    assert judge(healthy(name)) == []


@pytest.mark.parametrize(("number", "story", "spoil"), SPOILT.values(), ids=SPOILT)
def test_a_spoilt_story_is_noticed(number: str, story: str, spoil: Spoil) -> None:
    assert CHECKERS[number](healthy(story)) == []
    assert CHECKERS[number](spoil(healthy(story))) != []
