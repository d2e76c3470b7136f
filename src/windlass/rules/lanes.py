"""What a timeline shows: one lane for the run, one for every step with all its attempts, as bars between instants.

A run, its attempts, its log and the time now go in, lanes come out; the command line and the dashboard draw them.
Labels come from users and are not escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from windlass.model.duration import between, describe
from windlass.model.run import TAKEN, LogEntry, Run, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Duration, Instant


class Mark(StrEnum):
    """What went on during a bar. Where two meet in one column the later of this list is seen."""

    QUEUED = "queued"  # waits for a worker, or to be tried again
    AWAITED = "awaited"  # waits for an event, a person or another run
    SLEPT = "slept"
    CLAIMED = "claimed"
    PAUSED = "paused"
    WORKED = "worked"
    RUNNING = "running"
    INTERRUPTED = "interrupted"  # seen to start, and nobody knows how it ended
    FAILED = "failed"


class Bar(Struct, frozen=True):
    start: int
    end: int
    mark: Mark


class Lane(Struct, frozen=True, kw_only=True):
    label: str
    sign: str  # a status of a step, or of the run: which glyph stands before the bars
    bars: tuple[Bar, ...]
    note: str  # behind the bars: how long, how many tries, what is left
    is_run: bool = False


MARK_OF_STATUS = {
    RunStatus.WAITING: Mark.AWAITED,
    RunStatus.PENDING: Mark.QUEUED,
    RunStatus.RUNNING: Mark.CLAIMED,
    RunStatus.SLEEPING: Mark.SLEPT,
    RunStatus.PAUSED: Mark.PAUSED,
}


def span(run: Run, *, now: Instant) -> tuple[int, int]:
    """From the first claim to the end, or to now: what has happened, not what may come."""
    start = run.created_at if run.started_at is None else run.started_at
    end = now if run.finished_at is None else run.finished_at
    return start, max(end, start + 1)


def lanes_of(run: Run, *, steps: Sequence[Step], log: Sequence[LogEntry], now: Instant) -> list[Lane]:
    """The run first, then its steps in the order they began."""
    attempts: dict[str, list[Step]] = {}
    for step in steps:
        attempts.setdefault(step.key, []).append(step)
    found = [_lane_of_run(run, log, now=now)]
    for key, tried in attempts.items():
        tried.sort(key=lambda step: step.attempt)
        found.append(_lane_of_step(key, tried, run=run, log=log, now=now))
    return found


def is_interrupted(step: Step, *, run: Run, latest_attempt: int) -> bool:
    """Whether the body was left without a result: by a worker that died, stopped or lost its claim."""
    if step.status is not StepStatus.RUNNING:
        return False
    return step.attempt < latest_attempt or step.token < run.token or run.status is not RunStatus.RUNNING


def _lane_of_run(run: Run, log: Sequence[LogEntry], *, now: Instant) -> Lane:
    start, end = span(run, now=now)
    bars = []
    for entry, following in zip(log, [*log[1:], None], strict=True):
        mark = MARK_OF_STATUS.get(RunStatus(entry.to_status))
        if entry.cause in TAKEN:
            bars.append(Bar(entry.at, entry.at, Mark.INTERRUPTED))
        until = end if following is None else following.at
        if mark is not None and until > start:  # what came before the axis begins is said in words
            bars.append(Bar(entry.at, until, mark))
    started = run.started_at
    note = "" if started is None else describe(Duration(max(0, end - started)))
    return Lane(label=run.name, sign=run.status.value, bars=tuple(bars), note=note, is_run=True)


def _lane_of_step(key: str, tried: list[Step], *, run: Run, log: Sequence[LogEntry], now: Instant) -> Lane:
    _, end = span(run, now=now)
    bars: list[Bar] = []
    for step, following in zip(tried, [*tried[1:], None], strict=True):
        bars += _bars_of_attempt(step, following, run=run, log=log, end=end)
    last = tried[-1]
    sign = _sign(last, run=run)
    return Lane(label=key, sign=sign, bars=tuple(bars), note=_note(tried, sign=sign, end=end, now=now))


def _bars_of_attempt(step: Step, following: Step | None, *, run: Run, log: Sequence[LogEntry], end: int) -> list[Bar]:
    start = _start(step, run)
    finished = end if step.finished_at is None else step.finished_at
    if step.kind is StepKind.START:  # which waits for nobody
        return [Bar(start, finished, Mark.WORKED)]
    if step.kind.is_wait:
        return _await(step, start, finished)
    next_start = end if following is None else _start(following, run)
    match step.status:
        case StepStatus.COMPLETED:
            return [Bar(start, finished, Mark.WORKED)] if step.kind is StepKind.STEP else _sleep(step, start, finished)
        case StepStatus.WAITING:
            return _sleep(step, start, end)
        case StepStatus.FAILED:
            bars = [Bar(start, finished, Mark.FAILED)]
            return bars if step.due_at is None else [Bar(finished, next_start, Mark.QUEUED), *bars]
    latest = step.attempt if following is None else following.attempt
    if not is_interrupted(step, run=run, latest_attempt=latest):
        return [Bar(start, end, Mark.RUNNING)]
    # When its worker died is not known; the next thing that happened to the run is the latest it can have been.
    ends = [entry.at for entry in log if entry.at > start and _ends_claim(entry)]
    return [Bar(start, min([*ends, next_start]), Mark.INTERRUPTED)]


def _ends_claim(entry: LogEntry) -> bool:
    """A deed of a person, such as an approval, may leave a running run as it was."""
    if entry.from_status != RunStatus.RUNNING:
        return False
    return entry.to_status != RunStatus.RUNNING or entry.cause in TAKEN


def _await(step: Step, start: int, end: int) -> list[Bar]:
    """A wait that ended badly shows where: its whole length would look like work that failed."""
    waited = Bar(start, end, Mark.AWAITED)
    return [waited, Bar(end, end, Mark.FAILED)] if step.status is StepStatus.FAILED else [waited]


def _sleep(step: Step, start: int, end: int) -> list[Bar]:
    """Asleep until it was due; behind that it waited for a worker, or for a person."""
    due_at = end if step.due_at is None else min(step.due_at, end)
    return [Bar(start, due_at, Mark.SLEPT), *([Bar(due_at, end, Mark.QUEUED)] if due_at < end else [])]


def _start(step: Step, run: Run) -> int:
    if step.started_at is not None:
        return step.started_at
    return run.created_at if run.started_at is None else run.started_at


def _sign(last: Step, *, run: Run) -> str:
    if last.status is StepStatus.WAITING:
        if not last.kind.is_wait:
            return "sleeping"
        return "skipped" if last.is_dropped or run.status.is_terminal else "waiting"
    if last.status is StepStatus.FAILED and last.due_at is not None:
        return "retry"
    return "interrupted" if is_interrupted(last, run=run, latest_attempt=last.attempt) else last.status.value


def _note(tried: list[Step], *, sign: str, end: int, now: Instant) -> str:
    first, last = tried[0], tried[-1]
    if sign in ("sleeping", "waiting", "retry") and last.due_at is not None:
        if last.due_at <= now:
            text = "is due"
        elif sign == "retry":
            text = f"in {between(now, last.due_at)}"
        else:
            text = f"{between(now, last.due_at)} left"
    elif sign == "skipped":
        text = "given up"
    elif sign == "interrupted":
        text = "interrupted"
    else:
        started = end if first.started_at is None else first.started_at
        text = describe(Duration(max(0, (end if last.finished_at is None else last.finished_at) - started)))
    return text if len(tried) == 1 else f"{text}, {len(tried)} tries"


def latest_attempts(steps: Sequence[Step]) -> dict[str, int]:
    """By the keys of the steps."""
    latest: dict[str, int] = {}
    for step in steps:
        latest[step.key] = max(step.attempt, latest.get(step.key, 0))
    return latest
