"""Run the coroutines of step bodies, each in a context of its own.

    entered in this turn: a, b, c …     one task enters them one after another
    a ends without waiting              that was all: it needed no task of its own
    b waits for something               the task is b's from now on, and ends with it; another one goes on with c

So a body that waits has a task to itself, which is its current task from its first line to its last: it can be
cancelled, and time-outs inside of it work. On Python 3.11 a task costs more than the rest of a short step.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from windlass.worker.calls import Body

LOGGER = logging.getLogger("windlass.worker")
Ended = Callable[[Body, Any, BaseException | None], None]  # with the value, or with what it raised


class Runners:
    def __init__(self, context: contextvars.Context) -> None:
        self._context = context
        self._entered: deque[tuple[Body, Coroutine[Any, Any, Any], Ended]] = deque()
        self._next: asyncio.Task[None] | None = None  # that will enter what waits to be entered

    def enter(self, body: Body, coroutine: Coroutine[Any, Any, Any], ended: Ended) -> None:
        """Run a body in the next turn of the loop, and say how it ended."""
        self._entered.append((body, coroutine, ended))
        if self._next is None:
            self._begin()

    def _begin(self) -> None:
        # And not by the loop's factory: it is no part of any run, and begins in the next turn whatever that factory is.
        self._next = asyncio.Task(self._run(), loop=asyncio.get_running_loop(), context=self._context)
        self._next.add_done_callback(self._over, context=self._context)

    async def _run(self) -> None:
        task = self._next
        assert task is not None
        known = sys.getrefcount(task)
        while self._entered:
            body, coroutine, ended = self._entered.popleft()
            value: Any = None
            error: BaseException | None = None
            if body.is_cancelled:
                coroutine.close()
                ended(body, None, asyncio.CancelledError())
                continue
            body.work = task
            assert body.context is not None
            try:
                waited = body.context.run(coroutine.send, None)
            except StopIteration as end:
                value = end.value
                if task.cancelling():  # by the body itself, which then ends at once
                    error = asyncio.CancelledError()
            except BaseException as raised:
                error = raised
            else:
                await self._go_on(body, coroutine, ended, waited)
                return
            ended(body, value, error)
            body.work = None
            if isinstance(error, KeyboardInterrupt | SystemExit):
                self._hand_over()
                raise error  # whoever owns the loop is to hear of it
            # A task that a body has cancelled, or that somebody holds on to and may cancel, enters no other.
            if task.cancelling() or task._must_cancel or sys.getrefcount(task) > known:  # type: ignore[attr-defined]
                self._hand_over()
                return
        self._next = None

    async def _go_on(self, body: Body, coroutine: Coroutine[Any, Any, Any], ended: Ended, waited: Any) -> None:
        """The body waits for something: this task is its own from here on."""
        self._hand_over()
        value: Any = None
        error: BaseException | None = None
        try:
            value = await _Driven(coroutine, body.context, waited)
        except BaseException as raised:
            error = raised
        ended(body, value, error)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error

    def _hand_over(self) -> None:
        """Another task enters the bodies that are left."""
        self._next = None
        if self._entered:
            self._begin()

    def _over(self, task: asyncio.Task[None]) -> None:
        """A loop that ends cancels every task, also one that has not begun: nor will the bodies it was to enter."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # else whoever owns the loop has heard of it
            LOGGER.error("Bodies could not be run: an error of the worker itself", exc_info=error)
        if self._next is not task:
            return
        if not task.cancelled():
            self._hand_over()
            return
        self._next = None
        while self._entered:
            body, coroutine, ended = self._entered.popleft()
            body.work = task
            coroutine.close()
            ended(body, None, asyncio.CancelledError())


class _Driven:
    """A coroutine that has begun, driven in its context to its end."""

    __slots__ = ("_context", "_coroutine", "_waited")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: contextvars.Context | None, waited: Any) -> None:
        self._coroutine, self._context, self._waited = coroutine, context, waited

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, context, waited = self._coroutine, self._context, self._waited
        assert context is not None
        while True:
            try:
                sent = yield waited
            except GeneratorExit:
                context.run(coroutine.close)
                raise
            except BaseException as thrown:
                resume: Callable[[Any], Any] = coroutine.throw
                given: Any = thrown
            else:
                resume, given = coroutine.send, sent
            try:
                waited = context.run(resume, given)
            except StopIteration as end:
                return end.value
