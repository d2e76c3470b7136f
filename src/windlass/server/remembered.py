"""What was looked up a moment ago, so that not every call has to ask the store: one lookup per name at a time."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from windlass.answers import seen
from windlass.runtime import Clock

T = TypeVar("T")

MOST = 10_000


class Remembered(Generic[T]):
    """Answers by name, each for `keep_for` from the moment it was asked for. What `is_kept` refuses is forgotten."""

    def __init__(
        self,
        look_up: Callable[[str], Awaitable[T]],
        *,
        clock: Clock,
        keep_for: int,
        is_kept: Callable[[T], bool],
        most: int = MOST,
    ) -> None:
        self._look_up, self._is_kept = look_up, is_kept
        self._clock, self._keep_for, self._most = clock, keep_for, most
        self._known: dict[str, tuple[int, T]] = {}
        self._asking: dict[str, asyncio.Task[T]] = {}

    def recall(self, name: str) -> T | None:
        """What is known and young enough."""
        found = self._known.get(name)
        return found[1] if found is not None and self._clock.monotonic() < found[0] + self._keep_for else None

    def was_known(self, name: str) -> bool:
        """Whether it was good at its last lookup, however long ago."""
        return name in self._known

    async def ask(self, name: str) -> T:
        """Look it up now. Whoever asks while it is looked up gets the same answer."""
        task = self._asking.get(name)
        if task is None:
            # A task of its own and in an empty context: a caller that goes away takes nobody's answer with it.
            task = asyncio.get_running_loop().create_task(self._learn(name), context=contextvars.Context())
            self._asking[name] = task
            task.add_done_callback(lambda task: self._forget_task(name, task))
        return await asyncio.shield(task)

    async def _learn(self, name: str) -> T:
        asked_at = self._clock.monotonic()  # before the store is asked: what changes meanwhile is not missed for longer
        answer = await self._look_up(name)
        self._known.pop(name, None)
        if self._is_kept(answer):
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]  # the one that was asked for longest ago
            self._known[name] = (asked_at, answer)
        return answer

    def _forget_task(self, name: str, task: asyncio.Task[T]) -> None:
        del self._asking[name]
        seen(task)
