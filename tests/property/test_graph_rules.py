"""Do the rules of graphs come to one result, in whatever order jobs end and however a graph is written down?

A world of jobs in memory does with the decisions what the engine does with them: it skips, counts down, grants turns,
releases, and brings in what generators return. Beside it stands how every job must end, worked out from the top.
"""

from __future__ import annotations

import graphlib
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec import Struct
from msgspec.structs import replace

from tests.unit.rules.test_needs import waiting
from windlass.errors import InvalidInput
from windlass.model.graph import Edge, JobState, Need, NewJob, accepted
from windlass.model.run import TERMINAL, RunStatus
from windlass.rules.graphs import Known, check_graph, find_cycle, member_edges
from windlass.rules.needs import Below, Decided, decide, judge

small = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

accepting = some.sets(some.sampled_from(sorted(TERMINAL)), min_size=1).map(accepted)
outcomes = some.sampled_from([RunStatus.COMPLETED, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED])
chances = some.integers(0, 2**32).map(random.Random)


class Plan(Struct, frozen=True):
    """A graph as it is written, what its generators will bring, and how each job would end if it began."""

    jobs: tuple[NewJob, ...]
    brought: Mapping[str, tuple[NewJob, ...]]
    outcomes: Mapping[str, RunStatus]


@some.composite
def plans(draw: some.DrawFn, *, fail_fast: bool = False) -> Plan:
    jobs: list[NewJob] = []
    brought: dict[str, tuple[NewJob, ...]] = {}
    names: list[str] = []  # what may be needed by who comes next
    groups: set[str] = set()
    for number in range(draw(some.integers(1, 7))):
        name, needs = f"j{number}", _needs(draw, names, groups)
        kind = draw(some.sampled_from(["job", "job", "matrix", "group"]))
        if kind == "matrix":
            window: dict[str, Any] = {"matrix": name, "max_parallel": draw(some.sampled_from([None, 1, 2]))}
            window["fail_fast"] = fail_fast and window["max_parallel"] is not None and draw(some.booleans())
            labels = range(draw(some.integers(1, 4)))
            jobs += [NewJob(name=f"{name}[{label}]", workflow="w", needs=needs, **window) for label in labels]
        else:
            jobs.append(NewJob(name=name, workflow="w", needs=needs, is_group=kind == "group"))
        if kind == "group":
            brought[name] = _members(draw, name, names, groups)
            groups.add(name)
        names.append(name)
    everyone = [*jobs, *(member for members in brought.values() for member in members)]
    return Plan(tuple(jobs), brought, {job.name: draw(outcomes) for job in everyone})


def _needs(draw: some.DrawFn, names: Sequence[str], groups: Iterable[str]) -> tuple[Need, ...]:
    if not names:
        return ()
    chosen = draw(some.lists(some.sampled_from(names), unique=True, max_size=3))
    # An empty group has no end of its own but that of its generator.
    return tuple(
        Need(
            upstream=name,
            accepts=accepted({*draw(accepting), RunStatus.COMPLETED} if name in groups else draw(accepting)),
        )
        for name in chosen
    )


def _members(draw: some.DrawFn, group: str, names: Sequence[str], groups: Iterable[str]) -> tuple[NewJob, ...]:
    """They may need what was written before their generator, other groups too, and each other."""
    found: list[NewJob] = []
    for number in range(draw(some.integers(0, 3))):
        before = [*names, *(member.name for member in found)]
        found.append(NewJob(name=f"{group}-{number}", workflow="w", needs=_needs(draw, before, groups)))
    return tuple(found)


