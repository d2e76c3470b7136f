"""The engine: binds the operations to the doors. In process, clients and workers hold these objects themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from windlass.answers import Answer
from windlass.engine import claim, death, explain, offspring, park, queues, release, start
from windlass.engine.access import EngineAccess
from windlass.engine.again import until_answered
from windlass.engine.batch import Batcher, Kind
from windlass.engine.checkup import EngineAdmin
from windlass.engine.control import EngineControl
from windlass.engine.drain import should_drain
from windlass.engine.feed import EngineFeed
from windlass.engine.finish import FinishRuns
from windlass.engine.graph import graphs
from windlass.engine.item.items import EngineItems
from windlass.engine.missing import no_run, no_run_of_key
from windlass.engine.namespaces import EngineNamespaces
from windlass.engine.offers import Offers
from windlass.engine.parts import EngineSettings, Parts
from windlass.engine.pipeline.batch import HandlerOperations, PublishEvents
from windlass.engine.pipeline.pipelines import (
    OPERATIONS,
    PUBLISH,
    EnginePipelineControl,
    EnginePipelines,
    EnginePipelineWork,
)
from windlass.engine.result import Results
from windlass.engine.schedule.schedules import EngineSchedules
from windlass.engine.signal.signals import EngineSignals
from windlass.engine.start import StartRuns
from windlass.engine.step import BeginSteps, CompleteSteps
from windlass.errors import NotFound
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import (
    BeginStep,
    Cancelled,
    CancelRun,
    Claim,
    ClaimedRun,
    ClaimRuns,
    ClaimState,
    CompleteStep,
    FinishRun,
    Heartbeat,
    Heartbeaten,
    HoldRun,
    LookAtClaims,
    Outcome,
    Probed,
    ProbeWorkers,
    RegisterWorker,
    Registration,
    SendEvent,
    Sent,
    Started,
    StartRun,
    Suspend,
    Suspended,
)
from windlass.model.explanation import Explanation
from windlass.model.message import Message
from windlass.model.page import ListRuns, RunPage
from windlass.model.queue import QueueView
from windlass.model.run import LogEntry, RunId, RunView, WorkerId
from windlass.model.step import Step, StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns, Worker
from windlass.notify.local import Hub, Subscription, worker_topic
from windlass.rules.limits import check_worker_id
from windlass.runtime import Clock, Ids, Rng
from windlass.store.base import Store, Tx
from windlass.telemetry.observer import Observer

T = TypeVar("T")


CLOSE_SECONDS = 10.0
MOST_LISTENING = 10_000  # workers behind one server


class Engine:
    """One store, opened. `runs` is for those who ask, `work` for those who execute."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        *,
        clock: Clock,
        rng: Rng,
        settings: EngineSettings | None = None,
        observer: Observer | None = None,
    ) -> None:
        kinds: dict[str, Kind] = {}
        self.parts = Parts(
            store=store,
            hub=hub,
            clock=clock,
            rng=rng,
            ids=Ids(clock, rng),
            offers=Offers(),
            settings=settings or EngineSettings(),
            batcher=Batcher(store, kinds, clock=clock),
            observer=observer,
        )
        kinds["start_runs"] = StartRuns(self.parts)
        kinds["begin_steps"] = BeginSteps()
        kinds["complete_steps"] = CompleteSteps()
        kinds["finish_runs"] = FinishRuns(self.parts)
        kinds[OPERATIONS] = HandlerOperations(self.parts)
        kinds[PUBLISH] = PublishEvents(self.parts)
        self.runs = EngineRuns(self.parts)
        self.control = EngineControl(self.parts)
        self.schedules = EngineSchedules(self.parts)
        self.graphs = graphs.EngineGraphs(self.parts)
        self.pipelines = EnginePipelines(self.parts)
        self.pipeline_control = EnginePipelineControl(self.parts)
        self.items = EngineItems(self.parts)
        self.signals = EngineSignals(self.parts)
        self.work = EngineWork(self.parts)
        self.feed = EngineFeed(self.parts)
        self.namespaces = EngineNamespaces(self.parts)
        self.access = EngineAccess(self.parts)
        self.admin = EngineAdmin(store, clock=clock)

    async def open(self) -> None:
        await self.parts.store.open()
        try:
            await self.parts.hub.open()
        except BaseException:
            await self.parts.store.close()
            raise

    async def close(self) -> None:
        try:
            await self.feed.close()
            await self.parts.batcher.drain()
            while self.parts.background:
                _, late = await asyncio.wait(self.parts.background, timeout=CLOSE_SECONDS)
                for task in late:  # a store that gives no answer must not keep the process
                    task.cancel()
        finally:
            try:
                await self.parts.hub.close()
            finally:
                await self.parts.store.close()


