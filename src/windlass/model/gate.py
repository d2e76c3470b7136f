"""What can be paused as a whole: while a gate is closed nothing behind it is claimed."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.time import Instant


class GateKind(StrEnum):
    NAMESPACE = "namespace"  # everything
    QUEUE = "queue"
    WORKFLOW = "workflow"


class Gate(Struct, frozen=True, kw_only=True):
    namespace: str
    kind: GateKind
    name: str  # of a namespace gate: the namespace
    is_paused: bool
    paused_by: str | None = None
    note: str | None = None
    paused_at: Instant | None = None
