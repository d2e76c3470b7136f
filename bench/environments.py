"""In what environment does a peer run: one of its own, with every version pinned, kept until the pins change."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parent
PEERS = FOLDER / "peers"
KEPT = FOLDER / ".peers_cache"
STAMP = "requirements.sha256"


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is missing or out of date."""
    environment = KEPT / peer
    python, stamp = environment / "bin" / "python", environment / STAMP
    wanted = fingerprint(requirements_of(peer).read_text())
    if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
        venv.create(environment, clear=True, with_pip=True)
        command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--requirement", str(requirements_of(peer))], check=True, stdout=subprocess.DEVNULL)
        stamp.write_text(wanted)
    return python


def version_of(peer: str) -> str:
    """Which version of a peer is pinned."""
    for line in requirements_of(peer).read_text().splitlines():
        name, _, version = line.partition("==")
        if name == peer:
            return version
    raise ValueError(f"{requirements_of(peer)} does not pin {peer}")


def requirements_of(peer: str) -> Path:
    return PEERS / peer / "requirements.txt"


def fingerprint(requirements: str) -> str:
    """Changes with the pins and with the interpreter, whose compiled packages they bring."""
    return hashlib.sha256(f"{sys.version}\n{requirements}".encode()).hexdigest()
