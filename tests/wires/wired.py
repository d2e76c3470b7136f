"""The same engine behind a wire: for tests that ask whether anybody can tell the difference."""

from __future__ import annotations

from typing import Any

from windlass.api.grpc.channel import Channel, Target
from windlass.api.grpc.remote import Remote
from windlass.api.grpc.server import GrpcServer, make_server
from windlass.api.grpc.table import Call, Row
from windlass.embedded import Embedded
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Role
from windlass.model.time import SECOND, Duration
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import Clock
from windlass.server.gate import Gate

SECRET = bytes(range(32))
GRACE_FOR = Duration(SECOND)
ROLES = (Role.ADMIN,)


class Wired(Embedded):
    """An open engine whose doors lead through a server of gRPC on this machine, and back."""

    @classmethod
    async def around(cls, embedded: Embedded, *, clock: Clock) -> Wired:
        wired = cls(embedded.engine, embedded._coordinator)
        wired._gate = Gate(embedded.access, embedded.namespaces, clock=clock)
        wired.server = make_server(embedded, wired._gate, clock=clock, host="127.0.0.1", port=0)
        wired.server.rows = [wired._counting(row) for row in wired.server.rows]
        await wired.server.start()
        key_id = "key_" + "0" * 26
        await embedded.access.create_key(
            CreateKey(id=key_id, namespace=EVERY_NAMESPACE, roles=ROLES, secret_hash=hash_secret(SECRET))
        )
        wired.token = make_token(key_id, SECRET)
        target = Target(f"127.0.0.1:{wired.server.port}", None)
        wired.remote = remote = Remote([target], token=wired.token, clock=clock, ids=embedded.ids)
        wired._count_calls(remote._channel)
        wired.runs, wired.control, wired.schedules, wired.work = (
            remote.runs,
            remote.control,
            remote.schedules,
            remote.work,
        )
        wired.feed, wired.namespaces, wired.access, wired.admin, wired.graphs = (
            remote.feed,
            remote.namespaces,
            remote.access,
            remote.admin,
            remote.graphs,
        )
        wired.pipelines, wired.pipeline_control = remote.pipelines, remote.pipeline_control
        wired.items, wired.signals = remote.items, remote.signals
        return wired

    server: GrpcServer
    remote: Remote
    token: str
    _gate: Gate
    _asked = 0  # calls that are not answered yet
    _at_work = 0  # those of them that have arrived
    _polls = 0  # those of them that claim runs or pipelines, or wait for some

    @property
    def is_at_rest(self) -> bool:
        """Nothing is on its way, and who polls waits: time that a test lets pass passes at both ends of every call."""
        return self._asked == self._at_work and self._polls == self._waiting

    @property
    def _waiting(self) -> int:
        subscribers = self.engine.parts.hub._subscribers
        queues = {item for topic, found in subscribers.items() if topic[0] in ("queue", "pipelines") for item in found}
        return sum(item.is_waiting for item in queues)

    def _count_calls(self, channel: Channel) -> None:
        ask = channel._once

        async def once(service: str, method: str, message: Any, wait_for: Duration) -> Any:
            self._asked += 1
            try:
                return await ask(service, method, message, wait_for)
            finally:
                self._asked -= 1

        channel._once = once  # type: ignore[method-assign]

    def _counting(self, row: Row) -> Row:
        handle, is_poll = row.handle, row.operation in ("claim_runs", "claim_pipelines")

        async def handled(call: Call, asked: Any) -> Any:
            self._at_work += 1
            self._polls += is_poll
            try:
                return await handle(call, asked)
            finally:
                self._at_work -= 1
                self._polls -= is_poll

        return row._replace(handle=handled)

    async def close(self) -> None:
        await self.remote.close()
        await self.server.drain(GRACE_FOR)
        await self.server.stop()
        await self._gate.close()
        await super().close()
