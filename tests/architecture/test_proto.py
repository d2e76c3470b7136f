"""Is the code of the wire made from the contract as it stands?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def test_make_proto_makes_what_is_here(tmp_path: Path) -> None:
    names = sorted((ROOT / "proto").rglob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}"]
    subprocess.run([*command, f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", *map(str, names)], check=True)

    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.py*")}
    here = ROOT / "src"
    stored = {path.relative_to(here): path.read_bytes() for path in (here / "windlass" / "v1").glob("*_pb2.py*")}
    assert made.keys() == stored.keys(), "make proto"
    assert [str(name) for name in made if made[name] != stored[name]] == [], "make proto"
