"""Where does SQL stand, and who uses which query?"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.architecture.source import PACKAGE, File

STORE = f"{PACKAGE}/store"
QUERY_CALLS = {"all", "first", "run", "batch"}

# What each kind of text looks like, and the only places that may hold it.
KINDS: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "a statement about rows or tables": (
        re.compile(
            r"(?:^|[(;])\s*select\b.+?\bfrom\b|(?:^|[(;])\s*with\s+(?:recursive\s+)?\w+\s+as\b"
            r"|\binsert\s+(?:or\s+\w+\s+)?into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b"
            r"|\b(?:create|alter|drop)\s+(?:unique\s+|temp\s+|temporary\s+)?(?:table|index|view|trigger)\b",
            re.IGNORECASE | re.DOTALL,
        ),
        (f"{STORE}/catalog.py", f"{STORE}/arrays.py"),  # the fragments: the differences between dialects
    ),
    "a pragma": (re.compile(r"(?:^|;)\s*pragma\s+\w", re.IGNORECASE), (f"{STORE}/sqlite/",)),
    "transaction control": (
        re.compile(r"^\s*(?:begin|commit|rollback|savepoint|release)(?:\s+\w+)?\s*;?\s*$", re.IGNORECASE),
        (f"{STORE}/sqlite/", f"{STORE}/postgres/"),
    ),
    "a session statement": (
        re.compile(r"^\s*(?:un)?listen\s+\S+\s*;?\s*$|\bpg_notify\b|\bpg_(?:try_)?advisory", re.IGNORECASE),
        (f"{STORE}/postgres/", f"{PACKAGE}/notify/"),
    ),
}
WORDS_ONLY = {"begin", "commit", "rollback", "savepoint", "release"}  # too common as words to be judged alone


def stray_sql(file: File) -> list[str]:
    """SQL outside the places that may hold it. Docstrings are prose."""
    found = []
    for line, text in texts_of(file.tree):
        for kind, (pattern, places) in KINDS.items():
            if pattern.search(text) and not file.is_under(*places) and text.strip().lower() not in WORDS_ONLY:
                found.append(f"{file.path}:{line}: {kind}: {' '.join(text.split())[:60]!r}")
    return found


def texts_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module, f-strings and concatenations put together, docstrings left out."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr) and (text := text_of(node)) is not None:
            yield node.lineno, text
            continue
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            children = [child for child in children if not is_bare_text(child)]
        pending += reversed(children)


def text_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None and right is None else (left or "{}") + (right or "{}")
    return None


def is_bare_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def query_names(file: File) -> list[str]:
    return re.findall(r"^-- name:\s*(\w+)", file.text, re.MULTILINE)


def is_overlay(file: File) -> bool:
    return file.is_under(f"{STORE}/sql/sqlite/", f"{STORE}/sql/postgres/")


def users_of(files: Iterable[File]) -> dict[str, list[str]]:
    """{query name: the methods that send it}, read from the first argument of `….all("name", …)` and its like."""
    users: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for owner in ast.walk(file.tree):
            if not isinstance(owner, ast.ClassDef):
                continue
            for method in owner.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    for name in sorted(set(sent_by(method))):
                        users[name].append(f"{file.path}: {owner.name}.{method.name}")
    return dict(users)


def sent_by(method: ast.AST) -> Iterator[str]:
    for call in ast.walk(method):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in QUERY_CALLS:
            for constant in ast.walk(call.args[0]) if call.args else ():  # walk: the name may hang on a condition
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield constant.value


def misused_queries(names: Iterable[str], users: dict[str, list[str]]) -> list[str]:
    """Names that are unknown, unused, or used by more than one method."""
    known = set(names)
    found = [
        f"{name}: not in the catalogue, sent by {methods[0]}" for name, methods in users.items() if name not in known
    ]
    found += [f"{name}: in the catalogue, sent by nobody" for name in sorted(known - users.keys())]
    found += [f"{name}: sent by {', '.join(methods)}" for name, methods in users.items() if len(methods) > 1]
    return found
