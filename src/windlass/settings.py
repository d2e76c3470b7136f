"""What may be set from outside: environment and ./windlass.toml, read once and passed down.

argument  >  WINDLASS_… in the environment  >  windlass.toml  >  default
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from windlass.errors import InvalidInput
from windlass.model.time import DAY, HOUR, SECOND, Duration
from windlass.rules.limits import check_visibility

FILE = "windlass.toml"
PREFIX = "WINDLASS_"
DEFAULT_URL = "windlass.db"
FOR_TESTS = frozenset(
    {"WINDLASS_REQUIRE_ALL", "WINDLASS_POSTGRES_BINARIES", "WINDLASS_TEST_SCALE"}
)  # read by the test suite, not by us

log = logging.getLogger("windlass.settings")

LogFormat = Literal["plain", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)


class Settings(Struct, frozen=True, kw_only=True):
    url: str | None = None
    visibility_for: Duration = Duration(300 * SECOND)  # how long a claim lasts without a commit
    poll_for: Duration = Duration(5 * SECOND)  # the longest anyone waits without looking again
    grace_for: Duration = Duration(30 * SECOND)  # how long a stopping worker waits for its bodies
    probe_for: Duration = Duration(SECOND)  # how often to look for dead workers; 0: never
    max_recoveries: int = 10  # claims in a row that nobody gave back; one more is a crash loop
    keys_expire_for: Duration | None = None  # start keys are kept for ever unless this is set
    coordinates: bool = True  # whether workers and servers look after schedules, silent workers and old runs
    coordinate_for: Duration = Duration(5 * SECOND)  # the longest a coordinator sleeps between two rounds
    coordinate_batch: int = 100  # how many rows one duty handles in one transaction
    stale_for: Duration = Duration(30 * SECOND)  # how long a worker may be silent before it counts as offline
    keep_for: Duration | None = None  # runs that are over are kept for ever unless this is set
    log_format: LogFormat = "plain"
    log_level: LogLevel = "info"
    metrics_port: int | None = None  # nobody listens unless this is set
    metrics_host: str = "127.0.0.1"
    traces: bool = False


class _Option(Struct, frozen=True):
    """One setting: its field, its path in the file (the name in the environment follows), and how it is read."""

    field: str
    path: str
    read: Callable[[Any, str], Any]

    @property
    def variable(self) -> str:
        return PREFIX + self.path.replace(".", "_").upper()


def load_settings(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Read environment and file once. Raises InvalidInput naming the key and where it stands."""
    environ = os.environ if environ is None else environ
    values = _read_file((folder or Path()) / FILE)
    known = {option.variable: option for option in OPTIONS}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in FOR_TESTS:
            continue
        if variable not in known:
            close = difflib.get_close_matches(variable, known, n=1)
            log.warning("%s is no setting and is ignored.%s", variable, f" Did you mean {close[0]}?" if close else "")
        elif text.strip():  # an empty variable is how many tools write "not set"
            option = known[variable]
            values[option.field] = option.read(text, f"{variable} (environment)")
    return Settings(**values)


def resolve_url(url: str | None, settings: Settings) -> str:
    """The database to use: the argument, else the settings, else ./windlass.db. Refuses unknown forms."""
    chosen = url if url is not None else settings.url
    if chosen is None:
        chosen = DEFAULT_URL
    parse_url(chosen)
    return chosen


class Location(Struct, frozen=True, kw_only=True):
    """A database, as its URL names it."""

    kind: Literal["sqlite", "postgresql"]
    target: str  # a path (or ":memory:"), or the whole URL
    shown: str  # the same without its password: the only form that may be logged


FORMS = (
    "Accepted: a file path, sqlite:///relative/path, sqlite:////absolute/path, "
    "postgresql://user@host/database, postgres://user@host/database."
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.ASCII | re.DOTALL)  # two letters at least: C:\ is a drive


def parse_url(url: str, *, source: str = "url") -> Location:
    """Read a database URL. Raises InvalidInput, whose text never holds a password."""
    if not isinstance(url, str):
        raise _bad_url(source, f"must be a text, not {type(url).__name__}")
    if not url.strip() or any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in url):
        raise _bad_url(source, "is empty or holds control characters")
    match = _SCHEME.fullmatch(url)
    if match is None:
        if "//" in url and "@" in url:  # a URL with a slip in its scheme, and perhaps a password behind it
            raise _bad_url(source, "is neither a path nor a known URL")
        return Location(kind="sqlite", target=url, shown=url)
    scheme, rest = match[1].lower(), match[2]
    if scheme == "sqlite":
        return _sqlite(rest, source)
    if scheme in ("postgresql", "postgres"):
        return _postgresql(url, rest, source)
    if scheme == "grpc":
        raise _bad_url(source, "starts with grpc://, and servers are not there yet in this version")
    raise _bad_url(source, f"starts with {scheme}:, which is not known")


