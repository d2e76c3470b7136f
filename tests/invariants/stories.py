"""A small story without fault, made by hand, for checkers to be silent about: and the pieces to spoil it with."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.invariants.evidence import Evidence, Snapshot
from tests.lives.journal import Event, Line
from windlass.codec import Codec
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import LogEntry, Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.store.queries.checks import KeyRow, PayloadRow, RunRow

NOON = 1_000_000_000_000
LAPSE = 31 * SECOND  # longer than a claim
codec = Codec()

RUN = RunId("run_1")
FIRST, SECOND_WORKER = WorkerId("wrk_1"), WorkerId("wrk_2")
REFUSED = Failure(kind=FailureKind.LOGIC, type="Refused", message="no", data=codec.encode({"limit": 5}), step="charge")
OFFLINE = Failure(kind=FailureKind.TRANSIENT, type="ConnectionError", message="offline", step="charge")


def line(event: Event, *, at: int = NOON, life: int = 1, **fields: Any) -> Line:
    return Line(event=event, at=at, life=life, **{"run_id": RUN, **fields})


def body(event: Event, key: str, *, attempt: int = 1, at: int = NOON, life: int = 1) -> Line:
    return line(event, key=key, attempt=attempt, at=at, life=life, idempotency_key=f"{RUN}/{key}")


def run(status: RunStatus, **fields: Any) -> Run:
    values: dict[str, Any] = {
        "namespace": "default",
        "id": RUN,
        "name": "order",
        "version": "",
        "queue": "default",
        "priority": 0,
        "status": status,
        "available_at": None,
        "token": 1,
        "worker": None,
        "poll": 1,
        "attempts": 1,
        "recoveries": 0,
        "created_at": NOON,
        "started_at": NOON,
        "finished_at": None,
    }
    return Run(**{**values, **fields})


def step(key: str, status: StepStatus, **fields: Any) -> Step:
    values: dict[str, Any] = {
        "namespace": "default",
        "run_id": RUN,
        "key": key,
        "attempt": 1,
        "kind": StepKind.STEP,
        "status": status,
        "order": None,
        "token": 1,
        "failures": 0,
        "input_hash": b"hash",
        "output": None,
        "failure": None,
        "due_at": None,
        "started_at": NOON,
        "finished_at": NOON,
    }
    return Step(**{**values, **fields})


def log(seq: int, before: str | None, after: str, cause: str, *, at: int = NOON, run_id: str = RUN) -> LogEntry:
    return LogEntry(
        seq=seq,
        namespace="default",
        subject_kind="run",
        subject_id=run_id,
        from_status=before,
        to_status=after,
        cause=cause,
        at=Instant(at),
    )


def payload(**fields: Any) -> PayloadRow:
    values: dict[str, Any] = {"namespace": "default", "run_id": RUN, "start_key": "k", "input": codec.encode(("book",))}
    return PayloadRow(**{**values, "output": None, "failure": None, **fields})


KEY = KeyRow(
    namespace="default",
    key="k",
    name="order",
    version="",
    input_hash=b"hash",
    run_id=RUN,
    created_at=Instant(NOON),
    expires_at=None,
)

PRICED = step("price", StepStatus.COMPLETED, order=0, output=codec.encode(4))
SLEEP = step("sleep", StepStatus.WAITING, kind=StepKind.SLEEP, due_at=Instant(NOON + 5 * SECOND), finished_at=None)

DIED = Snapshot(
    at=Instant(NOON),
    life=1,
    rows=(
        RunRow(
            run=run(RunStatus.RUNNING, worker=FIRST, available_at=Instant(NOON + 30 * SECOND)),
            result_hash=None,
        ),
    ),
    payload_rows=(payload(),),
    steps=(PRICED, SLEEP),
    keys=(KEY,),
    log=(log(1, None, "pending", "start"), log(2, "pending", "running", "claim")),
)
"""The first worker died: it had completed one step, begun a sleep, and still holds the run."""

LATER = NOON + LAPSE
WOKEN = replace(SLEEP, status=StepStatus.COMPLETED, order=1, output=b"null", token=2, finished_at=Instant(LATER))
FAILED = step(
    "charge",
    StepStatus.FAILED,
    token=2,
    failures=1,
    failure=OFFLINE,
    due_at=Instant(LATER + SECOND),
    finished_at=Instant(LATER),
)
GIVEN_UP = step(
    "charge",
    StepStatus.FAILED,
    attempt=2,
    token=3,
    failures=2,
    failure=REFUSED,
    order=2,
    finished_at=Instant(LATER + SECOND),
)

ENDED = Snapshot(
    at=Instant(LATER + SECOND),
    life=2,
    rows=(
        RunRow(
            run=run(
                RunStatus.COMPLETED,
                token=3,
                attempts=3,
                started_at=Instant(NOON),
                finished_at=Instant(LATER + SECOND),
            ),
            result_hash=b"result",
        ),
    ),
    payload_rows=(payload(output=codec.encode("refused")),),
    steps=(PRICED, WOKEN, FAILED, GIVEN_UP),
    keys=(KEY,),
    log=(
        *DIED.log,
        log(3, "running", "running", "recover", at=LATER),
        log(4, "running", "pending", "step", at=LATER),
        log(5, "pending", "running", "claim", at=LATER + SECOND),
        log(6, "running", "completed", "finish", at=LATER + SECOND),
    ),
)
"""The second one recovered it, slept to the end, failed once, tried again, was refused for good, and finished."""

LINES = (
    line(Event.ASKED, run_id="", what="order", value=["book"], key="k"),
    line(Event.ACKED, what="order", value=["book"], key="k"),
    line(Event.CLAIMED, run_id="", who=FIRST, value=[[RUN, 1]]),
    line(Event.VALUE, what="uuid", value="u"),
    body(Event.ENTERED, "price"),
    body(Event.LEFT, "price"),
    line(Event.DELIVERED, key="price", value=4),
    line(Event.CRASHED, run_id="", what="before commit of finish_runs 1"),
    line(Event.CLAIMED, run_id="", who=SECOND_WORKER, value=[[RUN, 2]], at=LATER, life=2),
    line(Event.VALUE, what="uuid", value="u", at=LATER, life=2),
    line(Event.DELIVERED, key="price", value=4, at=LATER, life=2),
    line(Event.WOKE, key="sleep", at=LATER, life=2),
    body(Event.ENTERED, "charge", at=LATER, life=2),
    line(Event.SENT, who="worker", what="suspend_run", token=2, at=LATER, life=2),
    line(Event.ANSWERED, who="worker", what="suspend_run", token=2, outcome="ok", at=LATER, life=2),
    line(Event.CLAIMED, run_id="", who=SECOND_WORKER, value=[[RUN, 3]], at=LATER + SECOND, life=2),
    body(Event.ENTERED, "charge", attempt=2, at=LATER + SECOND, life=2),
    line(Event.RAISED, key="charge", value=["Refused", "no", {"limit": 5}], at=LATER + SECOND, life=2),
    line(Event.STOPPING, run_id="", who=SECOND_WORKER, at=LATER + SECOND, life=2),
    line(Event.STOPPED, run_id="", who=SECOND_WORKER, at=LATER + SECOND, life=2),
)

HEALTHY = Evidence(snapshots=(DIED, ENDED), lines=LINES, healed_at=Instant(NOON), bound_for=Duration(60 * SECOND))


def with_lines(*more: Line, before: Event | None = None) -> Evidence:
    """The story with lines added at its end, or before the last line of a kind."""
    if before is None:
        return replace(HEALTHY, lines=(*LINES, *more))
    place = max(number for number, known in enumerate(LINES) if known.event is before)
    return replace(HEALTHY, lines=(*LINES[:place], *more, *LINES[place:]))


def with_line_changed(number: int, **fields: Any) -> Evidence:
    lines = list(LINES)
    lines[number] = replace(lines[number], **fields)
    return replace(HEALTHY, lines=tuple(lines))


def ending_with(**fields: Any) -> Evidence:
    """The story with another last snapshot."""
    return replace(HEALTHY, snapshots=(DIED, replace(ENDED, **fields)))


def ending_with_run(**fields: Any) -> Evidence:
    (row,) = ENDED.rows
    return ending_with(rows=(replace(row, run=replace(row.run, **fields)),))


def dying_with_run(**fields: Any) -> Evidence:
    (row,) = DIED.rows
    return replace(HEALTHY, snapshots=(replace(DIED, rows=(replace(row, run=replace(row.run, **fields)),)), ENDED))
