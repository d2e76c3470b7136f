"""A claim whose caller has gone meanwhile: what it claims is given back, because nobody else knows of it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TypeVar

from windlass.engine.parts import Parts

T = TypeVar("T")


class Asking:
    """A call that claims, as far as its own claim knows of it."""

    def __init__(self, *, is_remote: bool) -> None:
        self.is_gone = False  # its caller: perhaps to another server, where it asks with the same poll
        self.is_ours = not is_remote  # what it is told: else the same poll may have claimed it elsewhere

    def note(self, claimed: Sequence[object]) -> None:
        """What it has claimed itself. For good: if the answer is lost, its repeat is told of the same."""
        self.is_ours = self.is_ours or bool(claimed)


async def never_lost(
    parts: Parts, asking: Asking, claiming: Coroutine[None, None, list[T]], give_back: Callable[[T], Awaitable[None]]
) -> list[T]:
    """Await a claim; if the caller is cancelled meanwhile, everything that it claims itself is given back.

    Not what it is told as a repeat: its caller may have been told of that elsewhere, and be at work on it by now. If
    not, it asks what became of its poll (`is_called_off`).
    """
    task = asyncio.get_running_loop().create_task(claiming, context=contextvars.Context())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        asking.is_gone = True
        parts.spawn(_give_all_back(asking, task, give_back))
        raise


async def _give_all_back(
    asking: Asking, claiming: asyncio.Task[list[T]], give_back: Callable[[T], Awaitable[None]]
) -> None:
    await asyncio.wait([claiming])
    if claiming.exception() is None and asking.is_ours:
        for item in claiming.result():
            await give_back(item)
