"""Processes that are cheap to start: a warmed interpreter forks them, and sees them end.

Asked over a pipe, one line each way, so that the test's own process never forks:

    {"start": "work", "arguments": {…}, "errors": path}   → pid
    {"wait": pid, "seconds": 5}                            → exit code, as subprocess counts it; null if it still lives

When the pipe closes, everything it started and nobody waited for is killed: nothing outlives the test.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

LOOK_EVERY = 0.005


def serve(entries: dict[str, Callable[..., int | None]], requests: TextIO, answers: TextIO) -> None:
    children: set[int] = set()
    try:
        for line in requests:
            request = json.loads(line)
            if "start" in request:
                pid = os.fork()
                if pid == 0:
                    become(entries[request["start"]], request["arguments"], errors=request["errors"])
                children.add(pid)
                answer: int | None = pid
            else:
                answer = wait(request["wait"], seconds=request["seconds"])
                if answer is not None:
                    children.discard(request["wait"])
            print(json.dumps(answer), file=answers, flush=True)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def become(entry: Callable[..., int | None], arguments: dict[str, Any], *, errors: str) -> NoReturn:
    """Be the new process, with nothing of the old one's pipes, and never come back."""
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        said = os.open(errors, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for own, number in ((nothing, 0), (nothing, 1), (said, 2)):
            os.dup2(own, number)
        code = entry(**arguments) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait(pid: int, *, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            return None
        time.sleep(LOOK_EVERY)


if __name__ == "__main__":
    from tests.processes.program import ENTRIES  # only now: what it imports is what every child has at once

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until a child is able to leave in order
    serve(ENTRIES, sys.stdin, sys.stdout)
