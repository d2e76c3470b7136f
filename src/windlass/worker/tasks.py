"""Which tasks belong to a run, and whether all of them wait for it.

Results reach the code one at a time, and only when every task of the run awaits something that `ctx` gave it: so the
code sees them in the same order at every replay. What a task awaits is told by its waiter:

    a future of ctx              yes
    another task of the run      yes: that task is asked itself
    gather, shield               yes, if all they wait for is
    TaskGroup, asyncio.wait      yes: only tasks of the run can end it
    Lock, Semaphore, Queue, …    yes, though another run that shares it may be the one to end it
    anything else                no: a foreign wait, which keeps the slot
"""

from __future__ import annotations

import asyncio
import asyncio.locks
import asyncio.queues
import asyncio.taskgroups
import asyncio.tasks
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar
from enum import Enum
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakSet

from windlass.answers import seen

if TYPE_CHECKING:
    from windlass.worker.calls import Call, Group

OWNER: ContextVar[TaskTree] = ContextVar("windlass_run_tasks")

_GROUP_FILE = asyncio.TaskGroup.__aexit__.__code__.co_filename
_SHARED_FILES = frozenset(function.__code__.co_filename for function in (asyncio.Lock.acquire, asyncio.Queue.get))
_TASKS_FILE = asyncio.tasks.sleep.__code__.co_filename


class _Wait(Enum):
    OWN = "own"
    SHARED = "shared"
    FOREIGN = "foreign"


class LoopThread:
    """A loop, and the thread it runs in. To ask Python which loop runs here costs a call of the system each time."""

    __slots__ = ("_thread", "loop")

    def __init__(self) -> None:
        self.loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def current_task(self) -> asyncio.Task[Any] | None:
        """The task that runs now; none in another thread."""
        return asyncio.current_task(self.loop) if threading.get_ident() == self._thread else None


