"""A process that ends jobs of graphs without their code, at the same time as another one does.

python -m tests.processes.finishing work URL NAME COUNT DIES_AT SHARE
    Works on planned graphs until all of them are over, and says how many jobs it ended. Dies at that hook, never if 0.
    When it has ended its share it says so, and goes on after another line; never if 0.
python -m tests.processes.finishing together URL
    Reads what to finish: when by the machine's clock in nanoseconds, run, token, graph, job.

All say when they are ready, and wait for a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time

from tests.property.graph_hands import NAMESPACE, Hands
from tests.property.graph_plans import make_plan
from windlass.engine.engine import Engine
from windlass.engine.parts import EngineSettings
from windlass.model.commands import FinishRun
from windlass.model.graph import ListGraphs
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.notify.local import Hub
from windlass.runtime import SystemClock, seeded_rng
from windlass.store.base import Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore

VISIBLE_FOR = Duration(2 * SECOND)  # after which what a dead process held comes back
IDLE_FOR = 0.01
DIED = 9


class Mortal:
    """Hooks of which one is the last thing this process comes to."""

    def __init__(self, dies_at: int) -> None:
        self._left = dies_at

    def before_begin(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(DIED)

    before_commit = after_commit = before_begin


def store_of(url: str, *, dies_at: int = 0) -> Store:
    hooks = Mortal(dies_at)
    return PostgresStore(url, hooks=hooks) if "://" in url else SqliteStore(url, clock=SystemClock(), hooks=hooks)


def engine_of(store: Store, name: str) -> Engine:
    return Engine(store, Hub(), clock=SystemClock(), rng=seeded_rng(name), settings=EngineSettings())


def wait_for_a_line() -> str:
    """Blocks: nothing else is to be done in this process."""
    print("ready", flush=True)
    return sys.stdin.readline()


async def work(url: str, name: str, count: int, dies_at: int, share: int) -> None:
    store = store_of(url, dies_at=dies_at)
    await store.open()
    engine, chance = engine_of(store, name), random.Random(name)
    plans = [make_plan(number, random.Random(number)) for number in range(count)]
    worker, ended = WorkerId(f"wrk_{name}"), 0
    hands = Hands(engine, plans, chance, worker=worker, visibility_for=VISIBLE_FOR)
    wait_for_a_line()
    while True:
        if done := await hands.turn(most=6):
            ended += done
            if 0 < share <= ended:
                share = 0
                wait_for_a_line()
            continue
        open = await engine.graphs.list_graphs(ListGraphs(namespace=NAMESPACE, is_open=True, limit=1))
        runs = await engine.graphs.list_graphs(ListGraphs(namespace=NAMESPACE, limit=len(plans)))
        if not open.graphs and len(runs.graphs) == len(plans):
            break
        await asyncio.sleep(IDLE_FOR)
    await store.close()
    print(ended, flush=True)


async def together(url: str) -> None:
    store = store_of(url)
    await store.open()
    engine = engine_of(store, str(os.getpid()))
    await store.read("warm", lambda tx: tx.now())
    for at, run_id, token, graph, job in json.loads(wait_for_a_line()):
        while time.monotonic_ns() < at:
            pass  # a sleep would be off by more than what this is about
        await engine.work.finish_run(
            FinishRun(
                namespace=NAMESPACE,
                run_id=RunId(run_id),
                token=token,
                status=RunStatus.COMPLETED,
                output=b"null",
                result_hash=b"done",
                parent=RunId(graph),
                job=job,
            )
        )
    await store.close()


if __name__ == "__main__":
    what, url, *rest = sys.argv[1:]
    if what == "work":
        asyncio.run(work(url, rest[0], *map(int, rest[1:])))
    else:
        asyncio.run(together(url))
