"""End runs: the last write of a claim, in batches. Terminal is absorbing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.errors import ClaimLost
from windlass.model.commands import FinishRun
from windlass.notify.local import Hub, ended_topic, run_topic
from windlass.store.base import Tx


class FinishRuns:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def order(self, item: FinishRun) -> tuple[str, str]:
        return (item.namespace, item.run_id)

    def is_single(self, items: Sequence[FinishRun]) -> bool:
        return True

    async def write(self, tx: Tx, items: Sequence[FinishRun]) -> Sequence[Any]:
        done = await tx.runs.finish(items)
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

    def after_commit(self, items: Sequence[FinishRun], outcomes: Sequence[Any]) -> None:
        namespaces = set()
        for item, outcome in zip(items, outcomes, strict=True):
            if not isinstance(outcome, Exception):
                self._hub.publish_here(run_topic(item.namespace, item.run_id))
                namespaces.add(item.namespace)
        for namespace in namespaces:
            self._hub.publish_elsewhere(ended_topic(namespace))

    def after_failure(self, items: Sequence[FinishRun]) -> None:
        return None
