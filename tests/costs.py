"""What does a test cost to set up? One marker each, by its folder and by the database that it is given.

    pure      nothing is opened: no database, no socket, no process, no file to write
    memory    SQLite in memory, in this process
    disk      SQLite on a file
    postgres  a PostgreSQL server
    wire      a server of ours on loopback
    process   programs that are started, and perhaps killed
    browser   a browser in front of a server

`make quick` runs the first two. That these do nothing dearer is watched while they run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

COSTS = ("pure", "memory", "disk", "postgres", "wire", "process", "browser")  # cheapest first

CHEAP = ("pure", "memory")

# The longest beginning of a path decides.
PLACES = {
    "tests/architecture/": "pure",
    "tests/architecture/test_code_size.py": "process",
    "tests/architecture/test_costs.py": "process",
    "tests/architecture/test_imports.py": "process",
    "tests/architecture/test_proto.py": "process",
    "tests/architecture/test_require_all.py": "process",
    "tests/bench/": "disk",
    "tests/browser/": "browser",
    "tests/conformance/": "memory",
    "tests/crash/": "disk",
    "tests/faults/": "process",
    "tests/integration/": "memory",
    "tests/integration/cli/": "process",
    "tests/integration/demo/": "process",
    "tests/integration/processes/": "process",
    "tests/integration/server/": "wire",
    "tests/integration/test_examples.py": "process",
    "tests/integration/test_file_watch.py": "process",
    "tests/integration/test_hostile_bodies.py": "process",
    "tests/integration/test_metrics_port.py": "wire",
    "tests/integration/test_observed_apps.py": "process",
    "tests/integration/test_postgres_launcher.py": "process",
    "tests/integration/test_pytest_plugin.py": "process",
    "tests/integration/test_sync.py": "process",
    "tests/integration/test_tutorial.py": "process",
    "tests/invariants/": "memory",
    "tests/invariants/test_graph_checkers.py": "disk",
    "tests/invariants/test_pipeline_checkers.py": "disk",
    "tests/lives/": "disk",
    "tests/migration/": "disk",
    "tests/model/": "postgres",
    "tests/plans/": "disk",
    "tests/processes/": "process",
    "tests/property/": "pure",
    "tests/property/test_graphs.py": "disk",
    "tests/property/test_pipelines.py": "disk",
    "tests/spec/": "pure",
    "tests/spec/test_verification.py": "process",
    "tests/stores/": "disk",
    "tests/typing/": "process",
    "tests/unit/": "pure",
    "tests/wires/": "wire",
}
# What a parameter says about the database.
DATABASES = {
    "memory": "memory",
    "disk": "disk",
    "sqlite": "disk",
    "postgres": "postgres",
    "postgresql": "postgres",
    "wire": "wire",
    "wire-postgres": "wire",
}
# A fixture that says so by itself.
FIXTURES = {
    "postgres_server": "postgres",
    "postgres_url": "postgres",
    "shared_url": "disk",
    "tmp_path": "disk",
    "own_server": "process",
}

NOT_PURE = frozenset({"socket.bind", "socket.connect", "subprocess.Popen", "os.exec", "os.posix_spawn"})
WRITING = frozenset("wax+")
MADE_BY_TOOLS = (".hypothesis", "__pycache__")


def is_dear(path: str) -> bool:
    """Is there nothing cheap in this file, or in this folder?"""
    if not path.endswith(".py"):
        return PLACES.get(f"{path}/", "pure") not in CHEAP
    return place_of(path) not in (None, *CHEAP)


def place_of(path: str) -> str | None:
    place = max((place for place in PLACES if path.startswith(place)), key=len, default=None)
    return None if place is None else PLACES[place]


def cost_of(item: pytest.Item) -> str:
    """The dearest that is known of it."""
    path = item.nodeid.partition("::")[0]
    place = place_of(path)
    if place is None:
        raise pytest.UsageError(f"{path} is in no folder of tests/costs.py: say there what its tests cost.")
    found = [place]
    found += [FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES]
    callspec = getattr(item, "callspec", None)
    for value in () if callspec is None else callspec.params.values():
        if isinstance(value, str) and value in DATABASES:
            found.append(DATABASES[value])
    return max(found, key=COSTS.index)


class DearerThanItSays(BaseException):
    """No handler of exceptions may swallow this."""


_watched = ""  # the cost of the test that runs, if it is one of those that are watched


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched or event not in AUDITED:
        return
    if event != "open" or (_watched == "pure" and _is_written(*arguments)):
        raise DearerThanItSays(f"This test is marked {_watched!r}, and does {event}{arguments!r}: see tests/costs.py.")


def _is_written(path: object, mode: str | None, flags: int) -> bool:
    if isinstance(path, int):  # it is open already
        return False
    return bool(WRITING & set(mode or "")) and not any(name in str(path) for name in MADE_BY_TOOLS)


def _opened(connection: apsw.Connection) -> None:
    if _watched == "pure" or (_watched == "memory" and connection.filename):
        raise DearerThanItSays(f"This test is marked {_watched!r}, and opens a database: see tests/costs.py.")


AUDITED = NOT_PURE | {"open"}
sys.addaudithook(_audit)
apsw.connection_hooks.append(_opened)


@contextmanager
def watched(cost: str) -> Iterator[None]:
    """In this block nothing dearer may be done than it says."""
    global _watched
    _watched = cost if cost in CHEAP else ""
    try:
        yield
    finally:
        _watched = ""
