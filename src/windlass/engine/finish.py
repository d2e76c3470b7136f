"""End runs: the last write of a claim, in batches. Terminal is absorbing, and whoever waits for a run goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from windlass.engine.family import wake_parents
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, lock_schedules, release_next, tell_of_release
from windlass.engine.send import tell_of_news
from windlass.errors import ClaimLost
from windlass.model.commands import FinishRun
from windlass.model.run import Run, RunId
from windlass.model.time import Instant
from windlass.notify.local import ended_topic, run_topic
from windlass.store.base import Tx


class FinishRuns:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._told: list[Run] = []  # parents for whom there is news, by the one batch of these that is being written
        self._released = Released()  # and runs of schedules that waited for one of these

    order = attrgetter("namespace", "run_id")

    def is_single(self, items: Sequence[FinishRun]) -> bool:
        return all(item.parent is None and item.schedule is None and item.knows_family for item in items)

    async def write(self, tx: Tx, items: Sequence[FinishRun]) -> Sequence[Any]:
        self._told, self._released = [], Released()
        items = await _with_families(tx, items)
        schedules = await lock_schedules(tx, ((item.namespace, item.schedule) for item in items))
        parents = await self._lock_families(tx, items)
        done = await tx.runs.finish(items)
        if parents:
            await self._tell_parents(tx, items, done, parents)
        if schedules and done:
            self._released = await release_next(tx, schedules, now=await tx.now())
        if len(done) == len(items):
            return [done[ordinal] for ordinal in range(len(items))]
        now = await tx.now()
        outcomes: list[Any] = []
        for ordinal, item in enumerate(items):
            if ordinal in done:
                outcomes.append(done[ordinal])
                continue
            ending = (await tx.runs.endings(item.namespace, ids=[item.run_id])).get(item.run_id)
            same = ending is not None and (ending.status, ending.token, ending.result_hash) == (
                item.status,
                item.token,
                item.result_hash,
            )
            outcomes.append(now if same else ClaimLost(item.run_id, token=item.token))
        return outcomes

    async def _lock_families(self, tx: Tx, items: Sequence[FinishRun]) -> dict[str, dict[RunId, Run]]:
        """Every run this batch ends and every parent of one, in the order of ids: no two batches wait in a ring."""
        if all(item.parent is None for item in items):
            return {}
        locked = {}
        for namespace in sorted({item.namespace for item in items}):
            own = [item for item in items if item.namespace == namespace]
            ids = [*(item.run_id for item in own), *(item.parent for item in own if item.parent is not None)]
            found = await tx.runs.lock_all(namespace, ids=ids)
            # A child whose parent was tried again belongs to the new one, which its holder cannot know.
            moved = {run.parent for run in found.values() if run.parent is not None} - found.keys()
            locked[namespace] = {**found, **await tx.runs.lock_all(namespace, ids=moved)}
        return locked

    async def _tell_parents(
        self, tx: Tx, items: Sequence[FinishRun], done: Mapping[int, Instant], parents: dict[str, dict[RunId, Run]]
    ) -> None:
        now = await tx.now()
        for namespace, locked in parents.items():
            ended = [
                (item.run_id, parent, item.status)
                for ordinal, item in enumerate(items)
                if ordinal in done and item.namespace == namespace
                if (parent := locked[item.run_id].parent) is not None
            ]
            # A parent that ended in this very batch waits for nobody any more.
            over = {item.run_id for ordinal, item in enumerate(items) if ordinal in done}
            waiting = {id: run for id, run in locked.items() if id not in over}
            self._told.extend(await wake_parents(tx, ended, waiting, now=now))

    def after_commit(self, items: Sequence[FinishRun], outcomes: Sequence[Any]) -> None:
        hub, endings, namespaces = self._parts.hub, self._parts.endings, set()
        for item, outcome in zip(items, outcomes, strict=True):
            if not isinstance(outcome, Exception):
                endings.tell(item)
                hub.publish_here(run_topic(item.namespace, item.run_id))
                namespaces.add(item.namespace)
        for namespace in namespaces:
            hub.publish_elsewhere(ended_topic(namespace))
        told, self._told = self._told, []
        for parent in told:
            tell_of_news(self._parts, parent)
        released, self._released = self._released, Released()
        tell_of_release(self._parts, released)

    def after_failure(self, items: Sequence[FinishRun]) -> None:
        return None


async def _with_families(tx: Tx, items: Sequence[FinishRun]) -> Sequence[FinishRun]:
    """The same, with what somebody from afar may not know, or not say."""
    unknown = [item for item in items if not item.knows_family]
    if not unknown:
        return items
    found: dict[tuple[str, RunId], tuple[RunId | None, str | None]] = {}
    for namespace in {item.namespace for item in unknown}:
        ids = [item.run_id for item in unknown if item.namespace == namespace]
        relatives = await tx.runs.relatives(namespace, ids=ids)
        found.update({(namespace, run_id): pair for run_id, pair in relatives.items()})
    completed = []
    for item in items:
        pair = (None, None) if item.knows_family else found.get((item.namespace, item.run_id), (None, None))
        completed.append(item if pair == (None, None) else replace(item, parent=pair[0], schedule=pair[1]))
    return completed
