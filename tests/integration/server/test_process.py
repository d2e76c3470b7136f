"""`windlass server` as a process: it starts on this machine only, says what is wrong in a line, and leaves in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tests.integration.server.process import PATIENCE, ServerProcess
from windlass.cli.main import cli

Start = Callable[..., ServerProcess]
APP = """
import windlass

app = windlass.App()

@app.workflow
async def order(ctx: windlass.Context, number: int) -> int:
    return await ctx.step(double, number)

@app.step
def double(number: int) -> int:
    return 2 * number

@app.workflow(queue="slow")
async def forever(ctx: windlass.Context) -> None:
    await ctx.sleep("1d")
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a server in a folder of its own; whatever is left of it ends with the test."""
    started: list[ServerProcess] = []
    (tmp_path / "shop.py").write_text(APP)

    def start(*args: str, **options: Any) -> ServerProcess:
        started.append(ServerProcess(tmp_path, *args, **options))
        return started[-1]

    yield start
    for process in started:
        process.close()


def other_address() -> str:
    """An address of this machine that is not its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing: it only chooses the way
        except OSError:
            pytest.skip("this machine has no other address than its loopback")
        address: str = asked.getsockname()[0]
        return address


@pytest.mark.spec("security:S-01", "security:S-03")
def test_by_default_it_listens_on_this_machine_only_and_wants_a_token(start: Start) -> None:
    server = start()
    said = server.until_serving()

    assert said["grpc"] == f"grpc://127.0.0.1:{server.grpc_port}"
    assert said["database"] == str(server.folder / "windlass.db")
    address = other_address()
    for port in (server.grpc_port, server.http_port):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        with pytest.raises(OSError):
            socket.create_connection((address, port), timeout=PATIENCE)
    assert httpx.get(f"{server.http_url}/v1/namespaces/default/runs").status_code == 401
    assert httpx.get(f"{server.http_url}/readyz").status_code == 200
    with server.client() as client:
        assert client.get("/v1/namespaces/default/runs").json() == {"runs": [], "next": None}
        assert client.get("/metrics").status_code == 200


@pytest.mark.spec("security:S-02")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_does_not_listen_elsewhere_without_tls_and_says_what_to_do(start: Start, host: str) -> None:
    server = start("--host", host)

    assert server.wait() == 1
    for fix in ("--tls-certificate", "--tls-key", "127.0.0.1", "--without-tls-on-a-network-i-trust"):
        assert fix in server.stderr
    assert server.stderr.count("\n") == 1
    assert not (server.folder / "windlass.db").exists()  # nothing was opened yet


@pytest.mark.spec("security:S-02")
def test_a_network_that_is_trusted_is_named_in_the_log_at_each_start(start: Start) -> None:
    for is_first in (True, False):
        server = start("--host", "0.0.0.0", "--without-tls-on-a-network-i-trust")
        server.until_serving(is_first=is_first)
        assert server.stop() == 0

        assert "without TLS (--without-tls-on-a-network-i-trust): tokens cross it in plain text" in server.stderr


@pytest.mark.spec("security:100")
@pytest.mark.parametrize("which", ["grpc", "http"])
def test_a_second_server_on_the_same_port_is_refused_in_a_line(start: Start, which: str) -> None:
    first = start()
    first.until_serving()
    port = first.grpc_port if which == "grpc" else first.http_port

    second = start(f"--{which}-port", str(port))

    assert second.wait() == 1
    assert f"Port {port} of 127.0.0.1 is in use" in second.stderr
    assert f"(--{which}-port)" in second.stderr
    assert second.stderr.count("\n") == 1
    assert httpx.get(f"{first.http_url}/readyz").status_code == 200


@pytest.mark.spec("security:S-06")
def test_the_first_start_shows_a_token_once_and_never_logs_it(start: Start) -> None:
    first = start("--log-level", "debug")
    first.until_serving()
    with first.client() as client:
        assert client.get("/v1/keys").status_code == 200
        assert client.get("/v1/keys").text.count('"id"') == 1
    assert first.stop() == 0
    assert first.event() == {"event": "stopped"}

    second = start()
    second.until_serving(is_first=False)
    with second.client(token=first.token) as client:
        assert client.get("/v1/keys").status_code == 200
    assert second.stop() == 0
    assert second.event() == {"event": "stopped"}

    secret = first.token[-43:]
    assert secret not in first.stderr and secret not in second.stderr and secret not in second.stdout
    files = [path for path in first.folder.iterdir() if path.name.startswith("windlass.db")]
    assert files and not any(secret.encode() in path.read_bytes() for path in files)


