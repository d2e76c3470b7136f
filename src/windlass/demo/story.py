"""The demo from beginning to end: who is killed when, and what has to have happened before the story goes on.

Nothing here waits a while and hopes: every scene waits for a line of the journal or a record of the store, with a
deadline, and the pauses in between are for the people who watch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from windlass.api.service import Control, Runs
from windlass.app import App
from windlass.assembly import open_engine
from windlass.demo.journal import FILE, Event, Journal, Line, read_journal
from windlass.demo.judge import Recorded, judge
from windlass.demo.scenes import (
    AllKilled,
    ApprovalGiven,
    ApprovalWaits,
    Audience,
    Ending,
    FileMade,
    Resumed,
    RunsAccepted,
    RunsEnded,
    RunState,
    Scene,
    Snapshot,
    WorkerKilled,
    WorkersStarted,
    WorkerState,
)
from windlass.demo.shop import ORDER, PLANS, REFUND, Bodies, Provider, open_shop
from windlass.demo.workers import DATABASE, DemoFailed, WorkerProcess, Workers
from windlass.model.commands import Decide
from windlass.model.page import ListRuns
from windlass.model.run import DEATH, Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import MILLISECOND, SECOND, Duration, Instant
from windlass.runtime import Clock, system_rng
from windlass.settings import Settings

NAMESPACE = "default"
MOST_RUNS = 100
FRAME = 125 * MILLISECOND
PATIENCE = 60 * SECOND  # for one scene, on a machine that has other things to do
WORKERS = 2
SPECTATOR = "you"


class Stuck(DemoFailed):
    """Something the story waits for does not happen."""


class Story:
    """One performance, in the folder of its workers, which is empty at the beginning."""

    def __init__(self, workers: Workers, *, audience: Audience, clock: Clock, pace: float) -> None:
        self._workers, self._audience, self._clock, self._pace = workers, audience, clock, pace
        self._folder = workers.folder
        self._journal = Journal(self._folder / FILE, clock=clock)
        self._began = clock.monotonic()
        self._letters: dict[str, WorkerProcess] = {}  # by the id under which a process has registered
        self._keys: dict[str, str] = {}  # start keys by run id

    async def play(self) -> Ending:
        """Play it all. The workers are not ended here if this is cancelled or fails."""
        url = str(self._folder / DATABASE)
        opened = await open_engine(url, Settings(), clock=self._clock, rng=system_rng())
        try:
            self._runs: Runs = opened.runs
            self._tell(FileMade(self._folder / DATABASE))
            await self._start_workers()
            await self._start_runs(url)
            try:
                await self._kill_one()
                await self._approve(opened.control)
                await self._restart(await self._kill_all())
                await self._until_ended()
            except Stuck as stuck:
                return await self._end(str(stuck))
            return await self._end()
        finally:
            await opened.close()

    # The scenes

    async def _start_workers(self, *, is_restart: bool = False) -> None:
        begun = self._workers.start(WORKERS)

        async def have_registered(_: Snapshot) -> bool:
            return all(process in self._letters.values() for process in begun)

        snapshot = await self._until(have_registered, what="two workers serve")
        states = tuple(state for state in snapshot.workers if state.is_alive)
        self._tell(WorkersStarted(workers=states, is_restart=is_restart))

    async def _start_runs(self, url: str) -> None:
        app = App(url, settings=Settings(), _clock=self._clock)
        bodies = Bodies(self._folder, journal=self._journal, clock=self._clock, pace=self._pace)
        calls = open_shop(app, bodies=bodies, pace=self._pace)
        async with app:
            for call in calls:
                handle = await app.start(call.workflow, call.argument, key=call.key)
                self._journal.write(Event.ACCEPTED, run_id=handle.id)
                self._keys[handle.id] = call.key
        self._tell(RunsAccepted(dict(Counter(call.workflow.__name__ for call in calls))))

    async def _kill_one(self) -> None:
        entered = await self._until_at_work("charge")
        await self._pause(2.0)
        victim = self._process(entered.pid)
        self._kill(victim)
        state = self._state(victim, await self._look())  # of the dead: while it lived it might have claimed more
        self._tell(WorkerKilled(worker=state, key="charge"))
        await self._until_repeated(entered, since=self._clock.monotonic())

    async def _approve(self, control: Control) -> None:
        """The order waits for a person; the audience is that person."""

        async def is_asked(snapshot: Snapshot) -> bool:
            order = _order(snapshot)
            return order.run.status is RunStatus.WAITING and any(step.kind is StepKind.APPROVAL for step in order.steps)

        order = _order(await self._until(is_asked, what="the order waits for its approval"))
        (asked,) = [step for step in order.steps if step.kind is StepKind.APPROVAL]
        self._tell(ApprovalWaits(title=asked.awaits or "", command=f"windlass approve {order.run.id}"))
        await self._pause(1.5)
        await control.decide(Decide(namespace=NAMESPACE, run_id=order.run.id, is_approved=True, by=SPECTATOR))
        self._tell(ApprovalGiven(title=asked.awaits or "", by=SPECTATOR))

    async def _kill_all(self) -> Line:
        entered = await self._until_at_work("ship")
        await self._pause(1.5)
        killed = self._workers.alive()
        for process in killed:
            self._kill(process)
        snapshot = await self._look()  # of the dead
        states = tuple(self._state(process, snapshot) for process in killed)
        open_runs = sum(not state.run.status.is_terminal for state in snapshot.runs)
        self._tell(AllKilled(workers=states, key="ship", open_runs=open_runs))
        await self._pause(2.0)
        return entered

    async def _restart(self, entered: Line) -> None:
        since = self._clock.monotonic()
        await self._start_workers(is_restart=True)
        await self._until_repeated(entered, since=since)

    async def _until_ended(self) -> None:
        async def have_ended(snapshot: Snapshot) -> bool:
            return all(_is_over(state.run) for state in snapshot.runs)

        await self._until(have_ended, what="every run ends")

    async def _end(self, stuck: str = "") -> Ending:
        """Hold the journal against the store, however far the story has come."""
        self._stop()  # so that nobody writes while it is judged
        snapshot = await self._look()
        ended = sum(state.run.status.is_terminal for state in snapshot.runs)
        self._tell(RunsEnded(ended=ended, total=len(self._keys)))
        recorded: dict[str, Recorded] = {
            state.run.id: Recorded(name=state.run.name, status=state.run.status, steps=state.steps)
            for state in snapshot.runs
        }
        verdict = judge(read_journal(self._folder / FILE), recorded=recorded, plans=PLANS)
        failed = next((state.run.id for state in snapshot.runs if state.key == REFUND), None)
        return Ending(
            snapshot=snapshot,
            verdict=verdict,
            charges=Provider(self._folder).charges(),
            stuck=stuck,
            explanation=None if failed is None else await self._runs.explain_run(NAMESPACE, failed),
        )

    # What they wait for

    async def _until_at_work(self, key: str) -> Line:
        """Wait until the order's step is in its body, and the store has seen it start."""

        async def is_at_work(snapshot: Snapshot) -> bool:
            steps = _order(snapshot).steps
            has_begun = any(step.key == key and step.status is StepStatus.RUNNING for step in steps)
            return has_begun and bool(self._bodies(key))

        await self._until(is_at_work, what=f"the order is in the middle of {key}")
        return self._bodies(key)[-1]

    async def _until_repeated(self, cut_off: Line, *, since: int) -> None:
        """Wait until the step whose worker was killed is entered by another one."""
        key = cut_off.key

        async def is_repeated(_: Snapshot) -> bool:
            return any(line.pid != cut_off.pid for line in self._bodies(key))

        snapshot = await self._until(is_repeated, what=f"another worker goes on with {key}")
        after = Duration(self._clock.monotonic() - since)
        again = next(line for line in self._bodies(key) if line.pid != cut_off.pid)
        done = [step.key for step in _order(snapshot).steps if _is_done(step)]
        stored = tuple(name for name in done if all(line.at < cut_off.at for line in self._bodies(name)))
        scene = Resumed(
            worker=self._process(again.pid).letter,
            after=after,
            released=await self._count_released(since=Instant(cut_off.at)),
            stored=stored,
            repeated=key,
            attempt=again.attempt,
            is_same_key=cut_off.idempotency_key == again.idempotency_key,
        )
        self._tell(scene)

    def _bodies(self, key: str) -> list[Line]:
        """Where the journal says that this step of the order was entered."""
        lines = read_journal(self._folder / FILE)
        entered = [line for line in lines if line.event is Event.ENTERED and line.key == key]
        return [line for line in entered if self._keys.get(line.run_id) == ORDER]

    async def _count_released(self, *, since: Instant) -> int:
        """How many runs were taken back from dead workers."""
        released = 0
        for run_id in self._keys:
            log = await self._runs.read_log(NAMESPACE, RunId(run_id))
            released += any(entry.cause == DEATH and entry.at >= since for entry in log)
        return released

    async def _until(self, is_true: Callable[[Snapshot], Awaitable[bool]], *, what: str) -> Snapshot:
        """Show how everything stands until it is true. Raises Stuck if that takes too long."""
        deadline = self._clock.monotonic() + PATIENCE
        while True:
            snapshot = await self._show()
            if await is_true(snapshot):
                return snapshot
            if self._clock.monotonic() > deadline:
                raise Stuck(f"This did not happen within {PATIENCE // SECOND} s: {what}.")
            await self._clock.sleep(FRAME)

    async def _pause(self, seconds: float) -> None:
        """For those who watch."""
        until = self._clock.monotonic() + round(seconds * self._pace * SECOND)
        while (left := until - self._clock.monotonic()) > 0:
            await self._show()
            await self._clock.sleep(min(left, FRAME))

    # How everything stands

    async def _show(self) -> Snapshot:
        for worker in self._workers.all:
            worker.check()
        snapshot = await self._look()
        self._audience.show_frame(snapshot, at=self._elapsed())
        return snapshot

    async def _look(self) -> Snapshot:
        for worker in await self._runs.list_workers(NAMESPACE):
            process = next((process for process in self._workers.all if process.pid == worker.pid), None)
            if process is not None and worker.id not in self._letters:
                self._letters[worker.id] = process
        page = await self._runs.list_runs(ListRuns(namespace=NAMESPACE, limit=MOST_RUNS))
        runs = []
        for run in reversed(page.runs):
            holder = self._letters.get(run.worker or "")
            runs.append(
                RunState(
                    run=run,
                    key=self._keys.get(run.id, ""),
                    steps=await self._runs.list_steps(NAMESPACE, run.id),
                    is_orphaned=run.status is RunStatus.RUNNING and holder is not None and not holder.is_alive,
                )
            )
        bare = Snapshot(now=Instant(self._clock.now()), workers=(), runs=tuple(runs))
        return replace(bare, workers=tuple(self._state(process, bare) for process in self._workers.all))

    def _state(self, process: WorkerProcess, snapshot: Snapshot) -> WorkerState:
        ids = {id for id, known in self._letters.items() if known is process}
        holds = sum(state.run.status is RunStatus.RUNNING and state.run.worker in ids for state in snapshot.runs)
        return WorkerState(letter=process.letter, pid=process.pid, is_alive=process.is_alive, holds=holds)

    def _process(self, pid: int) -> WorkerProcess:
        return next(process for process in self._workers.all if process.pid == pid)

    def _kill(self, process: WorkerProcess) -> None:
        process.kill()
        self._journal.write_end(Event.KILLED, pid=process.pid)

    def _stop(self) -> None:
        stopped = self._workers.alive()
        self._workers.stop()
        for process in stopped:
            self._journal.write_end(Event.KILLED if process.was_killed else Event.ENDED, pid=process.pid)
        self._journal.end()

    def _tell(self, scene: Scene) -> None:
        self._audience.show_scene(scene, at=self._elapsed())

    def _elapsed(self) -> Duration:
        return Duration(self._clock.monotonic() - self._began)


def _is_over(run: Run) -> bool:
    return run.status.is_terminal or run.status is RunStatus.PAUSED  # nobody is there to let it go on


def _order(snapshot: Snapshot) -> RunState:
    return next(state for state in snapshot.runs if state.key == ORDER)


def _is_done(step: Step) -> bool:
    return step.kind is StepKind.STEP and step.status is StepStatus.COMPLETED
