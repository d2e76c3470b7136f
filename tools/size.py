"""How much code is there? Lines that carry code and statements, by folder; what is made by tools stands apart.

    make size                     this tree
    python tools/size.py FOLDER   another one, such as a work tree of an older commit

A line counts if a token of the program stands in it. Comments, docstrings, imports and blank lines do not count.
SQL, templates, styles and scripts have lines only: those that are neither blank nor a comment.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "src/windlass"
BESIDE = ("tests", "bench", "examples", "tools", "docs")
COMMENTS = {".sql": "--", ".proto": "//", ".html": "{#", ".css": "/*", ".js": "//"}
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    files: int = 0
    lines: int = 0
    statements: int = 0

    def plus(self, other: Size) -> Size:
        return Size(self.files + other.files, self.lines + other.lines, self.statements + other.statements)


def size_of(source: str) -> Size:
    """Of a Python file."""
    left_out: set[int] = set()
    statements = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out |= _lines(node)
        elif isinstance(node, ast.stmt):
            statements += 1
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            left_out |= _lines(node.body[0])
            statements -= 1
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            used.update(range(token.start[0], token.end[0] + 1))
    return Size(1, len(used - left_out), statements)


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def size_of_text(text: str, *, comment: str) -> Size:
    return Size(1, sum(bool(line.strip()) and not line.strip().startswith(comment) for line in text.splitlines()))


def is_generated(path: Path) -> bool:
    return path.stem.endswith(("_pb2", "_pb2_grpc"))


def total(paths: Iterator[Path]) -> Size:
    found = Size()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        comment = COMMENTS.get(path.suffix)
        found = found.plus(size_of(text) if comment is None else size_of_text(text, comment=comment))
    return found


def table(root: Path) -> Iterator[tuple[str, Size]]:
    package = root / PACKAGE
    ours = [path for path in sorted(package.rglob("*.py")) if not is_generated(path)]
    by_folder: dict[str, list[Path]] = {}
    for path in ours:
        folder = path.relative_to(package).parts[0] if path.parent != package else "(beside them)"
        by_folder.setdefault(folder, []).append(path)
    for folder, paths in by_folder.items():
        yield f"{PACKAGE}/{folder}", total(iter(paths))
    yield "hand-written product code", total(path for path in ours if "testing" not in path.parts)
    yield "generated code", total(path for path in package.rglob("*.py") if is_generated(path))
    for suffix in (".sql", ".html", ".css", ".js"):
        yield f"{PACKAGE}/**/*{suffix}", total(package.rglob(f"*{suffix}"))
    yield "proto", total((root / "proto").rglob("*.proto"))
    for folder in BESIDE:
        yield folder, total(path for path in (root / folder).rglob("*.py") if not _is_cache(path))


def _is_cache(path: Path) -> bool:
    return any(part.endswith("_cache") for part in path.parts)


def main(arguments: Sequence[str]) -> int:
    root = Path(arguments[0]) if arguments else ROOT
    if not (root / PACKAGE).is_dir():
        print(f"size: {root} has no {PACKAGE}", file=sys.stderr)
        return 2
    print(f"{'':34}{'files':>7}{'lines of code':>15}{'statements':>12}")
    for name, size in table(root):
        is_sum = not name.startswith(PACKAGE) and " " in name
        print(f"{name.upper() if is_sum else name:34}{size.files:>7,}{size.lines:>15,}{size.statements or '':>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
