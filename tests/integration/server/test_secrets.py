"""A secret goes in by every way there is, and comes out by none: not in a log, an error, a page or `doctor`."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest
import trustme

from tests.integration.server.process import PATIENCE, ServerProcess
from windlass.rules.access import make_token

pytestmark = pytest.mark.spec("security:S-28")

CANARY = "canary-5f1d"
SECRET = CANARY.encode().ljust(32, b"!")
TOKEN = make_token("key_" + "7" * 26, SECRET)
HIDDEN = (CANARY, TOKEN, TOKEN[-43:])


def check_hidden(*texts: str) -> None:
    for text in texts:
        assert [hidden for hidden in HIDDEN if hidden in text] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


class Windlass:
    """The command line in a folder, with an environment of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, *args: str, **environ: str) -> tuple[int, str]:
        """Exit code, and everything it wrote."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
        done = subprocess.run(
            [sys.executable, "-m", "windlass", *args],
            cwd=self._folder,
            env={**clean, **environ},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def windlass(folder: Path) -> Windlass:
    return Windlass(folder)


COMMANDS = [("runs",), ("doctor", "--json"), ("server", "--log-level", "debug")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "environ",
    [
        {"WINDLASS_TOKEN": f"{TOKEN}x"},
        {"WINDLASS_TOKEN": f"Bearer {TOKEN}"},
        {"WINDLASS_TOKENS": TOKEN, "WINDLASS_URL": "nowhere/at/all.db"},
        {"WINDLASS_TOKEN": TOKEN, "WINDLASS_URL": f"postgresql://me:{CANARY}@127.0.0.1:1/shop"},
        {"WINDLASS_TOKEN": TOKEN, "WINDLASS_URL": f"grpc://me:{CANARY}@localhost"},
        {"WINDLASS_TOKEN": TOKEN, "WINDLASS_URL": f"mysql://me:{CANARY}@localhost"},
        {"WINDLASS_TOKEN": TOKEN, "WINDLASS_URL": f"postgresql://127.0.0.1:1/shop?password={CANARY}"},
    ],
    ids=["not a token", "a header", "a slip", "postgresql", "grpc", "mysql", "query"],
)
def test_what_the_environment_holds_is_not_shown(
    windlass: Windlass, command: tuple[str, ...], environ: dict[str, str]
) -> None:
    code, said = windlass.run(*command, **environ)

    assert code != 0
    assert "Traceback" not in said
    check_hidden(said)


@pytest.mark.parametrize(
    "text", [f'token = "{TOKEN}x"', f'token = ["{TOKEN}"]', f'tokn = "{TOKEN}"', f'url = ["{CANARY}"]']
)
def test_what_the_file_holds_is_not_shown(windlass: Windlass, folder: Path, text: str) -> None:
    (folder / "windlass.toml").write_text(text)

    for command in COMMANDS:
        code, said = windlass.run(*command)
        assert code != 0
        check_hidden(said)


def test_a_file_with_a_token_that_others_may_write_is_refused_without_it(windlass: Windlass, folder: Path) -> None:
    (folder / "windlass.toml").write_text(f'token = "{TOKEN}"')
    (folder / "windlass.toml").chmod(0o666)

    code, said = windlass.run("server")

    assert code == 1
    assert "chmod 600" in said
    check_hidden(said)


def test_doctor_names_the_settings_and_not_the_token(windlass: Windlass, folder: Path) -> None:
    windlass.run("migrate")

    code, said = windlass.run("doctor", WINDLASS_TOKEN=TOKEN)

    assert code == 0, said
    assert "WINDLASS_TOKEN" in said
    check_hidden(said)


@pytest.fixture
def server(folder: Path) -> Iterator[ServerProcess]:
    authority = trustme.CA()
    made = authority.issue_cert("localhost")
    chain, key = folder / "server.pem", folder / "server.key"
    made.cert_chain_pems[0].write_to_path(chain)
    key.write_bytes(made.private_key_pem.bytes() + f"\n# {CANARY}\n".encode())
    (folder / "windlass.toml").write_text(f'token = "{TOKEN}"\n')
    options = ["--tls-certificate", str(chain), "--tls-key", str(key), "--log-level", "debug", "--log-format", "json"]
    server = ServerProcess(folder, *options, env={"WINDLASS_TOKEN": TOKEN})
    authority.cert_pem.write_to_path(folder / "ca.pem")
    server.until_serving()
    yield server
    server.close()


def test_a_server_logs_no_secret_whatever_it_is_sent(server: ServerProcess, folder: Path) -> None:
    ca = folder / "ca.pem"
    context = ssl.create_default_context(cafile=str(ca))
    url = f"https://localhost:{server.http_port}"
    answers: list[httpx.Response] = []
    with httpx.Client(base_url=url, verify=context, timeout=PATIENCE) as client:
        for header in (f"Bearer {TOKEN}", TOKEN, f"Basic {CANARY}", f"Bearer {TOKEN}, Bearer {TOKEN}"):
            answers.append(client.get("/v1/namespaces/default/runs", headers={"Authorization": header}))
        answers.append(client.get(f"/v1/{CANARY}?token={TOKEN}"))
        answers.append(
            client.post(f"/v1/namespaces/{CANARY}/runs", content=f'{{"{CANARY}": ', headers={"X-Key": TOKEN})
        )
        good = {"Authorization": f"Bearer {server.token}"}
        answers.append(
            client.post("/v1/namespaces/default/runs", json={"workflow": "x", "args": [CANARY]}, headers=good)
        )
    credentials = grpc.ssl_channel_credentials(root_certificates=ca.read_bytes())
    with grpc.secure_channel(f"localhost:{server.grpc_port}", credentials) as channel:
        call = channel.unary_unary("/windlass.v1.WorkflowService/ListRuns")
        for metadata in ((("authorization", f"Bearer {TOKEN}"),), (("authorization", TOKEN),), (("x-key", TOKEN),)):
            with pytest.raises(grpc.RpcError) as refused:
                call(SECRET, metadata=metadata, timeout=PATIENCE)
            check_hidden(str(refused.value.details()))
    server.send(signal.SIGTERM)
    assert server.wait() == 0

    assert {answer.status_code for answer in answers[:-1]} <= {400, 401, 404}
    check_hidden(server.stderr)
    assert server.token[-43:] not in server.stderr
    for answer in answers[:4]:
        check_hidden(answer.text, str(answer.headers))
