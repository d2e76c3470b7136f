"""Is a file small, named after something, and free of what may not be in it?"""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import TypeGuard

from tests.architecture.source import File

NAMELESS = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "core", "misc"}
# Written in pieces, or this file would be the first to be found.
MACHINE_PATH = re.compile(r"(?<![\w.}>*-])/(?:" + "|".join(("work", "root", "home")) + r")/")
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}


def too_long(file: File, *, limit: int) -> list[str]:
    lines = file.text.count("\n")
    return [f"{file.path}: {lines} lines, {limit} allowed"] if lines > limit and not file.is_generated else []


def crowded_classes(file: File, *, limit: int) -> dict[str, int]:
    """{path:class: number of public methods} where there are more than `limit`. Properties and tests do not count."""
    found = {}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef):
            functions = [item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
            public = {function.name for function in functions if is_public_method(function)}
            if len(public) > limit and not file.is_generated:
                found[f"{file.path}:{node.name}"] = len(public)
    return found


def is_public_method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if node.name.startswith(("_", "test_")):
        return False
    return not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def wide_classes(file: File, *, limit: int) -> dict[str, int]:
    """{path:class: number of attributes} where methods set more than `limit` on an object that has no slots."""
    found = {}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef) and not _has_slots(node) and not file.is_generated:
            attributes = {item.attr for item in ast.walk(node) if _is_set_on_self(item)}
            if len(attributes) > limit:
                found[f"{file.path}:{node.name}"] = len(attributes)
    return found


def _has_slots(node: ast.ClassDef) -> bool:
    targets = [target for item in node.body if isinstance(item, ast.Assign) for target in item.targets]
    return any(isinstance(target, ast.Name) and target.id == "__slots__" for target in targets)


def _is_set_on_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return is_set and isinstance(node.value, ast.Name) and node.value.id == "self"


def missing_docstring(file: File) -> list[str]:
    is_empty_package = file.stem == "__init__" and not file.text.strip()
    if is_empty_package or file.is_generated or ast.get_docstring(file.tree):
        return []
    return [f"{file.path}: no module docstring"]


def nameless(file: File) -> list[str]:
    """Files and folders whose name says nothing."""
    parts = [PurePosixPath(part).stem.lower() for part in PurePosixPath(file.path).parts]
    return [f"{file.path}: {part!r} names nothing" for part in parts if NAMELESS & set(part.split("_"))]


def machine_paths(file: File) -> list[str]:
    return [
        f"{file.path}:{number}: {line.strip()[:80]}"
        for number, line in enumerate(file.text.splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]


def unsafe_imports(file: File) -> list[str]:
    found: list[str] = []
    if not any(name in file.text for name in UNSAFE_MODULES):
        return found  # nearly all: to parse them takes a while
    for node in ast.walk(file.tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        unsafe = [name for name in modules if name.partition(".")[0] in UNSAFE_MODULES]
        found += [f"{file.path}:{node.lineno}: imports {name}" for name in unsafe]
    return found
