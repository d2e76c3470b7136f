"""Does a disk that is full, or takes no write, cost anything but time? Nothing acknowledged may be lost.

A disk that becomes read-only under open files cannot be had by `mount -o remount,ro`: the kernel says busy. What SQLite
sees of one is a write that fails with another error than "no space", and so it is with a limit on the size of files,
which the kernel enforces in the middle of work as well.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import windlass
from tests.faults.clocks import HastyClock
from tests.faults.disk import Disk
from tests.faults.shop import STEPS, Client, Notes, complaints, described, journalled, look_at_file
from tests.invariants.processes import Crowd, count_bodies, judge_crowd
from tests.lives.journal import Event
from tests.scale import SCALE
from windlass.errors import Unavailable
from windlass.model.run import TAKEN
from windlass.model.time import HOUR, Duration
from windlass.settings import Settings

PATIENCE = 60.0
TIMES = 100  # the engine gives up after 15 s: divided by this
VISIBILITY = Duration(10 * HOUR)  # so long that nothing here comes back because a claim has ended, divided or not
ROUNDS = 2
RUNS = 5  # that have something to say when the disk takes nothing


def one_line_each(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged; a traceback is a bug wherever it stands."""
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert all("\n" not in message for message in messages)
    return messages


async def until_at_work(journal: Notes, *, steps: int) -> None:
    """The worker is in the middle of it: so many steps are done, and the rest is not."""
    deadline = time.monotonic() + PATIENCE
    while (done := sum(line.event is Event.DELIVERED for line in journal.lines)) < steps:
        assert time.monotonic() < deadline, f"{done} of {steps} steps are done"
        await asyncio.sleep(0.002)


class Full:
    name, told = "full disk", "the disk is full"

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def begin(self) -> None:
        self._disk.fill()

    def end(self) -> None:
        self._disk.free()


class Refusing:
    """No file of this process may grow beyond the size that the database's journal has now."""

    name, told = "writes refused by the system", "cannot be read or written"

    def __init__(self, disk: Disk) -> None:
        self._journal = disk.database.with_name(disk.database.name + "-wal")
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def begin(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._journal.stat().st_size, self._before[1]))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


@pytest.fixture(params=[Full, Refusing], ids=lambda kind: kind.name.replace(" ", "-"))
def fault(request: pytest.FixtureRequest, disk: Disk) -> Iterator[Full | Refusing]:
    fault = request.param(disk)
    yield fault
    fault.end()


@pytest.mark.spec("invariants:I-12", "invariants:I-57", "invariants:I-61", "invariants:I-65")
@pytest.mark.parametrize("story", range(1, SCALE + 1))  # each on a disk of its own: one small disk is really full soon
async def test_a_disk_that_takes_nothing_refuses_starts_and_loses_nothing(
    story: int, disk: Disk, fault: Full | Refusing, caplog: pytest.LogCaptureFixture, figures: list[str]
) -> None:
    clock = HastyClock(TIMES)
    journal = Notes(clock)
    app = windlass.App(disk.database, settings=Settings(visibility_for=VISIBILITY), _clock=clock)
    client = Client(app, journal)
    number, tried = 0, 0

    await journalled(app, journal)
    async with app, app.worker():
        for _ in range(ROUNDS):
            await asyncio.gather(*[client.start(number + place) for place in range(50)])
            number += 50
            await until_at_work(journal, steps=STEPS * len(client.acknowledged) - 75)
            fault.begin()
            refused = len(client.refusals)
            # Often enough for what was at work to give up too; a little may still fit into what the files have already.
            while len(client.refusals) < refused + 20:
                assert tried < 200 * ROUNDS, f"only {len(client.refusals)} of {tried} starts were refused"
                await asyncio.gather(*[client.start(number + place, size=20_000) for place in range(5)])
                number, tried = number + 5, tried + 5
            fault.end()
            assert await client.start(number)
            number += 1
        finished = await client.results(seconds=PATIENCE)

    messages = one_line_each(caplog)
    assert any(fault.told in message for message in messages)
    assert all(isinstance(refusal, Unavailable) for refusal in client.refusals)
    assert all(fault.told in str(refusal) and "\n" not in str(refusal) for refusal in client.refusals)
    last = await look_at_file(disk.database)
    crowd = Crowd(snapshots=(last,), lines=tuple(journal.lines), killed=frozenset(), visibility_for=VISIBILITY)
    figures.append(
        f"{'sqlite':10}  {fault.name}: {ROUNDS} times, {len(client.refusals)} of {tried} starts refused meanwhile; "
        f"{finished} of {len(client.acknowledged)} acknowledged runs finished, {described(crowd, client)}"
    )
    assert complaints(crowd, client) == []
    assert [entry.cause for entry in last.log if entry.cause in TAKEN] == []  # its own worker went on with everything


