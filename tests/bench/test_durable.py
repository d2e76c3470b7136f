"""When are commits durable enough to be measured?"""

from __future__ import annotations

import pytest

from windlass.bench.durable import BenchFailed, demand

SQLITE = {"sqlite_version": "3.54.1", "journal_mode": "wal", "synchronous": "2"}
POSTGRESQL = {"server_version": "15.1", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@pytest.mark.parametrize("settings", [SQLITE, POSTGRESQL])
def test_full_durability_is_accepted(settings: dict[str, str]) -> None:
    demand(settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (SQLITE | {"synchronous": "1"}, "synchronous is normal, not full"),
        (SQLITE | {"synchronous": "0"}, "synchronous is off, not full"),
        (SQLITE | {"journal_mode": "memory"}, "journal_mode is memory, not wal"),
        (POSTGRESQL | {"synchronous_commit": "off"}, "synchronous_commit is off, not on"),
        (POSTGRESQL | {"synchronous_commit": "local"}, "synchronous_commit is local, not on"),
        (POSTGRESQL | {"fsync": "off"}, "fsync is off, not on"),
        (
            POSTGRESQL | {"fsync": "off", "synchronous_commit": "off"},
            "fsync is off, not on and synchronous_commit is off, not on",
        ),
        ({}, "fsync is unknown, not on and synchronous_commit is unknown, not on"),
    ],
)
def test_anything_less_is_refused_and_named(settings: dict[str, str], told: str) -> None:
    with pytest.raises(BenchFailed) as refused:
        demand(settings)

    assert str(refused.value) == f"Commits are not durable here: {told}. Nothing is reported."
