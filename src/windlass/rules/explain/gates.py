"""What is paused as a whole, and keeps a run or a pipeline from being taken."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from windlass.model.gate import Gate, GateKind
from windlass.model.time import Instant
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.words import Advice, by, capital, quoted, since
from windlass.rules.namespaces import CLOSED_NOTE


def closed_gates(facts: Facts) -> str:
    """One sentence for each closed gate in front of the run."""
    return told_closed(facts.closed, now=facts.now)


def told_closed(gates: Sequence[Gate], *, now: Instant) -> str:
    return " ".join(
        capital(f"{named(gate)} has been paused{_told(gate, now=now)}, and no worker takes it before that ends.")
        if number == 0
        else capital(f"{named(gate)} has been paused too{_told(gate, now=now)}.")
        for number, gate in enumerate(gates)
    )


def named(gate: Gate) -> str:
    return f"{gate.kind.value} {gate.name!r}"


def openings(facts: Facts) -> list[Advice]:
    """What opens them."""
    return opened_by(facts.closed)


def opened_by(gates: Sequence[Gate]) -> list[Advice]:
    return [(f"let {named(gate)} go on", _command(gate)) for gate in gates]


def _told(gate: Gate, *, now: Instant) -> str:
    when = "" if gate.paused_at is None else f" {since(gate.paused_at, now=now)}"
    return f"{by(gate.paused_by)}{when}{quoted(gate.note)}"


def _command(gate: Gate) -> str:
    if gate.kind is GateKind.NAMESPACE and gate.note == CLOSED_NOTE:
        return f"windlass namespaces enable {shlex.quote(gate.name)}"
    if gate.kind is GateKind.NAMESPACE:
        return "windlass resume --all"
    return f"windlass resume --{gate.kind.value} {shlex.quote(gate.name)}"
