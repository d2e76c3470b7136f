"""Does the page about gRPC name every method, with what it does and who may call it?"""

from __future__ import annotations

from tests.architecture.wire_table import BEGIN, END, ROOT, comments, written
from windlass.api.grpc.errors import TABLE
from windlass.api.grpc.table import SERVICES

PAGE = (ROOT / "docs" / "reference" / "grpc.md").read_text(encoding="utf-8")


def test_the_table_of_methods_is_what_the_contract_says() -> None:
    said = PAGE.partition(BEGIN)[2].partition(END)[0].strip()
    assert said == written().strip(), "run: python -m tests.architecture.wire_table"


def test_every_call_of_the_contract_says_what_it_does() -> None:
    calls = {method.name for service in SERVICES.values() for method in service.methods}
    assert calls == comments().keys()


def test_every_error_of_the_wire_is_explained() -> None:
    for cls, (status, _) in TABLE.items():
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{status.name}` ")]
        assert f"`{cls.code}`" in line, f"{cls.code} is not in the line of {status.name}"
