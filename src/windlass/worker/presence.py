"""That a worker is there: it says so, says that it lives, and looks whether others do."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from windlass.errors import ClaimLost, NotFound, Unavailable, WindlassError
from windlass.model.commands import Heartbeat, LookAtClaims, ProbeWorkers, RegisterWorker, Registration
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import EndedRuns, LockKind
from windlass.worker.execute import Execution
from windlass.worker.host import Host
from windlass.worker.lanes import Lanes

LOGGER = logging.getLogger("windlass.worker")

THOROUGH_LOOKS = 10  # a worker that has just come looks at everyone; a lost session takes a while to be believed


@dataclass(slots=True, kw_only=True)
class Presence:
    host: Host
    id: WorkerId
    slots: int
    probe_for: Duration
    heartbeat_for: Duration  # between two signs of life
    drain: Callable[[], None]  # called whenever it is heard that the worker should leave
    lanes: Lanes
    executions: Collection[Execution]
    active: Callable[[], int]  # how many slots are taken
    lock: LockKind | None = None
    is_returning: bool = False
    completed: int = 0
    failed: int = 0
    was_here: bool = False  # so that what it was asked for then still counts
    on_their_way: set[asyncio.Task[Registration]] = field(default_factory=set)  # registrations, to the store

    async def enter(self) -> None:
        """Be known from now on, and for what is served by now."""
        is_return, self.was_here = self.was_here, True
        wanted = self.lanes.wanted
        command = RegisterWorker(
            namespace=self.host.namespace,
            id=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            served=self.lanes.served(wanted),
            pipelines=self.lanes.pipelines(wanted),
            slots=self.slots,
            is_return=is_return,
            leaves_out=not self.lanes.is_given,
        )
        # Told once, it may be carried out also if we are cancelled; `leave` has to know of it.
        task = asyncio.ensure_future(self.host.work.register_worker(command))
        self.on_their_way.add(task)
        task.add_done_callback(self.on_their_way.discard)
        registration = await asyncio.shield(task)
        self.lock = registration.lock
        self.lanes.enter(wanted, left_out=registration.left_out, worker=self.id)

    async def leave(self) -> None:
        """Say goodbye, and nothing else behind it: a registration that overtakes it would bring the worker back."""
        while self.on_their_way:
            await asyncio.wait(self.on_their_way)
        try:
            ended = EndedRuns(completed=self.completed, failed=self.failed)
            await self.host.work.deregister_worker(self.host.namespace, self.id, ended)
        except WindlassError as error:
            LOGGER.info("Worker %s could not say goodbye: %s", self.id, error)

    def count(self, outcome: RunStatus | None) -> None:
        self.completed += outcome is RunStatus.COMPLETED
        self.failed += outcome is RunStatus.FAILED

    async def keep_heartbeat(self) -> None:
        while True:
            await self.host.clock.sleep(self.heartbeat_for)
            try:
                await self._beat()
            except NotFound:
                await self.come_back()
            except WindlassError as error:
                if self.host.lose_store(error):
                    return
                LOGGER.warning("Worker %s: no heartbeat: %s", self.id, error)
            except Exception:  # a bug of ours must not end the duty
                LOGGER.exception("Worker %s: no heartbeat", self.id)

    async def _beat(self) -> None:
        beaten = await self.host.work.heartbeat(
            Heartbeat(
                namespace=self.host.namespace,
                id=self.id,
                active=self.active(),
                completed=self.completed,
                failed=self.failed,
                is_draining=self.host.is_draining,
            )
        )
        if beaten.should_drain:
            self.drain()

    async def keep_listening(self) -> None:
        """Hear of what others do to this worker, and to the runs it executes: cancel, pause, send, end as a child."""
        while True:
            try:
                if await self.host.work.listen(self.host.namespace, self.id, self.heartbeat_for):
                    self.drain()
                await self._look_at_runs()
            except WindlassError as error:
                if self.host.lose_store(error):
                    return
                LOGGER.info("Worker %s cannot look at its runs: %s", self.id, error)
                await self.host.clock.sleep(SECOND)
            except Exception:  # a bug of ours must not end the duty
                LOGGER.exception("Worker %s cannot look at its runs", self.id)
                await self.host.clock.sleep(SECOND)

    async def _look_at_runs(self) -> None:
        asked = {execution.claimed.run_id: execution for execution in self.executions if not execution.is_over}
        if not asked:
            return
        claims = tuple((run_id, execution.claimed.token) for run_id, execution in asked.items())
        command = LookAtClaims(namespace=self.host.namespace, claims=claims)
        for state in await self.host.work.look_at_claims(command):
            execution = asked[state.run_id]
            if execution.is_over:
                continue
            if state.is_lost:
                execution.ending.drop(ClaimLost(state.run_id, token=execution.claimed.token))
                continue
            execution.hold(is_held=state.is_held)
            if state.has_news:
                execution.waits.look()

    async def keep_watch(self) -> None:
        """Look for dead workers for as long as this one lives."""
        looks = 0
        while self.probe_for > 0:
            try:
                await self._look(everyone=looks < THOROUGH_LOOKS)
                looks += 1
            except Unavailable as error:
                LOGGER.info("Worker %s cannot look for dead workers: %s", self.id, error)
            except Exception as error:  # a bug of ours, or a row that cannot be read, must not end the duty
                if self.host.lose_store(error):
                    return
                LOGGER.exception("Worker %s cannot look for dead workers", self.id)
            await self.host.clock.sleep(self.probe_for)

    async def _look(self, *, everyone: bool) -> None:
        probed = await self.host.work.probe_workers(
            ProbeWorkers(
                namespace=self.host.namespace,
                worker=self.id,
                served=self.lanes.served(),
                pipelines=self.lanes.pipelines(),
                everyone=everyone,
            )
        )
        if not probed.is_registered:
            await self.come_back()
        elif probed.lock is not self.lock:  # it could not be had before
            await self.enter()

    async def come_back(self) -> None:
        """Taken for dead, as after a lost session, or silent for too long: drop every run that somebody else has by
        now, and enter anew. One that drains goes on with that: its row remembers, and what is left is given back.

        It only looks, and renews nothing: a claim that has run out, by its own clock, is for others to take.
        """
        if self.is_returning:  # heartbeat and watch may both find out
            return
        self.is_returning = True
        LOGGER.warning("Worker %s was taken for dead and registers anew; runs it lost are dropped.", self.id)
        try:
            await self._look_at_runs()
            await self.enter()
        except WindlassError as error:
            LOGGER.warning("Worker %s cannot register anew: %s", self.id, error)
        finally:
            self.is_returning = False
