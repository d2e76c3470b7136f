"""The databases and the folder in which the command line is tried."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.integration.cli.scene import Scene


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test stands in an empty folder: no windlass.toml, no windlass.db of anybody else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDLASS_URL", raising=False)
    return tmp_path


@pytest.fixture
def scene(folder: Path) -> Scene:
    return Scene("shop.db")


@pytest.fixture(params=["disk", "postgres"])
def either(request: pytest.FixtureRequest, folder: Path) -> Scene:
    """A scene on each of the databases."""
    return Scene("shop.db" if request.param == "disk" else request.getfixturevalue("postgres_url"))


@pytest.fixture
def module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test writes shop.py, which commands import: afterwards Python has forgotten it."""
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("WINDLASS_URL", "")  # commands set it; this takes it back
    return folder / "shop.py"
