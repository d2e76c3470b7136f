"""Does the tutorial work, line by line, for someone who has installed the wheel and types what the page says?

A block `python shop.py` is saved under that name. The commands of a block `console` are run in order; what stands below
one is its answer, where … matches anything, and a line of … any lines. A command with & is left alone once it has said
that much. A block `console skip` is for the reader only.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.architecture.documents import FENCE
from tests.architecture.source import ROOT
from tests.wheel import Installed, installed_wheel

PAGE = ROOT / "docs" / "tutorial" / "crash-tested-workflow.md"
HOW_TO = ROOT / "docs" / "how-to" / "testing-your-workflows.md"
FINISHED = ROOT / "examples" / "tutorial"
# A harness, a clock, crashes, the pytest plugin, a throw-away PostgreSQL. What only our tests need is in tests/.
TESTING = {
    "__init__", "clock", "crash_everywhere", "errors", "harness", "home", "lending", "look", "mortal",
    "mortal_pipelines", "passage", "plugin", "postgres", "postgres_binaries", "rest", "stand_ins", "sync",
}  # fmt: skip
SUFFIXES = {".py", ".pyi", ".sql", ".html", ".css", ".js", ".svg", ".typed"}
PATIENCE = 120.0  # seconds for a command to say what it should
LOOKING = ("windlass explain", "windlass show", "windlass runs")  # may be asked again until the answer is as shown
INFO = re.compile(r"```(\w+) *([\w. -]*)\n")


class Shell:
    """A reader with one terminal, in an empty folder."""

    def __init__(self, folder: Path, *, programs: Path) -> None:
        self.folder = folder
        self.jobs: list[subprocess.Popen[bytes]] = []
        outside = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
        path = f"{programs}{os.pathsep}{outside['PATH']}"
        # Written at once, as to a terminal; and no cache of what is replaced within the same second.
        self.environment = {**outside, "PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment |= {"COLUMNS": "100", "PYTEST_ADDOPTS": "-p no:cacheprovider"}

    def type(self, command: str, answer: str) -> None:
        if command.startswith("kill -9 %"):
            self._kill(self.jobs[int(command.rpartition("%")[2]) - 1])
        elif command.endswith(" &"):
            self._start(command.removesuffix(" &"), answer)
        else:
            self._run(command, answer)

    def close(self) -> None:
        for job in self.jobs:
            self._kill(job)

    def _start(self, command: str, answer: str) -> None:
        said = self.folder / f"job-{len(self.jobs) + 1}.out"
        with said.open("wb") as output:
            job = subprocess.Popen(
                f"exec {command}",
                shell=True,
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                start_new_session=True,
            )
        self.jobs.append(job)
        deadline = time.monotonic() + PATIENCE
        while not answers(answer, said.read_text()):
            assert time.monotonic() < deadline and job.poll() is None, f"{command} said {said.read_text()!r}"
            time.sleep(0.01)

    def _run(self, command: str, answer: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run(
                command,
                shell=True,
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            if answers(answer, done.stdout):
                return
            if not command.startswith(LOOKING) or time.monotonic() > deadline:
                raise AssertionError(f"$ {command}\n{done.stdout}\n{done.stderr}\n--- the page says\n{answer}")

    def _kill(self, job: subprocess.Popen[bytes]) -> None:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def answers(shown: str, said: str) -> bool:
    """Is this what the page shows, but for spaces at the ends of lines?"""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    parts = [r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r" *\n" for line in lines]
    return re.fullmatch("".join(parts), "".join(f"{line.rstrip()}\n" for line in said.splitlines())) is not None


def blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Language, argument and content of each block, in their order."""
    for block in FENCE.finditer(text):
        info = INFO.match(block[0])
        assert info is not None, f"a block without a language: {block[0]!r}"
        yield info[1], info[2].strip(), block[3]


def commands(console: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, answer = part.partition("\n")
        yield command, answer


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with installed_wheel() as installed:
        yield installed


@pytest.fixture
def shell(tmp_path: Path, installed: Installed) -> Iterator[Shell]:
    shell = Shell(tmp_path, programs=installed.programs)
    yield shell
    shell.close()


def test_everything_the_tutorial_says_happens(shell: Shell) -> None:
    for language, argument, content in blocks(PAGE.read_text()):
        if language == "python":
            assert argument, f"a program without a name:\n{content}"
            (shell.folder / argument).write_text(content)
        elif argument != "skip":
            assert language == "console"
            for command, answer in commands(content):
                shell.type(command, answer)

    finished = {path.name: path.read_text() for path in FINISHED.glob("*.py")}
    assert {path.name: path.read_text() for path in shell.folder.glob("*.py")} == finished


def test_every_program_of_the_how_to_runs(shell: Shell) -> None:
    for number, (_, _, content) in enumerate(blocks(HOW_TO.read_text())):
        (shell.folder / f"test_block_{number}.py").write_text(content)

    shell.type("pytest -q", "....…\n4 passed in …\n")
    assert not (shell.folder / "windlass.db").exists()


def test_the_wheel_has_what_users_need_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]

    folders = {name.parts[0] for name in names}
    assert {name for name in folders if not name.endswith(".dist-info")} == {"windlass"}
    tools = {name.stem for name in names if name.parts[:2] == ("windlass", "testing")}
    assert tools == TESTING
    assert {name.suffix for name in names if name.parts[0] == "windlass"} == SUFFIXES


def test_an_answer_is_compared_with_what_is_left_out() -> None:
    assert answers("run_…\n…\nlast\n", "run_01M7\na\nb\nlast\n")
    assert answers("", "")
    assert answers("a … c\n", "a b c  \n")
    assert not answers("a\n", "a\nb\n")
    assert not answers("a\nb\n", "a\n")
    assert not answers("", "a\n")


def test_blocks_and_commands_are_read_in_order() -> None:
    page = "Text\n\n```console skip\n$ no\n```\n\n```python shop.py\nx = 1\n```\n\n```console\n$ a &\nb\n$ c\n```\n"

    found = list(blocks(page))

    assert found == [
        ("console", "skip", "$ no\n"),
        ("python", "shop.py", "x = 1\n"),
        ("console", "", "$ a &\nb\n$ c\n"),
    ]
    assert list(commands(found[-1][2])) == [("a &", "b\n"), ("c", "")]
