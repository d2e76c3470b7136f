"""What stands behind a closed gate: it is not claimed, and not dispatched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windlass.model.gate import Gate, GateKind
from windlass.model.worker import Served


def is_behind(served: Served, closed: Sequence[Gate]) -> Gate | None:
    """The closed gate that keeps this lane from being served, if there is one."""
    for gate in closed:
        if (
            gate.kind is GateKind.NAMESPACE
            or (gate.kind is GateKind.QUEUE and gate.name == served.queue)
            or (gate.kind is GateKind.WORKFLOW and gate.name == served.name)
        ):
            return gate
    return None


def gates_of(namespace: str, served: Iterable[Served]) -> set[tuple[GateKind, str]]:
    """Every gate that these lanes stand behind, open or closed."""
    lanes = tuple(served)
    return {
        (GateKind.NAMESPACE, namespace),
        *((GateKind.QUEUE, item.queue) for item in lanes),
        *((GateKind.WORKFLOW, item.name) for item in lanes),
    }
