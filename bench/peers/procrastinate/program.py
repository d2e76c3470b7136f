"""How fast does Procrastinate drain a queue here: 100 jobs at a time, as many connections as its pool is good for.

Timed from the first line of the first body to the last job that is done in the database: with `wait=False` its worker
ends as soon as the queue is empty.
"""

from __future__ import annotations

import asyncio
import logging
import time

import procrastinate

from bench.peers.protocol import Answer, answer

CONCURRENCY = 100
CONNECTIONS = 20


async def execute(url: str, size: int) -> Answer:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=CONNECTIONS, max_size=CONNECTIONS)
    application = procrastinate.App(connector=connector)
    began = 0.0

    @application.task
    async def nothing(number: int) -> None:
        nonlocal began
        began = began or time.perf_counter()

    async with application.open_async():
        await application.schema_manager.apply_schema_async()
        await nothing.batch_defer_async(*[{"number": number} for number in range(size)])
        await connector.execute_query_async("analyze")  # as a server does by itself before long
        await application.run_worker_async(
            concurrency=CONCURRENCY, wait=False, install_signal_handlers=False, listen_notify=False
        )
        seconds = time.perf_counter() - began
        question = "select count(*) as done from procrastinate_jobs where status = 'succeeded'"
        done = (await connector.execute_query_one_async(question))["done"]
        assert done == size, f"{done} of {size} jobs are done"
        durability = {}
        for name in ("fsync", "synchronous_commit"):
            durability |= await connector.execute_query_one_async(f"show {name}")
        return Answer({"runs_per_second": size / seconds}, durability)


def drain(url: str, size: int) -> Answer:
    return asyncio.run(execute(url, size))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    answer({"drain": drain}, size=1_000)
