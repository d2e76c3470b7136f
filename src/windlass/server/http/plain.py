"""Bodies, frames and query parameters as they must be: plain JSON or text, strictly, before anything is made of it."""

from __future__ import annotations

import json
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct

from windlass.codec import bad_byte, from_json, has_lone_surrogate, to_json, unique
from windlass.codec_tags import BAD_TEXT
from windlass.codec_types import MAX_DEPTH, Refusal
from windlass.errors import InvalidInput
from windlass.server.http.errors import clean

S = TypeVar("S", bound=Struct)

MAX_BODY_DEPTH = MAX_DEPTH + 3  # a payload, in the arguments of one run of a list of runs
MOST_PARAMETERS = 50
AT, UNKNOWN = " - at `", "Object contains unknown field `"  # so msgspec says where, and what


def read_json(data: bytes) -> Any:
    """Plain data. Raises InvalidInput for what is no JSON, or not one thing only: a key that stands twice, 1e999."""
    try:
        tree = from_json(data)
        _check_depth(tree, data)
        if b"{" in data and to_json(tree) != data:
            json.loads(data, object_pairs_hook=unique)
    except RecursionError:
        raise _too_deep() from None
    except Refusal as refusal:
        _, text, _ = refusal.at("$")
        raise InvalidInput(f"Invalid JSON: {text}.", reason="invalid_json", path="$") from None
    except UnicodeDecodeError:
        text = f"The body is not valid UTF-8 {bad_byte(data)}."
        raise InvalidInput(text, reason="invalid_text", path="$") from None
    except msgspec.ValidationError as error:
        text = "A number is too long." if "Integer" in str(error) else "A number is not finite."
        raise InvalidInput(text, reason="invalid_json", path="$") from None
    except (msgspec.DecodeError, ValueError) as error:
        reason = "invalid_text" if has_lone_surrogate(data) else "invalid_json"
        raise InvalidInput(f"Invalid JSON: {clean(str(error))[:200]}.", reason=reason, path="$") from None
    return tree


def _check_depth(tree: Any, data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= MAX_BODY_DEPTH:
        return
    level: list[Any] = [tree]
    for _ in range(MAX_BODY_DEPTH):
        level = [
            child
            for node in level
            if type(node) in (list, dict)
            for child in (node.values() if type(node) is dict else node)
            if type(child) in (list, dict)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> InvalidInput:
    return InvalidInput(f"The body is nested too deeply: depth > {MAX_DEPTH}.", reason="invalid_input", path="$")


def shaped(tree: Any, type: type[S], *, is_text: bool = False) -> S:
    """As a struct. With `is_text` numbers and booleans come as text, as in a query. Raises InvalidInput."""
    try:
        return msgspec.convert(tree, type, strict=not is_text)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from None


def _refused(text: str) -> InvalidInput:
    problem, path = text, ""
    if AT in text and text.endswith("`"):
        problem, _, place = text.rpartition(AT)
        path = place[:-1].removeprefix("key in ").removeprefix("$").removeprefix(".")
    if problem.startswith(UNKNOWN):
        name = problem.removeprefix(UNKNOWN).removesuffix("`")[:60]
        path = f"{path}.{name}" if path else name
        problem = f"there is no such field: {name!a}"
    where = f"Invalid {clean(path)[:100]}: " if path else "Invalid: "
    message = f"{where}{clean(problem)[:300].replace('`', '')}."
    return InvalidInput(message, reason="invalid_input", path=path[:200])


def read_query(raw: bytes, type: type[S] | None) -> S | None:
    """The parameters, each at most once and none that is not known."""
    given = _parameters(raw)
    if type is None:
        if given:
            raise _unknown_parameter(next(iter(given)))
        return None
    known = set(type.__struct_encode_fields__)
    for name in given:
        if name not in known:
            raise _unknown_parameter(name)
    return shaped(given, type, is_text=True)


def _unknown_parameter(name: str) -> InvalidInput:
    text = f"There is no query parameter {name[:60]!a} here."
    return InvalidInput(text, reason="unknown_parameter", path=clean(name[:60]))


def _parameters(raw: bytes) -> dict[str, str]:
    given: dict[str, str] = {}
    parts = raw.split(b"&") if raw else []
    if len(parts) > MOST_PARAMETERS:
        raise InvalidInput("There are too many query parameters.", reason="unknown_parameter")
    for part in parts:
        name, _, value = part.partition(b"=")
        key = decoded(name.replace(b"+", b" "), what="query")
        if key in given:
            text = f"Query parameter {key[:60]!a} is given twice."
            raise InvalidInput(text, reason="duplicate_parameter", path=clean(key[:60]))
        given[key] = decoded(value.replace(b"+", b" "), what=key[:60])
    return given


def decoded(raw: bytes, *, what: str) -> str:
    """Text of a URL. Raises InvalidInput for what is no UTF-8, and for characters no database takes."""
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise InvalidInput(
            f"Invalid {clean(what)}: not valid UTF-8.", reason="invalid_text", path=clean(what)
        ) from None
    if BAD_TEXT.search(text):
        raise InvalidInput(f"Invalid {clean(what)}: not valid text.", reason="invalid_text", path=clean(what))
    return text
