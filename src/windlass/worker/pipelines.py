"""Claim pipelines that have something to do, beside the runs of a worker; each takes a slot until it is given back.

Where no pipeline is declared nothing is asked, until one is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from windlass.model.pipeline_work import ClaimedPipeline, ClaimPipelines, PipelineClaim
from windlass.model.run import WorkerId
from windlass.model.time import Duration
from windlass.model.worker import ServedPipeline
from windlass.worker.handling import Handling
from windlass.worker.host import Durations, Host
from windlass.worker.polling import Polling, Slots

LOGGER = logging.getLogger("windlass.worker")


@dataclass(slots=True, kw_only=True)
class Pipelines:
    host: Host
    id: WorkerId
    served: Callable[[], tuple[ServedPipeline, ...]]
    durations: Durations
    slots: Slots  # of the worker, with those that are taken here
    until_free: Callable[[], Awaitable[None]]  # wait for a slot
    come_back: Callable[[], Awaitable[None]]  # called when a server does not know this worker any more
    spawn: Callable[[Any], None]
    left: Callable[[], None]  # a slot is free
    handlings: dict[Handling, asyncio.Task[None]] = field(default_factory=dict)
    polls: int = 0
    declared: asyncio.Event = field(default_factory=asyncio.Event)
    polling: Polling[ClaimedPipeline] = field(init=False)

    def __post_init__(self) -> None:
        self.polling = Polling(
            what="pipelines",
            host=self.host,
            id=self.id,
            slots=self.slots,
            wait_for=self.durations.poll_for,
            ready=self._until_ready,
            wanted=lambda: max(1, self.idle),
            claim=self._claim,
            begin=self._begin_all,
            give_back=self._give_back,
            come_back=self.come_back,
            spawn=self.spawn,
        )

    @property
    def count(self) -> int:
        """How many are at work here."""
        return len(self.handlings)

    @property
    def idle(self) -> int:
        """How many are served here and not at work here: no more than that can be claimed."""
        return max(0, len(self.served()) - self.count)

    def tell_declared(self) -> None:
        """Something was declared: if it is a pipeline, ask for it too, now."""
        self.declared.set()
        self.polling.ask_anew()

    def lose(self) -> None:
        """Nothing of what is at work here is written any more, as if the worker had died."""
        for handling in tuple(self.handlings):
            handling.lose_claim()

    def stop(self) -> None:
        """The worker's grace is over: stop what is at work, and give it back."""
        for handling in tuple(self.handlings):
            handling.stop()

    async def _until_ready(self) -> None:
        while not self.served():
            self.declared.clear()
            await self.declared.wait()
        await self.until_free()

    async def _claim(self, limit: int, wait_for: Duration) -> list[ClaimedPipeline]:
        self.polls += 1
        return await self.host.work.claim_pipelines(
            ClaimPipelines(
                namespace=self.host.namespace,
                worker=self.id,
                poll=self.polls,
                served=self.served(),
                limit=limit,
                visibility_for=self.durations.visibility_for,
                wait_for=wait_for,
            )
        )

    def _begin_all(self, claimed: list[ClaimedPipeline]) -> None:
        for item in claimed:
            self._begin_safely(item)

    def _begin_safely(self, claimed: ClaimedPipeline) -> None:
        try:
            self._begin(claimed)
        except Exception:
            LOGGER.exception("Pipeline %r is given back: an error of the worker itself", claimed.name)
            self.spawn(self._give_back(claimed))

    def _begin(self, claimed: ClaimedPipeline) -> None:
        definition = self.host.registry.handlers.pipelines.get(claimed.name)
        if definition is None or definition.spec.revision != claimed.revision:
            # Declared anew since the claim was asked for, as a notebook may do: somebody else may know it.
            self.spawn(self._give_back(claimed))
            return
        handling = Handling(claimed, definition, self.host, is_crowded=lambda: self.slots.free() <= 0)
        if handling.tenure.left() <= 0:  # to the store it is ours for longer than we may use it
            LOGGER.warning("Pipeline %r is given back: the answer to its claim came too late", claimed.name)
            self.spawn(self._give_back(claimed))
            return
        task = asyncio.get_running_loop().create_task(handling.execute(), context=self.host.context)
        self.handlings[handling] = task
        task.add_done_callback(lambda _: self._ended(handling))

    def _ended(self, handling: Handling) -> None:
        task = self.handlings.pop(handling)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            LOGGER.error("Pipeline %r: an error of the worker itself", handling.claimed.name, exc_info=error)
        self.left()

    async def _give_back(self, claimed: ClaimedPipeline) -> None:
        await self.host.work.release_pipeline(
            PipelineClaim(namespace=self.host.namespace, pipeline=claimed.name, token=claimed.token)
        )
