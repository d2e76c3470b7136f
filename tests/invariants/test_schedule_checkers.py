"""Do the checkers of schedules complain about the one thing each is there for?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, engine_on
from tests.conformance.test_schedules import go_on, put, runs_of
from tests.invariants.checkers import CHECKERS, judge
from tests.invariants.evidence import Evidence, Snapshot, take_snapshot
from windlass.model.commands import CancelRun
from windlass.model.run import LogEntry, Run, RunId
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.schedule_commands import PauseSchedule, ResumeSchedule
from windlass.model.time import HOUR, MINUTE, Instant
from windlass.store.queries.checks import RunRow
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

NEVER_MADE = RunId("run_zzz")
Spoil = Callable[[Snapshot], Snapshot]


@cache
def healthy() -> Evidence:
    return asyncio.run(story())


async def story() -> Evidence:
    """Six hours of five schedules: one is changed, one paused and resumed, one queues its runs, one skips slots."""
    clock = FakeClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    engine = engine_on(store, clock)
    await put(engine, "plain", every=HOUR, catch_up=CatchUp.ALL)
    await put(engine, "changed", cron="0 * * * *", tz="Asia/Kathmandu")
    await put(engine, "paused", every=HOUR)
    await put(engine, "queueing", every=HOUR, overlap=Overlap.QUEUE)
    await put(engine, "skipping", every=HOUR, overlap=Overlap.SKIP)
    await go_on(engine, clock, 2 * HOUR)
    first = await take_snapshot(store, at=clock.now(), life=1)
    await put(engine, "changed", every=7 * MINUTE, may_replace=True)
    await engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="paused"))
    for _ in range(2):
        await go_on(engine, clock, HOUR)
    (run, _) = await runs_of(engine, "queueing")
    await engine.control.cancel_run(CancelRun(namespace=NAMESPACE, run_id=run.id))
    clock.jump(-30 * MINUTE)
    await go_on(engine, clock, HOUR)
    await engine.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="paused"))
    for _ in range(2):
        await go_on(engine, clock, HOUR)
    last = await take_snapshot(store, at=clock.now(), life=2)
    await store.close()
    return Evidence(snapshots=(first, last))


def with_runs(change: Callable[[list[Run]], list[Run]], of: str) -> Spoil:
    """Another story about the runs of one schedule, in the order they were created."""

    def spoil(last: Snapshot) -> Snapshot:
        own = [run for run in last.runs.values() if run.schedule == of]
        others = [run for run in last.runs.values() if run.schedule != of]
        return replace(last, rows=tuple(RunRow(run=run, result_hash=None) for run in (*others, *change(own))))

    return spoil


def with_schedule(name: str, **fields: Any) -> Spoil:
    return lambda last: replace(
        last, schedules=tuple(replace(each, **fields) if each.name == name else each for each in last.schedules)
    )


def with_log(change: Callable[[list[LogEntry]], list[LogEntry]], of: str) -> Spoil:
    """Another order, or other entries, of what happened to one schedule and its runs."""

    def spoil(last: Snapshot) -> Snapshot:
        runs = {run.id for run in last.runs.values() if run.schedule == of}
        own = [entry for entry in last.log if entry.subject_id in {of, *runs}]
        others = [entry for entry in last.log if entry.subject_id not in {of, *runs}]
        return replace(last, log=(*others, *change(own)))

    return spoil


def first(entries: list[LogEntry], cause: str) -> int:
    return next(place for place, entry in enumerate(entries) if entry.cause == cause)


def moved(entries: list[LogEntry], cause: str, to: int) -> list[LogEntry]:
    entries = list(entries)
    entries.insert(to, entries.pop(first(entries, cause)))
    return entries


def again(run: Run) -> Run:
    return replace(run, id=NEVER_MADE)


def later(run: Run, span: int) -> Run:
    assert run.slot is not None
    return replace(run, slot=Instant(run.slot + span))


SPOILT: dict[str, tuple[str, Spoil]] = {
    "a slot that is two runs": ("I-50", with_runs(lambda runs: [*runs, again(runs[0])], of="plain")),
    "a slot that is lost": ("I-51", with_runs(lambda runs: runs[1:], of="plain")),
    "a slot that is lost and not counted": (
        "I-51",
        lambda last: with_schedule("plain", fired=1)(with_runs(lambda runs: runs[:1], of="plain")(last)),
    ),
    "slots that are counted twice": ("I-51", with_schedule("skipping", dropped=9)),
    "slots skipped where runs may overlap": ("I-51", with_schedule("skipping", overlap=Overlap.QUEUE)),
    "slots dropped that were to be caught up with": (
        "I-51",
        lambda last: with_schedule("plain", fired=1, dropped=5)(with_runs(lambda runs: runs[:1], of="plain")(last)),
    ),
    "a time that is no slot": ("I-52", with_runs(lambda runs: [*runs[1:], later(runs[0], MINUTE)], of="plain")),
    "a slot of another zone": ("I-52", with_schedule("plain", timing=Timing(cron="30 * * * *"))),
    "a next time that is no slot": ("I-52", with_schedule("plain", available_at=Instant(FakeClock().now() + 1))),
    "a next time behind a slot": (
        "I-52",
        with_schedule("plain", available_at=Instant(FakeClock().now() + 100 * HOUR)),
    ),
    "a slot fired during a pause": (
        "I-53",
        with_log(lambda entries: moved(entries, "resume", len(entries)), of="paused"),
    ),
    "a slot that passed during a pause": (
        "I-53",
        with_runs(lambda runs: [*runs[:-1], later(runs[-1], -3 * HOUR)], of="paused"),
    ),
    "a slot of old times": (
        "I-53",
        with_log(lambda entries: moved(entries, "change", 1), of="changed"),
    ),
    "a run admitted beside another": (
        "I-54",
        with_log(lambda entries: moved(entries, "turn", first(entries, "cancel")), of="queueing"),
    ),
    "two runs in a queue of one": (
        "I-54",
        with_log(
            lambda entries: [entry for entry in entries if entry.cause != "turn"],
            of="queueing",
        ),
    ),
    "runs of a schedule that skips, at once": (
        "I-54",
        lambda last: with_schedule("plain", overlap=Overlap.SKIP)(last),
    ),
    "a slot fired before its time": (
        "I-55",
        with_runs(lambda runs: [replace(runs[0], created_at=Instant(0)), *runs[1:]], of="plain"),
    ),
    "a slot fired after a later one": (
        "I-55",
        with_log(lambda entries: [entries[0], entries[2], entries[1], *entries[3:]], of="plain"),
    ),
}


def test_a_story_without_fault_meets_no_complaint() -> None:
    evidence = healthy()

    assert judge(evidence) == []
    fired = {each.name: each.fired for each in evidence.last.schedules}
    assert sorted(fired.values()) == [1, 3, 3, 6, 6], fired
    assert {each.name for each in evidence.last.schedules if each.skipped} == {"skipping"}
    assert "turn" in {entry.cause for entry in evidence.last.log}


@pytest.mark.spec("invariants:I-50", "invariants:I-51", "invariants:I-52", "invariants:I-53", "invariants:I-54")
@pytest.mark.spec("invariants:I-55")
@pytest.mark.parametrize(("number", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, spoil: Spoil) -> None:
    evidence = healthy()

    assert CHECKERS[number](replace(evidence, snapshots=(evidence.snapshots[0], spoil(evidence.last)))) != []


def test_slots_that_were_asked_for_after_a_pause_are_no_fault() -> None:
    evidence = healthy()
    late = with_runs(lambda runs: [*runs[:-1], later(runs[-1], -3 * HOUR)], of="paused")(evidence.last)

    asked_for = with_log(
        lambda entries: [
            replace(entry, data=b'{"note":"backfill"}') if entry.cause == "resume" else entry for entry in entries
        ],
        of="paused",
    )(late)

    assert CHECKERS["I-53"](replace(evidence, snapshots=(evidence.snapshots[0], asked_for))) == []
