"""What environment and file may say, and which databases a URL may name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from windlass.errors import InvalidInput
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.rules.access import make_token
from windlass.settings import OPTIONS, Secret, Settings, load_settings, parse_url, resolve_url


def write(folder: Path, text: str) -> Path:
    (folder / "windlass.toml").write_text(text)
    return folder


class Sample(NamedTuple):
    """One setting: its default, a value in the environment and in the file, what becomes of it, and what is refused."""

    default: Any
    text: str
    toml: str
    expected: Any
    refused: tuple[str, ...]


TOKEN = make_token("key_" + "0" * 26, b"hunter2-" * 4)
SWITCH = ("maybe", "2", "TRUE!", "y")
SAMPLES = {
    "url": Sample(None, "shop.db", '"shop.db"', "shop.db", ("mysql://db", "a\tb")),
    "worker.visibility_timeout_secs": Sample(300 * SECOND, "60", "60", MINUTE, ("0", "0.001", "86401", "315360000")),
    "worker.poll_interval_secs": Sample(5 * SECOND, "0.01", "0.01", 10_000, ("0", "0.009", "3601")),
    "worker.grace_secs": Sample(30 * SECOND, "0", "0", 0, ("-1", "86401")),
    "worker.probe_interval_secs": Sample(SECOND, "3600", "3600", HOUR, ("-1", "3601")),
    "worker.longest_step_secs": Sample(DAY, "315360000", "315360000", 3_650 * DAY, ("0", "0.9", "315360001", "1d")),
    "worker.max_recoveries": Sample(10, "1000", "1000", 1_000, ("-1", "1001", "2.5")),
    "keys.expire_after_secs": Sample(None, "1", "1", SECOND, ("0", "315360001")),
    "coordinator.enabled": Sample(True, "off", "false", False, SWITCH),
    "coordinator.interval_secs": Sample(5 * SECOND, "0.25", "0.25", 250_000, ("0", "0.009", "3601", "-5")),
    "coordinator.batch_size": Sample(100, "10000", "10000", 10_000, ("0", "10001", "1.5", "１２")),
    "coordinator.worker_stale_threshold_secs": Sample(30 * SECOND, "86400", "86400", DAY, ("0", "0.9", "86401")),
    "signals.enabled": Sample(True, "off", "false", False, SWITCH),
    "retention.keep_secs": Sample(None, "315360000", "315360000", 3_650 * DAY, ("0", "0.5", "315360001")),
    "log.format": Sample("plain", "JSON", '"json"', "json", ("xml", "plain json")),
    "log.level": Sample("info", " Debug ", '"debug"', "debug", ("trace", "10")),
    "metrics.port": Sample(None, "65535", "65535", 65_535, ("0", "-1", "70000", "80.0", "http")),
    "metrics.host": Sample("127.0.0.1", "::1", '"::1"', "::1", ("a b", "localhost:80", "http://x", ".", "x" * 254)),
    "telemetry.traces": Sample(False, "Yes", "true", True, SWITCH),
    "token": Sample(
        None, f" {TOKEN} ", f'"{TOKEN}"', Secret(TOKEN), ("wl_x", TOKEN[:-1], f"Bearer {TOKEN}", "hunter2")
    ),
    "tls_ca": Sample(None, "ca.pem", '"ca.pem"', "ca.pem", ("a\tb", "a\x1bb")),
    "server.host": Sample("127.0.0.1", "0.0.0.0", '"0.0.0.0"', "0.0.0.0", ("a b", "localhost:80", "http://x", "*")),
    "server.grpc_port": Sample(7420, "7520", "7520", 7520, ("0", "-1", "70000", "grpc")),
    "server.http_port": Sample(7421, "65535", "65535", 65_535, ("0", "-1", "70000", "80.0")),
    "server.tls_certificate": Sample(None, "server.pem", '"server.pem"', "server.pem", ("a\tb",)),
    "server.tls_key": Sample(None, "server.key", '"server.key"', "server.key", ("a\tb",)),
    "server.allowed_hosts": Sample(
        (), "w.example.org, ::1", '["w.example.org", "::1"]', ("w.example.org", "::1"), ("*", "a b", "w.example.org:80")
    ),
    "server.allowed_origins": Sample(
        (),
        "https://W.example.org, http://localhost:3000",
        '["https://w.example.org", "http://localhost:3000"]',
        ("https://w.example.org", "http://localhost:3000"),
        ("*", "null", "w.example.org", "https://w.example.org/", "https://a@b", "ftp://x", "https://x:0", "https://"),
    ),
    "server.grace_secs": Sample(30 * SECOND, "0", "0", 0, ("-1", "86401")),
}


def test_every_setting_has_a_sample() -> None:
    assert [option.path for option in OPTIONS] == list(SAMPLES)
    assert {option.field for option in OPTIONS} == set(Settings.__struct_fields__)


@pytest.mark.spec("runs:P5.2", "runs:P6.6")
@pytest.mark.parametrize("path", SAMPLES)
def test_a_setting_has_its_default_and_arrives_from_the_environment_and_from_the_file(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    (option,) = [option for option in OPTIONS if option.path == path]
    sample = SAMPLES[path]
    variable = "WINDLASS_" + path.replace(".", "_").upper()

    def read(**environ: str) -> Any:
        return getattr(load_settings(environ=environ, folder=tmp_path), option.field)

    assert (read(), read(**{variable: " "})) == (sample.default, sample.default)
    assert read(**{variable: sample.text}) == sample.expected
    section, _, key = path.rpartition(".")
    write(tmp_path, f"{f'[{section}]' if section else ''}\n{key} = {sample.toml}\n")
    assert read() == sample.expected
    assert type(read()) is type(read(**{variable: sample.text}))
    assert caplog.messages == []


@pytest.mark.spec("security:100", "security:51")
@pytest.mark.parametrize(("path", "text"), [(path, text) for path in SAMPLES for text in SAMPLES[path].refused])
def test_a_bad_variable_is_refused_by_name(tmp_path: Path, path: str, text: str) -> None:
    variable = "WINDLASS_" + path.replace(".", "_").upper()

    with pytest.raises(InvalidInput) as refused:
        load_settings(environ={variable: text}, folder=tmp_path)

    assert f"{variable} (environment)" in str(refused.value)
    assert refused.value.reason == "invalid_config"


@pytest.mark.parametrize(
    ("text", "is_on"),
    [("true", True), ("1", True), ("yes", True), ("ON", True), ("false", False), ("0", False), ("no", False)],
)
def test_a_switch_has_several_words_in_the_environment(tmp_path: Path, text: str, is_on: bool) -> None:
    settings = load_settings(environ={"WINDLASS_COORDINATOR_ENABLED": text}, folder=tmp_path)

    assert settings.coordinates is is_on


def test_environment_wins_over_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'url = "a.db"\n[worker]\ngrace_secs = 5\nmax_recoveries = 3\n[keys]\nexpire_after_secs = 3600\n')
    environ = {
        "WINDLASS_WORKER_GRACE_SECS": "7.5",
        "WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS": "60",
        "WINDLASS_WORKER_POLL_INTERVAL_SECS": "1",
        "WINDLASS_URL": "",
        "HOME": "/",
    }

    settings = load_settings(environ=environ, folder=tmp_path)

    assert settings == Settings(
        url="a.db",
        grace_for=Duration(7_500_000),
        visibility_for=MINUTE,
        poll_for=SECOND,
        max_recoveries=3,
        keys_expire_for=HOUR,
    )


@pytest.mark.spec("security:51")
@pytest.mark.parametrize("text", ["abc", "１２", "1_000", "-1", "nan", "1e3", "0", "86401"])
def test_what_is_no_number_of_seconds_is_refused(tmp_path: Path, text: str) -> None:
    environ = {"WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS": text}

    with pytest.raises(InvalidInput, match=r"WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS \(environment\) must be a number"):
        load_settings(environ=environ, folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ulr = 'a.db'", r"'ulr' in windlass.toml is no setting. Did you mean 'url'\?"),
        ("[worker]\ngrace = 3", "'worker.grace' in windlass.toml is no setting. Did you mean 'worker.grace_secs'"),
        ("worker = 3", "'worker' in windlass.toml is no setting"),
        ("url = 3", "'url' in windlass.toml must be a text, not a number"),
        ("url = ['postgresql://me:hunter2@db/shop']", "'url' in windlass.toml must be a text, not a list"),
        ("[url]\nx = 'postgresql://me:hunter2@db/shop'", "'url' in windlass.toml must be a text, not a table"),
        ("[worker]\ngrace_secs = '5'", "'worker.grace_secs' in windlass.toml must be a number of seconds .* not '5'"),
        ("[worker]\ngrace_secs = 2026-11-16", "must be a number of seconds from 0 to 86400, not a date or a time"),
        ("[worker]\nmax_recoveries = 0x" + "f" * 9_000, "must be a whole number from 0 to 1000, not a number"),
        ("[worker]\nmax_recoveries = " + "9" * 9_000, "windlass.toml cannot be read"),
        ("url = " + "[" * 9_000, "windlass.toml cannot be read"),
        ("[log]\nformat = 'xml'", "'log.format' in windlass.toml must be one of plain, json, not 'xml'"),
        ("[log]\nlevel = 20", "'log.level' in windlass.toml must be one of debug, info, warning, error, not 20"),
        ("[coordinator]\nenabled = 'yes'", "'coordinator.enabled' in windlass.toml must be true or false, not 'yes'"),
        ("[coordinator]\nenabled = 1", "'coordinator.enabled' in windlass.toml must be true or false, not 1"),
        ("[coordinator]\ninterval = 1", "Did you mean 'coordinator.interval_secs'"),
        (
            "[scheduler]\nbatch_size = 1",
            "'scheduler.batch_size' in windlass.toml .* Set 'coordinator.batch_size' instead",
        ),
        ("[metrics]\nport = 0", "'metrics.port' in windlass.toml must be a whole number from 1 to 65535, not 0"),
        ("[metrics]\nport = -1", "'metrics.port' in windlass.toml must be a whole number from 1 to 65535, not -1"),
        (
            "[metrics]\nport = 70000",
            "'metrics.port' in windlass.toml must be a whole number from 1 to 65535, not 70000",
        ),
        ("[metrics]\nhost = 'localhost:9090'", "'metrics.host' in windlass.toml must be an address or the name"),
        ('"worker.grace_secs" = 1\n[worker]\ngrace_secs = 2', "'worker.grace_secs' stands twice"),
        ("[worker]\nmax_recoveries = true", "'worker.max_recoveries' in windlass.toml must be a whole number from 0"),
        ("[worker]\nmax_recoveries = 1.5", "'worker.max_recoveries' in windlass.toml must be a whole number"),
        ("[worker]\ngrace_secs = nan", "'worker.grace_secs' in windlass.toml must be a number of seconds"),
        ("[worker]\nvisibility_timeout_secs = 0", "'worker.visibility_timeout_secs' in windlass.toml must be"),
        ("url = ", "windlass.toml cannot be read"),
    ],
)
@pytest.mark.spec("security:100")
def test_a_bad_file_is_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        load_settings(environ={}, folder=write(tmp_path, text))
    assert refused.value.reason == "invalid_config"
    assert "hunter2" not in str(refused.value)


def test_a_file_that_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_bytes(b"url = '\xff'")
    with pytest.raises(InvalidInput, match=r"windlass.toml cannot be read"):
        load_settings(environ={}, folder=tmp_path)

    (tmp_path / "folder" / "windlass.toml").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=r"windlass.toml cannot be read"):
        load_settings(environ={}, folder=tmp_path / "folder")


def test_an_unknown_variable_is_ignored_with_a_hint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = load_settings(environ={"WINDLASS_WORKER_GRACE_SEC": "3"}, folder=tmp_path)

    assert settings == Settings()
    expected = "WINDLASS_WORKER_GRACE_SEC is no setting and is ignored. Did you mean WINDLASS_WORKER_GRACE_SECS?"
    assert caplog.messages == [expected]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.path)
def test_a_slip_in_the_name_of_any_variable_is_noticed(
    tmp_path: Path, option: Any, caplog: pytest.LogCaptureFixture
) -> None:
    slipped = option.variable[:-1]

    load_settings(environ={slipped: "hunter2"}, folder=tmp_path)

    assert caplog.messages == [f"{slipped} is no setting and is ignored. Did you mean {option.variable}?"]


@pytest.mark.spec("runs:P6.6")
@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("WINDLASS_SCHEDULER_INTERVAL_SECS", "WINDLASS_COORDINATOR_INTERVAL_SECS"),
        ("WINDLASS_SCHEDULER_BATCH_SIZE", "WINDLASS_COORDINATOR_BATCH_SIZE"),
        ("WINDLASS_WATCHDOG_INTERVAL_SECS", "WINDLASS_COORDINATOR_INTERVAL_SECS"),
        ("WINDLASS_WATCHDOG_WORKER_STALE_THRESHOLD_SECS", "WINDLASS_COORDINATOR_WORKER_STALE_THRESHOLD_SECS"),
    ],
)
def test_a_former_name_has_no_effect_and_is_told_its_replacement(
    tmp_path: Path, former: str, now: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load_settings(environ={former: "7"}, folder=tmp_path)

    assert settings == Settings()
    assert caplog.messages == [f"{former} has no effect any more. Set {now} instead."]


def test_an_empty_variable_is_not_set_whatever_its_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    environ = dict.fromkeys(("WINDLASS_URL", "WINDLASS_NONSENSE", "WINDLASS_SCHEDULER_BATCH_SIZE"), "")

    assert load_settings(environ=environ, folder=tmp_path) == Settings()
    assert caplog.messages == []


def test_a_file_with_a_password_must_not_be_open_to_others(tmp_path: Path) -> None:
    write(tmp_path, 'url = "postgresql://me:hunter2@db/shop"')
    (tmp_path / "windlass.toml").chmod(0o666)

    with pytest.raises(InvalidInput, match="chmod 600") as refused:
        load_settings(environ={}, folder=tmp_path)
    assert "hunter2" not in str(refused.value)

    (tmp_path / "windlass.toml").chmod(0o600)
    assert load_settings(environ={}, folder=tmp_path).url == "postgresql://me:hunter2@db/shop"


@pytest.mark.spec("security:S-28", "security:S-31")
def test_a_file_with_a_token_must_not_be_open_to_others(tmp_path: Path) -> None:
    write(tmp_path, f'token = "{TOKEN}"')
    (tmp_path / "windlass.toml").chmod(0o620)

    with pytest.raises(InvalidInput, match=r"holds a token .* chmod 600") as refused:
        load_settings(environ={}, folder=tmp_path)
    assert TOKEN not in str(refused.value)

    (tmp_path / "windlass.toml").chmod(0o600)
    assert load_settings(environ={}, folder=tmp_path).token == Secret(TOKEN)


def test_a_file_with_a_url_that_holds_no_password_may_be_open(tmp_path: Path) -> None:
    write(tmp_path, 'url = "grpc://windlass.example.org"')
    (tmp_path / "windlass.toml").chmod(0o666)

    assert load_settings(environ={}, folder=tmp_path).url == "grpc://windlass.example.org"


@pytest.mark.spec("security:S-28")
def test_settings_show_neither_the_token_nor_the_password() -> None:
    settings = Settings(url="postgresql://me:hunter2@db/shop", token=Secret(TOKEN))

    for shown in (repr(settings), str(settings), f"{settings.token}", f"{settings.token!r}"):
        assert TOKEN not in shown and TOKEN[-43:] not in shown and "hunter2" not in shown
    assert "token=***" in repr(settings)


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize("text", [f"{TOKEN}x", TOKEN.upper(), f"Bearer {TOKEN}"])
def test_what_is_no_token_is_not_quoted(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="is no token") as refused:
        load_settings(environ={"WINDLASS_TOKEN": text}, folder=tmp_path)
    assert text not in str(refused.value) and TOKEN[-43:] not in str(refused.value)


def test_the_argument_wins_then_the_settings_then_the_default() -> None:
    assert resolve_url("mine.db", Settings(url="other.db")) == "mine.db"
    assert resolve_url(None, Settings(url="other.db")) == "other.db"
    assert resolve_url(None, Settings()) == "windlass.db"
    with pytest.raises(InvalidInput):
        resolve_url("", Settings(url="other.db"))


@pytest.mark.parametrize(
    ("url", "kind", "target"),
    [
        ("windlass.db", "sqlite", "windlass.db"),
        ("/data/a b.db", "sqlite", "/data/a b.db"),
        ("sqlite:///data/a.db", "sqlite", "data/a.db"),
        ("sqlite:////data/a%20b.db", "sqlite", "/data/a b.db"),
        (":memory:", "sqlite", ":memory:"),
        ("sqlite:///:memory:", "sqlite", ":memory:"),
        ("C:\\data\\a.db", "sqlite", "C:\\data\\a.db"),
        ("postgresql://me@db:5433/shop", "postgresql", "postgresql://me@db:5433/shop"),
        ("postgres://db/shop", "postgresql", "postgres://db/shop"),
        ("postgresql:///shop?host=/var/run", "postgresql", "postgresql:///shop?host=/var/run"),
    ],
)
def test_known_forms_of_a_url(url: str, kind: str, target: str) -> None:
    location = parse_url(url)

    assert (location.kind, location.target) == (kind, target)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "  ",
        "a\nb.db",
        "a\0.db",
        "a\ud800.db",
        "mysql://me:hunter2@db/shop",
        "postgresql+asyncpg://me:hunter2@db/shop",
        "postgres//me:hunter2@db/shop",
        "postgresql://",
        "postgresql:///shop",
        "postgresql:db",
        "postgresql://me:hunter2@db:70000/shop",
        "postgresql://me:hunter2@db:0/shop",
        "postgresql://me:hunter2@[::1/shop",
        "sqlite:a.db",
        "sqlite://a.db",
        "sqlite:///",
        "sqlite:///a.db?mode=ro",
        "http://db",
        "grpc:host",
        "grpc://",
        "grpc://host:0",
        "grpc://host:70000",
        "grpc://[::1",
        "grpc://me:hunter2@host",
        "grpcs://hunter2@host:7420",
        "grpc://host/shop",
        "grpc://host?tls=no",
        "grpc://a b",
        "grpc://-",
        "grpc://one:7420,",
        "grpc://one:7420,,two:7420",
        "grpc://one:7420,two:0",
        "grpc://one:7420,hunter2@two:7420",
        "grpc://one:7420,one",
    ],
)
def test_other_urls_are_refused_with_the_forms_and_without_the_password(url: str) -> None:
    with pytest.raises(InvalidInput, match="Accepted: a file path, sqlite:///relative/path") as refused:
        parse_url(url)
    assert refused.value.reason == "invalid_config"
    assert "hunter2" not in str(refused.value)


@pytest.mark.spec("security:S-26")
@pytest.mark.parametrize(
    ("url", "target", "is_tls"),
    [
        ("grpc://localhost", "localhost:7420", False),
        ("grpc://LocalHost:7520/", "localhost:7520", False),
        ("grpc://127.0.0.1:7420", "127.0.0.1:7420", False),
        ("grpc://127.9.9.9", "127.9.9.9:7420", False),
        ("grpc://[::1]:7420", "[::1]:7420", False),
        ("grpcs://localhost", "localhost:7420", True),
        ("grpc://windlass.example.org", "windlass.example.org:7420", True),
        ("GRPC://10.0.0.7:443", "10.0.0.7:443", True),
        ("grpc://localhost.example.org", "localhost.example.org:7420", True),
        ("grpc://127.0.0.1.example.org", "127.0.0.1.example.org:7420", True),
        ("grpc://0.0.0.0", "0.0.0.0:7420", True),
        ("grpc://2130706433", "2130706433:7420", True),
        ("grpcs://[2001:db8::1]", "[2001:db8::1]:7420", True),
    ],
)
def test_a_server_is_asked_over_tls_unless_it_is_this_machine(url: str, target: str, is_tls: bool) -> None:
    location = parse_url(url)

    assert (location.kind, location.target, location.is_tls) == ("grpc", target, is_tls)
    assert location.shown == f"{'grpcs' if is_tls else 'grpc'}://{target}"
    ((host, port),) = location.hosts
    assert f"{host}:{port}" == target.replace("[", "").replace("]", "")


@pytest.mark.spec("security:S-26")
@pytest.mark.parametrize(
    ("url", "hosts", "is_tls"),
    [
        ("grpc://localhost:7420,localhost:7520", (("localhost", 7420), ("localhost", 7520)), False),
        ("grpc://[::1],127.0.0.1:1/", (("::1", 7420), ("127.0.0.1", 1)), False),
        ("grpc://localhost,one.example.org", (("localhost", 7420), ("one.example.org", 7420)), True),
    ],
)
def test_several_servers_are_named_in_one_url(url: str, hosts: tuple[tuple[str, int], ...], is_tls: bool) -> None:
    location = parse_url(url)

    assert (location.hosts, location.is_tls) == (hosts, is_tls)
    assert parse_url(location.shown) == location


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hunter2@db:5433/shop", "postgresql://me:***@db:5433/shop"),
        ("postgresql://me:p@hunter2@db/shop", "postgresql://me:***@db/shop"),
        ("postgresql://db/shop?password=hunter2&sslmode=require", "postgresql://db/shop?password=***&sslmode=require"),
        ("postgresql://me@db/shop", "postgresql://me@db/shop"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert parse_url(url).shown == shown
