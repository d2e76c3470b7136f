"""Hooks that note what they see and, where told to, do something there."""

from __future__ import annotations

from collections.abc import Callable


class Recorder:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.at: dict[tuple[str, str], Callable[[], None]] = {}

    def before_begin(self, name: str) -> None:
        self._note("before_begin", name)

    def before_commit(self, name: str) -> None:
        self._note("before_commit", name)

    def after_commit(self, name: str) -> None:
        self._note("after_commit", name)

    def _note(self, point: str, name: str) -> None:
        self.seen.append((point, name))
        if act := self.at.get((point, name)):
            act()


def whole(name: str) -> list[tuple[str, str]]:
    """What a transaction that went well shows."""
    return [("before_begin", name), ("before_commit", name), ("after_commit", name)]
