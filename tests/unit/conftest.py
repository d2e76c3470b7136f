"""What decides without doing: no test here opens a database, a socket, a process or a file to write."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

REFUSED = {"socket.bind", "socket.connect", "subprocess.Popen", "os.exec", "os.posix_spawn"}
WRITING = frozenset("wax+")
KEPT_BY_HYPOTHESIS = ".hypothesis"

_is_watching = False


class InputOrOutput(BaseException):
    """This belongs elsewhere. No handler of exceptions may swallow that."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _is_watching:
        return
    if event in REFUSED or (event == "open" and _is_written(*arguments)):
        raise InputOrOutput(f"A test in tests/unit does {event}{arguments!r}: move it to a folder that may.")


def _is_written(path: object, mode: str | None, flags: int) -> bool:
    return bool(WRITING & set(mode or "")) and KEPT_BY_HYPOTHESIS not in str(path)


def _refuse(connection: apsw.Connection) -> None:
    if _is_watching:
        raise InputOrOutput("A test in tests/unit opens a database: move it to a folder that may.")


sys.addaudithook(_audit)
apsw.connection_hooks.append(_refuse)


@pytest.fixture(autouse=True)
def _no_input_or_output() -> Iterator[None]:
    global _is_watching
    _is_watching = True
    yield
    _is_watching = False