class TaskTree:
    """The tasks of one run. A task's path is its place among its siblings, so it is the same at every replay."""

    def __init__(self, on_done: Callable[[], None], loop: LoopThread) -> None:
        self._loop = loop
        self.futures: dict[asyncio.Future[Any], Call | Group] = {}  # given out by ctx and not yet resolved
        self.has_shared_waits = False  # as of the last look: some task awaits a lock or a queue, perhaps another run's
        self.paths: dict[asyncio.Task[Any], str] = {}  # of the tasks that have not ended, and of the workflow itself
        self.failed: list[asyncio.Task[Any]] = []  # ended with an error; others may have retrieved it by now
        self._children: dict[asyncio.Task[Any] | None, int] = {}
        self._gathers: WeakSet[asyncio.Future[Any]] | None = None  # known to wait for nothing foreign
        self._on_done = on_done
        self._is_left = False

    def create_root(self, coroutine: Coroutine[Any, Any, Any], context: Context) -> asyncio.Task[Any]:
        """The task of the workflow itself, whose path is empty. In a context that leads back to this tree."""
        task = asyncio.Task(coroutine, loop=self._loop.loop, context=context)
        self.paths[task], self._children[None] = "", 1
        task.add_done_callback(self._forget)
        return task

    def adopt(self, task: asyncio.Task[Any]) -> None:
        if task in self.paths:  # told twice: someone has wrapped our factory, and another worker has wrapped theirs
            return
        parent = _current_task()
        if parent not in self.paths:
            parent = None
        place = self._children[parent] = self._children.get(parent, 0) + 1
        above = self.paths[parent] + "." if parent is not None and self.paths[parent] else ""
        self.paths[task] = above + str(place)
        task.add_done_callback(self._forget)

    def path(self) -> str:
        """Of the task that runs now; raises KeyError if it is none of ours."""
        return self.paths[_current_task()]  # type: ignore[index]

    def current(self) -> asyncio.Task[Any] | None:
        """The task that runs now, if it is one of ours."""
        task = self._loop.current_task()
        return task if task in self.paths else None

    def living(self) -> list[asyncio.Task[Any]]:
        return [task for task in self.paths if not task.done()]

    @property
    def is_asked_by_root(self) -> bool:
        """Is the workflow's own task the only one, and is it the one that asks?"""
        task = self.current()
        return task is not None and len(self.paths) == 1 and not task.cancelling()

    def leave(self) -> None:
        """The run is over here: what its tasks still raise is an answer to that, and nobody else will look at it."""
        self._is_left = True
        for task in (*self.paths, *self.failed):
            seen(task)

    def forget_all(self) -> None:
        self.paths.clear()

    def has_living(self) -> bool:
        return any(not task.done() for task in self.paths)

    def foreign_waits(self) -> list[asyncio.Future[Any]] | None:
        """None while a task is about to run; else the futures outside the run that some of its tasks await."""
        foreign: list[asyncio.Future[Any]] = []
        self.has_shared_waits = False
        for task in self.paths:
            if task.done():
                if not self.paths[task]:
                    continue  # the workflow itself, for which nobody waits
                # Whoever waits for it hears of it in this turn of the loop, after us.
                return None
            waiter: asyncio.Future[Any] | None = task._fut_waiter  # type: ignore[attr-defined]
            if waiter is None or waiter.done():
                return None
            if waiter in self.futures or self._is_ours(waiter):
                continue
            wait = _wait_of(task)
            if wait is _Wait.FOREIGN:
                foreign.append(waiter)
            self.has_shared_waits |= wait is _Wait.SHARED
        return foreign

    def _is_ours(self, waiter: asyncio.Future[Any]) -> bool:
        if waiter in self.futures or waiter in self.paths:
            return True
        children = getattr(waiter, "_children", None)  # of gather
        if children is not None:
            if self._gathers is None:
                self._gathers = WeakSet()
            if waiter not in self._gathers and all(child.done() or self._is_ours(child) for child in children):
                self._gathers.add(waiter)  # what it gathers never changes, and there may be thousands of them
            return waiter in self._gathers
        inner = _shielded(waiter)
        return inner is not None and self._is_ours(inner)

    def awaited_together(self) -> set[asyncio.Future[Any]]:
        """What tasks await in a `gather` or in `asyncio.wait`, which look at an error only once all have ended."""
        found: set[asyncio.Future[Any]] = set()
        looked_at: list[asyncio.Future[Any]] = []
        for task in self.living():
            waiter: asyncio.Future[Any] | None = task._fut_waiter  # type: ignore[attr-defined]
            if waiter is not None:
                looked_at.append(_shielded(waiter) or waiter)
            looked_at.extend(_waited_for(task))
        while looked_at:
            future = looked_at.pop()
            if future not in found:
                found.add(future)
                looked_at.extend(getattr(future, "_children", ()))
        return found

    def _forget(self, task: asyncio.Task[Any]) -> None:
        if self.paths.get(task):  # the workflow itself stays known: its path is empty
            del self.paths[task]
            if is_unretrieved(task):  # as yet: whoever awaits it hears of it after us
                self.failed.append(task)
        self._children.pop(task, None)
        if self._is_left:
            seen(task)
        self._on_done()

    def resolve(self, future: asyncio.Future[Any] | None, value: Any, error: Exception | None) -> None:
        if future is None:
            return
        self.futures.pop(future, None)
        if future.done():  # its branch was cancelled by the code
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


class _Tracking:
    """A task factory that tells runs of the tasks created inside them."""

    def __init__(self, previous: Any) -> None:
        self.previous, self.users = previous, 0

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        context = options.get("context")
        owner = OWNER.get(None) if context is None else context.get(OWNER)
        # Our own tasks begin in the next turn whatever factory the loop has: an eager one would run a workflow before
        # its task is known here, and our duties inside of each other.
        is_ours = owner is not None or context is not None
        make: Callable[..., asyncio.Task[Any]] = _plain_task if is_ours else self.previous or _plain_task
        task = make(loop, coro, **options)
        if owner is not None:
            owner.adopt(task)
        return task