def has_password(url: str) -> bool:
    return parse_url(url).shown != url


def _sqlite(rest: str, source: str) -> Location:
    path = unquote(rest.removeprefix("///"))
    if not rest.startswith("///") or not path:
        raise _bad_url(source, "needs three slashes and a path behind sqlite:")
    if "?" in rest or "#" in rest:
        raise _bad_url(source, "has options behind the path, and there are none for sqlite")
    return Location(kind="sqlite", target=path, shown=path)


def _postgresql(url: str, rest: str, source: str) -> Location:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url(source, "has a port or a host that cannot be read") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not rest.startswith("//") or not (parts.hostname or options.get("host")):
        raise _bad_url(source, "names no host")
    if port == 0:
        raise _bad_url(source, "has port 0; ports go from 1 to 65535")
    user, mark, server = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    shown = f"{parts.scheme}://{name}{':***' if colon else ''}{mark}{server}{parts.path}"
    if parts.query:
        query = "&".join(
            f"{option.partition('=')[0]}=***" if "password" in option.partition("=")[0].lower() else option
            for option in parts.query.split("&")
        )
        shown += f"?{query}"
    return Location(kind="postgresql", target=url, shown=shown)


def _bad_url(source: str, problem: str) -> InvalidInput:
    return InvalidInput(f"The database URL ({source}) {problem}. {FORMS}", reason="invalid_config", path=source)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
            mode = os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{FILE} cannot be read: {error}.", reason="invalid_config", path=FILE) from None
    except OSError as error:
        raise InvalidInput(f"{FILE} cannot be read: {error.strerror}.", reason="invalid_config", path=FILE) from None
    known = {option.path: option for option in OPTIONS}
    values: dict[str, Any] = {}
    for key, value in _flatten(content):
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Known keys: {', '.join(known)}."
            raise InvalidInput(f"{key!r} in {FILE} is no setting.{hint}", reason="invalid_config", path=key)
        values[known[key].field] = known[key].read(value, f"{key!r} in {FILE}")
    if values.get("url") is not None and has_password(values["url"]) and mode & 0o022:
        raise InvalidInput(
            f"{FILE} holds a password and others may write to it: chmod 600 {FILE}.",
            reason="invalid_config",
            path="url",
        )
    return values


def _flatten(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Tables are one level deep: {"worker": {"grace_secs": 5}} is worker.grace_secs."""
    sections = {option.path.partition(".")[0] for option in OPTIONS if "." in option.path}
    flat: list[tuple[str, Any]] = []
    for key, value in content.items():
        if key in sections and isinstance(value, dict):
            flat.extend((f"{key}.{inner}", deeper) for inner, deeper in value.items())
        else:
            flat.append((key, value))
    return flat


def _text(value: object, source: str) -> str:
    if not isinstance(value, str):
        raise _refused(source, value, "a text")
    parse_url(value, source=source)
    return value


def _whole(low: int, high: int) -> Callable[[Any, str], int]:
    def read(value: object, source: str) -> int:
        wanted = f"a whole number from {low} to {high}"
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) and "." not in value:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _refused(source, value, wanted)
        return value

    return read


def _seconds(low: Duration, high: Duration) -> Callable[[Any, str], Duration]:
    def read(value: object, source: str) -> Duration:
        wanted = f"a number of seconds from {low / SECOND:g} to {high // SECOND}"
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _refused(source, value, wanted)
        if not low <= value * SECOND <= high:  # also false for nan
            raise _refused(source, value, wanted)
        return Duration(round(value * SECOND))

    return read


def _visibility(value: object, source: str) -> Duration:
    return check_visibility(_seconds(SECOND, DAY)(value, source))


def _refused(source: str, value: object, wanted: str) -> InvalidInput:
    return InvalidInput(f"{source} must be {wanted}, not {value!r:.60}.", reason="invalid_config", path=source)


OPTIONS = (
    _Option("url", "url", _text),
    _Option("visibility_for", "worker.visibility_timeout_secs", _visibility),
    _Option("poll_for", "worker.poll_interval_secs", _seconds(Duration(SECOND // 100), HOUR)),
    _Option("grace_for", "worker.grace_secs", _seconds(Duration(0), DAY)),
    _Option("probe_for", "worker.probe_interval_secs", _seconds(Duration(0), HOUR)),
    _Option("max_recoveries", "worker.max_recoveries", _whole(0, 1_000)),
    _Option("keys_expire_for", "keys.expire_after_secs", _seconds(SECOND, Duration(3_650 * DAY))),
)
