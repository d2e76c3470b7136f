"""Examine the log for signals on whole workflows and on all items: nothing that one of them waits for is overlooked.

A transition creates its firings itself. But a statement that began before such a signal was committed cannot see it,
and there is no subject that both would lock. So the log behind the signal is gone through once more, in the order of
the feed, which is the same for every reader: a firing that is there already stays as it is. The cursor moves in the
transaction that creates what was missing, forward only, and never past an entry that was not examined.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from windlass.engine.parts import Parts
from windlass.model.feed import Place
from windlass.model.signal import Signal, SignalStatus
from windlass.rules import signals as rules
from windlass.store.base import Tx
from windlass.store.queries.feed import FeedQueries, FoundEntry
from windlass.store.queries.firings import NewFiring

PAGE = 1_000  # entries that one transaction examines


class Examined(Struct, frozen=True, kw_only=True):
    entries: int = 0
    is_more: bool = False


async def reconcile(parts: Parts, namespace: str) -> Examined:
    """One page of one namespace, unless somebody else is at it."""

    async def examine(tx: Tx) -> Examined:
        cursor = await tx.watch.lock_cursor(namespace)
        if cursor is None:
            return Examined()
        patterns = await tx.watch.patterns(namespace)
        if not patterns:
            return Examined()
        feed = FeedQueries(tx.connection)
        edge = await feed.edge(namespace)
        found = await feed.page(namespace, after=cursor, before=edge.horizon, limit=PAGE)
        await tx.firings.insert(await _missing(tx, namespace, patterns, found))
        for signal in patterns:
            if signal.status is SignalStatus.ARMED:  # what was created while it was about to be resumed
                await tx.held_firings.release(namespace, signal.id)
        if found:
            await tx.watch.move_cursor(namespace, found[-1].place)
        return Examined(entries=len(found), is_more=len(found) == PAGE)

    return await parts.run_tx("reconcile_signals", examine)


async def _missing(tx: Tx, namespace: str, patterns: Sequence[Signal], found: Sequence[FoundEntry]) -> list[NewFiring]:
    """What the entries are causes for, whether it is there already or not."""
    states = {state for signal in patterns for state in signal.trigger.to}
    own = [item for item in found if item.is_own and item.entry.to_status in states]
    runs = [item.entry.subject_id for item in own if item.entry.subject_kind == "run"]
    names = await tx.watch.names_of_runs(namespace, runs) if runs else {}
    now = await tx.now()
    return [
        NewFiring.of_entry(signal, item.entry, available_at=now if signal.status is SignalStatus.ARMED else None)
        for item in own
        for signal in patterns
        if rules.matches(signal, item.entry, Place(*item.place), name=names.get(item.entry.subject_id))
    ]
