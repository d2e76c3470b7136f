"""Does `make size` count what a person would call code?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT
from tools.size import Size, size_of, size_of_text

PROGRAM = ROOT / "tools" / "size.py"
SOURCE = '''"""What it is
about."""

import os
from a import (
    b,
)

LIMIT = 3  # a comment


def pack(id: str) -> str:
    """One line."""
    # why

    return os.path.join(
        id,
        """text
        of two lines""",
    )
'''


def test_comments_docstrings_imports_and_blank_lines_are_no_code() -> None:
    assert size_of(SOURCE) == Size(files=1, lines=7, statements=3)
    assert size_of('"""Only words."""\n') == Size(files=1, lines=0, statements=0)


def test_a_line_of_sql_counts_unless_it_is_blank_or_a_comment() -> None:
    assert size_of_text("-- name: x\n\nselect 1\n  from t;\n", comment="--") == Size(files=1, lines=2)


def test_the_table_has_every_folder_and_keeps_generated_code_apart(tmp_path: Path) -> None:
    package = tmp_path / "src" / "windlass"
    for name, text in {"app.py": "a = 1\n", "rules/b.py": "b = 2\n", "v1/c_pb2.py": "c = 3\n" * 50}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)

    done = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, check=True)

    rows = {line[:34].strip(): line[34:].split() for line in done.stdout.splitlines()[1:]}
    assert rows["src/windlass/rules"] == ["1", "1", "1"]
    assert rows["HAND-WRITTEN PRODUCT CODE"] == ["2", "2", "2"]
    assert rows["GENERATED CODE"] == ["1", "50", "50"]


def test_a_folder_that_is_none_of_ours_is_refused_in_a_line(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"size: {tmp_path} has no src/windlass\n"
