"""Crashes in pairs, deaths that are noticed, wake-ups that are lost; and do the stories meet what they are about?"""

from __future__ import annotations

import dataclasses
import random

import pytest
from msgspec.structs import replace

from tests.crash.every_point import TRIES, every_scenario
from tests.crash.places import Places
from tests.crash.scenarios import SCENARIOS, named
from tests.crash.telling import told
from tests.lives.crashes import VISIBILITY, Case, Scenario, play
from tests.lives.faults import Point
from tests.lives.journal import Event
from tests.lives.journalled_work import CLAIM_LOST
from tests.scale import SCALE
from windlass.model.pipeline import EventStatus, HandlerStatus, Phase
from windlass.model.time import SECOND, Duration

PAIRS = 20 * SCALE  # on each database
NOTICED_WITHIN = 10 * SECOND  # three looks, and the time a server is given to bring sessions back


@pytest.mark.spec("invariants:I-01", "invariants:I-03", "invariants:I-08", "invariants:I-12", "invariants:I-65")
def test_a_second_crash_during_the_recovery_loses_nothing_either(places: Places, figures: list[str]) -> None:
    chance = random.Random("pairs")
    complaints: dict[tuple[str, Point, Point], list[str]] = {}
    exercised = 0
    for number in range(PAIRS):
        scenario = SCENARIOS[number % len(SCENARIOS)]
        if number % 2:
            scenario = noticed(scenario)
        first = chance.choice(told(scenario, places).points[0])
        recovery = play(scenario, places.fresh(), crash_at=[first]).points[1]
        for _ in range(TRIES):
            second = chance.choice(recovery)
            case = play(scenario, places.fresh(), crash_at=[first, second])
            # On several connections batches form anew each time, and the last ones may not come about.
            if [text for text in case.complaints if "never reached" not in text] or len(case.crashes) == 2:
                break

        exercised += len(case.crashes) == 2
        if case.complaints:
            complaints[scenario.name, first, second] = case.complaints

    figures.append(f"{places.name:10}  {'a second crash in the recovery':34} {exercised:3} of {PAIRS:3} pairs")
    assert complaints == {}
    assert exercised == PAIRS


def noticed(scenario: Scenario) -> Scenario:
    """The same story among workers that look for the dead, so that what these held comes back long before its time."""
    settings = replace(scenario.settings, probe_for=Duration(SECOND))
    return dataclasses.replace(scenario, name=f"{scenario.name}, noticed", settings=settings)


@pytest.mark.spec("invariants:I-03", "invariants:I-08", "invariants:I-12", "invariants:I-17")
def test_a_death_that_is_noticed_costs_seconds(places: Places, figures: list[str]) -> None:
    """Killed in the middle of every transaction of a run; its claim would have lasted for half a minute."""
    scenario = noticed(named("observed start"))
    calm = told(scenario, places)
    (points,) = calm.points
    few_seconds = calm.lasted_for + NOTICED_WITHIN

    complaints = {}
    for point in points:
        case = play(scenario, places.fresh(), crash_at=[point], bound_for=few_seconds)
        if case.complaints:
            complaints[point] = case.complaints

    figures.append(f"{places.name:10}  {scenario.name:34} {len(points):3} of {len(points):3} points")
    assert complaints == {}
    assert NOTICED_WITHIN < VISIBILITY // 2


@every_scenario
def test_losing_every_wakeup_costs_time_and_nothing_else(scenario: Scenario, places: Places) -> None:
    case = play(scenario, places.fresh(), has_wakeups=False)

    assert case.complaints == []


def refusals(case: Case, who: str) -> int:
    lines = case.evidence.of(Event.ANSWERED)
    return sum(line.who == who and line.outcome == CLAIM_LOST for line in lines)


@pytest.mark.spec("invariants:I-18")
def test_the_stories_about_old_tokens_do_meet_refusals(places: Places, figures: list[str]) -> None:
    """Without a refused write they would prove nothing."""
    by_hand = refusals(told(named("vanished worker that comes back"), places), "ghost")
    by_hand += refusals(told(named("holder that has let go"), places), "ghost")
    by_worker = refusals(told(named("clock that jumped"), places), "worker")

    figures.append(f"{places.name:10}  stale writes refused: {by_hand} by hand, {by_worker} of a worker")
    assert by_hand == 2 * (8 + 3)  # every kind of write while the run is open, and the grave ones when it is over
    assert by_worker >= 1


@pytest.mark.spec("invariants:I-14")
def test_a_parent_of_many_children_is_woken_once(places: Places) -> None:
    last = told(named("map of children"), places).evidence.last

    (parent,) = [run for run in last.runs.values() if run.parent is None]
    assert [entry.cause for entry in last.histories[parent.id]] == ["dispatch", "child", "child", "claim", "finish"]
    assert len(last.children[parent.id]) == 3


