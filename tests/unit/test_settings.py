"""What environment and file may say, and which databases a URL may name."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from windlass.errors import InvalidInput
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.settings import Settings, load_settings, parse_url, resolve_url


def write(folder: Path, text: str) -> Path:
    (folder / "windlass.toml").write_text(text)
    return folder


def test_defaults_hold_without_environment_and_file(tmp_path: Path) -> None:
    settings = load_settings(environ={}, folder=tmp_path)

    assert settings == Settings()
    assert (settings.visibility_for, settings.poll_for, settings.grace_for) == (300 * SECOND, 5 * SECOND, 30 * SECOND)
    assert (settings.max_recoveries, settings.keys_expire_for) == (10, None)


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


@pytest.mark.parametrize("text", ["abc", "１２", "1_000", "-1", "nan", "1e3", "0", "86401"])
def test_a_bad_variable_is_refused_by_name(tmp_path: Path, text: str) -> None:
    environ = {"WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS": text}

    with pytest.raises(InvalidInput, match=r"WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS \(environment\) must be a number"):
        load_settings(environ=environ, folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ulr = 'a.db'", r"'ulr' in windlass.toml is no setting. Did you mean 'url'\?"),
        ("[worker]\ngrace = 3", "'worker.grace' in windlass.toml is no setting. Did you mean 'worker.grace_secs'"),
        ("worker = 3", "'worker' in windlass.toml is no setting"),
        ("url = 3", "'url' in windlass.toml must be a text, not 3"),
        ("[worker]\nmax_recoveries = true", "'worker.max_recoveries' in windlass.toml must be a whole number from 0"),
        ("[worker]\nmax_recoveries = 1.5", "'worker.max_recoveries' in windlass.toml must be a whole number"),
        ("[worker]\ngrace_secs = nan", "'worker.grace_secs' in windlass.toml must be a number of seconds"),
        ("[worker]\nvisibility_timeout_secs = 0", "'worker.visibility_timeout_secs' in windlass.toml must be"),
        ("url = ", "windlass.toml cannot be read"),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        load_settings(environ={}, folder=write(tmp_path, text))
    assert refused.value.reason == "invalid_config"


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


def test_a_file_with_a_password_must_not_be_open_to_others(tmp_path: Path) -> None:
    write(tmp_path, 'url = "postgresql://me:hunter2@db/shop"')
    (tmp_path / "windlass.toml").chmod(0o666)

    with pytest.raises(InvalidInput, match="chmod 600") as refused:
        load_settings(environ={}, folder=tmp_path)
    assert "hunter2" not in str(refused.value)

    (tmp_path / "windlass.toml").chmod(0o600)
    assert load_settings(environ={}, folder=tmp_path).url == "postgresql://me:hunter2@db/shop"


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
    ],
)
def test_other_urls_are_refused_with_the_forms_and_without_the_password(url: str) -> None:
    with pytest.raises(InvalidInput, match="Accepted: a file path, sqlite:///relative/path") as refused:
        parse_url(url)
    assert refused.value.reason == "invalid_config"
    assert "hunter2" not in str(refused.value)


def test_servers_are_said_to_be_missing() -> None:
    with pytest.raises(InvalidInput, match="servers are not there yet"):
        parse_url("grpc://host:7420")


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
