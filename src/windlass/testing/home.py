"""Where a harness lives, and the way there from any other thread and any other event loop.

It lives on one event loop: on that of the test, if it has one and uses the harness there first; else on one of its own,
in a thread. There is its database, and there the bodies of steps run.

    an async test, httpx in it          ── on the loop itself, nothing in between
    TestClient, asyncio.run, …          ── another loop:  ask, lead ─┐
    app.sync, harness.sync, a thread    ── no loop:       call, run ─┴► the loop of the harness
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future, wait
from typing import TypeVar

from windlass.answers import seen
from windlass.client.portal import Portal, Work, _refuse_in_a_loop
from windlass.errors import NotAllowed
from windlass.testing.clock import FakeClock
from windlass.testing.errors import PATIENCE, Stuck

T = TypeVar("T")

OVER = "The harness of this test is closed, so nothing can be asked of it, nor of the app that it runs."
ASLEEP = (
    "The harness was first used on another event loop, and that one does not run now. Use it on one loop only, or "
    'write the test with "def": then it has a loop of its own.'
)
HELD_UP = (
    "The event loop of the test got no turn for {patience:g} s: something blocks it, such as a TestClient in an async "
    'test. Ask with httpx.AsyncClient or in a thread ("await asyncio.to_thread(client.get, …)"), or write the test '
    'with "def".'
)
NO_ANSWER = (
    "There was no answer for {patience:g} s, and the clock stood still. A run that sleeps or waits goes on when the "
    "test says so: let time pass (harness.advance, harness.sync.advance), or send what it waits for, and ask then."
)


class Home(Portal):
    """The loop of a harness. A program that closes its `app.sync` leaves it alone; `end` ends it."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(_nothing)
        self.patience = PATIENCE
        self.is_of_async_test: bool | None = None  # None: nothing has said so
        self._clock = clock
        self._made_in = threading.get_ident()
        self._noted: asyncio.AbstractEventLoop | None = None

    @property
    def is_here(self) -> bool:
        """Whether the caller is on the loop of the harness."""
        return self._loop is not None and _running_loop() is self._loop

    @property
    def is_reachable(self) -> bool:
        """Whether anything may still be asked there: a loop that is over answers nothing."""
        return not self.is_closed and (self._loop is None or self._loop.is_running())

    def note(self) -> None:
        """The loop that runs here now, if one does, is that of the test."""
        self._noted = _running_loop() or self._noted

    def adopt(self) -> None:
        """Live on the loop that runs here, unless there is a home already."""
        with self._lock:
            if self._loop is None:
                self._loop, self._process = asyncio.get_running_loop(), os.getpid()

    def ask(self, work: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """A question of the program: it is on its way at once, and answered when awaited. Raises Stuck."""
        self._settle(is_harness=False)
        if self.is_here:
            return work()
        asked = asyncio.ensure_future(self._answered(*self._send(work), is_question=True))
        asked.add_done_callback(seen)  # the caller may be gone
        return asked

    async def lead(self, work: Work[T]) -> T:
        """What the harness is asked to do: it may take its time, and raises Stuck itself."""
        self._settle(is_harness=True)
        if self.is_here:
            return await work()
        return await self._answered(*self._send(work), is_question=False)

    def call(self, work: Work[T], *, verb: str, instead: str) -> T:
        """As `ask`, for code that blocks."""
        return self._wait(work, verb=verb, instead=instead, is_question=True)

    def run(self, work: Work[T], *, verb: str, instead: str) -> T:
        """As `lead`, for code that blocks."""
        return self._wait(work, verb=verb, instead=instead, is_question=False)

    def do(self, deed: Callable[[], None]) -> None:
        """Do it on the loop of the harness, at once: it takes no time, so even another loop may wait for it."""
        if self.is_here:
            return deed()

        async def done() -> None:
            deed()

        self._block(*self._send(done), is_question=False)

    def close(self) -> None:
        """Nothing: a program that closes its `app.sync` does not close the harness."""

    def end(self) -> None:
        """Take no more questions, and end the thread if there is one. Harmless when it is repeated."""
        with self._lock:
            self.is_closed = True
        thread = self._thread
        if thread is None or not thread.is_alive() or self._process != os.getpid():
            return
        if thread is not threading.current_thread():
            self._end(thread)
        elif self._stopped is not None:
            self._stopped.set()

    def _settle(self, *, is_harness: bool) -> None:
        """Decide where home is, at the first use on a loop: one that is not the test's may be gone before the test is.

        TestClient has a loop for each request, in another thread; so has `asyncio.run` in a test that blocks.
        """
        if self._loop is not None:
            return
        if self.is_of_async_test is None:
            is_tests = is_harness or _running_loop() is self._noted
        else:
            is_tests = self.is_of_async_test and threading.get_ident() == self._made_in
        if is_tests:
            self.adopt()

    def _send(self, work: Callable[[], Awaitable[T]]) -> tuple[Future[T], threading.Event]:
        begun = threading.Event()

        async def carry_out() -> T:
            begun.set()
            return await work()

        return self._submit(carry_out), begun

    def _submit(self, work: Work[T]) -> Future[T]:
        if self.is_closed:
            raise NotAllowed(OVER)
        if self._loop is not None and not self._loop.is_running():
            raise NotAllowed(ASLEEP)
        return super()._submit(work)

    async def _answered(self, future: Future[T], begun: threading.Event, *, is_question: bool) -> T:
        answer = asyncio.wrap_future(future)
        try:
            while True:
                since = self._clock.monotonic()
                await asyncio.wait([answer], timeout=self.patience)
                if answer.cancelled():
                    raise NotAllowed(OVER)
                if answer.done():
                    return answer.result()
                self._give_up(begun, since=since, is_question=is_question)
        finally:
            answer.cancel()  # for a caller that was cancelled, or has given up

    def _wait(self, work: Work[T], *, verb: str, instead: str, is_question: bool) -> T:
        _refuse_in_a_loop(verb, instead)
        return self._block(*self._send(work), is_question=is_question)

    def _block(self, future: Future[T], begun: threading.Event, *, is_question: bool) -> T:
        try:
            while True:
                since = self._clock.monotonic()
                if wait([future], timeout=self.patience).done:
                    return future.result()
                self._give_up(begun, since=since, is_question=is_question)
        except CancelledError:
            raise NotAllowed(OVER) from None
        finally:
            future.cancel()

    def _give_up(self, begun: threading.Event, *, since: int, is_question: bool) -> None:
        """Raise Stuck where nothing can come any more."""
        if not begun.is_set():
            raise Stuck(HELD_UP.format(patience=self.patience))
        if is_question and self._clock.monotonic() == since:
            raise Stuck(NO_ANSWER.format(patience=self.patience))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _nothing() -> None:
    return
