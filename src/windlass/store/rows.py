"""How a row becomes a value, and a value a row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from windlass.errors import StoreRefused
from windlass.model.access import AuditEntry, Key, Role
from windlass.model.commands import Outcome
from windlass.model.failure import Failure
from windlass.model.gate import Gate, GateKind
from windlass.model.message import Message, MessageKind
from windlass.model.namespace import Namespace
from windlass.model.run import Deed, LogEntry, Run, RunKind, RunStatus, RunView
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus, Timing
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.worker import LockKind, Served, ServedPipeline, Worker

Row = Sequence[Any]

T = TypeVar("T")
Member = TypeVar("Member", bound=StrEnum)


class Known(dict[str, Member]):
    """The members of an enum by their text: a dictionary costs a tenth of calling the enum, and claims read many."""

    def __init__(self, kind: type[Member]) -> None:
        super().__init__({member.value: member for member in kind})
        self._kind = kind.__name__

    def __missing__(self, text: str) -> Member:
        raise StoreRefused(
            f"The database holds {text!r:.60} where a {self._kind} should be: it is damaged, or was written by a newer "
            "Windlass. See: windlass doctor"
        )


RUN_KIND = Known(RunKind)
RUN_STATUS, STEP_STATUS, STEP_KIND, LOCK_KIND = Known(RunStatus), Known(StepStatus), Known(StepKind), Known(LockKind)
MESSAGE_KIND, GATE_KIND, ROLE = Known(MessageKind), Known(GateKind), Known(Role)
SCHEDULE_STATUS, CATCH_UP, OVERLAP = Known(ScheduleStatus), Known(CatchUp), Known(Overlap)

RUN_COLUMNS = 30  # the fragment {run}, in the order of Run's fields

_failures = msgspec.json.Decoder(Failure)
_served = msgspec.json.Decoder(tuple[Served, ...])
_pipelines = msgspec.json.Decoder(tuple[ServedPipeline, ...])
_encoder = msgspec.json.Encoder()


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreRefused(f"The database holds a value that cannot be read ({error}). See: windlass doctor") from None


def failure_to_bytes(failure: Failure | None) -> bytes | None:
    return None if failure is None else _encoder.encode(failure)


def failure_from_bytes(data: bytes | None) -> Failure | None:
    return None if data is None else _decoded(_failures, data)


def served_to_bytes(served: Sequence[Served | ServedPipeline]) -> bytes:
    return _encoder.encode(served)


def run_from_row(row: Row) -> Run:
    return Run(
        namespace=row[0],
        id=row[1],
        name=row[2],
        version=row[3],
        queue=row[4],
        priority=row[5],
        status=RUN_STATUS[row[6]],
        available_at=row[7],
        token=row[8],
        worker=row[9],
        poll=row[10],
        attempts=row[11],
        recoveries=row[12],
        created_at=row[13],
        started_at=row[14],
        finished_at=row[15],
        expires_at=row[16],
        is_held=bool(row[17]),
        parent=row[18],
        parent_step=row[19],
        unmet=row[20],
        starts_at=row[21],
        retry_of=row[22],
        origin=row[23],
        begun_at=row[24],
        schedule=row[25],
        slot=row[26],
        scheduled_at=row[27],
        kind=RUN_KIND[row[28]],
        ready_at=row[29],
    )


def view_from_row(row: Row) -> RunView:
    start_key, input, output, failure = row[RUN_COLUMNS:]
    return RunView(
        run=run_from_row(row), key=start_key, input=input, output=output, failure=failure_from_bytes(failure)
    )


def outcome_from_row(row: Row) -> Outcome:
    return Outcome(status=RUN_STATUS[row[1]], output=row[2], failure=failure_from_bytes(row[3]))


def step_from_row(row: Row) -> Step:
    return Step(
        namespace=row[0],
        run_id=row[1],
        key=row[2],
        attempt=row[3],
        kind=STEP_KIND[row[4]],
        status=STEP_STATUS[row[5]],
        order=row[6],
        token=row[7],
        failures=row[8],
        input_hash=row[9],
        output=row[10],
        failure=failure_from_bytes(row[11]),
        due_at=row[12],
        started_at=row[13],
        finished_at=row[14],
        awaits=row[15],
        detail=row[16],
        is_dropped=bool(row[17]),
    )


def message_from_row(row: Row) -> Message:
    return Message(
        namespace=row[0],
        run_id=row[1],
        seq=row[2],
        kind=MESSAGE_KIND[row[3]],
        name=row[4],
        id=row[5],
        payload=row[6],
        payload_hash=row[7],
        sent_at=row[8],
        taken_by=row[9],
    )


def gate_from_row(row: Row) -> Gate:
    return Gate(
        namespace=row[0],
        kind=GATE_KIND[row[1]],
        name=row[2],
        is_paused=bool(row[3]),
        paused_by=row[4],
        note=row[5],
        paused_at=row[6],
    )


def deed_to_bytes(deed: Deed) -> bytes | None:
    """Who did it and why, for the log; nothing if nothing is known."""
    return None if deed == Deed() else _encoder.encode(deed)


def log_entry_from_row(row: Row) -> LogEntry:
    return LogEntry(
        seq=row[0],
        namespace=row[1],
        subject_kind=row[2],
        subject_id=row[3],
        from_status=row[4],
        to_status=row[5],
        cause=row[6],
        at=row[7],
        data=row[8],
    )


def worker_from_row(row: Row) -> Worker:
    return Worker(
        namespace=row[0],
        id=row[1],
        host=row[2],
        pid=row[3],
        served=_decoded(_served, row[4]),
        slots=row[5],
        active=row[6],
        completed=row[7],
        failed=row[8],
        started_at=row[9],
        seen_at=row[10],
        stopped_at=row[11],
        lock=None if row[12] is None else LOCK_KIND[row[12]],
        is_draining=bool(row[13]),
        pipelines=() if row[14] is None else _decoded(_pipelines, row[14]),
    )


def schedule_from_row(row: Row) -> Schedule:
    return Schedule(
        namespace=row[0],
        name=row[1],
        workflow=row[2],
        version=row[3],
        queue=row[4],
        input=row[5],
        input_hash=row[6],
        timeout_for=row[7],
        timing=Timing(cron=row[8], every=row[9], tz=row[10]),
        anchor=row[11],
        catch_up=CATCH_UP[row[12]],
        max_catch_up=row[13],
        overlap=OVERLAP[row[14]],
        jitter=row[15],
        status=SCHEDULE_STATUS[row[16]],
        declared_in=row[17],
        is_declared=bool(row[18]),
        revision=row[19],
        last_slot=row[20],
        available_at=row[21],
        error=row[22],
        fired=row[23],
        skipped=row[24],
        dropped=row[25],
        paused_by=row[26],
        note=row[27],
        paused_at=row[28],
        created_at=row[29],
        changed_at=row[30],
    )


def namespace_from_row(row: Row) -> Namespace:
    """A row of the table; or, with nothing behind the name, one that is in use without a row."""
    if row[1] is None:
        return Namespace(name=row[0])
    return Namespace(name=row[0], is_enabled=bool(row[1]), note=row[2], created_at=row[3], disabled_at=row[4])


def api_key_from_row(row: Row) -> Key:
    return Key(
        namespace=row[0],
        id=row[1],
        roles=tuple(ROLE[role] for role in row[2].split(",")),
        queues=tuple(row[3].split(",")) if row[3] else (),
        note=row[4],
        secret_hash=row[5],
        created_at=row[6],
        created_by=row[7],
        expires_at=row[8],
        revoked_at=row[9],
    )


def audit_entry_from_row(row: Row) -> AuditEntry:
    return AuditEntry(
        seq=row[0],
        at=row[1],
        namespace=row[2],
        actor=row[3],
        action=row[4],
        subject=row[5],
        request_id=row[6],
        before=row[7],
        after=row[8],
    )
