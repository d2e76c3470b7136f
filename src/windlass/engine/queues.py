"""Say how full the queues are: everything is read as of one moment, and a rule puts it together."""

from __future__ import annotations

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.model.queue import QueueView
from windlass.rules.queues import RATE_FOR, QueueFacts, views
from windlass.store.base import Tx
from windlass.store.queries.queues import QueueQueries

MOST_ENDED = 1_000  # that are counted: what is asked often must not cost more the faster everything goes


async def list_queues(parts: Parts, namespace: str) -> tuple[QueueView, ...]:
    """Every queue that holds something, is served, is paused or was at work just now, by name."""

    async def look(tx: Tx) -> QueueFacts:
        queues = QueueQueries(tx.connection)
        ended = await queues.ended(namespace, span=RATE_FOR, most=MOST_ENDED)
        return QueueFacts(
            namespace=namespace,
            lanes=await queues.lanes(namespace),
            parked=await queues.parked(namespace),
            ended=ended.runs,
            told_since=ended.told_since,
            workers=await tx.workers.live(namespace),
            gates=await tx.gates.closed(namespace),
            now=await tx.now(),
        )

    # One snapshot: a run that is claimed between two reads would be counted twice, or not at all.
    return views(await until_answered(parts.clock, lambda: parts.store.read("list_queues", look)))
