"""Does the end of the demo read well, and can what it advises be typed?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from windlass.cli import verdict


@pytest.mark.parametrize("kept", [None, Path("new folder")])
def test_commands_keep_to_the_width_and_a_shell_reads_each_as_one(
    kept: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["/somewhere/far/away/.venv/bin/windlass"])

    _, *narrow = [line.plain for line in verdict.commands(kept, width=80)]
    _, *wide = [line.plain for line in verdict.commands(kept, width=200)]

    assert max(map(len, narrow)) <= 80
    assert len(narrow) > len(wide) == 3
    assert shlex.split("\n".join(narrow).replace("\\\n", "")) == shlex.split("\n".join(wide))


def test_a_command_for_a_database_that_goes_is_left_out() -> None:
    assert verdict.ADVICE.sub("", "It failed. All of it: windlass show run_1") == "It failed."
