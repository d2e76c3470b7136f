"""What a run waits for, in a few words for a table. `windlass explain` says it in whole sentences."""

from __future__ import annotations

from windlass.api.service import Runs
from windlass.cli.terminal import escape
from windlass.model.duration import between, from_instant
from windlass.model.failure import Failure, in_one_line
from windlass.model.run import Run, RunStatus
from windlass.model.time import Instant


def summary(failure: Failure) -> str:
    """A failure in one line, for a terminal."""
    return escape(in_one_line(failure))


async def in_brief(runs: Runs, run: Run, *, now: Instant) -> str:
    """What the row of a run does not tell: for what it waits, who paused it, and what keeps a due one from a worker."""
    is_due = run.available_at is not None and run.available_at <= now
    if run.status in (RunStatus.WAITING, RunStatus.PAUSED) or run.is_held or is_due:
        return (await runs.explain_run(run.namespace, run.id)).brief
    return ""


def in_short(run: Run, *, failure: Failure | None, now: Instant, brief: str = "") -> str:
    """What a run waits for, or how it failed, as a cell of a table. `brief` is what a look behind its row has found."""
    due_at = run.available_at
    if brief:
        return escape(brief)
    if due_at is not None and due_at <= now and run.status is not RunStatus.RUNNING:
        return f"for a worker, {between(due_at, now)}"
    match run.status:
        case RunStatus.SLEEPING if due_at is not None:
            return f"sleeps, {between(now, due_at)} left"
        case RunStatus.PENDING if due_at is not None:
            # A run that comes back in order counts no recoveries.
            what = "workers died, goes on" if run.recoveries else "retry" if run.attempts else "starts"
            return f"{what} in {between(now, due_at)}"
        case RunStatus.RUNNING if due_at is not None and run.worker is not None:
            if due_at <= now:
                return f"claim ran out {between(due_at, now)} ago"
            return f"by wrk_…{run.worker[-4:]} until {from_instant(due_at):%H:%M}"
        case RunStatus.WAITING:
            return "for its needs or an event"
        case RunStatus.PAUSED | RunStatus.FAILED if failure is not None:
            return summary(failure)
        case RunStatus.PAUSED:
            return "for a person"
    return ""
