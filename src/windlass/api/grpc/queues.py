"""Which queue a run or a pipeline is in: a key that may serve some queues only reaches nothing of another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from windlass.api.admission import Caller
from windlass.api.service import Pipelines, Runs
from windlass.errors import ClaimLost, InvalidInput, NotFound
from windlass.model.claims import RenewClaims
from windlass.model.run import RunId
from windlass.model.time import SECOND, Duration
from windlass.rules.limits import RUN_ID, check_name
from windlass.runtime import Clock

MOST_KNOWN = 10_000
BELIEVED_FOR = Duration(10 * SECOND)  # of a pipeline: its code may move it


class KnownQueues:
    """A run never changes its queue, so it is looked up once; a pipeline does when it is declared anew."""

    def __init__(self, runs: Runs, pipelines: Pipelines, *, clock: Clock) -> None:
        self._runs, self._pipelines, self._clock = runs, pipelines, clock
        self._of_runs: dict[tuple[str, str], str] = {}
        self._of_pipelines: dict[tuple[str, str], tuple[str, int]] = {}

    async def check(self, caller: Caller, asked: Any) -> None:
        """Raises ClaimLost, as for what somebody else holds."""
        if not caller.queues:
            return
        for run_id in set(run_ids(asked)):
            self._check_one(caller, run_id, await self._queue_of_run(caller.namespace, run_id))
        for name in pipelines(asked):
            self._check_one(caller, name, await self._queue_of_pipeline(caller.namespace, name))

    def _check_one(self, caller: Caller, name: str, queue: str | None) -> None:
        if queue is not None and not caller.may_serve(queue):
            raise ClaimLost(name)

    async def _queue_of_run(self, namespace: str, run_id: RunId) -> str | None:
        known = self._of_runs.get((namespace, run_id))
        if known is not None or RUN_ID.fullmatch(run_id) is None:
            return known  # what is no run is an attempt of a handler, or refused for that
        try:
            found = (await self._runs.get_run(namespace, run_id)).run.queue
        except NotFound:
            return None  # whoever writes to it hears of that
        _make_room(self._of_runs)
        self._of_runs[namespace, run_id] = found
        return found

    async def _queue_of_pipeline(self, namespace: str, name: str) -> str | None:
        known = self._of_pipelines.get((namespace, name))
        now = self._clock.monotonic()
        if known is not None and now - known[1] < BELIEVED_FOR:
            return known[0]
        try:
            found = (await self._pipelines.get_pipeline(namespace, check_name(name))).view.pipeline.queue
        except (NotFound, InvalidInput):
            return None
        self._of_pipelines.pop((namespace, name), None)
        _make_room(self._of_pipelines)
        self._of_pipelines[namespace, name] = (found, now)
        return found


def _make_room(known: dict[tuple[str, str], Any]) -> None:
    if len(known) >= MOST_KNOWN:
        del known[next(iter(known))]


def run_ids(asked: Any) -> Iterable[RunId]:
    """The runs that a worker's request is about. Nothing of it was checked yet."""
    if isinstance(asked, RenewClaims):
        yield from (RunId(item.id) for item in asked.runs)
        return
    if hasattr(asked, "run_id"):
        yield asked.run_id
    for item in (*getattr(asked, "steps", ()), *getattr(asked, "runs", ())):
        yield item.run_id
    for run_id, _ in getattr(asked, "claims", ()):
        yield run_id


def pipelines(asked: Any) -> Iterable[str]:
    """The pipeline that a worker's request is about: its `run_id` is then an attempt of a handler."""
    if isinstance(asked, RenewClaims):
        yield from (item.id for item in asked.pipelines)
    elif hasattr(asked, "pipeline"):
        yield asked.pipeline
    elif hasattr(asked, "subject") and asked.subject != asked.run_id:
        yield asked.subject
