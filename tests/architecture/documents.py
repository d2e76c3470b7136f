"""What stands in a Markdown document: its links, and its blocks of code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from tests.architecture.source import ROOT, File, all_files

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`[^`\n]+`")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#")


def markdown_files() -> list[File]:
    return [file for file in all_files() if file.path.endswith(".md")]


def code_blocks(file: File, language: str) -> Iterator[tuple[int, str]]:
    """Line and text of every fenced block in this language."""
    for block in FENCE.finditer(file.text):
        if block[2] == language:
            yield file.text.count("\n", 0, block.start()) + 2, dedent(block[3])


def relative_links(file: File) -> list[str]:
    """Targets of links to files of ours; what stands in code is no link."""
    prose = CODE_SPAN.sub("", FENCE.sub("", file.text))
    return [target for target in LINK.findall(prose) if not ELSEWHERE.match(target)]


def broken_links(file: File, *, root: Path = ROOT) -> list[str]:
    folder = (root / file.path).parent
    return [
        f"{file.path}: {target} does not exist"
        for target in relative_links(file)
        if not (folder / target.partition("#")[0]).exists()
    ]


def bad_python(file: File) -> list[str]:
    """Blocks that do not compile. `await` may stand at the top: a reader knows that a loop is around it."""
    found = []
    for line, text in code_blocks(file, "python"):
        try:
            compile(text, f"{file.path}:{line}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            found.append(f"{file.path}:{line + (error.lineno or 1) - 1}: {error.msg}")
    return found


def collapsed(text: str) -> str:
    """The text without regard to how it is laid out."""
    return " ".join(text.split())


def is_named(name: str, text: str) -> bool:
    """Whether the text names it in code: `name`, or as the beginning of a longer piece of code such as `name(…)`."""
    return re.search(rf"`(?:windlass[. ])?{re.escape(name)}(?![\w])", text) is not None
