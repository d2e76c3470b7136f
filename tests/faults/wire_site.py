"""One database, two servers of gRPC before it, and a client whose answers are lost when a test says so.

    client ─► proxy ─► first server ─┐
          └─────────► second server ─┴─► the same database

A fault befalls one call at the first server: its connection is cut before it reaches the engine, or as soon as the
engine has answered. The client asks the second server then.
"""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from typing import Any

import apsw
import asyncpg

from tests.crash.places import TABLES
from tests.wires.proxy import Proxy
from windlass.api.grpc.asking import Asker
from windlass.api.grpc.channel import Target
from windlass.api.grpc.remote import Remote
from windlass.api.grpc.server import GrpcServer, make_server
from windlass.embedded import Embedded, open_embedded
from windlass.errors import Unavailable
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Role
from windlass.model.time import SECOND, Duration
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import Clock, Ids, SystemClock, system_rng
from windlass.server.gate import Gate
from windlass.settings import Settings, parse_url

SECRET = bytes(range(32))
KEY_ID = "key_" + "0" * 26
GRACE_FOR = Duration(SECOND)
# By chance, where a test names none.
MADE_UP = re.compile(r"(run|req|wrk|evt|key|hrn|itm|tsk|sig)_(?!0{10})[0-9A-Za-z]{26}")
PLACE = re.compile(r"armed_(xid|seq)=[0-9]+")
# Columns that grow over all tests, and one that only tells whether it has grown.
COUNTED = ("seq", "xid", "armed_seq", "armed_xid", "armed")


class Even(random.Random):
    """For ids it is chance; a delay between two attempts is always the same."""

    def random(self) -> float:
        return 0.5


class Fault(StrEnum):
    NONE = "nothing is lost"
    REQUEST = "the request is lost"
    ANSWER = "the answer is lost"


