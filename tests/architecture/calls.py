"""Which calls reach for time, chance or a timer without going through an adapter?

References count, not only calls: `default_factory=time.time` is as bad as `time.time()`. Names are followed through
their imports, so `from time import time as clock` hides nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import PACKAGE, File

ADAPTERS = (f"{PACKAGE}/runtime.py", f"{PACKAGE}/testing/")

FORBIDDEN = {
    **dict.fromkeys(("time.time", "time.time_ns"), "clock.now()"),
    **dict.fromkeys(("time.monotonic", "time.monotonic_ns", "time.perf_counter"), "clock.monotonic()"),
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"), "clock.now()"),
    "datetime.date.today": "clock.now()",
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "uuid.uuid7"), "runtime.Ids"),
    **dict.fromkeys(("time.sleep", "asyncio.sleep", "asyncio.tasks.sleep"), "clock.sleep()"),
    "threading.Timer": "clock.call_later()",
}
LOOP_TIMERS = {"call_later", "call_at"}
# A file without any of these has nothing to hide, and most have none: to walk its tree takes a while.
REACHING = re.compile(
    r"^\s*(?:import|from)\s[^#\n]*\b(?:time|datetime|uuid|random|asyncio|threading)\b|call_later|call_at", re.MULTILINE
)
# A seeded generator is a value, not chance: what it yields follows from its seed.
SEEDED = "random.Random"


def forbidden_calls(file: File) -> list[str]:
    if file.is_under(*ADAPTERS) or not REACHING.search(file.text):
        return []
    imported = imports_of(file.tree)
    nodes = list(ast.walk(file.tree))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    return [
        f"{file.path}:{node.lineno}: {found}"
        for node in nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
        for found in judge(node, imported, parents)
    ]


def imports_of(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for, dotted: {"now": "datetime.datetime"} …"""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def judge(node: ast.Name | ast.Attribute, imported: dict[str, str], parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and node.attr in LOOP_TIMERS and not is_clock(node.value):
        yield f"{node.attr} of an event loop; use clock.call_later()"
    dotted = dotted_name(node, imported)
    if dotted is None:
        return
    call = parents.get(node)
    if isinstance(call, ast.Attribute) and call.attr.startswith("__"):
        return  # asks about the function, as in sleep.__code__, and does not use it
    if dotted in FORBIDDEN and not is_mere_yield(dotted, call):
        yield f"{dotted}; use {FORBIDDEN[dotted]}"
    if dotted.startswith("random.") and not is_seeded(dotted, node, call):
        yield f"{dotted}; use the Rng you were given"


def dotted_name(node: ast.expr, imported: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return imported.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value, imported)
        return f"{owner}.{node.attr}" if owner else None
    return None


def is_clock(node: ast.expr) -> bool:
    """Whether it is a clock that is asked: `clock`, `self._clock`, `runtime.clock`."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lower().endswith("clock")


def is_mere_yield(dotted: str, call: ast.AST | None) -> bool:
    """`asyncio.sleep(0)` gives way to other tasks and looks at no clock."""
    if not dotted.startswith("asyncio.") or not isinstance(call, ast.Call) or len(call.args) != 1:
        return False
    return isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def is_seeded(dotted: str, node: ast.AST, call: ast.AST | None) -> bool:
    if dotted != SEEDED:
        return False
    # As a type it is harmless; built without a seed it is chance.
    return not isinstance(call, ast.Call) or call.func is not node or bool(call.args)
