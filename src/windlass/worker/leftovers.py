"""What tasks of a run leave behind: errors that no task retrieves, and what is not over when the workflow returns.

An error is logged once all tasks stand still. It is on record under the claim until a task retrieves it, so that
`explain` can tell of it. When the workflow returns, its other tasks first hear all that is on record, or on its way
there: so the verdict is the same at every replay. Then the first error, else the first step or child that is not over,
fails the run.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from windlass.model.failure import Failure, FailureKind, Unretrieved
from windlass.worker import failures
from windlass.worker.calls import Call, Group
from windlass.worker.tasks import error_of, is_given_up, is_unretrieved

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

LOGGER = logging.getLogger("windlass.worker")
MOST_TURNS = 100  # of the loop: a task that goes through more of them without a wait never stands still
MOST_NAMED = 3


class Leftovers:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._logged: set[asyncio.Task[Any]] = set()
        self._first: asyncio.Task[Any] | None = None  # that failed, and whose error nobody has retrieved
        self._noted: asyncio.Task[Any] | None = None  # its error is on record under this claim, or on its way there
        self._turns = 0

    # --- errors that no task has retrieved ----------------------------------------------------------------------------

    def look(self) -> None:
        """Log the errors that have come since the last look."""
        tree = self._execution.tree
        tree.failed = [task for task in tree.failed if is_unretrieved(task)]
        awaited = tree.awaited_together() if tree.failed else ()
        lost = [task for task in tree.failed if task not in awaited]
        for task in lost:
            if task not in self._logged:
                self._log(task)
        self._logged, self._first = set(lost), lost[0] if lost else None

    def _log(self, task: asyncio.Task[Any]) -> None:
        """Its type and its line. The text may quote a payload, and is in the database."""
        error, claimed = error_of(task), self._execution.claimed
        assert error is not None
        LOGGER.warning(
            "A task of run %s (%r) ended with %s%s, and no task has retrieved that. If none does, the run fails with "
            "it when its workflow returns.",
            claimed.run_id,
            claimed.name,
            type(error).__qualname__,
            failures.at_line(error),
            extra=self._execution.about,
        )

    @property
    def has_news(self) -> bool:
        return self._first is not self._noted

    def take_news(self) -> Unretrieved | None:
        """What is to be put on record; none if nothing has changed."""
        if not self.has_news:
            return None
        first = self._noted = self._first
        token = self._execution.claimed.token
        error = None if first is None else error_of(first)
        if error is None:
            return Unretrieved(token=token)
        return Unretrieved(token=token, failure=failures.in_short(error), place=failures.at_line(error))

    # --- when the workflow has returned -------------------------------------------------------------------------------

    def stand_still(self) -> bool:
        """Do all of them wait? One that never does is not waited for."""
        if self._execution.tree.foreign_waits() is None and self._turns < MOST_TURNS:
            self._turns += 1
            return False
        self._turns = 0
        return True

    def failure(self) -> Failure | None:
        """Why the run fails although its workflow has returned, if it does."""
        self.look()
        for task in self._execution.tree.failed:
            error = error_of(task)
            assert error is not None
            return failures.of_workflow(error, codec=self._execution.codec)
        calls = self._open_calls()
        return _not_awaited(calls) if calls else None

    def _open_calls(self) -> list[Call]:
        """Steps and children that tasks still wait for, but for tasks that the code has given up."""
        tree, given_up, calls = self._execution.tree, set[str](), list[Call]()
        for task in tree.living():  # each behind the one that began it
            path = tree.paths[task]
            if path.rpartition(".")[0] in given_up or is_given_up(task):
                given_up.add(path)
                continue
            waiter: asyncio.Future[Any] | None = task._fut_waiter  # type: ignore[attr-defined]
            asked = None if waiter is None or waiter.done() else tree.futures.get(waiter)
            if asked is not None:
                calls.extend(call for call in (asked.open if isinstance(asked, Group) else [asked]) if call.is_work)
        return calls


def leftovers_of(execution: Execution) -> Leftovers:
    """Made when they are needed, which is seldom."""
    execution.leftovers = execution.leftovers or Leftovers(execution)
    return execution.leftovers


def _not_awaited(calls: list[Call]) -> Failure:
    named = [f"{'step' if call.child is None else 'child'} {call.key!r}" for call in calls[:MOST_NAMED]]
    if len(calls) > MOST_NAMED:
        named.append(f"{len(calls) - MOST_NAMED:,} more")
    told = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    message = (
        f"The workflow returned before {told} {'was' if len(calls) == 1 else 'were'} over, and nothing awaits "
        f"{'it' if len(calls) == 1 else 'them'}. Await what a workflow asks for before it returns, as "
        "asyncio.TaskGroup does, or cancel the task."
    )
    return Failure(kind=FailureKind.LOGIC, type="NotAwaited", message=message, step=calls[0].key)
