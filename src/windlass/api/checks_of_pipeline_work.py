"""What a worker sends about pipelines and effects: the same question as in `checks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from windlass.api.checks_of_pipelines import (
    changed,
    check_event_id,
    check_input,
    check_pipeline,
    check_topic,
)
from windlass.api.checks_of_work import MOST_SLOTS, check_failure, check_served_pipelines
from windlass.api.fields import (
    LAST_TOKEN,
    check_duration,
    check_instant,
    check_step,
    check_token,
    refused,
)
from windlass.errors import InvalidInput
from windlass.model.pipeline import NewEvent, Reservation
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    ClaimPipelines,
    CommitHandler,
    FailEffect,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    ReconcileEffect,
    ReserveEvents,
    StopHandler,
)
from windlass.model.time import Duration
from windlass.rules.limits import (
    MAX_TITLE,
    RUN_ID,
    check_handler_run_id,
    check_input_id,
    check_limit,
    check_name,
    check_namespace,
    check_note,
    check_payload,
    check_run_id,
    check_visibility,
    check_worker_id,
)
from windlass.rules.reservations import check_reservation

MOST_READ = 1_000  # events of one look
MOST_PUBLISHED = 10_000  # events of one commit, and inputs
MOST_CAUSES = 10_000  # of one event
LAST_VERSION = 2**63 - 1
LONGEST_EFFECT_KEY = (
    700  # the id of a run and the key of a step; or a pipeline, a handler, and what stands for the events
)


def _claim_pipelines(command: ClaimPipelines) -> dict[str, Any]:
    check_worker_id(command.worker)
    check_limit(command.poll, what="poll", low=0, high=LAST_TOKEN)
    check_served_pipelines(command.served)
    check_limit(command.limit, what="slots", low=1, high=MOST_SLOTS)
    check_visibility(command.visibility_for)
    check_duration(command.wait_for, what="wait")
    return {"namespace": check_namespace(command.namespace)}


def _claim(command: PipelineClaim) -> dict[str, Any]:
    _check_extension(command.visibility_for or None)
    return _held(command)


def _read(command: ReadEvents) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=MOST_READ)
    ids = command.ids or ()
    check_limit(len(ids), what="number of ids", low=0, high=MOST_READ)
    for id in ids:
        check_event_id(id)
    return _held(command) | {"topic": check_topic(command.topic)}


def _reserve(command: ReserveEvents) -> dict[str, Any]:
    check_handler_run_id(command.run_id)
    check_reservation(command)
    check_instant(command.wake_at, what="wake_at")
    check_duration(command.wake_in, what="wake_in")
    _check_extension(command.renew_for)
    return _held(command) | {"reserved": tuple([_reservation(item) for item in command.reserved])}


def _reservation(item: Reservation) -> Reservation:
    check_event_id(item.id)
    check_limit(item.version, what="version", low=0, high=LAST_VERSION)
    return changed(item, topic=check_topic(item.topic))


def _begin(command: BeginEffect) -> dict[str, Any]:
    check_payload(command.params, what="params")
    check_note(command.idempotency_key, what="idempotency_key", longest=LONGEST_EFFECT_KEY)
    check_note(command.title, what="title", longest=MAX_TITLE)
    check_duration(command.timeout_for, what="timeout")
    _check_extension(command.renew_for)
    return _of_subject(command) | _also(command) | {"name": check_name(command.name, what="effect name")}


def _also(command: BeginEffect | CommitHandler) -> dict[str, Any]:
    """What was reserved, if that is said in the same breath: by the same attempt, under the same claim."""
    reserves = command.reserves
    if reserves is None:
        return {}
    pipeline = command.subject if isinstance(command, BeginEffect) else command.pipeline
    same = (command.namespace, pipeline, command.token, command.run_id)
    if (reserves.namespace, reserves.pipeline, reserves.token, reserves.run_id) != same:
        raise refused(reserves.run_id, "reserves", "it is about another attempt, or of another claim")
    return {"reserves": changed(reserves, **_reserve(reserves))}


def _apply(command: ApplyEffect) -> dict[str, Any]:
    check_handler_run_id(command.run_id)
    check_payload(command.result, what="result")
    _check_extension(command.renew_for)
    return _held(command)


def _commit(command: CommitHandler) -> dict[str, Any]:
    check_handler_run_id(command.run_id)
    for what, items in (("events", command.events), ("inputs", command.inputs)):
        if len(items) > MOST_PUBLISHED:
            text = f"One commit brings at most {MOST_PUBLISHED:,} {what}; these are {len(items):,}. Publish in parts."
            raise InvalidInput(text, reason="too_many", path=what)
    check_payload(command.state, what="state")
    check_payload(command.result, what="result")
    if command.state is not None and not command.has_state:
        raise refused(False, "has_state", "there is a state, and has_state says that it stays as it was")
    check_note(command.title, what="title", longest=MAX_TITLE)
    _check_extension(command.visibility_for or None)
    return (
        _held(command)
        | _also(command)
        | {
            "events": tuple([_event(event) for event in command.events]),
            "inputs": tuple([check_input(item) for item in command.inputs]),
        }
    )


def _event(event: NewEvent) -> NewEvent:
    check_event_id(event.id)
    check_payload(event.payload, what="payload")
    check_limit(len(event.causes), what="number of causes", low=0, high=MOST_CAUSES)
    for cause in event.causes:
        check_input_id(cause, what="cause")
    return changed(event, topic=check_topic(event.topic))


def _stop(command: StopHandler) -> dict[str, Any]:
    check_handler_run_id(command.run_id)
    check_failure(command.failure)
    return _held(command)


def _reconcile(command: ReconcileEffect) -> dict[str, Any]:
    check_payload(command.result, what="result")
    if command.failure is not None:
        check_failure(command.failure)
    if command.did_not_happen and command.result is not None:
        raise refused(True, "did_not_happen", "what did not happen has no result", reason="invalid_option")
    check_limit(command.attempt, what="attempt", low=1 if command.step_key else 0, high=LAST_TOKEN)
    return _of_subject(command)


def _fail(command: FailEffect) -> dict[str, Any]:
    check_run_id(command.run_id)
    check_token(command.token)
    check_step(command.step_key)
    check_limit(command.attempt, what="attempt", low=1, high=LAST_TOKEN)
    check_failure(command.failure)
    return {"namespace": check_namespace(command.namespace)}


def _fix(command: FixHandler) -> dict[str, Any]:
    check_handler_run_id(command.run_id)
    check_note(command.note)
    return _held(command)


def _of_subject(command: BeginEffect | ReconcileEffect) -> dict[str, Any]:
    """A run is its own subject and its own owner, and the step is named; an attempt belongs to a pipeline."""
    check_token(command.token)
    subject = check_name(command.subject, what="subject")
    if RUN_ID.fullmatch(command.run_id):
        if command.subject != command.run_id:
            raise refused(command.subject, "subject", "the subject of a run is the run itself", reason="invalid_id")
        check_step(command.step_key)
    else:
        check_handler_run_id(command.run_id)
        if command.step_key:
            raise refused(command.step_key, "step", "only a run has steps", reason="invalid_key")
    return {"namespace": check_namespace(command.namespace), "subject": subject}


def _held(command: Any) -> dict[str, Any]:
    check_token(command.token)
    return {"namespace": check_namespace(command.namespace), "pipeline": check_pipeline(command.pipeline)}


def _check_extension(visibility_for: Duration | None) -> None:
    if visibility_for is not None:
        check_visibility(visibility_for)


PIPELINE_WORK: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    ClaimPipelines: _claim_pipelines,
    PipelineClaim: _claim,
    ReadEvents: _read,
    ReserveEvents: _reserve,
    BeginEffect: _begin,
    ApplyEffect: _apply,
    CommitHandler: _commit,
    StopHandler: _stop,
    ReconcileEffect: _reconcile,
    FailEffect: _fail,
    FixHandler: _fix,
}
