"""`windlass server` and `windlass dev` as real processes: where they listen, what they say, how they end."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 60.0


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [made.getsockname()[1] for made in sockets]
    finally:
        for made in sockets:
            made.close()


class ServerProcess:
    """One of them. What it writes to the standard output is an object per line."""

    def __init__(
        self,
        folder: Path,
        *args: str,
        command: str = "server",
        env: dict[str, str] | None = None,
        ports: Sequence[int] = (),  # as those of one before that this one replaces
        prefix: Sequence[str] = (),  # a command that ends by starting another
    ) -> None:
        self.folder = folder
        self.grpc_port, self.http_port = ports or tuple(free_ports(2))
        self.stderr_path = folder / f"stderr-{self.grpc_port}.txt"
        listen = ["--grpc-port", str(self.grpc_port), "--http-port", str(self.http_port)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
        with self.stderr_path.open("ab") as complaints:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "windlass", "--json", command, *listen, *args],
                cwd=folder,
                env={**clean, **(env or {})},
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.stdout = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.token = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def event(self) -> dict[str, Any]:
        """What it says next. Fails with its complaints if it has ended."""
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, self.stderr
        self.stdout += line
        said: dict[str, Any] = json.loads(line)
        return said

    def until_serving(self, *, is_first: bool = True) -> dict[str, Any]:
        said = self.event()
        assert said["event"] == "serving", said
        if is_first:
            self.token = self.event()["token"]
        return said

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text()

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    def client(
        self, *, token: str | None = None, verify: ssl.SSLContext | bool = True, url: str | None = None
    ) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=url or self.http_url, headers=headers, verify=verify, timeout=PATIENCE)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(timeout=PATIENCE)

    def stop(self) -> int:
        self.send(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=PATIENCE)
        self._reader.join(timeout=PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
