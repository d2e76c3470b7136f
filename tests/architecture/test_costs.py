"""Does every test say what it costs, and is that true?"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests import durations
from tests.costs import COSTS, DearerThanItSays, cost_of, watched


def test_every_test_has_one_cost(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        assert [cost for cost in COSTS if item.get_closest_marker(cost)] == [cost_of(item)], item.nodeid


def test_files_begin_in_the_order_of_what_they_took(request: pytest.FixtureRequest) -> None:
    known = durations.known()

    files = list(dict.fromkeys(durations.file_of(item.nodeid) for item in request.session.items))

    seconds = [known.get(path, durations.UNKNOWN_SECONDS) for path in files]
    assert seconds == sorted(seconds, reverse=True)


def connect() -> None:
    with socket.socket() as client:
        client.bind(("127.0.0.1", 0))


def start() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.parametrize("cost", ["pure", "memory"])
@pytest.mark.parametrize("act", [connect, start])
def test_a_cheap_test_starts_nothing_and_speaks_to_nobody(cost: str, act: Callable[[], None]) -> None:
    with watched(cost), pytest.raises(DearerThanItSays, match=cost):
        act()


def test_a_pure_test_writes_no_file(tmp_path: Path) -> None:
    with watched("pure"), pytest.raises(DearerThanItSays):
        (tmp_path / "a.txt").write_text("a")
    with watched("memory"):
        (tmp_path / "a.txt").write_text("a")
    with watched("pure"):
        assert (tmp_path / "a.txt").read_text() == "a"


def test_a_pure_test_opens_no_database_and_one_in_memory_no_file(tmp_path: Path) -> None:
    with watched("pure"), pytest.raises(DearerThanItSays):
        apsw.Connection(":memory:")
    with watched("memory"):
        apsw.Connection(":memory:").close()
    with watched("memory"), pytest.raises(DearerThanItSays):
        apsw.Connection(str(tmp_path / "windlass.db"))