class Site:
    """What a test asks: `remote` is the client, `engine` are the doors of the first server's own database."""

    def __init__(self, rows: Rows, engine: Embedded, remote: Remote, lossy: Lossy) -> None:
        self._rows, self.engine, self.remote, self.lossy = rows, engine, remote, lossy
        self.url = "grpc://" + ",".join(target.address for target in remote._channel._targets)
        self.token = make_token(KEY_ID, SECRET)

    @property
    def proxy(self) -> Proxy:
        """In front of the first server."""
        assert self.lossy.proxy is not None
        return self.lossy.proxy

    def service(self, name: str) -> Asker:
        """For calls that only clients in other languages make."""
        return Asker(self.remote._channel, name)

    async def clear(self) -> None:
        """An empty database with the one key of the client, as it was before the first test."""
        await self._rows.clear()
        await self.engine.access.create_key(
            CreateKey(
                id=KEY_ID, namespace=EVERY_NAMESPACE, roles=(Role.ADMIN,), secret_hash=hash_secret(SECRET), by="test"
            )
        )
        channel = self.remote._channel
        channel._current = 0
        await channel._channel(0).channel_ready()  # it was cut, and is back

    async def remove_run(self, id: str) -> None:
        """As retention does."""
        await self._rows.remove_run(id)

    async def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table, with what chance or the order of the tests decides left out."""
        found = {}
        for table in TABLES:
            rows = await self._rows.read(table)
            even = [({name: made_even(row[name]) for name in row if name not in COUNTED}, row) for row in rows]
            found[table] = [row for row, _ in sorted(even, key=lambda pair: (pair[1].get("seq", 0), repr(pair[0])))]
        return found


class Lossy:
    """Stands between the first server and its table: the call that it is told of loses its request or its answer."""

    def __init__(self) -> None:
        self.fault, self.method, self.asked = Fault.NONE, "", 0
        self.proxy: Proxy | None = None

    def arm(self, fault: Fault, method: str) -> None:
        self.fault, self.method, self.asked = fault, method, 0

    def around(self, server: GrpcServer, *, is_lossy: bool) -> None:
        server.rows = [row._replace(handle=self._handler(row, is_lossy=is_lossy)) for row in server.rows]

    def _handler(self, row: Any, *, is_lossy: bool) -> Any:
        async def handle(call: Any, asked: Any) -> Any:
            if row.name == self.method:
                self.asked += 1
            if not is_lossy or row.name != self.method or self.asked > 1:
                return await row.handle(call, asked)
            assert self.proxy is not None
            if self.fault is Fault.REQUEST:
                self.proxy.cut()
                raise Unavailable("Nobody hears this.")
            answer = await row.handle(call, asked)
            if self.fault is Fault.ANSWER:
                self.proxy.cut()
            return answer

        return handle


@asynccontextmanager
async def wired(url: str, clock: Clock) -> AsyncIterator[Site]:
    lossy, location, settings = Lossy(), parse_url(url), Settings(coordinates=False)
    async with AsyncExitStack() as stack:
        engines, servers = [], []
        for number in range(2):
            # A file has one server; it stands in for the second one too.
            is_shared = number == 1 and location.kind == "sqlite"
            engine = engines[0] if is_shared else await open_embedded(location, settings, clock=clock, rng=Even())
            if not is_shared:
                stack.push_async_callback(engine.close)
            gate = Gate(engine.access, engine.namespaces, clock=clock)
            stack.push_async_callback(gate.close)
            server = make_server(engine, gate, clock=clock, host="127.0.0.1", port=0)
            lossy.around(server, is_lossy=number == 0)
            await server.start()
            stack.push_async_callback(_stop, server)
            engines.append(engine)
            servers.append(server)
        lossy.proxy = await stack.enter_async_context(Proxy("127.0.0.1", servers[0].port))
        targets = [Target(f"127.0.0.1:{port}", None) for port in (lossy.proxy.port, servers[1].port)]
        # In real time: what is asked again is asked after a pause, and the clock of the database stands still.
        remote_clock = SystemClock()
        ids = Ids(remote_clock, system_rng())
        remote = Remote(targets, token=make_token(KEY_ID, SECRET), clock=remote_clock, ids=ids)
        stack.push_async_callback(remote.close)
        yield Site(await stack.enter_async_context(Rows.of(url)), engines[0], remote, lossy)


async def _stop(server: GrpcServer) -> None:
    await server.drain(GRACE_FOR)
    await server.stop()


def made_even(value: Any) -> Any:
    """The same for two stories that differ by chance only."""
    if isinstance(value, str):
        return PLACE.sub(r"armed_\1=?", MADE_UP.sub(r"\1_?", value))
    if isinstance(value, bytes):
        return MADE_UP.sub(r"\1_?", value.decode("latin-1"))
    return value


class Rows:
    """The database itself, beside its servers."""

    def __init__(self, url: str, connection: Any) -> None:
        self._schema = "windlass." if url.startswith("postgres") else ""
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def of(cls, url: str) -> AsyncIterator[Rows]:
        location = parse_url(url)
        if location.kind == "sqlite":
            file = apsw.Connection(location.target)
            yield cls(url, file)
            file.close()
        else:
            connection = await asyncpg.connect(url, ssl=False)
            yield cls(url, connection)
            await connection.close()

    async def clear(self) -> None:
        for table in TABLES:
            statement = f"delete from {self._schema}{table}"
            if isinstance(self._connection, apsw.Connection):
                self._connection.execute(statement)
            else:
                await self._connection.execute(statement)

    async def remove_run(self, id: str) -> None:
        for table, column in (("payloads", "run_id"), ("runs", "id")):
            statement = f"delete from {self._schema}{table} where {column} = '{id}'"
            if isinstance(self._connection, apsw.Connection):
                self._connection.execute(statement)
            else:
                await self._connection.execute(statement)

    async def read(self, table: str) -> list[dict[str, Any]]:
        statement = f"select * from {self._schema}{table}"
        if not isinstance(self._connection, apsw.Connection):
            return [dict(row) for row in await self._connection.fetch(statement)]
        found = []
        for row in (cursor := self._connection.execute(statement)):
            found.append(dict(zip([column[0] for column in cursor.getdescription()], row, strict=True)))
        return found
