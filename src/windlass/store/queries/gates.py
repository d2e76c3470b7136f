"""What is paused as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.gate import Gate, GateKind
from windlass.model.worker import Served
from windlass.store.rows import gate_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class NewGate(Struct, frozen=True, order=True):
    namespace: str
    kind: GateKind
    name: str


class GateQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def enter(self, gates: Iterable[NewGate]) -> None:
        """Make sure that these exist."""
        await self._connection.batch("enter_gates", sorted(set(gates)))

    async def set(self, gate: Gate) -> bool:
        """Close or open a gate that exists. False: it stands so already, and whoever closed it first stays named."""
        changed = await self._connection.run(
            "set_gate",
            namespace=gate.namespace,
            kind=gate.kind,
            name=gate.name,
            is_paused=int(gate.is_paused),
            paused_by=gate.paused_by,
            note=gate.note,
        )
        return changed == 1

    async def load(self, namespace: str, *, kind: GateKind, name: str) -> Gate | None:
        row = await self._connection.first("load_gate", namespace=namespace, kind=kind, name=name)
        return None if row is None else gate_from_row(row)

    async def workflows(self, namespace: str) -> list[str]:
        """Every workflow that a worker of this namespace has ever served."""
        return [row[0] for row in await self._connection.all("workflow_gates", namespace=namespace)]

    async def closed(self, namespace: str) -> list[Gate]:
        """What is paused now."""
        return [gate_from_row(row) for row in await self._connection.all("closed_gates", namespace=namespace)]

    async def lock(self) -> None:
        """Wait for the claims that go through gates now, and let no other one through."""
        await self._connection.all("limit_lock")
        await self._connection.all("lock_gates")

    async def share(self, namespace: str, *, served: Sequence[Served]) -> list[Gate]:
        """What of the gates before these lanes is paused; and what is not stays so until this transaction ends."""
        names = sorted({namespace, *(item.queue for item in served), *(item.name for item in served)})
        rows = await self._connection.all("share_gates", namespace=namespace, names=names)
        return [gate for gate in map(gate_from_row, rows) if gate.is_paused]
