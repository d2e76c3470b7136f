"""Runs, attempts and log entries to draw, in seconds after noon."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.model.failure import Failure, FailureKind
from windlass.model.run import LogEntry, Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Instant

NOON = 1_767_268_800 * SECOND
FAILURE = Failure(kind=FailureKind.TRANSIENT, type="ConnectionError", message="gateway timed out")


def at(seconds: float) -> Instant:
    return Instant(NOON + round(seconds * SECOND))


def a_run(status: RunStatus = RunStatus.COMPLETED, *, end: float | None = 20, **changes: Any) -> Run:
    run = Run(
        namespace="default",
        id=RunId("run_01KDVQ0000000000000000000A"),
        name="order",
        version="",
        queue="default",
        priority=0,
        status=status,
        available_at=None,
        token=2,
        worker=None,
        poll=0,
        attempts=1,
        recoveries=0,
        created_at=at(0),
        started_at=at(0),
        finished_at=None if end is None else at(end),
    )
    return replace(run, **changes)


def a_step(key: str, start: float, end: float | None, **changes: Any) -> Step:
    step = Step(
        namespace="default",
        run_id="run_01KDVQ0000000000000000000A",
        key=key,
        attempt=1,
        kind=StepKind.STEP,
        status=StepStatus.RUNNING if end is None else StepStatus.COMPLETED,
        order=None,
        token=2,
        failures=0,
        input_hash=b"",
        output=None,
        failure=None,
        due_at=None,
        started_at=at(start),
        finished_at=None if end is None else at(end),
    )
    return replace(step, **changes)


def a_log(*changes: tuple[float, str, str]) -> list[LogEntry]:
    before: list[str | None] = [None, *(status for _, status, _ in changes)]
    return [
        LogEntry(
            seq=number,
            namespace="default",
            subject_kind="run",
            subject_id="run_01KDVQ0000000000000000000A",
            from_status=before[number],
            to_status=status,
            cause=cause,
            at=at(seconds),
        )
        for number, (seconds, status, cause) in enumerate(changes)
    ]


ENDED_WELL = a_log(
    (0, "running", "dispatch"),
    (5, "pending", "step"),
    (9, "running", "claim"),
    (11, "sleeping", "sleep"),
    (17, "running", "claim"),
    (20, "completed", "finish"),
)
STEPS = [
    a_step("reserve", 0, 2, output=b'{"shelf":"B-12"}'),
    a_step("charge", 2, 5, status=StepStatus.FAILED, failure=FAILURE, due_at=at(9)),
    a_step("charge", 9, 11, attempt=2, output=b'"ch_778"'),
    a_step("sleep", 11, 17, kind=StepKind.SLEEP, due_at=at(17), output=b"null"),
    a_step("ship", 17, 20),
]
