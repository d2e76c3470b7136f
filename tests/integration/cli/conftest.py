"""The databases and the folder in which the command line is tried."""

from __future__ import annotations

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
