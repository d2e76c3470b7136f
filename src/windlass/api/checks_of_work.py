"""What a worker sends: the same question as in `checks`, for its commands. On the hot path: quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windlass.api.fields import (
    LAST_TOKEN,
    check_duration,
    check_hash,
    check_instant,
    check_step,
    check_token,
    check_version,
    refused,
)
from windlass.model.claims import RenewClaims
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimRuns,
    CompleteStep,
    FailStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    LookAtClaims,
    RegisterWorker,
    StartChild,
    Suspend,
    WaitStep,
)
from windlass.model.failure import Failure, Unretrieved
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.worker import Served, ServedPipeline
from windlass.rules.limits import (
    MAX_ATTEMPTS,
    MOST_ITEMS,
    check_key,
    check_limit,
    check_name,
    check_namespace,
    check_note,
    check_payload,
    check_priority,
    check_queue,
    check_retry,
    check_run_id,
    check_visibility,
    check_worker_id,
)
from windlass.rules.workers import MOST_LANES

MOST_SLOTS = 10_000
LONGEST_TEXT = 64 * 1024  # of a failure: its message, its traceback
LONGEST_AWAITED = 2_000
LONGEST_PLACE = 1_000  # a file and a line
MOST_CLAIMS = 10_000
LAST_COUNT = 2**63 - 1


def check_lanes(served: Sequence[Served]) -> None:
    check_limit(len(served), what="number of lanes", low=0, high=MOST_LANES)
    for lane in served:
        check_queue(lane.queue)
        check_name(lane.name, what="workflow name")
        check_version(lane.version)


def check_served_pipelines(served: Sequence[ServedPipeline]) -> None:
    check_limit(len(served), what="number of pipelines", low=0, high=MOST_LANES)
    for pipeline in served:
        check_queue(pipeline.queue)
        check_name(pipeline.name, what="pipeline")
        check_version(pipeline.revision, what="revision")


def _register(command: RegisterWorker) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_worker_id(command.id)
    check_key(command.host, what="host")
    check_limit(command.pid, what="pid", low=0, high=2**31 - 1)
    check_lanes(command.served)
    check_served_pipelines(command.pipelines)
    check_limit(command.slots, what="slots", low=1, high=MOST_SLOTS)
    return {}


def _heartbeat(command: Heartbeat) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_worker_id(command.id)
    for what in ("active", "completed", "failed"):
        check_limit(getattr(command, what), what=what, low=0, high=LAST_COUNT)
    return {}


def _claim_runs(command: ClaimRuns) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_worker_id(command.worker)
    check_limit(command.poll, what="poll", low=0, high=LAST_TOKEN)
    check_lanes(command.served)
    check_limit(command.limit, what="slots", low=1, high=MOST_SLOTS)
    check_visibility(command.visibility_for)
    check_limit(len(command.visibilities), what="number of visibilities", low=0, high=MOST_LANES)
    for name, visibility_for in command.visibilities.items():
        check_name(name, what="workflow name")
        check_visibility(visibility_for)
    check_duration(command.wait_for, what="wait")
    return {}


def _held(command: Any) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_run_id(command.run_id)
    check_token(command.token)
    return {}


def _of_step(command: BeginStep | CompleteStep | FailStep | WaitStep) -> None:
    _held(command)
    check_step(command.key)
    check_hash(command.input_hash, what="input_hash")


def _tried(command: BeginStep | CompleteStep | FailStep) -> None:
    _of_step(command)
    check_limit(command.attempt, what="attempt", low=1, high=MAX_ATTEMPTS)
    check_limit(command.failures, what="failures", low=0, high=MAX_ATTEMPTS)


def _begin(command: BeginStep) -> dict[str, Any]:
    _tried(command)
    return {}


def _complete(command: CompleteStep) -> dict[str, Any]:
    _tried(command)
    _check_order(command.order)
    check_payload(command.output, what="output")
    check_duration(command.ran_for, what="ran_for")
    if command.renew_for is not None:
        check_visibility(command.renew_for)
    return {}


def _fail(command: FailStep) -> None:
    _tried(command)
    _check_order(command.order)
    check_failure(command.failure)
    retry = command.retry
    check_retry(retry.max_attempts, initial_for=retry.initial_for, factor=retry.factor, max_for=retry.max_for)
    check_duration(command.ran_for, what="ran_for")


def _wait(command: WaitStep) -> None:
    _of_step(command)
    if not (command.kind.is_wait or command.kind is StepKind.SLEEP):
        raise refused(command.kind.value, "kind", "a wait is a sleep, an event, an approval, a child or a start")
    check_duration(command.due_for, what="due")
    check_instant(command.due_at, what="due_at")
    check_note(command.awaits, what="awaits", longest=LONGEST_AWAITED)
    check_payload(command.detail, what="detail")
    if command.child is not None:
        _child(command.child, namespace=command.namespace)


def _child(child: StartChild, *, namespace: str) -> None:
    command = child.command
    if command.namespace != namespace:
        raise refused(command.namespace, "namespace", "a child is in the namespace of its parent")
    check_name(command.name, what="workflow name")
    check_version(command.version)
    check_queue(command.queue)
    check_priority(command.priority)
    check_payload(command.input, what="input")
    check_hash(command.input_hash, what="input_hash")
    if command.key is not None:
        check_key(command.key)
    check_duration(command.delay_for, what="delay")
    check_instant(command.at, what="at")
    check_duration(command.timeout_for, what="timeout", low=1)


def _suspend(command: Suspend) -> dict[str, Any]:
    _held(command)
    for what in ("failures", "waits", "open", "dropped"):
        check_limit(len(getattr(command, what)), what=f"number of {what}", low=0, high=MOST_ITEMS)
    parts: tuple[FailStep | WaitStep, ...] = (*command.failures, *command.waits)
    for part in parts:
        if (part.namespace, part.run_id, part.token) != (command.namespace, command.run_id, command.token):
            raise refused(part.run_id, "run id", "all parts of a call are about the same claim")
    for failed in command.failures:
        _fail(failed)
    for wait in command.waits:
        _wait(wait)
    for opened in command.open:
        check_step(opened.key)
        _check_order(opened.order)
    for key in command.dropped:
        check_step(key)
    if command.unretrieved is not None:
        _unretrieved(command.unretrieved, token=command.token)
    return {}


def _unretrieved(said: Unretrieved, *, token: int) -> None:
    if said.token != token:
        raise refused(said.token, "token", "all parts of a call are about the same claim")
    if said.failure is not None:
        check_failure(said.failure)
    check_note(said.place, what="place", longest=LONGEST_PLACE)


def _finish(command: FinishRun) -> dict[str, Any]:
    _held(command)
    if command.status not in (RunStatus.COMPLETED, RunStatus.FAILED):
        raise refused(command.status, "status", "a run is finished as completed or failed")
    if (command.failure is None) == (command.status is RunStatus.FAILED):
        raise refused(command.status, "failure", "a failed run has a failure, and no other has")
    check_payload(command.output, what="output")
    if command.failure is not None:
        check_failure(command.failure)
    if command.result_hash:
        check_hash(command.result_hash, what="result_hash")
    if command.parent is not None:
        check_run_id(command.parent, what="parent")
    if command.schedule is not None:
        check_name(command.schedule, what="schedule name")
    return {}


def _hold(command: HoldRun) -> dict[str, Any]:
    _held(command)
    check_failure(command.reason)
    return {}


def _claim(command: Claim) -> dict[str, Any]:
    _held(command)
    check_duration(command.delay_for, what="delay")
    if command.visibility_for:
        check_visibility(command.visibility_for)
    return {}


def _look(command: LookAtClaims) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_limit(len(command.claims), what="number of claims", low=0, high=MOST_CLAIMS)
    for run_id, token in command.claims:
        check_run_id(run_id)
        check_token(token)
    return {}


def _renew(command: RenewClaims) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_limit(len(command.runs) + len(command.pipelines), what="number of claims", low=0, high=MOST_CLAIMS)
    for run in command.runs:
        check_run_id(run.id)
    for pipeline in command.pipelines:
        check_name(pipeline.id, what="pipeline")
    for item in (*command.runs, *command.pipelines):
        check_token(item.token)
        check_visibility(item.visibility_for)
    return {}


def _check_order(order: int) -> None:
    check_limit(order, what="order", low=0, high=2**31 - 1)


def check_failure(failure: Failure) -> None:
    check_note(failure.type, what="failure type", longest=LONGEST_TEXT)
    check_note(failure.message, what="failure message", longest=LONGEST_TEXT)
    check_note(failure.traceback, what="traceback", longest=LONGEST_TEXT)
    check_note(failure.step, what="step", longest=LONGEST_AWAITED)
    check_payload(failure.data, what="failure data")
    check_duration(failure.retry_after, what="retry_after")


WORK: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    RegisterWorker: _register,
    Heartbeat: _heartbeat,
    ClaimRuns: _claim_runs,
    BeginStep: _begin,
    CompleteStep: _complete,
    Suspend: _suspend,
    FinishRun: _finish,
    HoldRun: _hold,
    Claim: _claim,
    LookAtClaims: _look,
    RenewClaims: _renew,
}
