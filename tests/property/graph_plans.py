"""Random graphs, how each of their jobs would end, and what must come of that: said here without the engine's rules.

A plan is made of units in an order in which each needs only earlier ones; they are written down in another order. What
becomes of a job follows from the ends of what it needs alone, whoever is first: `expected` says it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from windlass.model.graph import Accepted, Need, NewJob, accepted
from windlass.model.run import RunStatus

GRAPH, JOB = "graph", "job"  # by which names workers know the code
MOST_NEEDS = 3

COMPLETED, FAILED = RunStatus.COMPLETED, RunStatus.FAILED
CANCELLED, SKIPPED = RunStatus.CANCELLED, RunStatus.SKIPPED
ENDS = (COMPLETED,) * 7 + (FAILED,) * 2 + (CANCELLED,)
POLICIES: tuple[tuple[RunStatus, ...], ...] = (
    *((COMPLETED,),) * 5,
    (FAILED,),
    (COMPLETED, SKIPPED),
    (COMPLETED, FAILED),
    (CANCELLED, SKIPPED),
    *((COMPLETED, FAILED, CANCELLED, SKIPPED),) * 3,
)


class Brings(StrEnum):
    """What a generator comes to, if it begins."""

    MEMBERS = "members"
    NOTHING = "nothing"
    FAILURE = "failure"
    UNKNOWN = "unknown"  # members that need nobody knows whom
    TWICE = "twice"  # a member of a name that is taken
    CYCLE = "cycle"  # a member that needs what needs the group


class Node(Struct, frozen=True, kw_only=True):
    """One job: what it needs by the names of units, or of members beside it, and how it ends if it begins."""

    name: str
    needs: Mapping[str, Accepted]
    end: RunStatus = COMPLETED


class Unit(Struct, frozen=True, kw_only=True):
    """A job, the children of a matrix, or a generator with its members."""

    name: str
    needs: Mapping[str, Accepted]
    nodes: tuple[Node, ...]  # of a generator: itself, of a matrix: its children
    members: tuple[Node, ...] = ()
    brings: Brings | None = None
    max_parallel: int | None = None
    fail_fast: bool = False
    is_cleanup: bool = False  # what it brings is too

    @property
    def is_matrix(self) -> bool:
        return self.brings is None and self.nodes[0].name != self.name


class Plan(Struct, frozen=True, kw_only=True):
    number: int
    units: tuple[Unit, ...]  # each needs only those before it
    written: tuple[str, ...]  # their names, in the order in which they are declared

    @property
    def input(self) -> bytes:
        return b"[%d]" % self.number

    def ends(self) -> dict[str, RunStatus]:
        """How jobs end that begin. What a generator brings decides its own."""
        found = {node.name: node.end for unit in self.units for node in (*unit.nodes, *unit.members)}
        good = (Brings.MEMBERS, Brings.NOTHING)
        found |= {unit.name: COMPLETED if unit.brings in good else FAILED for unit in self.units if unit.brings}
        return found

    def improved(self) -> Plan:
        """The same graph, whose jobs all complete by now. What a generator brings stays as it is."""
        return replace(self, units=tuple(_improved(unit) for unit in self.units))

    def jobs(self) -> tuple[NewJob, ...]:
        by_name = {unit.name: unit for unit in self.units}
        return tuple(job for name in self.written for job in self._new_jobs(by_name[name]))

    def _new_jobs(self, unit: Unit) -> Iterator[NewJob]:
        for node in unit.nodes:
            yield NewJob(
                name=node.name,
                workflow=JOB,
                input=self.input,
                needs=self._needs(unit.needs),
                is_group=unit.brings is not None,
                matrix=unit.name if unit.is_matrix else None,
                max_parallel=unit.max_parallel,
                fail_fast=unit.fail_fast,
                is_cleanup=unit.is_cleanup,
            )

    def brought_by(self, generator: str) -> tuple[NewJob, ...] | None:
        """What a generator returns; None if it fails by itself."""
        unit = next(unit for unit in self.units if unit.name == generator)
        jobs = tuple(
            NewJob(name=node.name, workflow=JOB, input=self.input, needs=self._needs(node.needs))
            for node in unit.members
        )
        match unit.brings:
            case Brings.FAILURE:
                return None
            case Brings.UNKNOWN:
                return (*jobs, self._stray("stray", "nobody"))
            case Brings.TWICE:
                return (*jobs, self._stray(self.units[0].nodes[0].name))
            case Brings.CYCLE:
                return (*jobs, self._stray("stray", generator))
            case _:
                return jobs

    def _stray(self, name: str, *needs: str) -> NewJob:
        return NewJob(name=name, workflow=JOB, input=self.input, needs=self._needs(dict.fromkeys(needs, (COMPLETED,))))

    def _needs(self, needs: Mapping[str, Accepted]) -> tuple[Need, ...]:
        generators = {unit.name for unit in self.units if unit.brings}
        return tuple(
            Need(upstream=name, accepts=accepts, is_group=name in generators) for name, accepts in needs.items()
        )


def _improved(unit: Unit) -> Unit:
    nodes, members = (tuple(replace(node, end=COMPLETED) for node in some) for some in (unit.nodes, unit.members))
    return replace(unit, nodes=nodes, members=members)


# How one is made


def make_plan(number: int, chance: random.Random, *, most: int = 30) -> Plan:
    """A graph of at most so many jobs, generated ones included."""
    left = chance.randint(1, most)
    units: list[Unit] = []
    while left > 0:
        unit = _make_unit(f"u{len(units)}", units, chance, most=left)
        units.append(replace(unit, is_cleanup=chance.randint(1, 6) == 1))
        left -= len(unit.nodes) + len(unit.members)
    written = [unit.name for unit in units]
    chance.shuffle(written)
    return Plan(number=number, units=tuple(units), written=tuple(written))


def _make_unit(name: str, before: Sequence[Unit], chance: random.Random, *, most: int) -> Unit:
    needs = _make_needs([unit.name for unit in before], chance)
    kind = chance.choice(["job"] * 5 + ["matrix"] * 2 + ["group"] * 3)
    if kind == "matrix" and most >= 2:
        children = tuple(
            Node(name=f"{name}[{label}]", needs=needs, end=chance.choice(ENDS))
            for label in range(chance.randint(2, min(4, most)))
        )
        window = chance.choice([None, 1, 1, 2])
        # With more than one at a time it depends on who is faster which of them had begun.
        fail_fast = window == 1 and chance.choice([True, False])
        return Unit(name=name, needs=needs, nodes=children, max_parallel=window, fail_fast=fail_fast)
    if kind == "group":
        brings = chance.choice([Brings.MEMBERS] * 6 + [*Brings])
        members = _make_members(name, before, chance, most=most - 1) if brings is Brings.MEMBERS else ()
        brings = Brings.NOTHING if brings is Brings.MEMBERS and not members else brings
        return Unit(name=name, needs=needs, nodes=(Node(name=name, needs=needs),), members=members, brings=brings)
    return Unit(name=name, needs=needs, nodes=(Node(name=name, needs=needs, end=chance.choice(ENDS)),))


def _make_members(group: str, before: Sequence[Unit], chance: random.Random, *, most: int) -> tuple[Node, ...]:
    """Jobs that need what is declared, other groups among it, and each other."""
    members: list[Node] = []
    for number in range(min(most, chance.randint(1, 4))):
        known = [unit.name for unit in before] + [member.name for member in members]
        needs = _make_needs(known, chance)
        members.append(Node(name=f"{group}-{number}", needs=needs, end=chance.choice(ENDS)))
    return tuple(members)


def _make_needs(known: Sequence[str], chance: random.Random) -> dict[str, Accepted]:
    chosen = chance.sample(list(known), min(len(known), chance.randint(0, MOST_NEEDS)))
    return {name: accepted(chance.choice(POLICIES)) for name in chosen}


# What must come of it


def expected(plan: Plan) -> dict[str, RunStatus]:
    """The end of every job there will be."""
    ends, found = plan.ends(), dict[str, RunStatus]()
    behind: dict[str, list[RunStatus]] = {}  # by name: the ends that somebody who needs it must accept
    for unit in plan.units:
        is_wanted = _accepts(unit.needs, behind)
        has_failed = False
        for node in unit.nodes:
            is_lost = unit.fail_fast and has_failed
            found[node.name] = ends[node.name] if is_wanted and not is_lost else SKIPPED
            has_failed |= found[node.name] is not COMPLETED
        behind[unit.name] = [found[node.name] for node in unit.nodes]
        if unit.brings and found[unit.name] is COMPLETED:  # of an empty group, nothing is to be accepted
            behind[unit.name] = _of_members(unit, ends, behind, found)
    return found


def _of_members(
    unit: Unit,
    ends: Mapping[str, RunStatus],
    behind: Mapping[str, list[RunStatus]],
    found: dict[str, RunStatus],
) -> list[RunStatus]:
    beside = dict(behind)
    for member in unit.members:
        found[member.name] = ends[member.name] if _accepts(member.needs, beside) else SKIPPED
        beside[member.name] = [found[member.name]]
    return [found[member.name] for member in unit.members]


def _accepts(needs: Mapping[str, Accepted], behind: Mapping[str, list[RunStatus]]) -> bool:
    return all(status in accepts for name, accepts in needs.items() for status in behind[name])


def end_of_graph(ends: Mapping[str, RunStatus]) -> RunStatus:
    for status in (FAILED, CANCELLED):
        if status in ends.values():
            return status
    return COMPLETED
