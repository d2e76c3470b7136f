"""Is what `import windlass` offers exactly what the reference lists?"""

from __future__ import annotations

import windlass
from tests.architecture.source import ROOT

LIST = ROOT / "docs" / "reference" / "public-names.txt"


def listed_names(text: str) -> list[str]:
    """One name per line; the rest of a line and lines that begin with # are for the reader."""
    return [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_public_names_are_those_of_the_reference() -> None:
    assert sorted(windlass.__all__) == sorted(listed_names(LIST.read_text()))


def test_every_public_name_exists_and_is_said_once() -> None:
    assert [name for name in windlass.__all__ if not hasattr(windlass, name)] == []
    assert len(set(windlass.__all__)) == len(windlass.__all__)


def test_the_list_is_read_by_name() -> None:
    assert listed_names("# Title\n\nApp      what users hold\nRetry\n") == ["App", "Retry"]
