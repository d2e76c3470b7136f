"""A run started by another one, held from inside it: what is asked of it is remembered like a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Generic, TypeVar

from windlass.define.event import Event

R = TypeVar("R")
T = TypeVar("T")


class Child(ABC, Generic[R]):
    """What `await ctx.start(workflow, …)` gives: unlike a Handle, its calls are durable and repeatable."""

    id: str
    """The id of the child's run."""

    @abstractmethod
    def result(self) -> Coroutine[object, None, R]:
        """Wait for the child to end, without holding a worker. Raises RunFailed or RunCancelled."""

    @abstractmethod
    def send(self, event: Event[T], payload: T, /) -> Coroutine[object, None, None]:
        """Send an event to the child, once."""

    @abstractmethod
    def cancel(self) -> Coroutine[object, None, bool]:
        """Cancel the child. False: it had ended in another way before."""

    def __repr__(self) -> str:
        return f"Child({self.id!r})"
