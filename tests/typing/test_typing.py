"""Do type checkers infer for users what the documentation promises?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMMANDS = {"mypy": ["--strict", "--warn-unused-ignores"], "basedpyright": ["--level", "error"]}
FILES = ("accepted.py", "refused.py")

pytestmark = pytest.mark.parametrize("checker", sorted(COMMANDS))


def test_checker_infers_and_refuses_as_promised(checker: str, tmp_path: Path) -> None:
    files = [copy(HERE / file, tmp_path, checker=checker) for file in FILES]

    result = check(checker, *files)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("accepted.py", "await ctx.step(resize, 3), float", "await ctx.step(resize, 3), int"),
        ("refused.py", 'await ctx.step(fetch, "7")', "await ctx.step(fetch, 7)"),
    ],
)
def test_checker_would_notice_a_broken_promise(
    checker: str, file: str, before: str, after: str, tmp_path: Path
) -> None:
    broken = copy(HERE / file, tmp_path, checker=checker, before=before, after=after)

    result = check(checker, broken)

    assert before in (HERE / file).read_text()
    assert result.returncode == 1
    assert file in result.stdout


def copy(file: Path, folder: Path, *, checker: str, before: str = "", after: str = "") -> Path:
    """The file as one checker should see it: pyright obeys mypy's ignores too, and would then find its own unused."""
    text = file.read_text()
    if checker == "basedpyright":
        text = re.sub(r"# type: ignore\[[a-z, -]+\] *", "", text)
        text += "\n# pyright: reportUnnecessaryTypeIgnoreComment=true\n"
    target = folder / file.name
    target.write_text(text.replace(before, after) if before else text)
    return target


def check(checker: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / checker), *COMMANDS[checker], *map(str, files)]
    return subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=300, check=False)
