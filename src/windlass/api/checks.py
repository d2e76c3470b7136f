"""Is what came from outside something the engine may be asked? Decided before the first write, alike for every door.

In process the layers above make commands, and cannot make wrong ones; what comes over the wire may be anything. A
refusal is an InvalidInput that names the field. Names come back in Unicode's composed form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.checks_of_graphs import GRAPHS
from windlass.api.checks_of_pipeline_work import PIPELINE_WORK
from windlass.api.checks_of_pipelines import PIPELINES
from windlass.api.checks_of_signals import SIGNALS
from windlass.api.checks_of_work import WORK
from windlass.api.fields import (
    check_duration,
    check_hash,
    check_instant,
    check_version,
    refused,
)
from windlass.model.access import CreateKey, ListAudit
from windlass.model.commands import (
    CancelRun,
    Decide,
    PauseRun,
    ResumeRun,
    RetryRun,
    SendEvent,
    SetGate,
    StartRun,
)
from windlass.model.feed import FEED_LIMIT, ReadFeed
from windlass.model.gate import GateKind
from windlass.model.namespace import CreateNamespace
from windlass.model.page import ListRuns
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.rules.limits import (
    check_keep,
    check_key,
    check_limit,
    check_name,
    check_namespace,
    check_note,
    check_payload,
    check_person,
    check_priority,
    check_queue,
    check_run_id,
    check_step_reference,
)
from windlass.rules.schedule_limits import check_schedule

C = TypeVar("C", bound=Struct)

PAGE_LIMIT = 500
MOST_STARTS = 1_000  # of one call
LAST_SEQ = 2**63 - 1
LONGEST_CURSOR = 500

_Check = Callable[[Any], dict[str, Any]]


def check(command: C) -> C:
    """The command with its names composed. Raises InvalidInput; one that nobody may send is refused too."""
    found = _CHECKS.get(type(command))
    if found is None:
        raise refused(type(command).__name__, "command", "it cannot be asked for from outside")
    composed = found(command)
    changed = {field: text for field, text in composed.items() if getattr(command, field) != text}
    return replace(command, **changed) if changed else command


def check_cursor_name(name: str) -> str:
    """Of a reader of the log that must not miss anything."""
    return check_name(name, what="cursor name")


def check_page(limit: int, *, what: str = "limit") -> int:
    return check_limit(limit, what=what, low=1, high=PAGE_LIMIT)


def _start(command: StartRun) -> dict[str, Any]:
    if command.delay_for is not None and command.at is not None:
        raise refused("both", "at", "a start takes a delay or a time, not both", reason="invalid_option")
    check_priority(command.priority)
    check_payload(command.input, what="input")
    check_hash(command.input_hash, what="input_hash")
    if command.key is not None:
        check_key(command.key)
    if command.run_id is not None:
        check_run_id(command.run_id)
    check_duration(command.delay_for, what="delay")
    check_instant(command.at, what="at")
    check_duration(command.timeout_for, what="timeout", low=1)
    return {
        "namespace": check_namespace(command.namespace),
        "name": check_name(command.name, what="workflow name"),
        "version": check_version(command.version),
        "queue": check_queue(command.queue),
    }


def _send(command: SendEvent) -> dict[str, Any]:
    check_run_id(command.run_id)
    check_key(command.id, what="id")
    check_payload(command.payload, what="payload")
    check_hash(command.payload_hash, what="payload_hash")
    return _in_namespace(command) | {"event": check_name(command.event, what="event name")}


def _decide(command: Decide) -> dict[str, Any]:
    if command.step is not None:
        check_step_reference(command.step)
    return _deed(command)


def _deed(command: Decide | CancelRun | PauseRun) -> dict[str, Any]:
    check_run_id(command.run_id)
    check_person(command.by)
    check_note(command.note)
    return _in_namespace(command)


def _resume(command: ResumeRun) -> dict[str, Any]:
    check_run_id(command.run_id)
    check_person(command.by)
    return _in_namespace(command)


def _retry(command: RetryRun) -> dict[str, Any]:
    check_run_id(command.run_id)
    check_person(command.by)
    if command.from_step is not None:
        check_step_reference(command.from_step, what="from_step")
    return _in_namespace(command)


def _gate(command: SetGate) -> dict[str, Any]:
    check_person(command.by)
    check_note(command.note)
    what = "workflow name" if command.kind is GateKind.WORKFLOW else command.kind.value
    return _in_namespace(command) | {"name": check_name(command.name, what=what)}


def _list(command: ListRuns) -> dict[str, Any]:
    check_page(command.limit)
    if command.before is not None:
        check_run_id(command.before, what="before")
    if command.parent is not None:
        check_run_id(command.parent, what="parent")
    check_instant(command.created_after, what="created_after")
    names = {"name": "workflow name", "queue": "queue", "schedule": "schedule name"}
    given = {field: getattr(command, field) for field in names}
    composed = {field: check_name(text, what=names[field]) for field, text in given.items() if text is not None}
    return _in_namespace(command) | composed


def _put_schedule(command: PutSchedule) -> dict[str, Any]:
    check_payload(command.input, what="input")
    check_hash(command.input_hash, what="input_hash")
    check_duration(command.timeout_for, what="timeout", low=1)
    check_duration(command.jitter, what="jitter")
    check_duration(command.timing.every, what="every")
    check_person(command.by)
    check_schedule(command)
    return {
        "namespace": check_namespace(command.namespace),
        "name": check_name(command.name, what="schedule name"),
        "workflow": check_name(command.workflow, what="workflow name"),
        "version": check_version(command.version),
        "queue": check_queue(command.queue),
    }


def _declare(command: Declare) -> dict[str, Any]:
    check_limit(len(command.schedules), what="number of schedules", low=0, high=MOST_STARTS)
    check_limit(len(command.kept), what="number of workflows", low=0, high=MOST_STARTS)
    check_key(command.program, what="program")
    for name, keep_for in command.kept.items():
        check_name(name, what="workflow name")
        if keep_for is not None:
            check_keep(keep_for)
    namespace = check_namespace(command.namespace)
    for schedule in command.schedules:
        check(schedule)
        if schedule.namespace != command.namespace:
            raise refused(schedule.namespace, "namespace", "a program declares schedules of its own namespace only")
    return {"namespace": namespace}


def _steer(command: PauseSchedule | ResumeSchedule | TriggerSchedule | DeleteSchedule) -> dict[str, Any]:
    check_person(command.by)
    check_note(getattr(command, "note", None))
    if isinstance(command, TriggerSchedule) and command.run_id is not None:
        check_run_id(command.run_id)
    return _in_namespace(command) | {"name": check_name(command.name, what="schedule name")}


def _feed(command: ReadFeed) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=FEED_LIMIT)
    for what in ("cursor", "subject_kind", "subject_id"):
        text = getattr(command, what)
        if text is not None:
            check_note(text, what=what, longest=LONGEST_CURSOR)
    return _in_namespace(command)


def _create_namespace(command: CreateNamespace) -> dict[str, Any]:
    check_note(command.note)
    return {"name": check_namespace(command.name)}


def _create_key(command: CreateKey) -> dict[str, Any]:
    check_note(command.note)
    check_person(command.by)
    check_duration(command.expires_for, what="expires", low=1)
    check_limit(len(command.queues), what="number of queues", low=0, high=MOST_STARTS)
    return {"queues": tuple(check_queue(queue) for queue in command.queues)}  # and the engine checks the rest


def _audit(command: ListAudit) -> dict[str, Any]:
    check_page(command.limit)
    if command.before is not None:
        check_limit(command.before, what="before", low=0, high=LAST_SEQ)
    return {} if command.namespace == "*" else _in_namespace(command)


def _in_namespace(command: Any) -> dict[str, Any]:
    return {"namespace": check_namespace(command.namespace)}


_CHECKS: dict[type, _Check] = {
    StartRun: _start,
    SendEvent: _send,
    Decide: _decide,
    CancelRun: _deed,
    PauseRun: _deed,
    ResumeRun: _resume,
    RetryRun: _retry,
    SetGate: _gate,
    ListRuns: _list,
    Declare: _declare,
    PutSchedule: _put_schedule,
    PauseSchedule: _steer,
    ResumeSchedule: _steer,
    TriggerSchedule: _steer,
    DeleteSchedule: _steer,
    ReadFeed: _feed,
    CreateNamespace: _create_namespace,
    CreateKey: _create_key,
    ListAudit: _audit,
    **WORK,
    **GRAPHS,
    **PIPELINES,
    **PIPELINE_WORK,
    **SIGNALS,
}
