"""Is what a database says about itself enough to call its commits durable? If not, nothing is reported."""

from __future__ import annotations

from collections.abc import Mapping

from windlass.app import App
from windlass.embedded import in_process
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries

# What each setting must be, as the database spells it.
SQLITE = {"journal_mode": "wal", "synchronous": "2"}
POSTGRESQL = {"fsync": "on", "synchronous_commit": "on"}
SYNCHRONOUS = {"0": "off", "1": "normal", "2": "full", "3": "extra"}


class BenchFailed(Exception):
    """There is no figure, and the text says in one line why."""


async def read_back(app: App) -> dict[str, str]:
    """What the database says about itself, asked inside a transaction that may write: the way every commit goes."""

    async def ask(tx: Tx) -> dict[str, str]:
        return await CheckQueries(tx.connection).settings()

    opened = in_process(await app._opening.get())
    return await opened.engine.parts.store.run_tx("bench_durability", ask)


def demand(settings: Mapping[str, str]) -> None:
    """Raises BenchFailed unless a commit that was acknowledged survives a power cut."""
    wanted = SQLITE if "sqlite_version" in settings else POSTGRESQL
    wrong = [
        f"{name} is {_spelt(name, settings.get(name, 'unknown'))}, not {_spelt(name, value)}"
        for name, value in wanted.items()
        if settings.get(name) != value
    ]
    if wrong:
        raise BenchFailed(f"Commits are not durable here: {' and '.join(wrong)}. Nothing is reported.")


def _spelt(name: str, value: str) -> str:
    return SYNCHRONOUS.get(value, value) if name == "synchronous" else value
