"""How long ended runs of a workflow are kept, where its code says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.time import Duration

if TYPE_CHECKING:
    from windlass.store.base import Connection


class KeptWorkflow(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    keep_for: Duration | None = None


class WorkflowQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def declare(self, namespace: str, kept: Mapping[str, Duration | None]) -> None:
        """Note what the code of a program says by workflow; none: its runs are kept as long as all the others."""
        # In one order for everybody, whatever they say: programs that start together must not wait in a ring.
        for name in sorted(kept):
            item = KeptWorkflow(namespace=namespace, name=name, keep_for=kept[name])
            if item.keep_for is None:
                await self._connection.batch("forget_workflow", [item])
            else:
                await self._connection.batch("keep_workflow", [item])

    async def limits(self) -> dict[tuple[str, str], Duration]:
        """How long by namespace and workflow; whatever is not named has no limit of its own."""
        return {(row[0], row[1]): Duration(row[2]) for row in await self._connection.all("kept_workflows")}
