"""What may be set from outside: environment and ./windlass.toml, read once and passed down.

argument  >  WINDLASS_… in the environment  >  windlass.toml  >  default
"""

from __future__ import annotations

import difflib
import logging
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from windlass.errors import InvalidInput
from windlass.logs import FORMATS, LEVELS, LogFormat, LogLevel
from windlass.model.time import DAY, HOUR, SECOND, Duration
from windlass.settings_url import Location, has_password, parse_url
from windlass.settings_values import (
    Secret,
    database,
    each,
    file_path,
    host,
    listed,
    number,
    one_of,
    origin,
    seconds,
    switch,
    token,
    visibility,
    whether,
    whole,
)

__all__ = [
    "DEFAULT_URL",
    "OPTIONS",
    "PREFIX",
    "Location",
    "Secret",
    "Settings",
    "load_settings",
    "parse_url",
    "read_settings",
    "resolve_url",
]

FILE = "windlass.toml"
PREFIX = "WINDLASS_"
DEFAULT_URL = "windlass.db"
FOR_TESTS = frozenset(
    {"WINDLASS_REQUIRE_ALL", "WINDLASS_POSTGRES_BINARIES", "WINDLASS_TEST_SCALE"}
)  # read by the test suite, not by us
# Names of a design with two background services; somebody may still set them.
FORMER = {
    "scheduler.interval_secs": "coordinator.interval_secs",
    "scheduler.batch_size": "coordinator.batch_size",
    "watchdog.interval_secs": "coordinator.interval_secs",
    "watchdog.worker_stale_threshold_secs": "coordinator.worker_stale_threshold_secs",
}
TEN_YEARS = Duration(3_650 * DAY)

log = logging.getLogger("windlass.settings")


class Settings(Struct, frozen=True, kw_only=True):
    url: str | None = None
    visibility_for: Duration = Duration(300 * SECOND)  # how long a claim lasts without a sign of life
    poll_for: Duration = Duration(5 * SECOND)  # the longest anyone waits without looking again
    grace_for: Duration = Duration(30 * SECOND)  # how long a stopping worker waits for its bodies
    probe_for: Duration = Duration(SECOND)  # how often to look for dead workers; 0: never
    longest_step_for: Duration = DAY  # how long a step may be at work that has no time-out
    max_recoveries: int = 10  # claims in a row that nobody gave back; one more is a crash loop
    keys_expire_for: Duration | None = None  # start keys are kept for ever unless this is set
    coordinates: bool = True  # whether workers and servers look after schedules, silent workers and old runs
    coordinate_for: Duration = Duration(5 * SECOND)  # the longest a coordinator sleeps between two rounds
    coordinate_batch: int = 100  # how many rows one duty handles in one transaction
    stale_for: Duration = Duration(30 * SECOND)  # how long a worker may be silent before it counts as offline
    signals_enabled: bool = True  # whether coordinators work what signals have fired; switched off, it waits
    keep_for: Duration | None = None  # runs that are over are kept for ever unless this is set
    log_format: LogFormat = "plain"
    log_level: LogLevel = "info"
    metrics_port: int | None = None  # nobody listens unless this is set
    metrics_host: str = "127.0.0.1"
    traces: bool = False
    token: Secret | None = None  # whom a client or a worker of a server says it is
    tls_ca: str | None = None  # whose certificates it trusts; none: those the machine does
    server_host: str = "127.0.0.1"
    server_grpc_port: int = 7420
    server_http_port: int = 7421
    server_tls_certificate: str | None = None
    server_tls_key: str | None = None
    server_allowed_hosts: tuple[str, ...] = ()  # by which names it may be asked, beside those of this machine
    server_allowed_origins: tuple[str, ...] = ()  # of pages that may ask
    server_grace_for: Duration = Duration(30 * SECOND)  # how long a stopping server waits for calls to end

    def __repr__(self) -> str:
        """Without the password of a URL: a settings object gets into error reports."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.url is not None:
            shown["url"] = _shown(self.url)
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class _Option(Struct, frozen=True):
    """One setting: its field, its path in the file (the name in the environment follows), and how it is read."""

    field: str
    path: str
    read: Callable[[Any, str], Any]  # takes what the file may hold
    from_text: Callable[[str], object] = str.strip  # turns what the environment holds into that, if it can

    @property
    def variable(self) -> str:
        return _variable(self.path)


def load_settings(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Read environment and file once. Raises InvalidInput naming the key and where it stands."""
    settings, warnings = read_settings(environ=environ, folder=folder)
    for warning in warnings:
        log.warning("%s", warning)
    return settings


