"""Does the drawing tell work, failure, waiting, sleep and interruption apart, at their places and within its width?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from windlass.cli.lanes import Bar, Lane, Mark, is_interrupted, lanes_of, span
from windlass.cli.terminal import ASCII, UNICODE, Glyphs
from windlass.cli.timeline import draw
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import LogEntry, Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import DAY, SECOND, Instant

NOON = 1_767_268_800 * SECOND
FAILURE = Failure(kind=FailureKind.TRANSIENT, type="builtins.ConnectionError", message="gateway timed out")


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
        output=b"1",
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


def drawn(
    run: Run, steps: list[Step], log: list[LogEntry], *, now: float = 20, glyphs: Glyphs = UNICODE, width: int = 80
) -> str:
    lanes = lanes_of(run, steps=steps, log=log, now=at(now))
    lines = draw(lanes, span=span(run, now=at(now)), width=width, glyphs=glyphs)
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines)


ENDED_WELL = a_log(
    (0, "running", "dispatch"),
    (5, "pending", "step"),
    (9, "running", "claim"),
    (11, "sleeping", "sleep"),
    (17, "running", "claim"),
    (20, "completed", "finish"),
)
STEPS = [
    a_step("reserve", 0, 2),
    a_step("charge", 2, 5, status=StepStatus.FAILED, failure=FAILURE, due_at=at(9)),
    a_step("charge", 9, 11, attempt=2),
    a_step("sleep", 11, 17, kind=StepKind.SLEEP, due_at=at(17)),
    a_step("ship", 17, 20),
]


def test_work_failure_backoff_and_sleep_have_signs_of_their_own() -> None:
    assert drawn(a_run(), STEPS, ENDED_WELL).splitlines() == [
        "             ╷0          ╷5 s         ╷10 s        ╷15 s",
        " ✓ order     ━━━━━━━━━━━━━·········━━━━━━░░░░░░░░░░░░░░░━━━━━━━━  20 s",
        " ✓  reserve  █████▌".replace("▌", "█") + " " * 47 + "2 s",
        " ✓  charge        ▒▒▒▒▒▒▒✗·········██████" + " " * 26 + "9 s, 2 tries",
    ]
