"""Does anybody know this workflow? A misspelled name must not wait for ever without a word.

A workflow is known if a worker on record serves it or did, a schedule starts it, or one of the newest runs is of it.
Whoever has its code and vouches for it, such as a program that starts runs before the first worker comes, is not asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from msgspec import Struct

from windlass.api.service import Runs, Schedules
from windlass.errors import InvalidInput, NotFound
from windlass.model.commands import StartRun
from windlass.model.page import ListRuns
from windlass.model.time import DAY, SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.runtime import Clock

BELIEVED_FOR = Duration(10 * SECOND)
REMEMBERED_FOR = Duration(30 * DAY)  # a worker that has stopped
NEWEST_RUNS = 500
MOST_NAMESPACES = 1_000
DEFAULT_QUEUE = "default"


class _Seen(Struct, frozen=True):
    at: int
    served: frozenset[Served]  # by workers, now or before
    names: frozenset[str]
    queues: frozenset[str]


class KnownLanes:
    """What was known a moment ago is believed; what was not is looked for anew, each time."""

    def __init__(self, runs: Runs, schedules: Schedules, *, clock: Clock, looks_once: bool = False) -> None:
        self._runs, self._schedules, self._clock, self._looks_once = runs, schedules, clock, looks_once
        self._seen: dict[str, _Seen] = {}

    def once(self) -> KnownLanes:
        """For the many starts of one call, which are all judged by one look: a thousand names cost no more than one."""
        return KnownLanes(self._runs, self._schedules, clock=self._clock, looks_once=True)

    async def check(self, command: StartRun) -> None:
        """Raises NotFound, with names that look alike."""
        seen = await self._look(command.namespace, name=command.name, queue=command.queue)
        if command.name not in seen.names:
            raise _unknown("workflow", command.name, seen.names)
        if command.queue not in seen.queues:
            raise _unknown("queue", command.queue, seen.queues)

    async def place(self, namespace: str, name: str, *, queue: str | None, version: str | None) -> Served:
        """Where runs of a workflow go whose code is not at hand; what is given stays.

        Raises InvalidInput if there are several such places.
        """
        seen = await self._look(namespace, name=name, queue=queue)
        lanes = {
            lane
            for lane in seen.served
            if lane.name == name and queue in (None, lane.queue) and version in (None, lane.version)
        }
        plain = Served(queue or DEFAULT_QUEUE, name, version or "")
        if not lanes or plain in lanes:
            return plain
        if len(lanes) == 1:
            return next(iter(lanes))
        choices = ", ".join(sorted(f"queue {lane.queue!r} version {lane.version!r}" for lane in lanes)[:4])
        text = f"Workflow {name!r} is served in several places: {choices}. Name the queue and the version."
        raise InvalidInput(text, reason="ambiguous_queue", path="queue")

    async def _look(self, namespace: str, *, name: str, queue: str | None) -> _Seen:
        seen = self._seen.get(namespace)
        if seen is not None and self._looks_once:
            return seen
        is_young = seen is not None and self._clock.monotonic() - seen.at < BELIEVED_FOR
        if seen is not None and is_young and name in seen.names and (queue is None or queue in seen.queues):
            return seen
        seen = await self._read(namespace)
        self._seen.pop(namespace, None)
        if len(self._seen) >= MOST_NAMESPACES:
            del self._seen[next(iter(self._seen))]
        self._seen[namespace] = seen
        return seen

    async def _read(self, namespace: str) -> _Seen:
        at = self._clock.monotonic()
        workers = await self._runs.list_workers(namespace, Instant(max(0, self._clock.now() - REMEMBERED_FOR)))
        served = {lane for worker in workers for lane in worker.served}
        schedules = [view.schedule for view in await self._schedules.list_schedules(namespace)]
        page = await self._runs.list_runs(ListRuns(namespace=namespace, limit=NEWEST_RUNS))
        names = {lane.name for lane in served} | {row.workflow for row in schedules} | {run.name for run in page.runs}
        queues = {lane.queue for lane in served} | {row.queue for row in schedules} | {run.queue for run in page.runs}
        queues.add(DEFAULT_QUEUE)
        return _Seen(at, frozenset(served), frozenset(names), frozenset(queues))


def _unknown(kind: str, name: str, known: Iterable[str]) -> NotFound:
    close = difflib.get_close_matches(name, sorted(known), n=2)
    hint = "" if close else "No worker has served it yet; say so if that is meant."
    return NotFound(kind, name, close=close, hint=hint)
