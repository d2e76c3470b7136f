"""On what were these figures measured: the machine, the versions, the settings that matter."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import apsw

from bench.databases import POSTGRES_SETTINGS
from bench.environments import PEERS, version_of

ROOT = Path(__file__).parents[1]


def describe(*, postgres: str) -> dict[str, str]:
    peers = sorted(path.name for path in PEERS.iterdir() if (path / "requirements.txt").exists())
    settings = ", ".join(f"{name} {value}" for name, value in POSTGRES_SETTINGS.items())
    return {
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory()}, {platform.system()} {platform.release()}",
        "Python": f"{platform.python_version()}, apsw {apsw.apsw_version()}, asyncpg {version('asyncpg')}",
        "PostgreSQL": f"{postgres} over loopback, fsync and synchronous_commit on, {settings}",
        "SQLite": f"{apsw.sqlite_lib_version()}, WAL, synchronous FULL",
        "peers": ", ".join(f"{name} {version_of(name)}" for name in peers),
        "Windlass": commit(),
    }


def processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def memory() -> str:
    for line in _lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return f"{int(value.split()[0]) / 1024**2:.0f} GiB"
    return "memory unknown"


def commit() -> str:
    """The commit that was measured, and whether files of its packages were changed since."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    name = git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{name} with changes" if git("status", "--porcelain", "--", "src") else name


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