class EngineRuns:
    """api.service.Runs, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._results = Results(parts)

    def start_run(self, command: StartRun) -> Answer[Started]:
        return start.start_run(self._parts, command)

    async def wait_for_result(self, namespace: str, run_id: RunId, wait_for: Duration | None) -> Outcome:
        return await self._results.wait(namespace, run_id, wait_for)

    async def get_run(self, namespace: str, run_id: RunId) -> RunView:
        view = await self._read("get_run", lambda tx: tx.runs.view(namespace, id=run_id))
        if view is None:
            raise no_run(run_id)
        return view

    async def find_run(self, namespace: str, key: str) -> RunView:
        async def find(tx: Tx) -> RunView:
            owner = (await tx.keys.owners(namespace, keys=[key])).get(key)
            view = None if owner is None else await tx.runs.view(namespace, id=owner.run_id)
            if view is None:
                raise no_run_of_key(key, owner=None if owner is None else owner.run_id)
            return view

        return await self._read("find_run", find)

    async def list_runs(self, query: ListRuns) -> RunPage:
        more = replace(query, limit=query.limit + 1)
        found = await self._read("list_runs", lambda tx: tx.runs.list(more))
        runs = tuple(found[: query.limit])
        return RunPage(runs=runs, next=runs[-1].id if len(found) > query.limit else None)

    async def list_steps(self, namespace: str, run_id: RunId) -> tuple[Step, ...]:
        return tuple(await self._read("list_steps", lambda tx: tx.steps.attempts(namespace, run_id=run_id)))

    async def read_log(self, namespace: str, run_id: RunId) -> tuple[LogEntry, ...]:
        return tuple(await self._read("read_log", lambda tx: tx.log.of_subject(namespace, kind="run", id=run_id)))

    async def explain_run(self, namespace: str, run_id: RunId) -> Explanation:
        return await explain.explain_run(self._parts, namespace, run_id)

    async def list_messages(self, namespace: str, run_id: RunId) -> tuple[Message, ...]:
        return tuple(await self._read("list_messages", lambda tx: tx.inbox.of_run(namespace, run_id=run_id)))

    async def list_workers(self, namespace: str, stopped_since: Instant | None = None) -> tuple[Worker, ...]:
        async def read(tx: Tx) -> list[Worker]:
            live = await tx.workers.live(namespace)
            return live if stopped_since is None else live + await tx.workers.stopped(namespace, since=stopped_since)

        return tuple(await self._read("list_workers", read))

    async def list_queues(self, namespace: str) -> tuple[QueueView, ...]:
        return await queues.list_queues(self._parts, namespace)

    async def _read(self, name: str, fn: Callable[[Tx], Awaitable[T]]) -> T:
        # Each sends one statement, or needs no snapshot.
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, fn, single=True))


class EngineWorkers:
    """api.service.Workers, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._listening: dict[tuple[str, WorkerId], Subscription] = {}

    async def register_worker(self, command: RegisterWorker) -> Registration:
        return await death.register_worker(self._parts, command)

    async def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        check_worker_id(command.id)
        beaten = await self._parts.run_tx("heartbeat", lambda tx: tx.workers.heartbeat(command), single=True)
        if beaten is None:
            raise NotFound("worker", command.id, hint="It left, or was silent for too long: register it again.")
        return beaten

    async def deregister_worker(self, namespace: str, id: WorkerId, ended: EndedRuns | None = None) -> None:
        subscription = self._listening.pop((namespace, id), None)
        if subscription is not None:
            subscription.close()
        await death.deregister_worker(self._parts, namespace, id, ended=ended)

    async def probe_workers(self, command: ProbeWorkers) -> Probed:
        return await death.probe_workers(self._parts, command)

    async def listen(self, namespace: str, worker: WorkerId, wait_for: Duration) -> bool:
        # Open from the first time on: what is told while the worker looks makes the next call return at once.
        subscription = self._listening.pop((namespace, worker), None)
        if subscription is None:
            subscription = self._parts.hub.subscribe(worker_topic(namespace, worker))
            subscription.open()
            if len(self._listening) >= MOST_LISTENING:  # one that died without a word listens no more
                self._listening.pop(next(iter(self._listening))).close()
        self._listening[namespace, worker] = subscription
        await subscription.wait(self._parts.clock, wait_for)
        subscription.clear()
        return await should_drain(self._parts, namespace, worker)

    async def renew_claims(self, command: RenewClaims) -> RenewedClaims:
        return await release.renew_claims(self._parts, command)


class EngineWork(EngineWorkers, graphs.EngineJobs, EnginePipelineWork):
    """api.service.Work, in process."""

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        return await claim.claim_runs(self._parts, command)

    def begin_step(self, command: BeginStep) -> Answer[Instant]:
        return self._parts.batcher.submit("begin_steps", command)

    def complete_step(self, command: CompleteStep) -> Answer[Instant]:
        return self._parts.batcher.submit("complete_steps", command)

    async def suspend_run(self, command: Suspend) -> Suspended:
        return await park.suspend_run(self._parts, command)

    def finish_run(self, command: FinishRun) -> Answer[Instant]:
        return self._parts.batcher.submit("finish_runs", command)

    async def hold_run(self, command: HoldRun) -> None:
        await release.hold_run(self._parts, command)

    async def release_run(self, claim: Claim) -> None:
        await release.release_run(self._parts, claim)

    async def renew_claim(self, claim: Claim) -> None:
        await release.renew_claim(self._parts, claim)

    async def read_history(self, claim: Claim) -> tuple[StepRecord, ...]:
        return await offspring.read_history(self._parts, claim)

    async def send_to_child(self, claim: Claim, command: SendEvent) -> Sent:
        return await offspring.send_to_child(self._parts, claim, command)

    async def cancel_child(self, claim: Claim, command: CancelRun) -> Cancelled:
        return await offspring.cancel_child(self._parts, claim, command)

    async def look_at_claims(self, command: LookAtClaims) -> tuple[ClaimState, ...]:
        return await release.look_at_claims(self._parts, command)
