"""How fast does PgQueuer drain a queue here: batches of 100, durable tables, the event loop of its command.

Timed from its first look into the queue to the last job that is logged as done and gone from the queue, so that neither
its inspection of the schema nor what it waits for at the end counts against it.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import asyncpg
import uvloop
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.core.applications import PgQueuer
from pgqueuer.domain.models import Job
from pgqueuer.domain.types import QueueExecutionMode

from bench.peers.protocol import Answer, answer

BATCH = 100
ENTRYPOINT = "nothing"


class Timed(Queries):
    """Its own queries, with a look at the clock before the first and after the last."""

    began = ended = 0.0
    logged = 0

    async def dequeue(self, *arguments: Any, **named: Any) -> list[Job]:
        self.began = self.began or time.perf_counter()
        return await super().dequeue(*arguments, **named)

    async def log_jobs(self, job_status: list[Any]) -> None:
        await super().log_jobs(job_status)
        self.logged += len(job_status)
        self.ended = time.perf_counter()


async def execute(url: str, size: int) -> Answer:
    async with asyncpg.create_pool(url, min_size=2, max_size=4) as pool:
        queries = Timed(AsyncpgPoolDriver(pool))
        await queries.install()
        await queries.enqueue([ENTRYPOINT] * size, [None] * size, [0] * size)
        application = PgQueuer(queries.driver, queries=queries)

        @application.entrypoint(ENTRYPOINT)
        async def nothing(job: Job) -> None:
            pass

        await application.qm.run(batch_size=BATCH, mode=QueueExecutionMode.drain)
        left = await pool.fetchval("select count(*) from pgqueuer")
        assert (left, queries.logged) == (0, size), f"{left} jobs are left, {queries.logged} were done"
        durability = {name: await pool.fetchval(f"show {name}") for name in ("fsync", "synchronous_commit")}
        unlogged = await pool.fetchval("select count(*) from pg_class where relkind = 'r' and relpersistence <> 'p'")
        assert unlogged == 0, "a table would not survive a crash"
        return Answer({"runs_per_second": size / (queries.ended - queries.began)}, durability)


def drain(url: str, size: int) -> Answer:
    return uvloop.run(execute(url, size))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    answer({"drain": drain}, size=10_000)
