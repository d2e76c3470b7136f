"""What the processes do that are killed: execute runs, ask for them, or play one life of a crash story.

    work    a worker; SIGTERM makes it leave in order
    ask     a client that starts runs until SIGTERM; every second one also executes them, so that runs are dispatched
            inside the process that asked for them
    stall   a worker that stops itself (SIGSTOP) when it is about to write about each of its runs
    live    one life of a story of tests/crash, ended by os._exit at one point

Whatever they do they write to a journal beside the database: see tests.lives.shared_journal.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

import windlass
from tests.crash.scenarios import named
from tests.invariants.claims import WORKER
from tests.lives.faults import Faults, Moment, Point
from tests.lives.journal import Event, Journal
from tests.lives.journalled_work import Fenced, JournalledWork
from tests.lives.life import Life, lost_starts
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from tests.processes import afar, beside, coordinating, following, piping, signalling
from tests.processes.beside import told_to_leave
from windlass.answers import Answer
from windlass.api.service import Work
from windlass.app import App
from windlass.define.options import StartOptions
from windlass.errors import Rejected
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings
from windlass.testing.clock import FakeClock

SLOTS = 8
IN_FLIGHT = 4  # starts that one client has asked for and not been answered yet
PACE = 0.01  # seconds between starts, so that what is asked for can also be done
FLAKY_LIMIT = 6
MAX_RECOVERIES = 1_000  # the nemesis kills without pity, and none of it is the fault of a run
KILLED = 9  # the exit code of a life that ended at a point

Workflow = Callable[..., Any]


def declare(app: App, journal: Journal) -> Workflow:
    """A workflow with a bit of everything: threads, tasks, branches, failures, sleeps."""

    def weigh(client: int, number: int) -> int:
        with journal.body():
            if number % 3 == 0:
                time.sleep(0.02)
            return client + number

    async def label(grams: int) -> str:
        with journal.body():
            await asyncio.sleep(0.015)
            return f"{grams} g"

    async def book(text: str, number: int) -> str:
        with journal.body():
            await asyncio.sleep(0.05 if number % 4 == 0 else 0)  # some are seen to have begun, most are not
            if number % 5 == 0 and windlass.current_step().attempt == 1:
                raise ConnectionError("the line is busy")
            return f"{text}, booked"

    async def seen(ctx: windlass.Context, key: str, result: Awaitable[Any]) -> Any:
        value = await result
        journal.write(Event.DELIVERED, run_id=ctx.run_id, key=key, value=value)
        return value

    @app.workflow(name="parcel")
    async def parcel(ctx: windlass.Context, client: int, number: int) -> str:
        journal.write(Event.VALUE, run_id=ctx.run_id, what="uuid", value=str(ctx.uuid()))
        grams = await seen(ctx, "weigh", ctx.step(weigh, client, number))
        await ctx.sleep("5ms")
        journal.write(Event.WOKE, run_id=ctx.run_id, key="sleep")
        text, _ = await asyncio.gather(
            seen(ctx, "label", ctx.step(label, grams)), seen(ctx, "label:back", ctx.step(label, -grams, key="back"))
        )
        retry = windlass.Retry(FLAKY_LIMIT, initial="10ms")
        booked: str = await seen(ctx, "book", ctx.step(book, text, number, retry=retry))
        return booked

    return parcel


async def journalled(app: App, journal: Journal) -> None:
    """Open the app with the journal between its workers and the engine."""
    opened = await app._opening.get()
    opened.work = JournalledWork(opened.work, journal, who=WORKER)


def settings(visibility: float, *, probe: float = 1.0) -> Settings:
    return Settings(
        visibility_for=Duration(round(visibility * SECOND)),
        probe_for=Duration(round(probe * SECOND)),
        max_recoveries=MAX_RECOVERIES,
    )


# --- workers and clients ----------------------------------------------------------------------------------------------


def work(*, url: str, journal: str, number: int, visibility: float, probe: float) -> None:
    async def main() -> None:
        leave, notes = told_to_leave(), SharedJournal(Path(journal), number=number, clock=SystemClock())
        async with App(url, settings=settings(visibility, probe=probe)) as app:
            declare(app, notes)
            await journalled(app, notes)
            async with app.worker(slots=SLOTS):
                await leave.wait()

    asyncio.run(main())


def ask(*, url: str, journal: str, number: int, visibility: float, probe: float) -> None:
    async def main() -> None:
        leave, notes = told_to_leave(), SharedJournal(Path(journal), number=number, clock=SystemClock())
        async with App(url, settings=settings(visibility, probe=probe)) as app, AsyncExitStack() as stack:
            client = Client(app, notes, declare(app, notes), number=number)
            await journalled(app, notes)
            if number % 2:
                await stack.enter_async_context(app.worker(slots=SLOTS))
            await client.ask_again()
            await client.ask_until(leave)

    asyncio.run(main())


class Client:
    """Asks for runs, with both ends of every question on record. No two questions are the same, unless asked again."""

    def __init__(self, app: App, journal: Journal, workflow: Workflow, *, number: int) -> None:
        self._app, self._journal, self._workflow, self._number = app, journal, workflow, number
        self._free = asyncio.Semaphore(IN_FLIGHT)

    async def ask_again(self) -> None:
        """What those before asked for under a key, and were killed before they heard of it."""
        for _, args, key in lost_starts(read_shared_journal(self._journal.path)):
            await self._start(args, key=key)

    async def ask_until(self, leave: asyncio.Event) -> None:
        asked = 0
        async with asyncio.TaskGroup() as group:
            while not leave.is_set():
                asked += 1
                key = f"parcel-{self._number}-{asked}" if asked % 2 else None
                await self._free.acquire()
                task = group.create_task(self._start([self._number, asked], key=key))
                task.add_done_callback(lambda _: self._free.release())
                await asyncio.sleep(PACE)

    async def _start(self, args: list[Any], *, key: str | None) -> None:
        fields = {"what": "parcel", "value": args, "key": key or ""}
        self._journal.write(Event.ASKED, **fields)
        try:
            options: StartOptions = {} if key is None else {"key": key}
            handle = await self._app.start(self._workflow, *args, **options)
        except Rejected as error:
            self._journal.write(Event.REFUSED, **fields, outcome=error.code)
            return
        self._journal.write(Event.ACKED, **fields, run_id=handle.id)


# --- a worker that stops ----------------------------------------------------------------------------------------------


class StallingWork(JournalledWork):
    """Keeps one write of each run back; when it has `crowd` of them it stops the process, and then sends them all.

    That is one turn of the loop, so no timer that became due while the process stood still can come before them: they
    are sent, under tokens that are old by then.
    """

    def __init__(self, work: Work, journal: Journal, *, crowd: int) -> None:
        super().__init__(work, journal, who=WORKER)
        self._crowd = crowd
        self.kept_back: dict[str, str] = {}  # run id: which of its writes
        self._waiting: dict[str, tuple[Callable[[], Answer[Any]], Answer[Any]]] = {}

    def _submitted(self, what: str, command: Fenced, call: Any, *, renew_for: Duration | None = None) -> Answer[Any]:
        send = functools.partial(super()._submitted, what, command, call, renew_for=renew_for)
        if self.kept_back.get(command.run_id) != what:
            return send()
        answer: Answer[Any] = Answer()
        self._waiting[command.run_id] = send, answer
        if len(self._waiting) == self._crowd:
            self._stop()
        return answer

    def _stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        self.kept_back.clear()
        for send, answer in self._waiting.values():
            send().then(answer.settle)


def stall(*, url: str, journal: str, number: int, visibility: float, crowd: int, gate: str) -> None:
    """Execute runs of `stalling`. With `crowd`, stop before the writes that so many of them name; see StallingWork.

    Without `crowd`, bodies of odd runs wait for the gate.
    """

    async def main() -> None:
        leave, notes = told_to_leave(), SharedJournal(Path(journal), number=number, clock=SystemClock())

        async def carry(item: int, is_long: bool) -> int:
            with notes.body():
                if is_long if crowd else item % 2:
                    await appeared(Path(gate))
            return number

        async with App(url, settings=settings(visibility)) as app:

            @app.workflow(name="stalling")
            async def stalling(ctx: windlass.Context, item: int, what: str) -> int:
                if crowd and what:
                    work.kept_back[ctx.run_id] = what
                    if what == "finish_run":
                        return number
                # It is noted that a body began if it is still at work after a moment.
                return await ctx.step(carry, item, what == "begin_step")

            opened = await app._opening.get()
            opened.work = work = StallingWork(opened.work, notes, crowd=crowd)
            async with app.worker(slots=SLOTS):
                await leave.wait()

    asyncio.run(main())


def start_stalling(url: str, items: range, *, what: str = "") -> list[str]:
    """Ask for runs of `stalling` from outside of any worker: their ids. `what`: the write to stop before."""

    async def main() -> list[str]:
        async with App(url, settings=Settings()) as app:

            @app.workflow(name="stalling")
            async def stalling(ctx: windlass.Context, item: int, what: str) -> int:
                raise NotImplementedError  # executed by others only

            return [(await app.start(stalling, item, what)).id for item in items]

    return asyncio.run(main())


async def appeared(path: Path) -> None:
    """Wait for a file that the test makes: a process has no event for that."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.01)


