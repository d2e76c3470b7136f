"""Does every store run every suite?"""

from __future__ import annotations

import inspect
import pkgutil
from types import ModuleType

import pytest

from tests.conformance import test_postgres, test_sqlite_disk, test_sqlite_memory
from windlass.testing import conformance
from windlass.testing.conformance import SUITES, DeathConformance


@pytest.mark.parametrize("module", [test_sqlite_memory, test_sqlite_disk, test_postgres], ids=lambda m: m.__name__)
def test_a_store_runs_every_suite(module: ModuleType) -> None:
    classes = [found for name, found in inspect.getmembers(module, inspect.isclass) if name.startswith("Test")]

    expected = set(SUITES) - ({DeathConformance} if module is test_sqlite_memory else set())  # one process opens it
    assert {suite for found in classes for suite in found.__bases__} == expected


def test_every_topic_is_a_suite() -> None:
    names = {module.name for module in pkgutil.iter_modules(conformance.__path__)}
    modules = {name for name in names if not name.startswith("given")} - {"hooks", "sound"}

    assert {suite.__module__.rpartition(".")[2] for suite in SUITES} == modules == set(conformance.TOPICS)
