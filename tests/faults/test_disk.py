"""Does a disk that is full, or takes no write, cost anything but time? Nothing acknowledged may be lost.

A disk that becomes read-only under open files cannot be had by `mount -o remount,ro`: the kernel says busy. What SQLite
sees of one is a write that fails with another error than "no space", and so it is with a limit on the size of files,
which the kernel enforces in the middle of work as well.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import windlass
from tests.faults.clocks import HastyClock
from tests.faults.disk import Disk
from tests.faults.shop import STEPS, Client, complaints, declare_order, look_at_file, read_journal, repeats
from tests.scale import SCALE
from windlass.errors import Unavailable
from windlass.testing.journal import Event, Journal

PATIENCE = 60.0
TIMES = 100  # the engine gives up after 15 s, a claim ends after 300 s: divided by this
ROUNDS = 2 * SCALE


def one_line_each(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged; a traceback is a bug wherever it stands."""
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert all("\n" not in message for message in messages)
    return messages


async def until_at_work(journal: Journal, *, steps: int) -> None:
    """The worker is in the middle of it: so many steps are done, and the rest is not."""
    deadline = time.monotonic() + PATIENCE
    while (done := sum(line.event is Event.DELIVERED for line in read_journal(journal.path))) < steps:
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
async def test_a_disk_that_takes_nothing_refuses_starts_and_loses_nothing(
    disk: Disk, fault: Full | Refusing, tmp_path: Path, caplog: pytest.LogCaptureFixture, figures: list[str]
) -> None:
    clock = HastyClock(TIMES)
    journal = Journal(tmp_path / "journal")
    journal.begin_life(clock)
    app = windlass.App(disk.database, _clock=clock)
    client = Client(app, declare_order(app, journal))
    number, tried = 0, 0

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
    journal.close()

    messages = one_line_each(caplog)
    assert any(fault.told in message for message in messages)
    assert all(isinstance(refusal, Unavailable) for refusal in client.refusals)
    assert all(fault.told in str(refusal) and "\n" not in str(refusal) for refusal in client.refusals)
    lines = read_journal(journal.path)
    told = {key: handle.id for key, handle in client.acknowledged.items()}
    assert complaints(await look_at_file(disk.database), lines, told) == []
    figures.append(
        f"{'sqlite':10}  {fault.name}: {ROUNDS} times, {len(client.refusals)} of {tried} starts refused meanwhile, "
        f"{finished} of {len(told)} acknowledged runs finished, lost 0, bodies repeated {repeats(lines)}"
    )


@pytest.mark.spec("invariants:I-61")
@pytest.mark.parametrize("command", ["migrate", "runs"])
def test_a_command_on_a_full_disk_says_so_in_one_line(disk: Disk, command: str) -> None:
    if command == "runs":
        disk.database.touch()
    disk.fill()

    result = subprocess.run(
        [sys.executable, "-m", "windlass", command, "--url", str(disk.database)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "disk is full" in result.stderr or "cannot be opened" in result.stderr
