"""A server's HTTP over a real engine, asked without a port: who asks is told by the key they hold."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import httpx

from windlass.assembly import Opened
from windlass.engine.coordinator.prune import Prune
from windlass.engine.engine import Engine
from windlass.model.access import CreateKey, Role
from windlass.model.commands import RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.time import DAY
from windlass.model.worker import Served
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import Clock, secret_bytes
from windlass.server.gate import Gate
from windlass.server.health import Health
from windlass.server.http.app import make_app
from windlass.testing.clock import FakeClock

BASE = "http://localhost:7421"
DEFAULT = "/v1/namespaces/default"


class Site:
    """One server. `client` asks it with a key made for that."""

    def __init__(self, opened: Opened, clock: Clock, **options: Any) -> None:
        self.opened, self.clock = opened, clock
        self.gate = Gate(opened.access, opened.namespaces, clock=clock)
        self.health = Health(lambda: opened.namespaces.get_namespace("default"), clock=clock)
        self.app = make_app(
            opened, self.gate, serving=self.health, clock=clock, ids=opened.ids, **({"patience": 1.0} | options)
        )
        self._clients: list[httpx.AsyncClient] = []

    async def token(self, *roles: Role, namespace: str = "default", **more: Any) -> str:
        secret, id = secret_bytes(), self.opened.ids.key()
        command = CreateKey(
            id=id, namespace=namespace, roles=roles or (Role.ADMIN,), secret_hash=hash_secret(secret), **more
        )
        await self.opened.access.create_key(command)
        return make_token(id, secret)

    def asker(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        given = {} if token is None else {"authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True, client=("127.0.0.1", 5))
        client = httpx.AsyncClient(transport=transport, base_url=BASE, headers=given | headers)
        self._clients.append(client)
        return client

    async def client(self, *roles: Role, namespace: str = "default", **more: Any) -> httpx.AsyncClient:
        return self.asker(await self.token(*roles, namespace=namespace, **more))

    async def serve(self, *lanes: Served, namespace: str = "default") -> WorkerId:
        """A worker that serves these, on record: so that somebody knows the workflows."""
        id = WorkerId(self.opened.ids.worker())
        lanes = lanes or (Served("default", "order"),)
        await self.opened.work.register_worker(
            RegisterWorker(namespace=namespace, id=id, host="here", pid=1, served=lanes, slots=1)
        )
        return id

    async def start(self, client: httpx.AsyncClient, **body: Any) -> str:
        answer = await client.post(f"{DEFAULT}/runs", json={"workflow": "order", "allow_unknown": True} | body)
        assert answer.status_code == 200, answer.text
        run_id: str = answer.json()["run_id"]
        return run_id

    async def raw(self, path: bytes, token: str | None = None) -> int:
        """The status of a GET of just this path, which a client would tidy up."""
        given = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": unquote(path.decode("latin-1")), "raw_path": path, "query_string": b"", "root_path": "",
            "headers": [(b"host", b"localhost:7421"), *given], "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 1),
        }  # fmt: skip
        answered: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            answered.append(message)

        await self.app(scope, receive, send)
        status: int = answered[0]["status"]
        return status

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()
        await self.gate.close()


def error_of(answer: httpx.Response) -> dict[str, str]:
    """The one shape every refusal has."""
    body = answer.json()
    assert set(body) == {"error"}, body
    assert set(body["error"]) == {"code", "reason", "message", "path", "request_id"}
    assert body["error"]["request_id"] == answer.headers["x-request-id"]
    found: dict[str, str] = body["error"]
    return found


async def prune(engine: Engine, clock: FakeClock) -> None:
    """Remove all runs that are over, and what the log says of them."""
    clock.advance("2d")
    work = Prune(engine.parts, keep_for=DAY, batch=100)
    while await work.tick():
        continue
