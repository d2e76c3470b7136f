"""How fast is DBOS here: runs that wait in one queue, polled every 10 ms, 100 at a time; or children of one workflow.

Timed from the first line of the first body to the last run that is completed in the database, so that neither its
launch nor the second after which it notices a new queue counts against it. Steps are plain functions and empty
workflows are coroutines: of the two colours, each time the one that was faster.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import threading
import time
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig

from bench.peers.protocol import Answer, answer

STEPS = 10
CONCURRENCY = 100
POLL_SECONDS = 0.01
QUEUE = "bench"


class Progress:
    """When the first body began, and how many are through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = 0
        self.began = 0.0

    def begin(self) -> None:
        if not self.began:
            self.began = time.perf_counter()

    def end(self) -> None:
        with self._lock:
            self._ended += 1

    @property
    def ended(self) -> int:
        return self._ended


progress = Progress()


@DBOS.step()
def noop(number: int) -> int:
    return number


@DBOS.workflow()
def ten_steps(number: int) -> int:
    progress.begin()
    for step in range(STEPS):
        noop(step)
    progress.end()
    return number


@DBOS.workflow()
async def nothing(number: int) -> int:
    progress.begin()
    progress.end()
    return number


def steps(url: str, size: int) -> Answer:
    seconds, durability = execute("ten_steps", url, size)
    return Answer({"steps_per_second": size * STEPS / seconds}, durability)


def drain(url: str, size: int) -> Answer:
    seconds, durability = execute("nothing", url, size)
    return Answer({"runs_per_second": size / seconds}, durability)


@DBOS.workflow()
def child(number: int) -> int:
    return number


@DBOS.workflow()
def parent_of_chain(size: int) -> int:
    """A child when the one before is over."""
    progress.begin()
    for number in range(size):
        child(number)
    return size


@DBOS.workflow()
def parent_of_fan(size: int) -> int:
    """All children, and then what they came to."""
    progress.begin()
    handles = [DBOS.start_workflow(child, number) for number in range(size)]
    return sum(1 for handle in handles if handle.get_result() >= 0)


def chain(url: str, size: int) -> Answer:
    return family("chain", url, size)


def fan(url: str, size: int) -> Answer:
    return family("fan", url, size)


def family(name: str, url: str, size: int) -> Answer:
    """From the first line of a parent to its end."""
    client = launch(url)
    parent = {"chain": parent_of_chain, "fan": parent_of_fan}[name]
    assert DBOS.start_workflow(parent, size).get_result() == size
    seconds = time.perf_counter() - progress.began
    return Answer({"jobs_per_second": size / seconds}, read_durability(client._sys_db.engine))


def steps_wal(url: str, size: int) -> Answer:
    use_wal(url)
    return steps(url, size)


def drain_wal(url: str, size: int) -> Answer:
    use_wal(url)
    return drain(url, size)


def use_wal(path: str) -> None:
    """No setting of DBOS: it leaves the journal of a file as it finds it, and writes faster with this one."""
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.close()


def execute(name: str, url: str, size: int) -> tuple[float, dict[str, Any]]:
    """Let `size` runs wait, then open their queue: seconds until the last is completed, and how durable that was."""
    client = launch(url)
    engine = client._sys_db.engine
    with engine.begin() as connection:
        for number in range(size):
            client.enqueue_in_transaction(
                connection, {"queue_name": QUEUE, "workflow_name": name, "app_version": "1"}, number
            )
    # A queue's thread begins when the queue is known: until here nothing was polled.
    DBOS.register_queue(QUEUE, worker_concurrency=CONCURRENCY, polling_interval_sec=POLL_SECONDS)
    while progress.ended < size:
        time.sleep(0.005)
    while count_completed(engine) < size:
        time.sleep(0.005)
    return time.perf_counter() - progress.began, read_durability(engine)


def launch(url: str) -> DBOSClient:
    address = url if url.startswith("postgres") else f"sqlite:///{url}"
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": address,
        "log_level": "ERROR",
        "enable_otlp": False,
        "application_version": "1",
    }
    DBOS(config=config)
    DBOS.launch()
    return DBOSClient(system_database_url=address, application_name="bench")


def count_completed(engine: sqlalchemy.Engine) -> int:
    table = "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"
    with engine.begin() as connection:
        return int(
            connection.execute(
                sqlalchemy.text(f"select count(*) from {table} where status = 'SUCCESS' and queue_name = '{QUEUE}'")
            ).scalar_one()
        )


def read_durability(engine: sqlalchemy.Engine) -> dict[str, Any]:
    questions = {
        "sqlite": {"synchronous": "pragma synchronous", "journal_mode": "pragma journal_mode"},
        "postgresql": {"fsync": "show fsync", "synchronous_commit": "show synchronous_commit"},
    }[engine.dialect.name]
    with engine.begin() as connection:
        return {name: connection.execute(sqlalchemy.text(text)).scalar_one() for name, text in questions.items()}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    cases = {"steps": steps, "drain": drain, "steps_wal": steps_wal, "drain_wal": drain_wal, "chain": chain, "fan": fan}
    answer(cases, size=1_000)
    sys.stdout.flush()
    os._exit(0)  # its threads would go on polling
