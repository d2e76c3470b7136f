"""What is said about a run that is not there: its id may be wrong, or it was there once."""

from __future__ import annotations

from windlass.errors import NotFound
from windlass.model.run import RunId


def no_run(run_id: RunId) -> NotFound:
    return NotFound("run", run_id, hint="If it did once, it was removed: it had ended longer ago than runs are kept.")


def no_child(run_id: RunId) -> NotFound:
    """The same whether there is such a run or not: a worker learns nothing about runs that are not its own."""
    hint = "A run waits for, sends to and cancels only runs that it has started itself, and that are not removed yet."
    return NotFound("child", run_id, hint=hint)


def no_run_of_key(key: str, *, owner: RunId | None) -> NotFound:
    """`owner`: the run that was started with this key, if there was one."""
    hint = "" if owner is None else f"It was {owner}, which was removed: it had ended longer ago than runs are kept."
    return NotFound("run with key", key, hint=hint)
