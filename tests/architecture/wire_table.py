"""The table of gRPC methods in docs/reference/grpc.md, made from the contract and from who may ask what."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from windlass.api.grpc.server import rows
from windlass.api.grpc.table import SERVICES
from windlass.api.operations import OPERATIONS
from windlass.model.access import Role

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- methods: tests/architecture/wire_table.py -->", "<!-- end of methods -->"
CALL = re.compile(r"((?:  //[^\n]*\n)+)  rpc (\w+)\(")


def written() -> str:
    said = comments()
    lines = []
    for service, descriptor in SERVICES.items():
        lines += [f"### {service}", "", "| method | what it does | who may |", "|---|---|---|"]
        for method in descriptor.methods:
            lines.append(f"| `{method.name}` | {said[method.name]} | {_roles(service, method.name)} |")
        lines.append("")
    return "\n".join(lines)


def comments() -> dict[str, str]:
    """What the contract says above each call."""
    found = {}
    for path in sorted((ROOT / "proto" / "windlass" / "v1").glob("*.proto")):
        for above, name in CALL.findall(path.read_text(encoding="utf-8")):
            found[name] = " ".join(line.strip().removeprefix("//").strip() for line in above.strip().splitlines())
    return found


def _roles(service: str, name: str) -> str:
    starts: Any = None  # the table is only looked at
    (row,) = [row for row in rows(starts) if (row.service, row.name) == (service, name)]
    operation = OPERATIONS[row.operation]
    who = "every key" if operation.roles == frozenset(Role) else ", ".join(sorted(operation.roles))
    return who if operation.of_namespace else f"{who}, with a key of all namespaces"


if __name__ == "__main__":
    path = ROOT / "docs" / "reference" / "grpc.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n{written()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
