"""Who runs user code: claim what is due, execute it, say that one lives, and leave in order."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from windlass.codec import Codec
from windlass.define.registry import Registry
from windlass.errors import InvalidInput, WindlassError
from windlass.model.commands import ClaimedRun, ClaimRuns
from windlass.model.duration import describe
from windlass.model.graph import NeedsOf
from windlass.model.run import WorkerId
from windlass.model.time import MILLISECOND, SECOND, Duration
from windlass.runtime import Clock, Ids, SystemClock
from windlass.worker.arguments import read_arguments
from windlass.worker.claims import Claims, Holder
from windlass.worker.context import RunContext
from windlass.worker.drain import Drain
from windlass.worker.execute import Execution
from windlass.worker.failures import Classify
from windlass.worker.host import Doors, Durations, Host
from windlass.worker.jobs import JobRunContext, Jobs
from windlass.worker.lanes import Lanes
from windlass.worker.last_words import LATER
from windlass.worker.noting import Noting
from windlass.worker.pipelines import Pipelines
from windlass.worker.polling import Polling, Slots
from windlass.worker.presence import Presence
from windlass.worker.runners import Runners
from windlass.worker.tasks import LoopThread, cancel, fail, track_tasks
from windlass.worker.threads import Threads
from windlass.worker.turns import Turns
from windlass.worker.unstarted import give_back, hold
from windlass.worker.watch import LoopWatch

LOGGER = logging.getLogger("windlass.worker")

FEWEST_THREADS = 32  # for sync steps; a worker with more slots has as many threads as slots
PLENTY = 4  # free slots for each pipeline that may want one: then nobody has to wait for a turn
GATHER_FOR = 2 * MILLISECOND  # how long a nearly full worker waits for more free slots before it claims


class Worker:
    def __init__(
        self,
        doors: Doors,
        *,
        registry: Registry,
        codec: Codec,
        clock: Clock,
        ids: Ids,
        namespace: str,
        queues: tuple[str, ...] | None,  # none: all that the app names
        slots: int,
        durations: Durations,
        classify: Classify | None = None,
    ) -> None:
        self.id = WorkerId(ids.worker())
        self.lanes, self._slots = Lanes(registry, given=queues), slots
        self._visibility_for = durations.visibility_for
        self._grace_for = durations.grace_for
        self.drain = Drain()
        self._polls = 0
        self._has_news = self._was_full = False
        self._is_declared = asyncio.Event()
        self._executions: set[Execution] = set()
        self._slot_freed = asyncio.Event()
        self.claims = Claims(clock, namespace=namespace, work=doors.work, holders=self._holders, spawn=self._spawn)
        context = contextvars.Context()
        self._pace = SystemClock()  # a matter of throughput, so of real time, also under a test's clock
        self._all_left: asyncio.Future[None] | None = None  # for whoever waits until no run is left
        self._errands: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._restore: Callable[[], None] | None = None
        self._observer = doors.observer
        self._watch: LoopWatch | None = None
        self._host = Host(
            work=doors.work,
            namespace=namespace,
            registry=registry,
            codec=codec,
            clock=clock,
            classify=classify,
            context=context,
            observe=Noting(clock, self._executions).entered,
            interrupt=self._interrupted,
            lose_store=self._lose_store,
            is_ending=self._is_ending,
            threads=Threads(max(FEWEST_THREADS, slots), clock=clock),
            loop=LoopThread(),
            turns=Turns(context),
            runners=Runners(context),
            watch_claim=self.claims.watch,
            longest_step_for=durations.longest_step_for,
            left=self._left,
        )
        self._jobs = Jobs(self._host, begin=self._begin_safely, spawn=self._spawn)
        self._presence = Presence(
            host=self._host,
            id=self.id,
            slots=slots,
            probe_for=durations.probe_for,
            heartbeat_for=durations.heartbeat_for,
            drain=self._drain,
            lanes=self.lanes,
            executions=self._executions,
            active=lambda: len(self._executions) + self.pipelines.count,
        )
        shared = Slots(free=lambda: self._free_slots, are_short=self._are_slots_short, pace=self._pace)
        self.polling: Polling[ClaimedRun] = Polling(
            what="runs",
            host=self._host,
            id=self.id,
            slots=shared,
            wait_for=durations.poll_for,
            ready=self._until_ready,
            wanted=self._wanted,
            claim=self._claim,
            begin=self._begin_all,
            give_back=lambda run: give_back(self._host, run),
            come_back=self._presence.come_back,
            spawn=self._spawn,
        )
        self.pipelines = Pipelines(
            host=self._host,
            id=self.id,
            served=self.lanes.pipelines,
            durations=durations,
            slots=shared,
            until_free=self._wait_for_slots,
            come_back=self._presence.come_back,
            spawn=self._spawn,
            left=self._slot_left,
        )

    async def start(self) -> None:
        try:
            await self._presence.enter()
        except asyncio.CancelledError:
            await self._presence.leave()  # it may have been entered all the same
            raise
        if self._observer is not None:
            self._host.watch = self._observer.worker_begins(
                namespace=self._host.namespace, worker=self.id, slots=self._slots
            )
        loop = asyncio.get_running_loop()
        self._restore = track_tasks(loop)
        self._watch = LoopWatch(SystemClock(), self._codes)  # whether the loop is blocked is a matter of real time
        self._watch.start()
        self._host.registry.listeners.append(self._declared)
        self._has_news = self.lanes.is_behind
        presence = self._presence
        duties = (presence.keep_heartbeat(), presence.keep_listening(), presence.keep_watch())
        # Those that claim come first, and are stopped first.
        for duty in (self.polling.run(), self.pipelines.polling.run(), *duties):
            self._tasks.append(loop.create_task(duty, context=self._host.context))

    def _drain(self) -> None:
        """Asked to leave: nobody here waits for that, so it is done on the side. Asked again, it is on its way."""
        if not self._host.is_draining:
            told = "Worker %s is asked to leave: it claims nothing new, and running bodies may end within %s."
            LOGGER.info(told, self.id, describe(self._grace_for))
            self._host.is_draining = True
            self.drain.begin(self._drained, context=self._host.context)

    async def _drained(self) -> None:
        await self._depart(self._grace_for)
        LOGGER.info("Worker %s has left, as it was asked to.", self.id)

    def _lose_store(self, error: Exception) -> bool:
        """Is the database gone? Then nothing is claimed or written any more, no body goes on, and the worker leaves."""
        if self.drain.notice(error):
            LOGGER.error("Worker %s stops, and drops what it executes: %s", self.id, error)
            for execution in self.executions:
                execution.ending.lose()
            self.pipelines.lose()
            if not self._host.is_draining:
                self._host.is_draining = True
                self.drain.begin(lambda: self._depart(Duration(0)), context=self._host.context)
        return self.drain.error is not None

    async def stop(self, *, grace_for: Duration) -> None:
        """Claim nothing new, let bodies end within the grace, give everything else back, and say goodbye."""
        if not await self.drain.joined():
            await self._depart(grace_for)

    async def _depart(self, grace_for: Duration) -> None:
        self._host.is_draining = True
        if self._host.watch is not None:
            self._host.watch.ends()
        self._host.registry.listeners.remove(self._declared)
        rest: int = SECOND
        try:
            await cancel(self._tasks[:2])
            for execution in tuple(self._executions):
                execution.nudge()
            await self._wait_for_executions(grace_for)
            rest = grace_for // 2 + SECOND
        finally:  # cancelled ourselves, as by a second Ctrl-C: the grace is over, and what is claimed still goes back
            await self._leave(Duration(rest))

    async def _leave(self, wait_for: Duration) -> None:
        for execution in tuple(self._executions):
            execution.ending.stop()
        self.pipelines.stop()
        await self._wait_for_executions(wait_for)
        self.claims.stop()
        if self._errands:
            await asyncio.wait(self._errands)
        await cancel(self._tasks[2:])
        if self._restore is not None:
            self._restore()
        if self._watch is not None:
            self._watch.stop()
        await self._presence.leave()

    async def _wait_for_executions(self, wait_for: Duration) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._host.clock.call_later(wait_for, over.cancel)
        try:
            while (self._executions or self.pipelines.count) and not over.done():
                self._all_left = over
                await asyncio.wait([over])
        finally:
            timer.cancel()
            self._all_left = None

    async def _until_ready(self) -> None:
        """Wait for a slot, and for something to ask for; say so first if that has changed."""
        while True:
            await self._wait_for_slots()
            if self._has_news:
                self._has_news = False
                await self._enter_anew()
            if self.lanes.served():
                return
            self._is_declared.clear()
            if not self._has_news:
                await self._is_declared.wait()

    async def _enter_anew(self) -> None:
        queues = self.lanes.queues
        try:
            await self._presence.enter()
        except BaseException:
            self._has_news = True  # others still have to hear of it
            raise
        if self.lanes.queues != queues:
            self.pipelines.tell_declared()

    def _declared(self) -> None:
        """Another workflow can be served: ask for it too, now."""
        self._has_news = True
        self._is_declared.set()
        self.polling.ask_anew()
        self.pipelines.tell_declared()

    async def _claim(self, limit: int, wait_for: Duration) -> list[ClaimedRun]:
        self._polls += 1
        claimed = await self._host.work.claim_runs(
            ClaimRuns(
                namespace=self._host.namespace,
                worker=self.id,
                poll=self._polls,
                served=self.lanes.served(),
                limit=limit,
                visibility_for=self._visibility_for,
                visibilities={
                    item.name: item.visibility_for
                    for item in self._host.registry.workflows
                    if item.visibility_for is not None
                },
                wait_for=wait_for,
                expects_more=self._was_full,
            )
        )
        self._was_full = len(claimed) == limit
        return claimed

    def _begin_all(self, claimed: list[ClaimedRun]) -> None:
        for run in self._jobs.take(claimed):
            self._begin_safely(run)

    @property
    def executions(self) -> tuple[Execution, ...]:
        """The runs that occupy a slot here."""
        return tuple(self._executions)

    @property
    def handled(self) -> tuple[str, ...]:
        """The pipelines that occupy a slot here."""
        return tuple(handling.claimed.name for handling in self.pipelines.handlings)

    @property
    def _free_slots(self) -> int:
        return self._slots - len(self._executions) - self._jobs.count - self.pipelines.count

    def _wanted(self) -> int:
        """One free slot each is left to the pipelines that are not at work here, if that leaves most of them."""
        free, idle = self._free_slots, self.pipelines.idle
        return free - idle if free >= PLENTY * idle else free

    def _are_slots_short(self) -> bool:
        return self._free_slots < PLENTY * self.pipelines.idle and bool(self.lanes.served())

    async def _wait_for_slots(self) -> None:
        """A claim of many costs hardly more than a claim of one, so a full worker lets some slots gather first."""
        enough = max(1, self._slots // 4)
        if 0 < self._free_slots < enough:
            await self._pace.sleep(GATHER_FOR)
        while self._free_slots <= 0:
            self._slot_freed.clear()
            await self._slot_freed.wait()

    def _begin_safely(self, run: ClaimedRun, needs: NeedsOf | None = None) -> None:
        try:
            self._begin(run, needs)
        except Exception:
            LOGGER.exception("Run %s is given back: an error of the worker itself", run.run_id)
            self._spawn(give_back(self._host, run, delay_for=LATER))

    def _begin(self, run: ClaimedRun, needs: NeedsOf | None) -> None:
        definition = self._host.registry.workflow_or_none(run.name, run.version)
        if definition is None:
            # Declared anew since the claim was asked for, as a notebook may do: somebody else may know it.
            self._spawn(give_back(self._host, run))
            return
        try:
            arguments = read_arguments(run, definition, self._host.codec)
            input = self._jobs.input_of(needs)
        except InvalidInput as error:
            self._spawn(hold(self._host, run, error))
            return
        except Exception as error:  # the codec's hook, for example a key service that does not answer
            LOGGER.warning("Run %s is given back: its input cannot be read: %s", run.run_id, error)
            self._spawn(give_back(self._host, run, delay_for=LATER))
            return
        if definition.plan is not None or (definition.job is not None and needs is None):
            self._spawn(self._jobs.open_graph(run, definition))
            return
        execution = Execution(run, definition, self._host)
        if execution.tenure.until <= execution.claimed_at:  # to the store it is ours for longer than we may use it
            LOGGER.warning("Run %s is given back: the answer to its claim came too late", run.run_id)
            self._spawn(give_back(self._host, run))
            return
        ctx = RunContext(execution) if needs is None else JobRunContext(execution, needs, input)
        self._executions.add(execution)
        if len(self._executions) == 1:
            self._watch_loop()
        try:
            coroutine = definition.function(ctx, *arguments)
        except Exception as error:  # a decorator that takes other arguments than it shows: the workflow's own failure
            coroutine = fail(error)
        execution.begin(coroutine)

    def _left(self, execution: Execution) -> None:
        self._executions.discard(execution)
        if not self._executions:
            self._watch_loop()
        self._presence.count(execution.outcome)
        self._slot_left()

    def _holders(self) -> tuple[Iterable[Holder], Iterable[Holder]]:
        return (item.ending for item in self._executions if not item.is_over), self.pipelines.handlings

    def _slot_left(self) -> None:
        if self._all_left is not None and not (self._executions or self.pipelines.count or self._all_left.done()):
            self._all_left.set_result(None)
        self._slot_freed.set()

    def _watch_loop(self) -> None:
        if self._watch is not None:
            self._watch.want(wanted=bool(self._executions))

    def _codes(self) -> dict[CodeType, str]:
        return {item.function.__code__: item.name for item in self._host.registry.workflows}

    def _spawn(self, work: Any) -> None:
        async def guarded() -> None:
            try:
                await work
            except WindlassError as error:
                LOGGER.warning("Worker %s: %s", self.id, error)

        task = asyncio.get_running_loop().create_task(guarded(), context=self._host.context)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    def _is_ending(self) -> bool:
        return self._host.is_draining or any(task.cancelling() for task in self._tasks)

    def _interrupted(self, error: BaseException) -> None:
        """A body in a thread asked the process to stop: let whoever owns the loop hear of it."""
        raise error
