"""Pipelines on every store: SQLite, PostgreSQL, and a server behind the wire. On disk is only what is shared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.conftest import _new_database
from tests.integration.wires import WIRE


@pytest.fixture(params=["memory", "postgres", WIRE])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of its own for one test."""
    yield from _new_database(request.param, request)