def read_settings(
    *, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[Settings, list[str]]:
    """Like `load_settings`, with what is to be said about names in the environment that are no settings."""
    environ = os.environ if environ is None else environ
    values = _read_file((folder or Path()) / FILE)
    known = {option.variable: option for option in OPTIONS}
    warnings = []
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in FOR_TESTS or not text.strip():
            continue  # an empty variable is how many tools write "not set"
        option = known.get(variable)
        if option is None:
            warnings.append(_warning(variable, known))
        else:
            values[option.field] = option.read(option.from_text(text), f"{variable} (environment)")
    return Settings(**values), warnings


def resolve_url(url: str | None, settings: Settings) -> str:
    """The database to use: the argument, else the settings, else ./windlass.db. Refuses unknown forms."""
    chosen = url if url is not None else settings.url
    if chosen is None:
        chosen = DEFAULT_URL
    parse_url(chosen)
    return chosen


def _variable(path: str) -> str:
    return PREFIX + path.replace(".", "_").upper()


def _warning(variable: str, known: Mapping[str, object]) -> str:
    """What to say about a name that is none of ours; never with its value, which may be a secret."""
    replacement = {_variable(old): _variable(new) for old, new in FORMER.items()}.get(variable)
    if replacement is not None:
        return f"{variable} has no effect any more. Set {replacement} instead."
    close = difflib.get_close_matches(variable, known, n=1)
    return f"{variable} is no setting and is ignored." + (f" Did you mean {close[0]}?" if close else "")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
            mode = os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number or a nesting without end
        raise InvalidInput(f"{FILE} cannot be read: {error}.", reason="invalid_config", path=FILE) from None
    except OSError as error:
        raise InvalidInput(f"{FILE} cannot be read: {error.strerror}.", reason="invalid_config", path=FILE) from None
    known = {option.path: option for option in OPTIONS}
    values: dict[str, Any] = {}
    for key, value in _flatten(content):
        if key not in known:
            raise InvalidInput(
                f"{key!r} in {FILE} is no setting.{_hint(key, known)}", reason="invalid_config", path=key
            )
        if known[key].field in values:
            text = f"{key!r} stands twice in {FILE}, once in a table and once as a name with a dot: keep one."
            raise InvalidInput(text, reason="invalid_config", path=key)
        values[known[key].field] = known[key].read(value, f"{key!r} in {FILE}")
    if mode & 0o022 and (setting := _secret_in(values)) is not None:
        what = "a password" if setting == "url" else "a token"
        text = f"{FILE} holds {what} and others may write to it: chmod 600 {FILE}."
        raise InvalidInput(text, reason="invalid_config", path=setting)
    return values


def _secret_in(values: Mapping[str, Any]) -> str | None:
    """The setting that is a secret, or holds one."""
    if values.get("url") is not None and has_password(values["url"]):
        return "url"
    return "token" if "token" in values else None


def _shown(url: str) -> str:
    try:
        return parse_url(url).shown
    except InvalidInput:
        return "***"


def _hint(key: str, known: Mapping[str, object]) -> str:
    if key in FORMER:
        return f" Set {FORMER[key]!r} instead."
    close = difflib.get_close_matches(key, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else f" Known keys: {', '.join(known)}."


def _flatten(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Tables are one level deep: {"worker": {"grace_secs": 5}} is worker.grace_secs."""
    paths = [*(option.path for option in OPTIONS), *FORMER]
    sections = {path.partition(".")[0] for path in paths if "." in path}
    flat: list[tuple[str, Any]] = []
    for key, value in content.items():
        if key in sections and isinstance(value, dict):
            flat.extend((f"{key}.{inner}", deeper) for inner, deeper in value.items())
        else:
            flat.append((key, value))
    return flat


OPTIONS = (
    _Option("url", "url", database, str),
    _Option("visibility_for", "worker.visibility_timeout_secs", visibility, number),
    _Option("poll_for", "worker.poll_interval_secs", seconds(Duration(SECOND // 100), HOUR), number),
    _Option("grace_for", "worker.grace_secs", seconds(Duration(0), DAY), number),
    _Option("probe_for", "worker.probe_interval_secs", seconds(Duration(0), HOUR), number),
    _Option("longest_step_for", "worker.longest_step_secs", seconds(SECOND, TEN_YEARS), number),
    _Option("max_recoveries", "worker.max_recoveries", whole(0, 1_000), number),
    _Option("keys_expire_for", "keys.expire_after_secs", seconds(SECOND, TEN_YEARS), number),
    _Option("coordinates", "coordinator.enabled", whether, switch),
    _Option("coordinate_for", "coordinator.interval_secs", seconds(Duration(SECOND // 100), HOUR), number),
    _Option("coordinate_batch", "coordinator.batch_size", whole(1, 10_000), number),
    _Option("stale_for", "coordinator.worker_stale_threshold_secs", seconds(SECOND, DAY), number),
    _Option("signals_enabled", "signals.enabled", whether, switch),
    _Option("keep_for", "retention.keep_secs", seconds(SECOND, TEN_YEARS), number),
    _Option("log_format", "log.format", one_of(*FORMATS)),
    _Option("log_level", "log.level", one_of(*LEVELS)),
    _Option("metrics_port", "metrics.port", whole(1, 65_535), number),
    _Option("metrics_host", "metrics.host", host),
    _Option("traces", "telemetry.traces", whether, switch),
    _Option("token", "token", token),
    _Option("tls_ca", "tls_ca", file_path),
    _Option("server_host", "server.host", host),
    _Option("server_grpc_port", "server.grpc_port", whole(1, 65_535), number),
    _Option("server_http_port", "server.http_port", whole(1, 65_535), number),
    _Option("server_tls_certificate", "server.tls_certificate", file_path),
    _Option("server_tls_key", "server.tls_key", file_path),
    _Option("server_allowed_hosts", "server.allowed_hosts", each(host), listed),
    _Option("server_allowed_origins", "server.allowed_origins", each(origin), listed),
    _Option("server_grace_for", "server.grace_secs", seconds(Duration(0), DAY), number),
)
