"""What is paused as a whole, and keeps a run from being taken."""

from __future__ import annotations

import shlex

from windlass.model.gate import Gate, GateKind
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.words import Advice, by, capital, quoted, since
from windlass.rules.namespaces import CLOSED_NOTE


def closed_gates(facts: Facts) -> str:
    """One sentence for each closed gate in front of the run."""
    return " ".join(
        capital(f"{named(gate)} has been paused{_told(gate, facts)}, and no worker takes it before that ends.")
        if number == 0
        else capital(f"{named(gate)} has been paused too{_told(gate, facts)}.")
        for number, gate in enumerate(facts.closed)
    )


def named(gate: Gate) -> str:
    return f"{gate.kind.value} {gate.name!r}"


def openings(facts: Facts) -> list[Advice]:
    """What opens them."""
    return [(f"let {named(gate)} go on", _command(gate)) for gate in facts.closed]


def _told(gate: Gate, facts: Facts) -> str:
    when = "" if gate.paused_at is None else f" {since(gate.paused_at, now=facts.now)}"
    return f"{by(gate.paused_by)}{when}{quoted(gate.note)}"


def _command(gate: Gate) -> str:
    if gate.kind is GateKind.NAMESPACE and gate.note == CLOSED_NOTE:
        return f"windlass namespaces enable {shlex.quote(gate.name)}"
    if gate.kind is GateKind.NAMESPACE:
        return "windlass resume --all"
    return f"windlass resume --{gate.kind.value} {shlex.quote(gate.name)}"
