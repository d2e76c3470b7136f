"""Which files belong to the project, and what stands in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "src/windlass"
FOLDERS = ("src", "tests", "tools", "bench", "examples", "docs", "proto", ".ci")
TEXT = {".py", ".pyi", ".sql", ".md", ".txt", ".toml", ".proto", ".html", ".css", ".js", ".json", ".sh", ".yml", ""}


@dataclass(frozen=True)
class File:
    """A text file by its path from the root of the project; samples in tests are made by hand."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def stem(self) -> str:
        return Path(self.path).stem

    @property
    def is_generated(self) -> bool:
        return self.stem.endswith(("_pb2", "_pb2_grpc"))

    def is_under(self, *prefixes: str) -> bool:
        return self.path.startswith(prefixes)


@cache
def all_files() -> tuple[File, ...]:
    """Every text file of ours: the folders above and what lies beside them. Read once, and parsed once."""
    return tuple(_read_files())


def _read_files() -> Iterator[File]:
    candidates = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        candidates += (ROOT / folder).rglob("*")
    for path in sorted(candidates):
        if path.is_file() and path.suffix in TEXT and not is_made_by_tools(path.relative_to(ROOT)):
            yield File(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def is_made_by_tools(path: Path) -> bool:
    return any(part == "__pycache__" or part.endswith((".egg-info", "_cache")) for part in path.parts)


def python_files(*prefixes: str) -> list[File]:
    return [file for file in all_files() if file.path.endswith(".py") and file.is_under(*prefixes)]


def sql_files() -> list[File]:
    return [file for file in all_files() if file.path.endswith(".sql") and file.is_under(f"{PACKAGE}/store/sql/")]
