"""Two servers, workers and a client on one PostgreSQL, every wire through a proxy; and somebody who breaks them."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from tests.integration.server.process import ServerProcess
from tests.processes.children import Child, Nursery
from tests.wires.proxy import Proxy
from windlass.testing.postgres import PostgresServer

SERVERS, WORKERS = 2, 4
VISIBILITY = 4.0  # seconds a claim lasts: how long the runs of a killed worker stay behind
MAX_RECOVERIES = 1_000  # whoever kills here does so without pity, and none of it is the fault of a run
LOOK_EVERY = 0.1
SHORTEST, LONGEST = 0.1, 0.9  # seconds between two faults
OURS = """
select pid from pg_stat_activity
 where datname = current_database() and application_name like 'windlass%' and pid <> pg_backend_pid()
"""
# How often each fault comes, in an order made up from the seed.
FAULTS = {
    "worker killed": 10,
    "worker stopped": 10,
    "server killed": 5,
    "server stopped": 5,
    "backends terminated": 10,
    "connections cut": 10,
    "answers cut off": 10,
    "silence on the wire": 5,
    "postgresql restarted": 2,
}


class Site:
    """Everything that runs. `async with site(…)` starts it; what is left of it ends with the block."""

    def __init__(
        self,
        folder: Path,
        nursery: Nursery,
        postgres: PostgresServer,
        *,
        url: str,
        visibility: float = VISIBILITY,
    ) -> None:
        self.folder, self.url, self.postgres, self._visibility = folder, url, postgres, visibility
        self.journal = folder / "journal"
        self.journal.touch()
        self._nursery = nursery
        self.servers: list[ServerProcess] = []
        self.proxies: list[Proxy] = []
        self.workers: list[Child] = []
        self.token = ""
        self.killed: list[int] = []  # workers, by number

    def start_server(self, ports: tuple[int, ...] = ()) -> ServerProcess:
        env = {
            "WINDLASS_WORKER_MAX_RECOVERIES": str(MAX_RECOVERIES),
            "WINDLASS_WORKER_POLL_INTERVAL_SECS": "1",
            "WINDLASS_SERVER_GRACE_SECS": "5",
        }
        return ServerProcess(self.folder, "--url", self.url, env=env, ports=ports)

    async def replace_server(self, place: int) -> float:
        """In order, as a new version is rolled out: stopped, and started again. How long it took to stop."""
        began_at, old = time.monotonic(), self.servers[place]
        assert await asyncio.to_thread(old.stop) == 0, old.stderr
        took = time.monotonic() - began_at
        old.close()
        self.servers[place] = self.start_server((old.grpc_port, old.http_port))
        await asyncio.to_thread(self.servers[place].until_serving, is_first=False)
        return took

    async def leave(self) -> None:
        """Everybody goes in order, the workers first."""
        for worker in self.workers:
            worker.send(signal.SIGTERM)
        left = [await asyncio.to_thread(worker.wait) for worker in self.workers]
        assert left == [0] * WORKERS, [worker.complaints for worker in self.workers]
        stopped = [await asyncio.to_thread(server.stop) for server in self.servers]
        assert stopped == [0] * SERVERS, [server.stderr for server in self.servers]

    def start_worker(self, place: int) -> Child:
        return self._start("work_afar", place, visibility=self._visibility)

    def start_client(self, **arguments: Any) -> Child:
        return self._start("ask_afar", 0, **arguments)

    def _start(self, entry: str, place: int, **arguments: Any) -> Child:
        ports = [proxy.port for proxy in self.proxies]
        ordered = ports[place % SERVERS :] + ports[: place % SERVERS]
        url = "grpc://" + ",".join(f"127.0.0.1:{port}" for port in ordered)
        return self._nursery.start(entry, url=url, token=self.token, journal=self.journal, **arguments)


@asynccontextmanager
async def opened(site: Site) -> AsyncIterator[Site]:
    try:
        async with AsyncExitStack() as stack:
            for number in range(SERVERS):
                server = site.start_server()
                site.servers.append(server)
                await asyncio.to_thread(server.until_serving, is_first=number == 0)
                proxy = Proxy("127.0.0.1", server.grpc_port)
                site.proxies.append(await stack.enter_async_context(proxy))
            site.token = site.servers[0].token
            site.workers += [site.start_worker(place) for place in range(WORKERS)]
            yield site
    finally:
        for server in site.servers:
            server.close()


class Nemesis:
    """Does one thing after the other to a site; each heals after a while, beside the next ones."""

    def __init__(self, site: Site, *, seed: str, scale: int = 1) -> None:
        self._site, self._chance = site, random.Random(seed)
        self._order = [kind for kind, times in FAULTS.items() for _ in range(times * scale)]
        self._chance.shuffle(self._order)
        self.done: Counter[str] = Counter()
        self.replaced = 0  # servers that ended by themselves
        self._well_workers, self._well_servers = set(range(WORKERS)), set(range(SERVERS))
        self._healing: set[asyncio.Task[None]] = set()
        self._ways: dict[str, Callable[[], Awaitable[int]]] = {
            "worker killed": self._kill_worker,
            "worker stopped": self._stop_worker,
            "server killed": self._kill_server,
            "server stopped": self._stop_server,
            "backends terminated": self._terminate_backends,
            "connections cut": self._cut,
            "answers cut off": self._cut_answers,
            "silence on the wire": self._silence,
            "postgresql restarted": self._restart_postgres,
        }

    async def strike(self) -> None:
        """All of it, and then everything is well again."""
        supervising = asyncio.get_running_loop().create_task(self._supervise())
        for kind in self._order:
            await asyncio.sleep(self._chance.uniform(SHORTEST, LONGEST))
            self.done[kind] += await self._ways[kind]()
        await asyncio.gather(*self._healing)
        supervising.cancel()
        self._replace_ended()

    async def _supervise(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self._replace_ended()

    def _replace_ended(self) -> None:
        """A server that finds no database when it starts says so and ends; whoever looks after it starts it again."""
        for place in self._well_servers:
            ended = self._site.servers[place]
            if ended.process.poll() is not None:
                assert "cannot be opened" in ended.stderr, ended.stderr
                ended.close()
                self.replaced += 1
                self._site.servers[place] = self._site.start_server((ended.grpc_port, ended.http_port))

    def _later(self, seconds: float, heal: Callable[[], None]) -> None:
        async def healed() -> None:
            await asyncio.sleep(seconds)
            heal()

        task = asyncio.get_running_loop().create_task(healed())
        self._healing.add(task)

    async def _kill_worker(self) -> int:
        if not self._well_workers:
            return 0
        place = self._chance.choice(sorted(self._well_workers))
        self._well_workers.discard(place)
        victim = self._site.workers[place]
        assert victim.end(signal.SIGKILL) == -signal.SIGKILL, victim.complaints
        self._site.killed.append(victim.number)

        def heal() -> None:
            self._site.workers[place] = self._site.start_worker(place)
            self._well_workers.add(place)

        self._later(self._chance.uniform(0, 1), heal)
        return 1

    async def _stop_worker(self) -> int:
        return self._stop(self._site.workers, self._well_workers)

    async def _kill_server(self) -> int:
        if not self._well_servers:
            return 0
        place = self._chance.choice(sorted(self._well_servers))
        self._well_servers.discard(place)
        victim = self._site.servers[place]
        victim.send(signal.SIGKILL)
        victim.close()

        def heal() -> None:
            ports = (victim.grpc_port, victim.http_port)
            self._site.servers[place] = self._site.start_server(ports)
            self._well_servers.add(place)

        self._later(self._chance.uniform(0, 1), heal)
        return 1

    async def _stop_server(self) -> int:
        return self._stop(self._site.servers, self._well_servers)

    def _stop(self, processes: Sequence[Child | ServerProcess], well: set[int]) -> int:
        """One of those that are well stands still for a while, in some cases beyond its claims."""
        if not well:
            return 0
        place = self._chance.choice(sorted(well))
        well.discard(place)
        victim = processes[place]
        victim.send(signal.SIGSTOP)

        def heal() -> None:
            victim.send(signal.SIGCONT)
            well.add(place)

        self._later(self._chance.uniform(0.2, 1.5 * VISIBILITY), heal)
        return 1

    async def _terminate_backends(self) -> int:
        connection = await asyncpg.connect(self._site.url, ssl=False)
        try:
            found = sorted(row[0] for row in await connection.fetch(OURS))
            victims = self._chance.sample(found, min(len(found), self._chance.randint(1, 8)))
            return sum([await connection.fetchval("select pg_terminate_backend($1)", pid) for pid in victims])
        finally:
            await connection.close()

    async def _cut(self) -> int:
        return self._chance.choice(self._site.proxies).cut()

    async def _cut_answers(self) -> int:
        count = self._chance.randint(1, 4)
        self._chance.choice(self._site.proxies).cut_next_reply(count)
        return count

    async def _silence(self) -> int:
        """Nothing passes for a while; half of the time the connections are cut then, with all that was on its way."""
        proxy = self._chance.choice(self._site.proxies)
        is_cut = self._chance.random() < 0.5
        proxy.hold()

        def heal() -> None:
            if is_cut:
                proxy.cut()
            proxy.let_go()

        self._later(self._chance.uniform(0.2, VISIBILITY), heal)
        return 1

    async def _restart_postgres(self) -> int:
        await asyncio.to_thread(self._site.postgres.restart, immediate=True)
        return 1
