"""Count how many runs ended in each minute, and how long they took: what the dashboard draws of the last hour.

Nobody who finishes a run counts anything: once a minute is over, whichever coordinator comes first counts what ended in
it, and moves the mark in the same transaction. So a minute is counted once, and costs what happened in it.
"""

from __future__ import annotations

from windlass.engine.parts import Parts
from windlass.model.time import DAY, MINUTE, SECOND, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.minutes import MinuteQueries

GRACE = Duration(10 * SECOND)  # for whoever is about to commit
MOST = Duration(5 * MINUTE)  # in one transaction
AHEAD = Duration(5 * MINUTE)  # more than clocks of servers differ
KEEP = Duration(7 * DAY)  # and the farthest that is caught up with


async def tick(parts: Parts) -> int:
    """Count what is over and not counted yet. Answers how many minutes that was; nothing is written for none."""

    async def look(tx: Tx) -> tuple[str, Instant, Instant] | None:
        minutes = MinuteQueries(tx.connection)
        now, seen = await tx.now(), await minutes.counted_until()
        until = Instant((now - GRACE) // MINUTE * MINUTE)
        since = Instant(max(int(seen or 0), until - KEEP))
        if since > until + AHEAD:  # the clock was ahead, and was set right
            return seen, until, until
        if since >= until:
            return None
        first = await minutes.first_ended(since=since, until=until)
        if first is None:
            return None
        begin = Instant(max(since, first // MINUTE * MINUTE))
        return seen, begin, Instant(min(until, begin + MOST))

    found = await parts.store.read("minutes_to_count", look)
    if found is None:
        return 0
    seen, since, until = found

    async def count(tx: Tx) -> int:
        minutes = MinuteQueries(tx.connection)
        if not await minutes.move(seen=seen, until=until):
            return 0  # somebody else was first
        await minutes.count(since=since, until=until)
        await minutes.forget(before=Instant(until - KEEP))
        return (until - since) // MINUTE

    return await parts.run_tx("count_minutes", count)
