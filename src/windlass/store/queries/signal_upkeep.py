"""What coordinators remove of signals, and what a check-up asks about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from windlass.model.signal import SignalId
from windlass.model.time import Duration, Instant
from windlass.store.signal_rows import is_action, states_from_text

if TYPE_CHECKING:
    from windlass.store.base import Connection


class EndedSignal(Struct, frozen=True, kw_only=True):
    namespace: str
    id: SignalId
    at: Instant
    is_needed: bool  # something it has fired is not over


class EndedFiring(Struct, frozen=True, kw_only=True):
    namespace: str
    signal_id: SignalId
    cause: str
    at: Instant
    is_needed: bool  # its signal goes by it


class SignalCounts(NamedTuple):
    live: int
    given_up: int  # paused because something failed
    late: int  # firings that should have been worked by now


class LiveSignal(NamedTuple):
    """What a row says, which may have been changed by hand."""

    namespace: str
    id: str
    kind: str
    states: tuple[str, ...]
    is_readable: bool  # what it does


class SignalUpkeep:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ended_signals(self, *, keep_for: Duration, from_at: Instant, limit: int) -> list[EndedSignal]:
        """Those that are over for longer than that, of every namespace, the first of them first."""
        rows = await self._connection.all("ended_signals", keep_for=keep_for, from_at=from_at, limit=limit)
        return [EndedSignal(namespace=row[0], id=row[1], at=row[2], is_needed=bool(row[3])) for row in rows]

    async def ended_firings(self, *, keep_for: Duration, from_at: Instant, limit: int) -> list[EndedFiring]:
        rows = await self._connection.all("ended_firings", keep_for=keep_for, from_at=from_at, limit=limit)
        return [
            EndedFiring(namespace=row[0], signal_id=row[1], cause=row[2], at=row[3], is_needed=bool(row[4]))
            for row in rows
        ]

    async def remove_signals(self, signals: Iterable[EndedSignal]) -> None:
        """With what they have fired. Locked by whoever calls, in the order of ids."""
        ended = sorted(signals, key=lambda item: (item.namespace, item.id))
        await self._connection.batch("remove_ended_firings", ended)
        await self._connection.batch("remove_ended_signal", ended)

    async def remove_firings(self, firings: Iterable[EndedFiring]) -> None:
        ended = sorted(firings, key=lambda item: (item.namespace, item.signal_id, item.cause))
        await self._connection.batch("remove_firing", ended)

    async def counts(self, *, late_for: Duration, limit: int) -> SignalCounts:
        (row,) = await self._connection.all("look_at_signals", late_for=late_for, limit=limit)
        return SignalCounts(*map(int, row))

    async def given_up(self, *, limit: int) -> list[tuple[str, str, str]]:
        """Namespace, id and reason of signals that are paused because something failed."""
        rows = await self._connection.all("failed_signals", limit=limit)
        return [(row[0], row[1], row[2] or "") for row in rows]

    async def broken(self, *, limit: int) -> list[tuple[str, str, str]]:
        """Namespace, id and what is wrong of live signals that can never fire."""
        return [(row[0], row[1], row[2]) for row in await self._connection.all("broken_signals", limit=limit)]

    async def live(self) -> list[LiveSignal]:
        """All that are armed or paused, also those whose rows nobody can read as a whole."""
        return [
            LiveSignal(row[0], row[1], row[2], states_from_text(row[3]), is_action(row[4]))
            for row in await self._connection.all("live_signals")
        ]
