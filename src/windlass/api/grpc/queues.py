"""Which queue a run is in: a key that may serve some queues only reaches no run of another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from windlass.api.admission import Caller
from windlass.api.service import Runs
from windlass.errors import ClaimLost, NotFound
from windlass.model.run import RunId

MOST_KNOWN = 10_000


class QueuesOfRuns:
    """A run never changes its queue, so it is looked up once."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._known: dict[tuple[str, RunId], str] = {}

    async def check(self, caller: Caller, asked: Any) -> None:
        """Raises ClaimLost, as for a run that somebody else holds."""
        if not caller.queues:
            return
        for run_id in set(run_ids(asked)):
            queue = await self._queue_of(caller.namespace, run_id)
            if queue is not None and not caller.may_serve(queue):
                raise ClaimLost(run_id)

    async def _queue_of(self, namespace: str, run_id: RunId) -> str | None:
        known = self._known.get((namespace, run_id))
        if known is not None:
            return known
        try:
            found = (await self._runs.get_run(namespace, run_id)).run.queue
        except NotFound:
            return None  # whoever writes to it hears of that
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[namespace, run_id] = found
        return found


def run_ids(asked: Any) -> Iterable[RunId]:
    """The runs that a worker's request is about."""
    if hasattr(asked, "run_id"):
        yield asked.run_id
    for item in (*getattr(asked, "steps", ()), *getattr(asked, "runs", ())):
        yield item.run_id
    for run_id, _ in getattr(asked, "claims", ()):
        yield run_id
