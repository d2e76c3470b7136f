"""What a store's hooks saw, and what they were told to do there."""

from __future__ import annotations

from collections.abc import Callable

from windlass.store.base import Store


class Recorder:
    """Notes every hook and, where told to, does something there. A store may call it from a thread of its own."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.at: dict[str, Callable[[], None]] = {}

    def before_begin(self, name: str) -> None:
        self._note("before_begin", name)

    def before_commit(self, name: str) -> None:
        self._note("before_commit", name)

    def after_commit(self, name: str) -> None:
        self._note("after_commit", name)

    def count(self, point: str) -> int:
        return sum(1 for seen, _ in self.seen if seen == point)

    @property
    def commits(self) -> int:
        return self.count("after_commit")

    def _note(self, point: str, name: str) -> None:
        self.seen.append((point, name))
        if act := self.at.get(point):
            act()


def record(store: Store) -> Recorder:
    """Put a recorder in the place of the store's hooks."""
    store.hooks = recorder = Recorder()
    return recorder


def raising(error: Exception, *, times: int) -> Callable[[], None]:
    """Something to do at a hook: raise, the first few times."""
    left = [times]

    def act() -> None:
        if left[0]:
            left[0] -= 1
            raise error

    return act


def whole(name: str) -> list[tuple[str, str]]:
    """What a transaction that went well shows."""
    return [("before_begin", name), ("before_commit", name), ("after_commit", name)]
