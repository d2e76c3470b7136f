"""Is what a peer is measured with pinned, down to the last package?"""

from __future__ import annotations

import re

import pytest

from bench.environments import PEERS, fingerprint, requirements_of, version_of

PINNED = re.compile(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*")
NAMES = sorted(path.parent.name for path in PEERS.glob("*/requirements.txt"))


def test_every_peer_has_its_pins_and_its_program() -> None:
    assert NAMES == ["dbos", "pgqueuer", "procrastinate"]
    assert [name for name in NAMES if not (PEERS / name / "program.py").exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_package_of_a_peer_is_pinned(name: str) -> None:
    lines = requirements_of(name).read_text().splitlines()

    assert [line for line in lines if not PINNED.fullmatch(line)] == []
    assert f"{name}=={version_of(name)}" in lines


def test_other_pins_are_another_environment() -> None:
    assert fingerprint("dbos==3.3.0\n") == fingerprint("dbos==3.3.0\n")
    assert fingerprint("dbos==3.3.0\n") != fingerprint("dbos==3.3.1\n")