def test_kill_9_loses_nothing_and_the_next_start_goes_on(start: Start) -> None:
    first = start("shop:app", command="dev")
    first.until_serving()
    with first.client() as client:
        runs = [
            client.post("/v1/namespaces/default/runs", json={"workflow": "order", "args": [number]}).json()["run_id"]
            for number in range(20)
        ]
    first.send(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL

    second = start("shop:app", command="dev")
    second.until_serving(is_first=False)
    with second.client(token=first.token) as client:
        results = [client.get(f"/v1/namespaces/default/runs/{run}/result?wait_secs=30").json() for run in runs]

    assert [result["output"] for result in results] == [2 * number for number in range(20)]
    assert second.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_long_poll_is_answered_when_the_server_is_told_to_stop(start: Start, number: signal.Signals) -> None:
    server = start("shop:app", "--queue", "slow", command="dev")
    server.until_serving()
    with server.client() as client:
        run = client.post("/v1/namespaces/default/runs", json={"workflow": "forever", "args": []}).json()["run_id"]
        answers: list[httpx.Response] = []
        path = f"/v1/namespaces/default/runs/{run}/result?wait_secs=25"
        asking = threading.Thread(target=lambda: answers.append(client.get(path)))
        asking.start()
        until_asked(server, run)
        began = time.monotonic()

        server.send(number)
        asking.join(timeout=PATIENCE)
        code = server.wait()

    assert code == 0, server.stderr
    assert time.monotonic() - began < 20  # and not the 25 s it would have waited
    assert [answer.status_code for answer in answers] in ([200], [503]), answers[0].text
    assert server.event() == {"event": "stopped"}
    assert "Traceback" not in server.stderr


def until_asked(server: ServerProcess, run: str) -> None:
    """By the time a later call is answered, one that was sent before has arrived."""
    with server.client() as client:
        for _ in range(20):
            assert client.get(f"/v1/namespaces/default/runs/{run}").status_code == 200


def test_a_second_ctrl_c_ends_it_at_once(start: Start) -> None:
    server = start("shop:app", "--queue", "slow", command="dev", env={"WINDLASS_SERVER_GRACE_SECS": "600"})
    server.until_serving()
    with socket.create_connection(("127.0.0.1", server.http_port)) as slow:
        body = b"POST /v1/namespaces/default/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        slow.sendall(body + b"authorization: Bearer " + server.token.encode() + b"\r\ncontent-length: 100\r\n\r\n{")
        assert httpx.get(f"{server.http_url}/healthz").status_code == 200

        server.send(signal.SIGINT)
        until(lambda: "Stopping" in server.stderr)
        server.send(signal.SIGINT)

        assert server.wait() == 130


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_dev_works_on_an_app_and_serves_it(start: Start) -> None:
    server = start("shop:app", command="dev")
    said = server.until_serving()

    with server.client() as client:
        run = client.post("/v1/namespaces/default/runs", json={"workflow": "order", "args": [21]}).json()["run_id"]
        result = client.get(f"/v1/namespaces/default/runs/{run}/result?wait_secs=30").json()

    assert said["app"] == "shop:app"
    assert said["queues"] == ["default", "slow"]
    assert result["output"] == 42
    assert server.stop() == 0


def test_dev_without_an_app_is_a_server_alone(start: Start) -> None:
    server = start(command="dev")
    assert "app" not in server.until_serving()
    assert server.stop() == 0


def test_the_command_line_asks_a_server_as_it_asks_a_database(start: Start) -> None:
    server = start("shop:app", command="dev")
    server.until_serving()
    environ = {"WINDLASS_URL": f"grpc://localhost:{server.grpc_port}", "WINDLASS_TOKEN": server.token}

    started = typed(server, "start", "shop:app", "order", "4", **environ)
    with server.client() as client:
        client.get(f"/v1/namespaces/default/runs/{started.stdout.strip()}/result?wait_secs=30")
    shown, doctor = typed(server, "runs", "--json", **environ), typed(server, "doctor", "--json", **environ)
    migrated = typed(server, "migrate", **environ)
    without = typed(server, "runs", **{**environ, "WINDLASS_TOKEN": ""})

    assert '"completed"' in shown.stdout, shown.stderr
    assert doctor.returncode == 0, doctor.stdout
    assert '"is_sound": true' in doctor.stdout
    assert (migrated.returncode, without.returncode) == (1, 1)
    assert "brings its database up to date itself" in migrated.stderr
    assert "none is set: set WINDLASS_TOKEN" in without.stderr


def typed(server: ServerProcess, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    command = [sys.executable, "-m", "windlass", *args]
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run(command, cwd=server.folder, env={**clean, **environ}, **options)


@pytest.mark.parametrize("command", ["server", "dev"])
def test_a_server_is_no_client_of_another(start: Start, command: str) -> None:
    server = start("--url", "grpc://localhost:7420", command=command)

    assert server.wait() == 1
    assert "is a server itself" in server.stderr


@pytest.mark.parametrize("command", ["server", "dev"])
@pytest.mark.parametrize("missing", ["grpc", "uvicorn", "starlette"])
def test_a_server_that_is_not_installed_says_how_to_install_it(
    command: str, missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)

    result = CliRunner().invoke(cli, [command])

    assert result.exit_code == 1
    assert result.stderr == (
        f"windlass: The server is not installed ({missing} is missing): pip install 'windlass[server]'\n"
    )
    assert list(tmp_path.iterdir()) == []
