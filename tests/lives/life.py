"""One process, played inside a test: an app with workers on a clock of its own, until it ends in order or is killed.

A scenario drives it: start runs, let time pass, hire and dismiss workers, claim by hand as a worker that will vanish.
`settle` waits until nothing can happen any more while the clock stands still, so a story is told the same way twice.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from typing import Any

from tests.invariants.claims import DELAYED, WORKER
from tests.invariants.evidence import PipedRows, Snapshot, take_snapshot
from tests.lives.clients import Client
from tests.lives.duties import Duties
from tests.lives.faults import Faults, Traffic, hear_no_others, suppress_wakeups
from tests.lives.journal import Event, Journal, Line, read_journal
from tests.lives.journalled_work import JournalledWork
from windlass.api.service import Work
from windlass.app import App
from windlass.client.handle import Handle
from windlass.embedded import Embedded, in_process
from windlass.errors import Rejected
from windlass.model.commands import ClaimedRun, ClaimRuns, ResumeRun
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.errors import Stuck
from windlass.worker.worker import Worker

PATIENCE = 20.0  # real seconds before a story that makes no progress is called stuck
LOOK_EVERY = 0.0003
QUIET_TURNS = 3
LONGEST_PAUSE = 0.05  # real seconds; timers for longer are there for what goes wrong
GHOST = "ghost"  # who writes when the test does it by hand
ROUNDS = 500  # of letting time pass, before a story that does not end is called stuck


class SteadyRng:
    """Chance that is the same on every database: numbers that grow, and a jitter of one half."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def random(self) -> float:
        return 0.5

    def getrandbits(self, k: int, /) -> int:
        return next(self._numbers)


