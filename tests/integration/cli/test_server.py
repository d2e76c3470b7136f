"""What `windlass server` and `windlass dev` are told: by the settings, and by the command line instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from windlass.cli.main import cli
from windlass.cli.serving import options_from, shown
from windlass.model.time import SECOND, Duration
from windlass.server.listening import bind
from windlass.server.server import ServerOptions
from windlass.settings import Settings, parse_url

SETTINGS = Settings(
    server_host="::1",
    server_grpc_port=1,
    server_http_port=2,
    server_tls_certificate="a.pem",
    server_tls_key="a.key",
    server_allowed_hosts=("a",),
    server_allowed_origins=("https://a",),
    server_grace_for=Duration(SECOND),
)


def test_the_settings_say_how_unless_the_command_line_does() -> None:
    assert options_from(Settings()) == ServerOptions()
    assert options_from(SETTINGS, host=None, allowed_hosts=(), is_network_trusted=False) == ServerOptions(
        host="::1",
        grpc_port=1,
        http_port=2,
        tls_certificate="a.pem",
        tls_key="a.key",
        allowed_hosts=("a",),
        allowed_origins=("https://a",),
        grace_for=Duration(SECOND),
    )
    changed = options_from(SETTINGS, host="127.0.0.1", grpc_port=7, allowed_hosts=("b", "c"), is_network_trusted=True)
    assert (changed.host, changed.grpc_port, changed.http_port) == ("127.0.0.1", 7, 2)
    assert (changed.allowed_hosts, changed.is_network_trusted) == (("b", "c"), True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*args: str) -> str:
    result = CliRunner().invoke(cli, [*args])
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.spec("security:S-02", "security:100")
def test_what_the_file_says_is_held_to_the_same_rules(folder: Path) -> None:
    for text, said in (
        ('[server]\nhost = "0.0.0.0"', "is not only this machine"),
        ('[server]\nhost = "0.0.0.0"\ntls_certificate = "a.pem"', "TLS needs both"),
        ('[server]\ntls_certificate = "a.pem"\ntls_key = "a.key"', "a.pem cannot be read: No such file"),
        ("[server]\ngrpc_port = 0", "must be a whole number from 1 to 65535, not 0"),
        ("[server]\nwithout_tls = true", "'server.without_tls' in windlass.toml is no setting"),
        ('url = "grpc://localhost"', "is a server itself"),
    ):
        (folder / "windlass.toml").write_text(text)
        assert said in refused("server")

    assert [path.name for path in folder.iterdir()] == ["windlass.toml"]  # nothing was opened


def test_dev_stays_on_this_machine_whatever_the_file_says(folder: Path) -> None:
    with bind("127.0.0.1", 0, setting="server.grpc_port") as taken:
        port = taken.getsockname()[1]
        (folder / "windlass.toml").write_text(f'[server]\nhost = "0.0.0.0"\ntls_key = "a.key"\ngrpc_port = {port}')

        assert f"Port {port} of 127.0.0.1 is in use" in refused("dev")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--host", "a b"), "--host must be an address or the name of a host"),
        (("--host", "localhost:80"), "--host must be an address or the name of a host"),
        (("--grpc-port", "0"), "0 is not in the range 1<=x<=65535"),
        (("--http-port", "70000"), "70000 is not in the range"),
        (("--allowed-host", "*"), "--allowed-host must be an address or the name of a host"),
        (("--allowed-origin", "*"), "--allowed-origin must be an origin"),
        (("--insecure",), "No such option"),
    ],
)
def test_a_bad_option_is_refused_with_a_hint(folder: Path, args: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(cli, ["server", *args])

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.spec("security:S-28")
def test_a_database_is_named_by_its_whole_path_or_without_its_password(folder: Path) -> None:
    assert shown(parse_url("shop.db")) == str(folder / "shop.db")
    assert shown(parse_url("postgresql://me:hunter2@db/shop")) == "postgresql://me:***@db/shop"
