"""Is the document what the table of routes says, sound by itself, and behind the gate?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tests.architecture.source import ROOT
from tests.integration.server.site import Site
from windlass.api.operations import OPERATIONS
from windlass.model.access import Role
from windlass.server.http.calls import Kind
from windlass.server.http.openapi import describe, describe_frames
from windlass.server.http.ops import OPS
from windlass.server.http.table import ROWS

DOCUMENT = describe(ROWS)
REFERENCE = ROOT / "docs" / "reference" / "http.md"


def parts_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in it."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from parts_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from parts_of(part)


def found(document: dict[str, Any], reference: str) -> Any:
    for name in reference.removeprefix("#/").split("/"):
        document = document[name]
    return document


def test_the_document_has_the_routes_of_the_table_and_no_others() -> None:
    described = {
        (method.upper(), path, operation["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }

    assert described == {(row.method, row.path, row.name) for row in ROWS}
    assert DOCUMENT["openapi"].startswith("3.1")


@pytest.mark.parametrize("document", [DOCUMENT, describe_frames()], ids=["routes", "frames"])
def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = {part["$ref"] for part in parts_of(document) if isinstance(part.get("$ref"), str)}

    assert len(references) > 20
    assert all(found(document, reference) for reference in references)


def test_every_schema_is_one() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)
    for schema in describe_frames()["$defs"].values():
        jsonschema_rs.meta.validate(schema)


def test_no_body_is_free_form() -> None:
    for row in ROWS:
        operation = DOCUMENT["paths"][row.path][row.method.lower()]
        if row.body is None:
            assert "requestBody" not in operation
            continue
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = found(DOCUMENT, schema["$ref"])
        assert body["additionalProperties"] is False, row.path
        assert set(body["properties"]) == set(row.body.__struct_encode_fields__)
    for row in ROWS:
        if row.kind is Kind.JSON:
            assert row.answer is not None, row.path
            answer = DOCUMENT["paths"][row.path][row.method.lower()]["responses"]["200"]
            assert "$ref" in answer["content"]["application/json"]["schema"]


def test_what_varies_in_a_path_is_described() -> None:
    for row in ROWS:
        operation = DOCUMENT["paths"][row.path][row.method.lower()]
        given = [item["name"] for item in operation["parameters"] if item["in"] == "path"]
        assert given == row.parameters
        asked = {item["name"] for item in operation["parameters"] if item["in"] == "query"}
        assert asked == set(() if row.query is None else row.query.__struct_encode_fields__)


async def test_the_documents_are_for_those_who_have_a_key(memory_site: Site) -> None:
    for path, wanted in (("/openapi.json", DOCUMENT), ("/v1/socket/schema", describe_frames())):
        assert (await memory_site.asker().get(path)).status_code == 401
        for role in Role:
            answer = await (await memory_site.client(role)).get(path)
            assert answer.json() == msgspec.to_builtins(wanted)


def test_the_reference_names_every_route_with_its_roles() -> None:
    lines = set(REFERENCE.read_text().splitlines())

    assert [line for line in reference_lines() if line not in lines] == []
    described = {line for line in lines if re.match(r"\| `(GET|POST|PUT|DELETE) /", line)}
    assert described == {line for line in reference_lines() if line.startswith("| `")} - set(op_lines())


def test_the_reference_names_every_op() -> None:
    lines = set(REFERENCE.read_text().splitlines())

    assert [line for line in op_lines() if line not in lines] == []


def reference_lines() -> list[str]:
    """A line of the table in the reference for each route."""
    return [f"| `{row.method} {row.path}` | {_roles(row.operation)} | {row.summary} |" for row in ROWS]


def op_lines() -> list[str]:
    return [f"| `{op.name}` | {_roles(op.operation)} | {op.summary} |" for op in OPS.values()]


def _roles(operation: str | None) -> str:
    if operation is None:
        return "anybody"
    row = OPERATIONS[operation]
    roles = "every role" if row.roles == frozenset(Role) else ", ".join(role for role in Role if role in row.roles)
    return roles if row.of_namespace else f"{roles}; a key for `*`"