def expected(plan: Plan) -> dict[str, RunStatus]:
    """How every job must end: by how its upstreams ended, and by nothing else."""
    ends: dict[str, RunStatus] = {}

    def behind(need: Need) -> list[RunStatus]:
        children = [job.name for job in plan.jobs if job.matrix == need.upstream]
        members = [member.name for member in plan.brought.get(need.upstream, ())]
        if members and ends[need.upstream] is RunStatus.COMPLETED:
            return [ends[name] for name in members]
        return [ends[name] for name in children or [need.upstream]]

    def end(job: NewJob) -> None:
        is_met = all(status in need.accepts for need in job.needs for status in behind(need))
        ends[job.name] = plan.outcomes[job.name] if is_met else RunStatus.SKIPPED

    for job in plan.jobs:
        end(job)
        if ends[job.name] is RunStatus.COMPLETED:
            for member in plan.brought.get(job.name, ()):
                end(member)
    return ends


class World:
    """The jobs of one graph, and what the engine would write about them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.jobs: dict[str, JobState] = {}
        self.edges: list[Edge] = []
        self.released: list[str] = []
        self._insert(check_graph(plan.jobs), group=None)

    @property
    def ends(self) -> dict[str, RunStatus]:
        return {name: job.run.status for name, job in self.jobs.items() if job.run.status.is_terminal}

    @property
    def at_work(self) -> list[str]:
        return [name for name, job in self.jobs.items() if job.run.status is RunStatus.PENDING]

    def end(self, names: Sequence[str]) -> None:
        """Jobs that are at work end as they must; a generator that completes brings its members."""
        for name in names:
            if self.plan.outcomes[name] is RunStatus.COMPLETED and name in self.plan.brought:
                self._resolve(name)
        plain = {name: self.plan.outcomes[name] for name in names if not self.jobs[name].run.status.is_terminal}
        over = {name: self.jobs[name] for name in plain}
        for name, status in plain.items():
            self._set(name, status)
        self._apply(decide(plain, self.below(), matrices=over))

    def would_skip(self, name: str) -> set[str]:
        return set(decide({name: RunStatus.FAILED}, self.below()).skipped)

    def below(self) -> Below:
        held: dict[str, list[str]] = {}
        for job in self.jobs.values():
            if job.is_held and job.matrix is not None and not job.run.status.is_terminal:
                held.setdefault(job.matrix, []).append(job.name)
        return Below(self.edges, self.jobs, held)

    def _insert(self, jobs: Sequence[NewJob], *, group: str | None) -> dict[str, str]:
        skips: dict[str, str] = {}
        seen: Counter[str | None] = Counter()
        resolved = {one.group for one in self.jobs.values()}  # those that have members
        for job in jobs:
            edges = [
                Edge(
                    job=job.name,
                    upstream=need.upstream,
                    accepts=need.accepts,
                    is_group=need.is_group,
                    is_resolved=need.is_group and need.upstream in resolved,
                )
                for need in job.needs
            ]
            seen[job.matrix] += 1
            is_held = job.max_parallel is not None and seen[job.matrix] > job.max_parallel
            open, because = judge(edges, self.ends)
            unmet = open + is_held
            if because is not None:
                skips[job.name], unmet = because, max(1, unmet)
            self.jobs[job.name] = waiting(
                job.name,
                unmet,
                status=RunStatus.WAITING if unmet else RunStatus.PENDING,
                is_group=job.is_group,
                group=group,
                matrix=job.matrix,
                max_parallel=job.max_parallel,
                fail_fast=job.fail_fast,
                is_held=is_held,
            )
            self.edges += edges
            if not unmet:
                self.released.append(job.name)
        return skips

    def _resolve(self, group: str) -> None:
        members = {name: tuple(j.name for j in self.jobs.values() if j.group == name) for name in self.plan.brought}
        matrices: dict[str, tuple[str, ...]] = {}
        for job in self.jobs.values():
            if job.matrix is not None:
                matrices[job.matrix] = (*matrices.get(job.matrix, ()), job.name)
        known = Known(
            jobs=frozenset(self.jobs),
            matrices=matrices,
            groups={name: found or None for name, found in members.items()},
            edges=self.edges,
        )
        jobs = check_graph(self.plan.brought[group], known=known, group=group)
        waits = [edge for edge in self.edges if edge.upstream == group and edge.is_group and not edge.is_resolved]
        skips = self._insert(jobs, group=group)
        if jobs:
            self.edges = [replace(edge, is_resolved=True) if edge in waits else edge for edge in self.edges]
            self.edges += member_edges(waits, [job.name for job in jobs])
            for edge in waits:
                self._count(edge.job, len(jobs) - 1)
        self._set(group, RunStatus.COMPLETED)
        self._apply(decide({group: RunStatus.COMPLETED}, self.below(), skips=skips))

    def _apply(self, decided: Decided) -> None:
        assert not set(decided.released) & set(decided.skipped)
        for name in decided.skipped:
            self._set(name, RunStatus.SKIPPED)
        for name, met in decided.met.items():
            self._count(name, -met)
        for name in decided.turns:
            self.jobs[name] = replace(self.jobs[name], is_held=False)
        for name in decided.released:
            self._set(name, RunStatus.PENDING)
            self.released.append(name)

    def _set(self, name: str, status: RunStatus) -> None:
        assert not self.jobs[name].run.status.is_terminal
        self.jobs[name] = replace(self.jobs[name], run=replace(self.jobs[name].run, status=status))

    def _count(self, name: str, change: int) -> None:
        run = self.jobs[name].run
        self.jobs[name] = replace(self.jobs[name], run=replace(run, unmet=run.unmet + change))

    def check(self) -> None:
        """The counters say what a look at all edges says, and no window is wider than it may be."""
        ends = self.ends
        for name, job in self.jobs.items():
            if job.run.status.is_terminal:
                continue
            open, because = judge([edge for edge in self.edges if edge.job == name], ends)
            assert because is None, name
            assert job.run.unmet == open + job.is_held, name
            assert (job.run.unmet == 0) == (job.run.status is RunStatus.PENDING), name
            if job.matrix is not None and job.max_parallel is not None:
                siblings = [other for other in self.jobs.values() if other.matrix == job.matrix]
                begun = [one for one in siblings if not one.is_held and not one.run.status.is_terminal]
                assert len(begun) <= job.max_parallel


def lived(plan: Plan, chance: random.Random, *, at_once: int) -> World:
    """Let jobs end in some order, several in one go."""
    world = World(plan)
    world.check()
    while world.at_work:
        world.end(chance.sample(world.at_work, min(len(world.at_work), chance.randint(1, at_once))))
        world.check()
    return world


@pytest.mark.spec("invariants:I-28", "invariants:I-26")
@small
@given(plan=plans(), chance=chances)
def test_how_jobs_end_does_not_depend_on_the_order_in_which_they_do(plan: Plan, chance: random.Random) -> None:
    outcome = expected(plan)

    for at_once in (1, 1, 3):
        world = lived(plan, chance, at_once=at_once)

        assert world.ends == outcome  # nobody is left over
        begun = [name for name, status in outcome.items() if status is not RunStatus.SKIPPED]
        assert sorted(world.released) == sorted(begun)  # each of them once


@pytest.mark.spec("invariants:I-29", "graphs:48")
@small
@given(plan=plans(fail_fast=True), chance=chances)
def test_with_fail_fast_the_counters_stay_true_and_nobody_is_stuck(plan: Plan, chance: random.Random) -> None:
    world = lived(plan, chance, at_once=2)

    assert len(world.ends) == len(world.jobs)
    assert len(set(world.released)) == len(world.released)


@pytest.mark.spec("graphs:44")
@small
@given(plan=plans(), chance=chances)
def test_what_a_failure_would_skip_is_what_it_skips(plan: Plan, chance: random.Random) -> None:
    world = World(plan)
    for _ in range(chance.randint(0, 4)):
        if world.at_work:
            world.end([chance.choice(world.at_work)])
    if not world.at_work:
        return
    name = chance.choice(world.at_work)

    would = world.would_skip(name)

    assert would == reached(world, name)
    before = set(world.ends)
    world.plan = replace(plan, outcomes={**plan.outcomes, name: RunStatus.FAILED})
    world.end([name])
    assert set(world.ends) - before == would | {name}


def reached(world: World, failed: str) -> set[str]:
    """Along edges that do not accept what is above them, as often as it takes."""
    ends = {failed: RunStatus.FAILED}
    while True:
        further = {
            edge.job: RunStatus.SKIPPED
            for edge in world.edges
            if edge.upstream in ends and not edge.is_resolved and ends[edge.upstream] not in edge.accepts
            if edge.job not in ends and edge.job not in world.ends
        }
        if not further:
            return set(ends) - {failed}
        ends |= further


@pytest.mark.spec("graphs:15")
@small
@given(plan=plans(), chance=chances)
def test_what_needs_are_expanded_to_does_not_depend_on_how_they_are_written(plan: Plan, chance: random.Random) -> None:
    def edges(jobs: Iterable[NewJob]) -> set[tuple[str, Need]]:
        return {(job.name, need) for job in check_graph(tuple(jobs)) for need in job.needs}

    shuffled = [replace(job, needs=tuple(chance.sample([*job.needs] * 2, 2 * len(job.needs)))) for job in plan.jobs]
    chance.shuffle(shuffled)

    assert edges(shuffled) == edges(plan.jobs)
    assert edges(check_graph(plan.jobs)) == edges(plan.jobs)


names = some.sampled_from("abcdefgh")


@pytest.mark.spec("graphs:45", "graphs:46", "invariants:I-30")
@small
@given(needs=some.dictionaries(names, some.lists(names, max_size=3), max_size=8))
def test_a_cycle_is_found_if_there_is_one_and_it_is_one(needs: dict[str, list[str]]) -> None:
    found = find_cycle(needs)

    try:
        tuple(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError:
        assert found is not None
        assert found[0] == found[-1] == min(found)
        assert len(set(found)) == len(found) - 1
        assert all(upstream in needs[job] for job, upstream in pairwise(found))
    else:
        assert found is None


@pytest.mark.spec("graphs:47", "invariants:I-30")
@small
@given(
    static=some.dictionaries(names, some.lists(some.sampled_from([*"abcdefgh", "group"]), max_size=2), max_size=5),
    generator=some.lists(names, max_size=1),
    members=some.dictionaries(some.sampled_from("xyz"), some.lists(some.sampled_from([*"abcdefghxyz", "group"]))),
)
def test_members_are_accepted_if_and_only_if_the_whole_graph_has_an_order(
    static: dict[str, list[str]], generator: list[str], members: dict[str, list[str]]
) -> None:
    known = (*static, "group")
    declared = {**static, "group": generator}
    written = {job: [name for name in needs if name in known] for job, needs in declared.items()}
    added = {job: [name for name in needs if name in (*known, *members)] for job, needs in members.items()}

    assert is_accepted(written, added) == has_order(written, added)


def is_accepted(written: Mapping[str, Sequence[str]], added: Mapping[str, Sequence[str]]) -> bool:
    try:
        jobs = check_graph([a_job(job, needs, is_group=job == "group") for job, needs in written.items()])
        edges = [
            Edge(job=job.name, upstream=need.upstream, is_group=need.is_group) for job in jobs for need in job.needs
        ]
        known = Known(jobs=frozenset(written), groups={"group": None}, edges=edges)
        check_graph([a_job(job, needs) for job, needs in added.items()], known=known, group="group")
    except InvalidInput as error:
        assert error.reason == "cycle"
        return False
    return True


def a_job(name: str, needs: Sequence[str], *, is_group: bool = False) -> NewJob:
    return NewJob(name=name, workflow="w", needs=tuple(Need(upstream=one) for one in needs), is_group=is_group)


def has_order(written: Mapping[str, Sequence[str]], added: Mapping[str, Sequence[str]]) -> bool:
    """With every name written out: who needs the group needs its generator and each member."""

    def spelled(needs: Sequence[str]) -> list[str]:
        return [*needs, *(added if "group" in needs else ())]

    whole = {job: spelled(needs) for job, needs in (*written.items(), *added.items())}
    try:
        tuple(graphlib.TopologicalSorter(whole).static_order())
    except graphlib.CycleError:
        return False
    return True