def track_tasks(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Make the loop tell runs of tasks created inside them, however many workers it has. Returns the way back."""
    current: Any = loop.get_task_factory()
    tracking = current if isinstance(current, _Tracking) else _Tracking(current)
    tracking.users += 1
    loop.set_task_factory(tracking)  # type: ignore[arg-type]

    def restore() -> None:
        tracking.users -= 1
        now: Any = loop.get_task_factory()
        if not tracking.users and now is tracking:
            loop.set_task_factory(tracking.previous)

    return restore


async def cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks of our own, and wait until they are over."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def fail(error: Exception) -> NoReturn:
    raise error


def _innermost(task: asyncio.Task[Any]) -> CoroutineType[Any, Any, Any] | None:
    """The coroutine at which it stands; none if it stands elsewhere."""
    frame: Any = task.get_coro()
    while isinstance(frame, CoroutineType) and isinstance(frame.cr_await, CoroutineType):
        frame = frame.cr_await
    return frame if isinstance(frame, CoroutineType) else None


def _waited_for(task: asyncio.Task[Any]) -> Sequence[asyncio.Future[Any]]:
    """The futures that it has given to `asyncio.wait`, if it stands there."""
    frame = _innermost(task)
    if frame is None or frame.cr_frame is None or frame.cr_code.co_filename != _TASKS_FILE:
        return ()
    return tuple(frame.cr_frame.f_locals.get("fs") or ()) if frame.cr_code.co_name == "_wait" else ()


def is_unretrieved(task: asyncio.Task[Any]) -> bool:
    """Has it ended with an error that no task has retrieved? To ask the task itself would retrieve it."""
    return task._log_traceback and not isinstance(error_of(task), KeyboardInterrupt | SystemExit)


def error_of(task: asyncio.Task[Any]) -> BaseException | None:
    """What it has ended with, which is not retrieved by this."""
    error: BaseException | None = task._exception
    return error


def cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks, also those that await each other in a ring: there each passes it on to the next for ever."""
    in_rings = [task for task in tasks if not _cancelled(task)]
    for task in reversed(in_rings):  # whoever waits for the ring, such as the workflow itself, comes last
        if not _cancelled(task):
            _break(task)


def _cancelled(task: asyncio.Task[Any]) -> bool:
    try:
        task.cancel()
    except RecursionError:
        return False
    return True


def _break(task: asyncio.Task[Any]) -> None:
    """End a task where it stands, which wakes the next one of its ring."""
    waiter: asyncio.Future[Any] | None = task._fut_waiter  # type: ignore[attr-defined]
    for callback, _ in getattr(waiter, "_callbacks", None) or ():
        if waiter is not None and getattr(callback, "__self__", None) is task:
            waiter.remove_done_callback(callback)  # it is not woken any more
    with suppress(RuntimeError):  # its `finally` awaits something: nobody is left to go on with it
        task.get_coro().close()
    asyncio.Future.cancel(task)  # as the future it is, and not as a task


def _plain_task(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coro, loop=loop, **options)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _wait_of(task: asyncio.Task[Any]) -> _Wait:
    """Does the task wait inside asyncio's own means of co-operation, which tasks of the run can end?"""
    frame = _innermost(task)
    if frame is None:
        return _Wait.FOREIGN
    code = frame.cr_code
    if code.co_filename in _SHARED_FILES:
        return _Wait.SHARED
    is_own = code.co_filename == _GROUP_FILE or (code.co_filename == _TASKS_FILE and code.co_name != "sleep")
    return _Wait.OWN if is_own else _Wait.FOREIGN


def is_given_up(task: asyncio.Task[Any]) -> bool:
    """Does it belong to a `gather` that is over, because another task of it has failed? Whoever awaited that knows."""
    for callback, _ in task._callbacks or ():
        if getattr(callback, "__qualname__", "") == "gather.<locals>._done_callback":
            cells = callback.__closure__ or ()
            outer = [cell.cell_contents for cell in cells if hasattr(cell.cell_contents, "_children")]
            return any(future.done() and not future._log_traceback for future in outer)
    return False


def _shielded(waiter: asyncio.Future[Any]) -> asyncio.Future[Any] | None:
    """What `asyncio.shield` protects, if the waiter is its outer future."""
    for callback, _ in getattr(waiter, "_callbacks", None) or ():
        if getattr(callback, "__qualname__", "") == "shield.<locals>._outer_done_callback":
            for cell in callback.__closure__ or ():
                if isinstance(cell.cell_contents, asyncio.Future) and cell.cell_contents is not waiter:
                    return cell.cell_contents
    return None