class Life:
    """What a scenario may touch while one process lives."""

    def __init__(self, url: str, journal: Journal, *, settings: Settings, clock: FakeClock, faults: Faults) -> None:
        self.clock, self.journal, self.settings = clock, journal, settings
        self.app = App(url, settings=settings, _clock=clock, _rng=SteadyRng(), _hooks=faults)
        self.client = Client(self.app, journal, lines=read_journal(journal.path))
        self.workers: list[Worker] = []
        self.ghosts: list[WorkerId] = []
        self.memory: dict[str, Any] = {}  # what this process remembers: gone when it dies
        self.seen: list[Snapshot] = []  # what `duties.look` found
        self._faults = faults
        self._opened: Embedded
        self._traffic: Traffic
        self._jobs: dict[Worker, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    async def open(self, *, has_wakeups: bool = True) -> None:
        self._opened = in_process(await self.app._opening.get())
        engine = self._opened.engine
        await hear_no_others(engine)
        if not has_wakeups:
            suppress_wakeups(engine)
        store: Any = engine.parts.store
        self._traffic = Traffic(store)
        self._opened.work = JournalledWork(self._opened.work, self.journal, who=WORKER)
        self._ghost_work: Work = JournalledWork(engine.work, self.journal, who=GHOST)
        self._faults.arm(store)

    # What a client does

    async def start(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Handle[Any] | None:
        """Ask for a run, with both ends of the question on record. None if it was refused."""
        definition = self.app._registry.find_workflow(fn)
        fields = {"what": definition.name, "value": list(args), "key": options.get("key") or ""}
        delay = DELAYED if "delay" in options or "at" in options else ""
        self.journal.write(Event.ASKED, **fields, outcome=delay)
        try:
            handle = await self.app.start(fn, *args, **options)
        except Rejected as error:
            self.journal.write(Event.REFUSED, **fields, outcome=error.code)
            return None
        self.journal.write(Event.ACKED, **fields, run_id=handle.id)
        return handle

    async def resume_all(self) -> None:
        for run in await self.open_runs():
            if run.status is RunStatus.PAUSED:
                await self._opened.control.resume_run(ResumeRun(namespace=run.namespace, run_id=run.id))
                await self.settle()  # one after the other, so that the story is the same each time

    async def open_runs(self) -> list[Run]:
        page = await self._opened.runs.list_runs(ListRuns(namespace="default"))
        return [run for run in page.runs if not run.status.is_terminal]

    # What a worker does

    async def hire(self, *, slots: int = 100) -> Worker:
        """Let a worker begin; it stays until it is dismissed or the process dies."""
        leave, known = asyncio.Event(), set(self.app._workers)
        task = asyncio.create_task(self._employ(leave, slots))
        while set(self.app._workers) == known:
            if task.done():
                task.result()
            await asyncio.sleep(LOOK_EVERY)
        (worker,) = set(self.app._workers) - known
        self.workers.append(worker)
        self._jobs[worker] = (leave, task)
        await self.settle()
        return worker

    async def dismiss(self, worker: Worker) -> None:
        """Let a worker leave in order, while time goes on: a body that does not end uses up the grace."""
        leave, task = self._jobs.pop(worker)
        self.journal.write(Event.STOPPING, who=worker.id)
        leave.set()
        await self.settle()
        for _ in range(ROUNDS):
            if task.done():
                break
            await self.advance(self.clock.next_timer() or SECOND)
        await task
        self.journal.write(Event.STOPPED, who=worker.id)

    @property
    def holders(self) -> set[WorkerId]:
        """Everyone who may have claimed something in this life."""
        return {*self.ghosts, *(worker.id for worker in self.workers)}

    async def claim_as_ghost(self, *, limit: int = 1) -> tuple[Work, list[ClaimedRun]]:
        """Claim what is due by hand, as a worker that is never heard of again unless the test makes it write."""
        ghost = WorkerId(f"wrk_ghost_{len(self.ghosts) + 1}")
        self.ghosts.append(ghost)
        claimed = await self._ghost_work.claim_runs(
            ClaimRuns(
                namespace="default",
                worker=ghost,
                poll=1,
                served=self.app._registry.served(("default",)),
                limit=limit,
                visibility_for=self.settings.visibility_for,
                wait_for=Duration(0),
            )
        )
        return self._ghost_work, claimed

    # What time does

    async def advance(self, duration: str | int | timedelta) -> None:
        """Let time pass, and everything that became due happen."""
        self.clock.advance(duration)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing can happen any more while the clock stands still."""
        loop = asyncio.get_running_loop()
        ready: Any = getattr(loop, "_ready")  # noqa: B009 - what the loop is about to run; it has no public name
        deadline, quiet = loop.time() + PATIENCE, 0
        while quiet < QUIET_TURNS:
            is_waiting = self._traffic.in_flight > 0 or self._has_threads() or _has_pauses(loop)
            await asyncio.sleep(LOOK_EVERY if is_waiting else 0)
            quiet = 0 if ready or is_waiting else quiet + 1
            if loop.time() > deadline:
                raise Stuck(f"Not at rest after {PATIENCE:g} s: {self._traffic.in_flight} calls of the store.")

    @property
    def duties(self) -> Duties:
        """What a coordinator does, one duty at a time."""
        return Duties(self._opened.engine.parts, self)

    # How it ends

    async def finish(self) -> None:
        """Take every run to its end, then leave in order."""
        if not self._jobs:
            await self.hire()
        for _ in range(ROUNDS):
            await self.settle()
            await self.resume_all()
            await self.settle()
            runs = await self.open_runs()
            if not runs:
                break
            await self.advance(self._until_next(runs))
        else:
            raise Stuck(f"{len(runs)} runs do not end: " + ", ".join(f"{run.id} {run.status}" for run in runs))
        for worker in list(self._jobs):
            await self.dismiss(worker)
        await self.app.aclose()

    async def ask_again(self, lost: list[tuple[str, list[Any], str]]) -> None:
        """What a client does that got no answer: it asks again, if it gave a key and so may."""
        for name, args, key in lost:
            definition = self.app._registry.find_workflow(name)
            await self.start(definition.function, *args, key=key)

    async def abandon(self) -> None:
        """Take a dead process away: its tasks end, and none of them can reach the store any more."""
        for worker in self.workers:
            if worker._watch is not None:
                worker._watch.stop()
        for _ in range(200):
            living = asyncio.all_tasks() - {asyncio.current_task()}
            if not living:
                return
            for task in living:
                task.cancel()
            for _ in range(QUIET_TURNS):
                await asyncio.sleep(0)
        raise Stuck("Some tasks cannot be cancelled: " + ", ".join(map(repr, living)))

    def _has_threads(self) -> bool:
        return any(execution.bodies.threads() for worker in self.workers for execution in worker.executions)

    def _until_next(self, runs: list[Run]) -> int:
        """To the next due time if nothing is at work and nobody looks for the dead; else from timer to timer."""
        timer = self.clock.next_timer() or SECOND
        due = [run.available_at - self.clock.now() for run in runs if run.available_at is not None]
        is_at_work = any(worker.executions or worker.pipelines.count for worker in self.workers)
        is_at_work |= self.settings.probe_for > 0 and any(run.status is RunStatus.RUNNING for run in runs)
        return timer if is_at_work or not due or min(due) <= 0 else min(due)

    async def _employ(self, leave: asyncio.Event, slots: int) -> None:
        async with self.app.worker(slots=slots):
            await leave.wait()


async def piped_rows(life: Life) -> PipedRows:
    """What stands in pipelines now."""
    return (await take_snapshot(life._opened.engine.parts.store, at=0, life=0, is_judged=False)).piped


def _has_pauses(loop: asyncio.AbstractEventLoop) -> bool:
    """Is somebody about to go on by the real clock, as a claim is that found what was due in other hands?"""
    timers: Any = getattr(loop, "_scheduled")  # noqa: B009 - like _ready
    return any(not timer.cancelled() and timer.when() < loop.time() + LONGEST_PAUSE for timer in timers)


Drive = Callable[[Life], Coroutine[Any, Any, None]]


def lost_starts(lines: Iterable[Line]) -> list[tuple[str, list[Any], str]]:
    """Starts with a key that were asked for and neither acknowledged nor refused."""
    answered = {(line.what, line.key) for line in lines if line.event in (Event.ACKED, Event.REFUSED)}
    asked = {
        (line.what, line.key): line.value
        for line in lines
        if line.event is Event.ASKED and line.key and (line.what, line.key) not in answered
    }
    return [(what, value, key) for (what, key), value in asked.items()]
