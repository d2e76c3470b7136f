"""How a value is laid out over lines: on one if it fits, else with a line for each of its parts.

The tree of parts is rich's. Its own `pretty_repr` puts the lines of every part into the middle of one list, which
takes quadratic time; here the parts that are still to come wait in a stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from rich.pretty import Node, traverse

INDENT = "    "


class Part(Struct, frozen=True, kw_only=True):
    """A part that is still to be laid out, or the text that closes one."""

    indent: str = ""
    node: Node | None = None
    text: str = ""
    comma: str = ""  # what follows it
    is_last: bool = False  # of its parent: there is room for a comma, and none is written


def laid_out(
    value: Any, *, width: int, max_items: int | None = None, max_text: int | None = None, max_depth: int | None = None
) -> list[str]:
    """The lines, each at most `width` cells long if it can be divided."""
    root = traverse(value, max_length=max_items, max_string=max_text, max_depth=max_depth)
    lines: list[str] = []
    ahead = [Part(node=root)]
    while ahead:
        part = ahead.pop()
        node = part.node
        if node is None or not node.children or node.check_length(len(part.indent) + len(part.comma), width):
            comma = "" if part.is_last else part.comma.rstrip()
            lines.append(f"{part.indent}{part.text if node is None else node}{comma}")
        else:
            key = f"{node.key_repr}{node.key_separator}" if node.key_repr else ""
            lines.append(f"{part.indent}{key}{node.open_brace}")
            ahead.append(Part(indent=part.indent, text=node.close_brace, comma=part.comma, is_last=part.is_last))
            ahead.extend(_children(node, indent=part.indent + INDENT))
    return lines


def _children(node: Node, *, indent: str) -> Iterator[Part]:
    """The last one first, as a stack takes them."""
    assert node.children is not None
    is_alone = node.is_tuple and len(node.children) == 1  # and keeps its comma
    comma = "," if is_alone else node.separator
    for number, child in enumerate(reversed(node.children)):
        yield Part(indent=indent, node=child, comma=comma, is_last=number == 0 and not is_alone)
