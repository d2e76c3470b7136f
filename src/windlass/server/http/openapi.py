"""The OpenAPI document, made from the table of routes and the structs of its bodies and answers."""

from __future__ import annotations

import functools
from importlib.metadata import version
from typing import Any

import msgspec

from windlass.server.http.calls import Kind, Row
from windlass.server.http.frames import EVENTS, FRAMES
from windlass.server.http.ops import OPS, Op
from windlass.server.http.table import ROWS
from windlass.server.http.told import ErrorAnswer

REFERENCE = "#/components/schemas/{name}"
DESCRIPTION = """\
Times are ISO 8601 in UTC, durations are seconds. A payload is any JSON; one that only the program's own codec can
read is {"$sealed": base64}. Every error has the same shape. Fields and parameters that are not named are refused.
"""
# What every route may answer with besides its own.
REFUSALS = {
    "400": "A value was refused: `error.path` says which one.",
    "401": "The token is missing, wrong, expired or revoked.",
    "403": "The key does not allow this: another role or another namespace is needed.",
    "404": "There is no such thing in this namespace.",
    "405": "There is no such method here; `Allow` names those there are.",
    "408": "The body did not come in time.",
    "409": "It exists, and its state or its definition does not allow this.",
    "410": "What follows this cursor is gone: read what there is now, and follow from there.",
    "413": "The body is too large.",
    "414": "The URL is too long.",
    "415": "The body is not JSON in UTF-8, or it is compressed.",
    "421": "The server does not go by that name.",
    "426": "Ask for the upgrade to a WebSocket.",
    "429": "Too much at once, or too often. Nothing was done; try again later.",
    "431": "The headers are too large.",
    "500": "The server failed; its log has more under the request's id.",
    "503": "The server cannot answer now; whether it was done is not known.",
    "504": "It took too long.",
}
# How ids begin, by the name they have in a path.
IDS = {
    "run_id": "run",
    "handler_run_id": "hrn",
    "input_id": "inp",
    "worker_id": "wrk",
    "key_id": "key",
    "item_id": "itm",
    "task_id": "tsk",
    "signal_id": "sig",
}
FOR_ANYBODY = ("404", "405", "414", "421", "431", "500")


@functools.cache
def document(name: str) -> bytes:
    """The bytes of a document that can be asked for."""
    return msgspec.json.encode(describe_frames() if name == "read_socket_schema" else describe(ROWS))


def describe(rows: tuple[Row, ...]) -> dict[str, Any]:
    types: list[Any] = [ErrorAnswer]
    for row in rows:
        types += [kind for kind in (row.body, row.answer, row.query) if kind is not None and kind not in types]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    found = dict(zip(types, schemas, strict=True))
    queries = {row.query.__name__ for row in rows if row.query is not None}
    paths: dict[str, Any] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, found, components)
    kept = {name: schema for name, schema in components.items() if name not in queries}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Windlass", "version": version("windlass"), "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": kept,
            "responses": {f"Refused{status}": _refusal(text) for status, text in REFUSALS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "windlass keys create"}},
        },
    }


def _operation(row: Row, found: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.summary,
        "parameters": [*_path_parameters(row), *_query_parameters(row, components)],
        "responses": {**_answers(row, found), **_refusals(row)},
    }
    if row.operation is None:
        described["security"] = []
    else:
        described["x-windlass-operation"] = row.operation
    if row.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": found[row.body]}}}
    return described


def _path_parameters(row: Row) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "schema": _name_schema(name)} for name in row.parameters]


def _name_schema(name: str) -> dict[str, Any]:
    if name in IDS:
        return {"type": "string", "pattern": f"^{IDS[name]}_[0-9A-HJKMNP-TV-Z]{{26}}$"}
    return {"type": "string", "minLength": 1, "maxLength": 200}


def _query_parameters(row: Row, components: dict[str, Any]) -> list[dict[str, Any]]:
    if row.query is None:
        return []
    schema = components[row.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(part)}
        for name, part in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is left out, and never null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    return choices[0] if len(choices) == 1 else schema


def _answers(row: Row, found: dict[Any, Any]) -> dict[str, Any]:
    if row.kind is Kind.SOCKET:
        return {"101": {"description": "The frames are described at /v1/socket/schema."}}
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if row.kind is Kind.TEXT:
        content = {"text/plain": {"schema": {"type": "string"}}}
    elif row.kind is Kind.STREAM:
        content = {"text/event-stream": {"schema": {"type": "string"}}}
    elif row.answer is not None:
        content = {"application/json": {"schema": found[row.answer]}}
    answers = {"200": {"description": row.summary, "content": content}}
    if row.id == "readyz":
        answers["503"] = {"description": "Not now.", "content": content}
    return answers


def _refusals(row: Row) -> dict[str, Any]:
    kept = FOR_ANYBODY if row.operation is None else REFUSALS
    return {status: {"$ref": f"#/components/responses/Refused{status}"} for status in kept}


def _refusal(text: str) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(name=ErrorAnswer.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def describe_frames() -> dict[str, Any]:
    """JSON schemas of what travels over a WebSocket, and what each op takes and answers with."""
    types: list[Any] = list(FRAMES)
    for op in OPS.values():
        types += [kind for kind in (op.query, op.answer) if kind not in types]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    found = dict(zip(types, schemas, strict=True))
    ops = {
        name: {
            "operation": op.operation,
            "summary": op.summary,
            "params": _params(op, found[op.query], components),
            "result": found[op.answer],
        }
        for name, op in OPS.items()
    }
    for frame in FRAMES[1:]:
        _require_constants(components[frame.__name__])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frames of the WebSocket",
        "anyOf": [found[frame] for frame in FRAMES],
        "sent": found[FRAMES[0]],
        "received": {"anyOf": [found[frame] for frame in FRAMES[1:]]},
        "events": {name: found[frame] for name, frame in EVENTS.items()},
        "ops": ops,
        "$defs": components,
    }


def _require_constants(schema: dict[str, Any]) -> None:
    """What is always the same in a frame, such as the name of an event, is also always there: it tells frames apart."""
    constant = [name for name, part in schema["properties"].items() if len(part.get("enum", [])) == 1]
    schema["required"] = [*constant, *schema.get("required", [])]


def _params(op: Op, schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """All that an op takes in one object: what a route has in its path, too."""
    if not op.names:
        return schema
    own = components[op.query.__name__]
    return {
        **own,
        "title": op.name,
        "properties": {**{name: _name_schema(name) for name in op.names}, **own["properties"]},
        "required": [*op.names, *own.get("required", [])],
    }
