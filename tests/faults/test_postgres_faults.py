"""Is anything lost or done twice while PostgreSQL is restarted, and while it ends its connections one by one?"""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import windlass
from tests.faults.shop import Client, complaints, described, look
from tests.faults.working import MAX_RECOVERIES, VISIBILITY
from tests.invariants.evidence import Snapshot
from tests.invariants.processes import Crowd
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from tests.scale import SCALE
from windlass.runtime import SystemClock
from windlass.store.postgres.store import PostgresStore
from windlass.testing.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0 * SCALE
WORKERS = 2
EVERY_WORKER = range(1, 1 + WORKERS)
BACKENDS = 120 * SCALE  # to be terminated
KINDS = 3  # of connections: for transactions, for hints, for the locks of workers
RESTARTS = 3 * SCALE
RUNS_BETWEEN = 40  # acknowledged between two restarts
PAUSE = 0.02  # between two faults: a moment in which something can happen

OURS = """
select pid, application_name from pg_stat_activity
 where datname = current_database() and application_name like 'windlass%' and pid <> pg_backend_pid()
"""


Fault = Callable[[Client], Coroutine[Any, Any, str]]


@contextmanager
def workers(url: str, journal: Path) -> Iterator[list[subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tests.faults.working", url, str(journal)]
    started = [
        subprocess.Popen(
            [*command, str(number)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for number in EVERY_WORKER
    ]
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """Stop a worker in order, and answer with what it wrote meanwhile."""
    assert process.poll() is None, "a worker has ended by itself"
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, text
    return text


async def until_ready(url: str) -> None:
    """The schema is made and every worker is known."""
    deadline = time.monotonic() + PATIENCE
    connection = await asyncpg.connect(url)
    try:
        known = 0
        while known < WORKERS:
            assert time.monotonic() < deadline, f"{known} of {WORKERS} workers are ready"
            with suppress(asyncpg.UndefinedTableError):
                known = await connection.fetchval("select count(*) from windlass.workers where stopped_at is null")
            await asyncio.sleep(PAUSE)
    finally:
        await connection.close()


async def terminate_backends(url: str, chance: random.Random) -> str:
    """Let the server end connections of Windlass at random: for transactions, for hints, for the locks of workers."""
    ended: Counter[str] = Counter()
    connection = await asyncpg.connect(url)
    try:
        while ended.total() < BACKENDS:
            found = [(row[0], row[1]) for row in await connection.fetch(OURS)]
            if found:
                pid, name = chance.choice(sorted(found))
                ended[name] += await connection.fetchval("select pg_terminate_backend($1)", pid)
            await asyncio.sleep(PAUSE)
    finally:
        await connection.close()
    assert len(ended) == KINDS, ended
    return f"{ended.total()} ({', '.join(f'{times} {name}' for name, times in sorted(ended.items()))})"


async def restart_server(server: PostgresServer, client: Client) -> str:
    """Now as a crash, now in order; each time when work has got going again."""
    deadline = time.monotonic() + PATIENCE
    for number in range(RESTARTS):
        wanted = len(client.acknowledged) + RUNS_BETWEEN
        while len(client.acknowledged) < wanted:
            assert time.monotonic() < deadline, f"restarted {number} times, and nothing goes on"
            await asyncio.sleep(PAUSE)
        await asyncio.to_thread(server.restart, immediate=number % 2 == 0)
    return f"{RESTARTS}"


async def keep_starting(client: Client, is_over: Callable[[], bool]) -> int:
    """Start runs until the faults are over; one that was refused is asked for again, under the same key."""
    number = 0
    while not is_over():
        batch = range(number, number + 5)
        for _ in range(100):
            answers = await asyncio.gather(*[client.start(place) for place in batch])
            if all(answers):
                break
        number += 5
        await asyncio.sleep(PAUSE)
    return number


async def suffer(url: str, journal_path: Path, fault: Fault) -> tuple[str, int, Client]:
    """The faults injected, the runs asked for, and the client that asked; when it returns, every run has ended."""
    app = windlass.App(url)
    journal = SharedJournal(journal_path, number=1 + WORKERS, clock=SystemClock())
    client = Client(app, journal)
    async with app:
        await until_ready(url)
        injecting = asyncio.create_task(fault(client))
        asked = await keep_starting(client, injecting.done)
        faults = await injecting
        await client.results(seconds=PATIENCE)
    journal.close()
    return faults, asked, client


async def look_at(url: str) -> Snapshot:
    store = PostgresStore(url)
    await store.open()
    try:
        return await look(store)
    finally:
        await store.close()


@pytest.mark.spec("invariants:I-12", "invariants:I-57")
@pytest.mark.spec("invariants:I-61", "invariants:I-65")
@pytest.mark.parametrize("kind", ["backends terminated", "restarts"])
async def test_a_server_that_fails_loses_nothing_and_repeats_nothing_that_is_done(
    own_server: PostgresServer, tmp_path: Path, figures: list[str], kind: str
) -> None:
    url = own_server.create_database()
    journal = tmp_path / "journal"

    def fault(client: Client) -> Coroutine[Any, Any, str]:
        if kind == "restarts":
            return restart_server(own_server, client)
        return terminate_backends(url, random.Random(kind))

    with workers(url, journal) as started:
        faults, asked, client = await suffer(url, journal, fault)
        texts = [said(process) for process in started]

    crowd = Crowd(
        snapshots=(await look_at(url),),
        lines=read_shared_journal(journal),
        killed=frozenset(EVERY_WORKER),  # as far as anyone can tell: the sessions of all of them were ended
        visibility_for=VISIBILITY,
        max_recoveries=MAX_RECOVERIES,
    )
    figures.append(
        f"{'postgresql':10}  {kind}: {faults}; {len(client.acknowledged)} of {asked} runs asked for acknowledged, "
        f"{len(client.refusals)} refusals asked again; {described(crowd, client)}"
    )
    assert complaints(crowd, client) == []
    assert len(client.acknowledged) == asked
    assert all("Traceback" not in text for text in texts), texts
