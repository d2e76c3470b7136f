"""What a write comes back with. It can be awaited like a future; whoever cannot wait for a turn of the loop is called.

A worker completes thousands of steps a second, and a future tells its callbacks one turn later, each in a turn of its
own: that was most of what a step cost. `then` is called where the answer arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Heard = Callable[[Any], None]  # with the value, or with the exception instead of it

OPEN: Any = object()


class _Refusal:
    """An exception, and how far it had come: many callers of a batch raise the same one."""

    __slots__ = ("error", "trace")

    def __init__(self, error: Exception) -> None:
        self.error, self.trace = error, error.__traceback__


class Answer(Generic[T]):
    __slots__ = ("_outcome", "_then")

    def __init__(self) -> None:
        self._outcome: Any = OPEN
        self._then: Heard | None = None

    def then(self, heard: Heard) -> None:
        """Call this with the outcome, when it is known: a value, or the exception instead of it. It must not raise."""
        if self._outcome is not OPEN:
            heard(self._outcome.error if isinstance(self._outcome, _Refusal) else self._outcome)
        elif self._then is None:
            self._then = heard
        else:
            first = self._then

            def both(outcome: Any) -> None:
                first(outcome)
                heard(outcome)

            self._then = both

    def settle(self, outcome: T | Exception) -> None:
        """The outcome is known. Only the first counts."""
        if self._outcome is OPEN:
            self._outcome = _Refusal(outcome) if isinstance(outcome, Exception) else outcome
            if self._then is not None:
                self._then(outcome)
                self._then = None

    def __await__(self) -> Generator[Any, None, T]:
        if self._outcome is OPEN:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def wake(_: Any) -> None:
                if not future.done():  # else whoever waited was cancelled
                    future.set_result(None)

            self.then(wake)
            yield from future
        if isinstance(self._outcome, _Refusal):
            raise self._outcome.error.with_traceback(self._outcome.trace)
        value: T = self._outcome
        return value


def answer_of(asked: Awaitable[T]) -> Answer[T]:
    """The answer to something that was asked, whatever it is that can be awaited."""
    if isinstance(asked, Answer):
        return asked
    answer: Answer[T] = Answer()

    def done(task: asyncio.Future[T]) -> None:
        if task.cancelled():
            answer.settle(_Cancelled("The call was cancelled before it was answered."))
        else:
            error = task.exception()
            answer.settle(task.result() if error is None else _passed_on(error))

    asyncio.ensure_future(asked).add_done_callback(done)
    return answer


async def outcomes(answers: Sequence[Answer[T]]) -> list[T | Exception]:
    """What each of them came back with: the value, or the exception instead of it."""
    found: list[T | Exception] = []
    for answer in answers:  # most came in one batch, and are there once the first is
        try:
            found.append(await answer)
        except Exception as error:
            found.append(error)
    return found


def seen(task: asyncio.Future[Any]) -> None:
    """Nobody may be left to wait for it: what it raised is then no error that asyncio would have to report."""
    if task.done() and not task.cancelled():
        task.exception()


class _Cancelled(Exception):
    """Nobody will answer any more."""


def _passed_on(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else _Cancelled(f"Nobody will answer: {error!r}")
