"""Do the checkers of waits, children and control complain about the one thing each is there for?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.invariants.checkers import CHECKERS, judge
from tests.invariants.evidence import Evidence, Snapshot
from tests.invariants.stories import FIRST, NOON, RUN, body, codec, line, log, payload, run, step
from tests.lives.journal import Event, Line
from windlass.model.gate import Gate, GateKind
from windlass.model.message import Message, MessageKind
from windlass.model.run import Deed, LogEntry, Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Instant
from windlass.store.queries.checks import RunRow

CHILD, OTHER, AGAIN = RunId("run_2"), RunId("run_3"), RunId("run_4")
EARLIER, LATER, LAST = NOON, NOON + SECOND, NOON + 2 * SECOND
BY_ANN = msgspec.json.encode(Deed(by="ann"))


def message(seq: int, **fields: Any) -> Message:
    values: dict[str, Any] = {
        "namespace": "default",
        "run_id": RUN,
        "seq": seq,
        "kind": MessageKind.EVENT,
        "name": "paid",
        "id": f"m-{seq}",
        "payload": codec.encode(seq),
        "payload_hash": b"hash",
        "sent_at": Instant(NOON),
    }
    return Message(**{**values, **fields})


def received(key: str, seq: int, *, order: int) -> Step:
    return step(key, StepStatus.COMPLETED, kind=StepKind.EVENT, order=order, output=codec.encode(seq), awaits="paid")


def over(id: RunId, status: RunStatus, *, at: int = LATER, **fields: Any) -> Run:
    return run(status, id=id, finished_at=Instant(at), **fields)


def gate(seq: int, before: str, after: str, cause: str) -> LogEntry:
    entry = log(seq, before, after, cause)
    return replace(entry, subject_kind="gate", subject_id="queue/default", data=BY_ANN)


def noted(entry: LogEntry) -> LogEntry:
    return replace(entry, data=BY_ANN)


FIRST_PAID, SECOND_PAID = received("receive/paid", 1, order=0), received("receive/paid#2", 2, order=1)
AWAITED = step(
    "part",
    StepStatus.COMPLETED,
    kind=StepKind.CHILD,
    order=2,
    output=codec.encode("done"),
    awaits=CHILD,
    finished_at=Instant(LATER),
)
PARENT = over(RUN, RunStatus.COMPLETED, at=LAST)
BORN = over(CHILD, RunStatus.COMPLETED, parent=RUN, parent_step="part", name="part")
CANCELLED = over(OTHER, RunStatus.CANCELLED, name="left")
RETRIED = over(AGAIN, RunStatus.COMPLETED, at=LAST, name="left", retry_of=OTHER)
INBOX = (
    message(1, taken_by="receive/paid"),
    message(2, taken_by="receive/paid#2"),
    message(3),
)
LOG = (
    log(1, None, "running", "dispatch"),
    gate(2, "open", "paused", "pause"),
    log(3, None, "pending", "start", run_id=CHILD),
    gate(4, "paused", "open", "resume"),
    log(5, "pending", "running", "claim", run_id=CHILD),
    log(6, "running", "completed", "finish", run_id=CHILD, at=LATER),
    log(7, "running", "completed", "finish", at=LAST),
    log(8, None, "running", "dispatch", run_id=OTHER),
    noted(log(9, "running", "cancelled", "cancel", run_id=OTHER, at=LATER)),
    noted(log(10, None, "pending", "retry", run_id=AGAIN, at=LATER)),
    log(11, "pending", "running", "claim", run_id=AGAIN, at=LATER),
    log(12, "running", "completed", "finish", run_id=AGAIN, at=LAST),
)
FOLDED = step("fold", StepStatus.COMPLETED, run_id=OTHER, order=0, output=codec.encode("folded"))
END = Snapshot(
    at=Instant(LAST),
    life=1,
    rows=tuple(RunRow(run=each, result_hash=b"") for each in (PARENT, BORN, CANCELLED, RETRIED)),
    payload_rows=(
        payload(output=codec.encode("all")),
        payload(run_id=CHILD, start_key=None, output=codec.encode("done")),
        payload(run_id=OTHER, start_key=None, input=codec.encode(("sock",))),
        payload(run_id=AGAIN, start_key=None, input=codec.encode(("sock",)), output=codec.encode("folded")),
    ),
    steps=(FIRST_PAID, SECOND_PAID, AWAITED, FOLDED, replace(FOLDED, run_id=AGAIN, token=0)),
    log=LOG,
    messages=INBOX,
)
LINES = (
    line(Event.CLAIMED, run_id="", who=FIRST, value=[[RUN, 1]]),
    line(Event.HEARD, what="send", key="m-1", value=["paid", 1], outcome="done"),
    line(Event.HEARD, what="pause", run_id="", key="default", who="ann", outcome="done"),
    line(Event.TOLD, what="resume", run_id="", key="default", who="ann"),
    line(Event.CLAIMED, run_id="", who=FIRST, value=[[CHILD, 1]]),
    line(Event.CLAIMED, run_id="", who=FIRST, value=[[OTHER, 1]]),
    line(Event.HEARD, what="cancel", run_id=OTHER, who="ann", outcome="done"),
    line(Event.SENT, who="worker", what="finish_run", run_id=OTHER, token=1),
    line(Event.ANSWERED, who="worker", what="finish_run", run_id=OTHER, token=1, outcome="claim_lost"),
    line(Event.HEARD, what="retry", run_id=OTHER, who="ann", outcome=AGAIN),
    line(Event.CLAIMED, run_id="", who=FIRST, value=[[AGAIN, 1]]),
)
"""A run received two of three events and awaited a child; its queue was paused meanwhile. Another one was cancelled,
and tried again."""

HEALTHY = Evidence(snapshots=(END,), lines=LINES)


def ending(**fields: Any) -> Evidence:
    return replace(HEALTHY, snapshots=(replace(END, **fields),))


def with_runs(*runs: Run) -> Evidence:
    return ending(rows=tuple(RunRow(run=each, result_hash=b"") for each in runs))


def with_lines(*lines: Line) -> Evidence:
    return replace(HEALTHY, lines=(*LINES, *lines))


def with_messages(*messages: Message) -> Evidence:
    return ending(messages=messages)


def with_step(changed: Step) -> Evidence:
    others = tuple(other for other in END.steps if (other.run_id, other.key) != (changed.run_id, changed.key))
    return ending(steps=(*others, changed))


FINISHED = line(Event.ANSWERED, who="worker", what="finish_run", run_id=OTHER, token=1, outcome="ok")
LATE_BODY = replace(body(Event.ENTERED, "fold", life=2), run_id=OTHER, idempotency_key=f"{OTHER}/fold")

SPOILT: dict[str, tuple[str, Evidence]] = {
    "a run is cancelled twice": (
        "I-13",
        ending(log=(*LOG[:9], log(13, "cancelled", "cancelled", "cancel", run_id=OTHER), *LOG[9:])),
    ),
    "a step is written after the cancel": ("I-13", with_step(replace(FOLDED, finished_at=Instant(LAST)))),
    "an end is accepted after the cancel": (
        "I-13",
        replace(HEALTHY, lines=tuple(FINISHED if each.outcome == "claim_lost" else each for each in LINES)),
    ),
    "a body is entered after the cancel": ("I-13", with_lines(LATE_BODY)),
    "a call has two children": (
        "I-14",
        with_runs(PARENT, BORN, replace(BORN, id=RunId("run_5"))),
    ),
    "a child of which its parent knows nothing": (
        "I-14",
        with_runs(PARENT, BORN, over(RunId("run_5"), RunStatus.COMPLETED, parent=RUN, parent_step="other")),
    ),
    "a child that is not there": ("I-14", with_runs(PARENT)),
    "a wait that ends before the child": ("I-14", with_step(replace(AWAITED, finished_at=Instant(NOON)))),
    "a result that is not the child's": ("I-14", with_step(replace(AWAITED, output=codec.encode("undone")))),
    "a failure of a child that has none": (
        "I-14",
        with_step(replace(AWAITED, status=StepStatus.FAILED, output=None)),
    ),
    "a parent that does not wait": (
        "I-14",
        with_step(replace(AWAITED, status=StepStatus.WAITING, output=None, order=None, finished_at=None)),
    ),
    "a claim behind a closed gate": (
        "I-24",
        ending(log=(*LOG[:3], replace(LOG[4], seq=4), replace(LOG[3], seq=5), *LOG[5:])),
    ),
    "a gate that the log knows nothing of": (
        "I-24",
        ending(gates=(Gate(namespace="default", kind=GateKind.QUEUE, name="mail", is_paused=True),)),
    ),
    "a claim after a pause was heard": ("I-24", replace(HEALTHY, lines=(*LINES[:3], LINES[4]))),
    "two runs that try one again": (
        "retries",
        with_runs(PARENT, BORN, CANCELLED, RETRIED, replace(RETRIED, id=RunId("run_5"))),
    ),
    "two answers to one retry": (
        "retries",
        with_lines(line(Event.HEARD, what="retry", run_id=OTHER, who="bob", outcome=RUN)),
    ),
    "a retry that does again what was done": (
        "retries",
        with_lines(replace(body(Event.ENTERED, "fold"), run_id=AGAIN, idempotency_key=f"{AGAIN}/fold")),
    ),
    "a deed that stands in the log twice": (
        "I-57",
        ending(log=(*LOG, gate(13, "open", "paused", "pause"), gate(14, "paused", "open", "resume"))),
    ),
    "a cancel that left no trace": (
        "I-57",
        ending(log=tuple(replace(entry, data=None) if entry.cause == "cancel" else entry for entry in LOG)),
    ),
    "an event that is lost": ("events", with_messages(*INBOX[1:])),
    "an event with other content": ("events", with_messages(replace(INBOX[0], payload=b"9"), *INBOX[1:])),
    "an event that is kept twice": ("events", with_messages(*INBOX, replace(INBOX[2], seq=4))),
    "two events in one wait": ("events", with_messages(*INBOX[:2], replace(INBOX[2], taken_by="receive/paid"))),
    "an event taken and not received": ("events", with_messages(*INBOX[:2], replace(INBOX[2], taken_by="receive"))),
    "an event received out of nothing": (
        "events",
        with_messages(INBOX[0], replace(INBOX[1], taken_by=None), INBOX[2]),
    ),
    "an event received before an earlier one": (
        "events",
        with_messages(replace(INBOX[0], seq=3, id="m-3"), INBOX[1], replace(INBOX[2], seq=1, id="m-1")),
    ),
    "events in another order": (
        "events",
        ending(
            steps=(
                *END.steps[2:],
                replace(FIRST_PAID, order=1),
                replace(SECOND_PAID, order=0),
            )
        ),
    ),
    "an event that changes": (
        "events",
        replace(HEALTHY, snapshots=(END, replace(END, life=2, messages=(*INBOX[:2], replace(INBOX[2], name="due"))))),
    ),
}


def test_a_story_without_fault_meets_no_complaint() -> None:
    assert judge(HEALTHY) == []


@pytest.mark.parametrize(("number", "evidence"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, evidence: Evidence) -> None:
    assert CHECKERS[number](evidence) != []
