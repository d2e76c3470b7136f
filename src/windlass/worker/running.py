"""How user code that belongs to no run is called: a phase of a handler, an effect, a question about one.

Async code is a task of its own, sync code gets a thread. A time-out cancels the first; the second cannot be stopped.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from windlass.answers import seen
from windlass.model.time import Duration
from windlass.runtime import Timer
from windlass.worker.host import Host
from windlass.worker.threads import Threads

LOGGER = logging.getLogger("windlass.worker")
FEW_TURNS = 100  # of the loop, in which code that was cancelled ends, unless it holds out against that


class Ran(NamedTuple):
    """How a call ended. One that passed its time-out may have returned, or raised, all the same."""

    value: Any = None
    error: BaseException | None = None
    is_timed_out: bool = False
    is_over: bool = True  # false: a thread that is still at work


class Halted(Exception):
    """Nobody waits for the call any more: the claim is gone, or the worker stops. `work` may be at work still."""

    def __init__(self, work: asyncio.Future[Any] | None = None) -> None:
        super().__init__("The call was given up.")
        self.work = work


async def run_code(
    host: Host,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    context: contextvars.Context,
    timeout_for: Duration,
    halted: asyncio.Future[None] | None = None,
    waits: Callable[[], Awaitable[None]] | None = None,
    began: Callable[[asyncio.Future[Any]], None] | None = None,
    has_thread: bool = False,
) -> tuple[Ran, asyncio.Future[Any]]:
    """How the call ended, and its task or the answer of its thread. Raises Halted when `halted` is done before.

    `waits` is awaited if the call is not over at once: what was put off because of it is done meanwhile. `began` is
    told of the call itself, for whoever is cancelled while it is at work. `has_thread`: one was kept for it.
    """
    loop = asyncio.get_running_loop()
    is_async = is_coroutine_function(function)
    if not is_async and not has_thread:
        await _until_room(host.threads, halted)
    work = _known(_begun(host, function, args, context=context, is_async=is_async, has_thread=has_thread), began)
    late: asyncio.Future[None] = loop.create_future()
    timer: Timer | None = None
    try:
        await asyncio.sleep(0)  # its first turn, which for most code on the loop is the last
        if is_async and work.done():
            return _read(host, work, is_async=True, is_timed_out=False), work
        timer = host.clock.call_later(timeout_for, settle, late)
        if waits is not None:
            await waits()
        while True:
            ran = await _ended(host, work, is_async=is_async, late=late, halted=halted)
            if is_async or not inspect.iscoroutine(ran.value) or ran.is_timed_out:
                return ran, work
            # A plain callable that returned a coroutine, as a lambda does: go on with it on the loop.
            is_async, work = True, _known(loop.create_task(ran.value, context=context), began)
    except BaseException as error:
        if is_async:
            work.cancel()
            if isinstance(error, Exception) and not isinstance(error, Halted):
                await asyncio.wait([work])  # else it would be at work beside what follows
        raise
    finally:
        if timer is not None:
            timer.cancel()


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Is it called on the loop? Also an object whose call is `async def`."""
    plain = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = plain.func
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(getattr(plain, "__call__", None))  # noqa: B004


async def has_ended(work: asyncio.Future[Any] | None) -> bool:
    """Is nobody inside of the code any more that was given up? A thread may be, for as long as it likes."""
    for _ in range(FEW_TURNS):
        if not isinstance(work, asyncio.Task) or work.done():
            break
        await asyncio.sleep(0)
    return work is None or work.done()


def settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _begun(
    host: Host,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    context: contextvars.Context,
    is_async: bool,
    has_thread: bool,
) -> asyncio.Future[Any]:
    if not is_async:
        return host.threads.submit(functools.partial(function, *args), context=context, is_reserved=has_thread)
    if has_thread:  # an object whose call is async: it needs none
        host.threads.give_up()
    return asyncio.get_running_loop().create_task(_called(function, args), context=context)


def _known(work: asyncio.Future[Any], began: Callable[[asyncio.Future[Any]], None] | None) -> asyncio.Future[Any]:
    work.add_done_callback(seen)  # it may end when nobody waits for it any more
    if began is not None:
        began(work)
    return work


async def _called(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return await function(*args)


async def _ended(
    host: Host,
    work: asyncio.Future[Any],
    *,
    is_async: bool,
    late: asyncio.Future[None],
    halted: asyncio.Future[None] | None,
) -> Ran:
    is_timed_out = False
    while not work.done():
        others = [item for item in (halted, None if is_timed_out else late) if item is not None]
        await asyncio.wait([work, *others], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            break
        if halted is not None and halted.done():
            raise Halted(work)
        if not is_async:
            return Ran(is_timed_out=True, is_over=False)
        is_timed_out = True
        work.cancel()
    return _read(host, work, is_async=is_async, is_timed_out=is_timed_out)


def _read(host: Host, work: asyncio.Future[Any], *, is_async: bool, is_timed_out: bool) -> Ran:
    error = asyncio.CancelledError() if work.cancelled() else work.exception()
    if error is None:
        return Ran(work.result(), is_timed_out=is_timed_out)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        # The process is to stop; that says nothing about the code, which is left to whoever takes it next.
        LOGGER.warning("User code raised %s: this process ends, and gives back what it is at.", _named(error))
        host.is_draining = True
        if not is_async:  # a task tells the loop itself
            asyncio.get_running_loop().call_soon(host.interrupt, error)
        raise Halted
    is_torn_down = isinstance(work, asyncio.Task) and work.cancelling() > 0 and host.is_ending()
    if isinstance(error, asyncio.CancelledError) and is_torn_down and not is_timed_out:
        raise Halted
    return Ran(error=error, is_timed_out=is_timed_out)


def _named(error: BaseException) -> str:
    return f"SystemExit({error.code!r})" if isinstance(error, SystemExit) else type(error).__name__


async def _until_room(threads: Threads, halted: asyncio.Future[None] | None) -> None:
    while True:
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if threads.has_room(functools.partial(settle, room)):
            return
        await asyncio.wait([room] if halted is None else [room, halted], return_when=asyncio.FIRST_COMPLETED)
        if halted is not None and halted.done():
            raise Halted
