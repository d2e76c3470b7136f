"""Where do the two trees stand, and how does each find its own `bench` and `windlass`?"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
MEASURED = ("src", "bench")  # what changes a figure


class Tree(NamedTuple):
    name: str
    root: Path
    python: Path


class NoTree(Exception):
    """There is nothing to compare with; the text says why."""


@contextmanager
def two_trees(revision: str) -> Iterator[tuple[Tree, Tree]]:
    """The tree we stand in, and one of that revision, which is gone after the block."""
    folder = Path(tempfile.mkdtemp(prefix="windlass-against-"))
    there = folder / "tree"
    try:
        _git("worktree", "add", "--quiet", "--detach", str(there), revision)
        yield (
            Tree("current", ROOT, _environment(folder / "current", ROOT)),
            Tree(revision, there, _environment(folder / "other", there)),
        )
    finally:
        if there.exists():
            _git("worktree", "remove", "--force", str(there))
        shutil.rmtree(folder, ignore_errors=True)


def commit(revision: str) -> str:
    """Its full name. Raises NoTree."""
    return _git(
        "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", otherwise=f"There is no commit {revision}."
    )


def fingerprint() -> str:
    """What the tree we stand in is: its commit, and what has changed since in the folders that are measured."""
    name = commit("HEAD")
    changes = _git("diff", "HEAD", "--", *MEASURED)
    new = _git("ls-files", "--others", "--exclude-standard", "--", *MEASURED).splitlines()
    contents = [(ROOT / path).read_bytes() for path in new]
    if not changes and not new:
        return name
    return f"{name} with changes {hashlib.sha256(b''.join([changes.encode(), *contents])).hexdigest()[:12]}"


def _environment(folder: Path, tree: Path) -> Path:
    """An interpreter that imports from that tree, and everything else from where we have it.

    Programs are started without PYTHONPATH, so the path is in the environment itself. The packages are the same for
    both, unless a tree asks for others.
    """
    has_same_needs = _needs(tree) == _needs(ROOT)
    venv.create(folder, with_pip=not has_same_needs, symlinks=True)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = [str(tree), str(tree / "src")]
    if has_same_needs:
        lines.append(sysconfig.get_paths()["purelib"])  # whose own .pth files are not read: our `windlass` is not there
    else:
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable"]
        subprocess.run([*command, f"{tree}[dev]"], check=True)
    (packages / "tree.pth").write_text("".join(f"{line}\n" for line in lines))
    # One that is compiled while it is measured is larger than one that is not.
    subprocess.run([str(python), "-m", "compileall", "-q", *(str(tree / name) for name in MEASURED)], check=True)
    return python


def _needs(tree: Path) -> list[Any]:
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    return [project["dependencies"], project["optional-dependencies"]]


def _git(*arguments: str, otherwise: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoTree(otherwise or f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