WORDS = {
    "a beginning": "begin_step",  # of a body that is still at work
    "a sleep": "suspend_run",
    "a failure": "suspend_run",
    "the end": "finish_run",
}


@pytest.mark.spec("invariants:I-03", "invariants:I-08", "invariants:I-61")
@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.replace(" ", "-"))
async def test_what_a_run_could_not_say_is_said_when_the_disk_takes_it_again(
    disk: Disk, word: str, figures: list[str]
) -> None:
    """Whatever its worker does with it: nobody waits for the end of its claim, which would be longer than patience."""
    clock = HastyClock(TIMES)
    journal, write, fault = Notes(clock), WORDS[word], Full(disk)
    app = windlass.App(disk.database, settings=Settings(visibility_for=VISIBILITY), _clock=clock)
    begin_once = itertools.chain([fault.begin], itertools.repeat(lambda: None))

    async def stumble(number: int) -> int:
        with journal.body():
            if word == "a beginning":
                next(begin_once)()
                await until_refused()
            if word == "a failure" and windlass.current_step().attempt == 1:
                next(begin_once)()
                raise ConnectionError("the line is busy")
        return number

    @app.workflow
    async def stumbling(ctx: windlass.Context, number: int) -> int:
        stumbled = await ctx.step(stumble, number)
        if word in ("a sleep", "the end"):
            next(begin_once)()
        if word == "a sleep":
            await ctx.sleep("1s")
        return stumbled

    def refused() -> int:
        return sum(line.what == write and line.outcome == Unavailable.code for line in journal.lines)

    async def until_refused() -> None:
        deadline = time.monotonic() + PATIENCE
        while not refused():
            assert time.monotonic() < deadline, f"{write} was never refused"
            await asyncio.sleep(0.002)

    await journalled(app, journal)
    async with app:
        handles = [await app.start(stumbling, number) for number in range(RUNS)]
        async with app.worker():
            await until_refused()
            fault.end()
            async with asyncio.timeout(PATIENCE):
                results = await asyncio.gather(*[handle.result() for handle in handles])

    last = await look_at_file(disk.database)
    crowd = Crowd(snapshots=(last,), lines=tuple(journal.lines), killed=frozenset(), visibility_for=VISIBILITY)
    bodies = count_bodies(crowd)
    figures.append(
        f"{'sqlite':10}  full disk at {word}: {write} refused {refused()} times; {len(results)} of {RUNS} runs "
        f"finished, {bodies.repeated} of {bodies.started} bodies repeated, {bodies.unexplained} unexplained"
    )
    assert judge_crowd(crowd) == []
    assert results == list(range(RUNS))
    assert [entry.cause for entry in last.log if entry.cause in TAKEN] == []


@pytest.mark.spec("invariants:I-61")
@pytest.mark.parametrize("command", [["migrate"], ["pause", "--queue", "mail"]], ids=lambda command: command[0])
def test_a_command_on_a_full_disk_says_so_in_one_line(disk: Disk, command: list[str]) -> None:
    if command != ["migrate"]:
        disk.database.touch()
    disk.fill()

    result = subprocess.run(
        [sys.executable, "-m", "windlass", *command, "--url", str(disk.database)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "disk is full" in result.stderr or "cannot be opened" in result.stderr
