"""The renewal of many claims on runs: along the way of completions, and while bodies are at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import RunId
from windlass.model.time import Duration, Instant

if TYPE_CHECKING:
    from windlass.store.base import Connection


class HeldRun(Struct, frozen=True):
    """A claim to extend. The bound row has these columns; it may have more."""

    namespace: str
    run_id: RunId
    token: int
    renew_for: Duration


class RenewalQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def renew(self, rows: Sequence[Struct]) -> Mapping[int, Instant]:
        """Move the ends of claims to now + `renew_for`, never back. A missing ordinal: the claim is lost."""
        return await self._connection.batch("renew_claims", rows)
