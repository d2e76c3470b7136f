"""Record the start and the result of steps: the batches that carry most of the load."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from windlass.errors import ClaimLost
from windlass.model.commands import BeginStep, CompleteStep
from windlass.model.run import RunStatus
from windlass.store.base import Tx


class BeginSteps:
    """A body was seen to start. Never awaited by a body, except in a run that was recovered."""

    order = attrgetter("namespace", "run_id", "key")

    def prepare(self, items: Sequence[BeginStep]) -> None:
        return None

    def is_single(self, items: Sequence[BeginStep]) -> bool:
        return True

    async def write(self, tx: Tx, items: Sequence[BeginStep]) -> Sequence[Any]:
        done = await tx.steps.begin(items)
        if len(done) == len(items):
            return [done[ordinal] for ordinal in range(len(items))]
        # What is missing was overtaken by its own completion, or its claim is lost.
        now = await tx.now()
        endings = {
            (namespace, run_id): ending
            for namespace in {item.namespace for item in items}
            for run_id, ending in (
                await tx.runs.endings(namespace, ids=[item.run_id for item in items if item.namespace == namespace])
            ).items()
        }
        outcomes: list[Any] = []
        for ordinal, item in enumerate(items):
            ending = endings.get((item.namespace, item.run_id))
            is_held = ending is not None and (ending.status, ending.token) == (RunStatus.RUNNING, item.token)
            lost = ClaimLost(item.run_id, token=item.token)
            outcomes.append(done.get(ordinal, now if is_held else lost))
        return outcomes

    def after_commit(self, items: Sequence[BeginStep], outcomes: Sequence[Any]) -> None:
        return None

    def after_failure(self, items: Sequence[BeginStep]) -> None:
        return None


class CompleteSteps:
    """Results, kept for ever. The same result under the same token is a repeat; under another it is ClaimLost."""

    order = attrgetter("namespace", "run_id", "key")

    def prepare(self, items: Sequence[CompleteStep]) -> None:
        return None

    def is_single(self, items: Sequence[CompleteStep]) -> bool:
        # A claim that runs short is a second row to write, and so is the ledger of an effect.
        return all(item.renew_for is None and not item.effect for item in items)

    async def write(self, tx: Tx, items: Sequence[CompleteStep]) -> Sequence[Any]:
        done = await tx.steps.complete(items)
        effects = [item for ordinal, item in enumerate(items) if item.effect and ordinal in done]
        if effects:
            await tx.effects.apply(effects)
        if len(done) == len(items):
            return [done[ordinal] for ordinal in range(len(items))]
        missing = [ordinal for ordinal in range(len(items)) if ordinal not in done]
        repeats = await tx.steps.matching([items[ordinal] for ordinal in missing])
        known = {missing[ordinal]: at for ordinal, at in repeats.items()}
        return [
            done.get(ordinal) or known.get(ordinal) or ClaimLost(item.run_id, token=item.token)
            for ordinal, item in enumerate(items)
        ]

    def after_commit(self, items: Sequence[CompleteStep], outcomes: Sequence[Any]) -> None:
        return None

    def after_failure(self, items: Sequence[CompleteStep]) -> None:
        return None