# --- one life of a crash story ----------------------------------------------------------------------------------------


def live(
    *,
    scenario: str,
    url: str,
    journal: str,
    end: str,
    life: int,
    now: int,
    point: list[Any] | None,
    probe_for: int,
    number: int,
) -> None:
    """Tell the story, or finish what is left of it; die for good at the point. What is worth knowing goes to `end`."""
    story, clock = named(scenario), FakeClock(start_at=now)
    notes = Journal(Path(journal))
    notes._life = life - 1
    notes.begin_life(clock)

    def report() -> None:
        workers = {worker.id for worker in played.app._workers} | played.holders
        text = {"now": clock.now(), "holders": sorted(workers), "points": played_points.points}
        Path(end).write_text(json.dumps(text))

    def die(reached: Point) -> None:
        notes.write(Event.CRASHED, what=str(reached))
        report()
        os._exit(KILLED)

    crash_at = None if point is None else Point(point[0], Moment(point[1]), point[2])
    played_points = Faults(crash_at=crash_at, on_crash=die)
    settings = msgspec.structs.replace(story.settings, probe_for=Duration(probe_for))
    played = Life(url, notes, settings=settings, clock=clock, faults=played_points)
    story.declare(played)

    async def tell() -> None:
        await played.open()
        await story.drive_of(life)(played)
        await played.finish()

    asyncio.run(tell())
    notes.end_life()
    report()


ENTRIES: dict[str, Callable[..., int | None]] = {
    "work": work,
    "ask": ask,
    "stall": stall,
    "live": live,
    **afar.ENTRIES,
    **beside.ENTRIES,
    **coordinating.ENTRIES,
    **following.ENTRIES,
    **piping.ENTRIES,
    **signalling.ENTRIES,
}
