"""How fast is DBOS here: runs that wait in one queue, polled every 10 ms, 100 at a time.

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
    client = DBOSClient(system_database_url=address, application_name="bench")
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
    answer({"steps": steps, "drain": drain, "steps_wal": steps_wal, "drain_wal": drain_wal}, size=1_000)
    sys.stdout.flush()
    os._exit(0)  # its threads would go on polling
