"""Two trees measure the same part, one measurement of either at a time: here there, there here, here there, …"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.against.trees import Tree
from bench.against.verdict import Known

SIDE = Path(__file__).parent / "side.py"
STOP_SECONDS = 60.0

Said = Callable[[str, str], None]  # by which tree, and what


class SideEnded(Exception):
    """A process that measures has ended by itself; the text names its tree."""


class Part(NamedTuple):
    """What one tree has measured of a part."""

    figures: dict[tuple[str, str], list[float]]  # by figure and store
    failed: str


class Side:
    """A tree that measures, in a process of its own."""

    def __init__(self, tree: Tree, process: subprocess.Popen[str], said: Said) -> None:
        self.tree = tree
        self._process, self._said = process, said
        hello = self._hear()
        self.parts: list[str] = hello["parts"]
        self.known = {name: Known(**about) for name, about in hello["figures"].items()}
        self.postgres: str = hello["postgres"]
        imported = Path(hello["windlass"])
        assert imported == tree.root / "src" / "windlass", f"{tree.name} has imported {imported}"
        self.part = Part({}, "")

    def begin(self, part: str, sizes: Mapping[str, Any]) -> None:
        self.part = Part({}, "")
        self._has_it = part in self.parts
        self._next = {"part": part, "sizes": sizes}

    def goes_on(self) -> bool:
        """Let it measure once. False: the part is over, or there is none of this name in that tree."""
        if not self._has_it:
            return False
        self._tell(self._next)
        self._next = {}
        while True:
            heard = self._hear()
            if "turn" in heard:
                return True
            if "over" in heard:
                return False
            if "failed" in heard:
                self.part = self.part._replace(failed=heard["failed"])
                return False
            if "say" in heard:
                self._said(self.tree.name, heard["say"])
            else:
                self.part.figures.setdefault((heard["figure"], heard["store"]), []).extend(heard["samples"])

    def _tell(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SideEnded(f"What measures {self.tree.name} has ended; see above.") from None

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SideEnded(f"What measures {self.tree.name} has ended; see above.")
        heard: dict[str, Any] = json.loads(line)
        return heard


@contextmanager
def sides(trees: tuple[Tree, Tree], said: Said) -> Iterator[tuple[Side, Side]]:
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(_side(tree, said)) for tree in trees)
        yield ours, theirs


@contextmanager
def _side(tree: Tree, said: Said) -> Iterator[Side]:
    command = [str(tree.python), "-P", str(SIDE)]
    # In a session of its own: Ctrl-C reaches us, and we interrupt it once, so that it removes what it has made.
    process = subprocess.Popen(
        command, cwd=tree.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield Side(tree, process, said)
    except BaseException:
        process.send_signal(signal.SIGINT)
        raise
    finally:
        assert process.stdin is not None
        process.stdin.close()  # its databases are removed, then it ends
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def take_turns(first: Callable[[], bool], second: Callable[[], bool]) -> None:
    """Call both until both say that they are over: the second of one pair begins the next."""
    running, turn, times = [first, second], first, 1
    while running:
        for _ in range(times):
            if turn in running and not turn():
                running.remove(turn)
        turn, times = (second if turn is first else first), 2
