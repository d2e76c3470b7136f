"""What users install: the wheel, in an environment of its own where nothing of this folder is to be found."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Installed(NamedTuple):
    wheel: Path
    programs: Path  # the folder of its commands


@contextmanager
def installed_wheel() -> Iterator[Installed]:
    """The wheel and its dependencies, and pytest; gone after the block."""
    with TemporaryDirectory(prefix="windlass-wheel-") as folder:
        place = Path(folder)
        _call([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place)])
        (wheel,) = place.glob("*.whl")
        venv.create(place / "venv", with_pip=False)
        programs = place / "venv" / "bin"
        pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
        _call([*pip, "install", "--quiet", str(wheel), "pytest"])
        yield Installed(wheel, programs)


def _call(command: list[str]) -> None:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("WINDLASS_", "PYTHON"))}
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
