"""How fast is it here: `make bench`. Ratios to the bare store in the same run, never bounds in a test.

One worker process, bodies that do nothing, full durability: SQLite's store always sets `synchronous = full` (a test
holds it to that), and PostgreSQL's settings are read back; the bench refuses to report anything else.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import asyncpg

import windlass
from windlass.testing.postgres import PostgresServer

RUNS, STEPS, ROUNDS = 1_000, 10, 3


async def noop(number: int) -> int:
    return number


def make_app(url: str) -> tuple[windlass.App, Callable[..., Awaitable[int]], Callable[..., Awaitable[int]]]:
    app = windlass.App(url)

    @app.workflow
    async def ten_steps(ctx: windlass.Context, number: int) -> int:
        for step in range(STEPS):
            await ctx.step(noop, step)
        return number

    @app.workflow
    async def nothing(ctx: windlass.Context, number: int) -> int:
        return number

    return app, ten_steps, nothing


async def measure(url: str) -> dict[str, float]:
    """One round: starts/s, steps/s, drained runs/s, and the latency of one run of ten steps."""
    app, ten_steps, nothing = make_app(url)
    figures = {}
    async with app:
        began = time.perf_counter()
        handles = await asyncio.gather(*[app.start(ten_steps, number) for number in range(RUNS)])
        figures["starts/s"] = RUNS / (time.perf_counter() - began)
        idle = await asyncio.gather(*[app.start(nothing, number) for number in range(RUNS)])
        async with app.worker(queues=("default",), slots=RUNS):
            began = time.perf_counter()
            await asyncio.gather(*[handle.result() for handle in (*handles, *idle)])
            figures["steps/s"] = RUNS * STEPS / (time.perf_counter() - began)
            latencies = []
            for number in range(20):
                began = time.perf_counter()
                handle = await app.start(ten_steps, number)
                await handle.result()
                latencies.append(time.perf_counter() - began)
            figures["ten steps in a row, ms (p50)"] = statistics.median(latencies) * 1_000
        idle = await asyncio.gather(*[app.start(nothing, number) for number in range(RUNS)])
        async with app.worker(slots=RUNS):
            began = time.perf_counter()
            await asyncio.gather(*[handle.result() for handle in idle])
            figures["drained runs/s"] = RUNS / (time.perf_counter() - began)
    return figures


def bare_sqlite(path: Path) -> float:
    """Commits per second of a bare connection with the same settings."""
    connection = apsw.Connection(str(path))
    connection.execute("pragma journal_mode = wal; pragma synchronous = full; create table t (x)").fetchall()
    began, number = time.perf_counter(), 200
    for value in range(number):
        connection.execute("insert into t values (?)", (value,))
    rate = number / (time.perf_counter() - began)
    connection.close()
    return rate


async def bare_postgres(url: str) -> float:
    connection = await asyncpg.connect(url)
    if await connection.fetchval("show synchronous_commit") != "on" or await connection.fetchval("show fsync") != "on":
        raise SystemExit("This PostgreSQL does not commit durably: nothing to report.")
    await connection.execute("create table t (x int)")
    began, number = time.perf_counter(), 200
    for value in range(number):
        await connection.execute("insert into t values ($1)", value)
    rate = number / (time.perf_counter() - began)
    await connection.close()
    return rate


def report(name: str, rounds: list[dict[str, float]], commits: list[float]) -> None:
    print(f"\n{name}   (median of {len(rounds)}, spread in brackets; bare commits {statistics.median(commits):,.0f}/s)")
    for figure in rounds[0]:
        values = sorted(item[figure] for item in rounds)
        line = f"  {figure:32}{statistics.median(values):>12,.1f}   [{values[0]:,.1f} – {values[-1]:,.1f}]"
        if figure == "steps/s":
            line += f"   {statistics.median(values) / statistics.median(commits):.1f} steps per bare commit"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    logging.disable(logging.WARNING)
    print(f"{RUNS:,} runs of {STEPS} steps, one process, full durability.")
    with tempfile.TemporaryDirectory() as folder, PostgresServer(durable=True) as server:
        results: dict[str, list[dict[str, float]]] = {"SQLite": [], "PostgreSQL": []}
        commits: dict[str, list[float]] = {"SQLite": [], "PostgreSQL": []}
        for number in range(rounds):  # interleaved, so that a slow minute hits both
            commits["SQLite"].append(bare_sqlite(Path(folder) / f"bare-{number}.db"))
            results["SQLite"].append(asyncio.run(measure(str(Path(folder) / f"bench-{number}.db"))))
            commits["PostgreSQL"].append(asyncio.run(bare_postgres(server.create_database())))
            results["PostgreSQL"].append(asyncio.run(measure(server.create_database())))
        for name in results:
            report(name, results[name], commits[name])


if __name__ == "__main__":
    main()