def test_the_stories_about_waits_do_meet_them(places: Places) -> None:
    """Without these rows they would prove nothing."""
    unread = told(named("events that did not come in time"), places).evidence.last
    refused = told(named("cancel of a running run with a child"), places).evidence.last
    gates = told(named("pause of a queue"), places).evidence.last

    assert [message.taken_by for message in unread.messages] == ["receive/paid", None]
    assert [entry.cause for entry in refused.log if entry.to_status == "cancelled"] == ["cancel", "cancel"]
    assert [entry.cause for entry in gates.log if entry.subject_kind == "gate"] == ["pause", "resume"]


def test_the_stories_about_schedules_do_meet_what_they_are_about(places: Places) -> None:
    turns = told(named("runs of a schedule that take turns"), places).evidence.last
    cancelled = told(named("cancel of a run behind which another waits"), places).evidence.last
    skipping = told(named("schedule that skips and is paused and triggered"), places).evidence.last
    declared = told(named("schedules that a program declares"), places).evidence.last

    assert ([entry.cause for entry in turns.log].count("turn"), len(turns.runs)) == (1, 3)
    assert [run.status for run in cancelled.runs.values()] == ["cancelled", "completed", "cancelled"]
    (schedule,) = skipping.schedules
    assert (schedule.fired, schedule.skipped, schedule.dropped) == (2, 1, 1)
    assert {entry.cause for entry in skipping.log} >= {"trigger", "pause", "resume", "schedule"}
    causes = [entry.cause for entry in declared.log if entry.subject_kind == "schedule"]
    assert sorted(causes) == ["change", "change", "create", "create", "undeclared"]


@pytest.mark.spec("invariants:I-27", "invariants:I-28", "invariants:I-31")
def test_the_stories_about_graphs_do_meet_what_they_are_about(places: Places) -> None:
    shapes = told(named("graph of every shape"), places).evidence.last
    empty = told(named("graph that a run waits for"), places).evidence.last
    chain = told(named("chain of jobs that a waiting worker is given"), places).evidence.last
    cancelled = told(named("graph that is cancelled"), places).evidence.last

    ((graph, jobs),) = shapes.jobs.items()
    assert [name for name, job in jobs.items() if job.group == "shards"] == ["shard-one", "shard-two"]
    assert {name: job.decided_by for name, job in jobs.items() if job.decided_by} == {
        "sign": "audit",
        "publish": "sign",
    }
    assert [edge.is_resolved for edge in shapes.needs[graph]["tidy"] if edge.is_group] == [True]
    ((graph, _),) = empty.jobs.items()
    assert [edge.is_resolved for edge in empty.needs[graph]["after_none"]] == [False]
    causes = {run.name: [entry.cause for entry in chain.histories[run.id]] for run in chain.runs.values()}
    assert causes["chain.second"] == ["start", "dispatch", "finish"]
    assert [str(graph.ending) for graph in cancelled.graphs] == ["cancelled"]


@pytest.mark.spec("invariants:I-38", "invariants:I-39")
def test_the_stories_about_pipelines_do_meet_what_they_are_about(places: Places) -> None:
    asked = told(named("effect that can be asked about"), places)
    doubt = told(named("effect that only a person knows about"), places).evidence.last.piped
    failing = told(named("handler that fails before and behind its effect"), places).evidence.last.piped
    fixed = told(named("handler that is put right"), places).evidence.last.piped
    decided = told(named("effect that a person approves or rejects"), places).evidence.last.piped
    counted = told(named("producer that is paused and asked for"), places).evidence.last

    assert [line.outcome for line in asked.evidence.of(Event.RECONCILED)] == ["happened", "nothing"]
    assert {name for name, _, _ in asked.evidence.last.piped.events} == {"payments", "books"}
    assert [effect.resolution for effect in doubt.effects if effect.resolution is not None] == [
        "happened",
        "did_not_happen",
        "skip",
    ]
    stopped = {HandlerStatus.PAUSED_TRANSIENT, HandlerStatus.FAILED_LOGIC}
    assert {run.status for run in failing.runs.values()} >= stopped
    assert {run.phase for run in failing.runs.values() if run.status in stopped} == {Phase.MUTATING, Phase.EMITTING}
    assert [run.note for run in fixed.runs.values() if run.status is HandlerStatus.FAILED_LOGIC] == ["put right"]
    assert {event.status for event in decided.events.values()} == {EventStatus.CONSUMED, EventStatus.SKIPPED}
    assert len(counted.piped.causes) == 3
