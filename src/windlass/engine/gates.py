"""Pause a queue, a workflow or a whole namespace: while its gate is closed nothing behind it is claimed.

A claim shares the gates it goes through until it is committed, so closing one waits for the claims in flight; what they
have claimed may come to its end. Closed by several, a gate names the first, and the first to open it opens it for all.
"""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.errors import InvalidInput
from windlass.model.commands import SetGate
from windlass.model.gate import Gate, GateKind
from windlass.model.run import PAUSED_BY, RESUMED_BY, Deed
from windlass.notify.local import gates_topic
from windlass.rules.limits import check_name, check_namespace, check_note, check_person, check_queue
from windlass.rules.namespaces import check_open
from windlass.store.base import Tx
from windlass.store.queries.gates import NewGate
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


async def set_gate(parts: Parts, command: SetGate) -> Gate:
    gate, deed = _wanted(command), Deed(by=check_person(command.by), note=check_note(command.note))

    audit = Audit.of_caller("set_gate")

    async def change(tx: Tx) -> Gate:
        await tx.gates.lock()
        if gate.kind is GateKind.NAMESPACE:
            check_open(await tx.namespaces.load(gate.namespace))
        await tx.gates.enter([NewGate(gate.namespace, gate.kind, gate.name)])
        if await tx.gates.set(gate):
            entry = noted(gate, deed)
            await tx.log.append([entry])
            await audit.note(
                tx, gate.namespace, subject=entry.subject_id, before=entry.from_status, after=entry.to_status
            )
        return await tx.gates.load(gate.namespace, kind=gate.kind, name=gate.name) or gate

    changed = await parts.run_tx("set_gate", change)
    if not changed.is_paused:
        parts.hub.publish(gates_topic(gate.namespace))
    return changed


async def list_gates(parts: Parts, namespace: str) -> tuple[Gate, ...]:
    """What is paused."""

    async def read(tx: Tx) -> tuple[Gate, ...]:
        return tuple(await tx.gates.closed(namespace))

    return await until_answered(parts.clock, lambda: parts.store.read("list_gates", read, single=True))


def _wanted(command: SetGate) -> Gate:
    match command.kind:
        case GateKind.QUEUE:
            name = check_queue(command.name)
        case GateKind.WORKFLOW:
            name = check_name(command.name, what="workflow")
        case GateKind.NAMESPACE:
            name = check_namespace(command.name)
            if name != command.namespace:
                text = f"Namespace {command.namespace!r} has one gate, of its own name; {name!r} was given."
                raise InvalidInput(text, reason="invalid_name", path="name")
    gate = Gate(namespace=command.namespace, kind=command.kind, name=name, is_paused=command.is_paused)
    # Whoever resumes stands in the log only: an open gate is nobody's.
    return replace(gate, paused_by=command.by, note=command.note) if command.is_paused else gate


def noted(gate: Gate, deed: Deed) -> NewLogEntry:
    was, now = ("open", "paused") if gate.is_paused else ("paused", "open")
    return NewLogEntry(
        namespace=gate.namespace,
        subject_kind="gate",
        subject_id=f"{gate.kind.value}/{gate.name}",
        from_status=was,
        to_status=now,
        cause=PAUSED_BY if gate.is_paused else RESUMED_BY,
        data=deed_to_bytes(deed),
    )
