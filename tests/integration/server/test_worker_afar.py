"""A worker of a server is another process, on another machine for all it knows: it has no way to the database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.process import PATIENCE, ServerProcess
from windlass.testing.postgres import PostgresServer

# Its steps, its sleep and its child all go through the server; then it says what it has imported, and leaves.
WORKER = """
import asyncio, json, sys

import windlass

app = windlass.App(sys.argv[1])

@app.step
def double(number: int) -> int:
    return 2 * number

@app.workflow
async def packing(ctx: windlass.Context, number: int) -> int:
    return await ctx.step(double, number)

@app.workflow
async def order(ctx: windlass.Context, number: int) -> int:
    packed = await ctx.run(packing, number)
    await ctx.sleep("10ms")
    return await ctx.step(double, packed)

async def main() -> None:
    async with app, app.worker():
        handle = await app.start(order, 5, key="order-5")
        result = await handle.result(timeout="30s")
    print(json.dumps({"result": result, "id": handle.id, "modules": sorted(sys.modules)}))

asyncio.run(main())
"""
DATABASE = ("apsw", "asyncpg", "sqlite3", "windlass.store", "windlass.engine", "windlass.embedded", "windlass.notify")


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    folder = tmp_path / "server"
    folder.mkdir()
    url = f"sqlite:///{folder / 'windlass.db'}"
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        url = postgres.create_database()
    process = ServerProcess(folder, env={"WINDLASS_URL": url})
    process.until_serving()
    yield process
    process.stop()
    process.close()
    if request.param == "postgres":
        postgres.drop_database(url)


def work_for(server: ServerProcess, folder: Path) -> dict[str, Any]:
    """With a token and nothing else: what this process knows of databases, such as variables, stays here."""
    kept = ("PATH", "HOME", "LANG", "PYTHONPATH", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    (folder / "worker.py").write_text(WORKER)
    ended = subprocess.run(
        [sys.executable, "worker.py", f"grpc://127.0.0.1:{server.grpc_port}"],
        cwd=folder,
        env={**environment, "WINDLASS_TOKEN": server.token},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


@pytest.mark.spec("runs:G7")
def test_a_worker_of_a_server_needs_neither_a_driver_nor_credentials(server: ServerProcess, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()

    said = work_for(server, folder)

    assert said["result"] == 20
    found = [name for name in said["modules"] if name.startswith(DATABASE)]
    assert found == []
    assert "windlass.api.grpc.remote" in said["modules"]
    assert [path.name for path in folder.iterdir() if path.suffix == ".db"] == []
    with server.client() as client:
        run = client.get(f"/v1/namespaces/default/runs/{said['id']}").json()
    assert run["status"] == "completed", run


SHOP = """
import windlass
app = windlass.App()
@app.workflow(queue="mail")
async def send(ctx: windlass.Context) -> None: ...
"""


class Worker:
    """`windlass worker shop:app --json` with a key for one queue, until it has said its first line."""

    def __init__(self, server: ServerProcess, folder: Path, *, queue: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
        command = [sys.executable, "-m", "windlass", "--url", f"grpc://127.0.0.1:{server.grpc_port}", "--json"]
        made = subprocess.run(
            [*command, "keys", "create", "--role", "worker", "--role", "operator", "--queue", queue],
            env={**clean, "WINDLASS_TOKEN": server.token},
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
        (folder / "shop.py").write_text(SHOP)
        with subprocess.Popen(
            [*command, "worker", "shop:app"],
            cwd=folder,
            env={**clean, "WINDLASS_TOKEN": json.loads(made.stdout)["token"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            self.said = process.stdout.readline()
            process.terminate()
            _, self.complaints = process.communicate(timeout=PATIENCE)
        self.exit_code = process.returncode


def test_a_worker_says_which_queues_its_key_makes_it_leave_out(server: ServerProcess, tmp_path: Path) -> None:
    worker = Worker(server, tmp_path, queue="mail")

    begun = json.loads(worker.said)
    assert (begun["event"], begun["queues"], begun["left_out"]) == ("serving", ["mail"], ["default"])
    assert "may not serve queue 'default': left out, though the app names it." in worker.complaints
    assert worker.exit_code == 0


def test_a_worker_whose_key_leaves_nothing_ends_with_one_line(server: ServerProcess, tmp_path: Path) -> None:
    worker = Worker(server, tmp_path, queue="vault")

    assert (worker.exit_code, worker.said) == (1, "")
    assert json.loads(worker.complaints.splitlines()[-1])["error"]["message"] == (
        "This key may serve queue 'vault' only, and this worker serves 'default', 'mail': nothing is left. "
        "Use a key for these, or declare with queue='vault' what it is to execute."
    )
