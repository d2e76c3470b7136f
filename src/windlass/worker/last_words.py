"""What is written last about a run under this claim: its end, that a person has to look, or that it is given back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from windlass.errors import InvalidInput, ReplayMismatch
from windlass.model.commands import Claim, FinishRun, HoldRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import AddJobs
from windlass.model.run import RunStatus
from windlass.model.time import SECOND, Duration
from windlass.telemetry.observer import Departure
from windlass.worker import failures

if TYPE_CHECKING:
    from windlass.worker.execute import Execution

NO_DELAY = Duration(0)
LATER = Duration(5 * SECOND)  # what is in the way may be gone by then, and is not asked for in a loop
DEPARTURES = {RunStatus.COMPLETED: Departure.COMPLETED, RunStatus.FAILED: Departure.FAILED}


def succeeded(execution: Execution, value: Any) -> FinishRun:
    definition = execution.definition
    try:
        output, _ = execution.codec.round_trip(value, definition.return_type, what="Workflow", name=definition.name)
    except InvalidInput as refused:
        return failed(execution, Failure(kind=FailureKind.LOGIC, type="InvalidInput", message=str(refused)))
    return _end(execution, RunStatus.COMPLETED, output, None, hashed=output)


def failed(execution: Execution, failure: Failure) -> FinishRun:
    return _end(execution, RunStatus.FAILED, None, failure, hashed=msgspec.json.encode(failure))


def deadlock(execution: Execution) -> FinishRun:
    message = "Every task of the workflow waits for another one, and none of them for a step, a sleep or an event."
    return failed(execution, Failure(kind=FailureKind.LOGIC, type="Deadlock", message=message))


def _end(
    execution: Execution, status: RunStatus, output: bytes | None, failure: Failure | None, *, hashed: bytes
) -> FinishRun:
    claimed = execution.claimed
    return FinishRun(
        namespace=execution.host.namespace,
        run_id=claimed.run_id,
        token=claimed.token,
        status=status,
        output=output,
        failure=failure,
        result_hash=hashlib.blake2b(hashed, digest_size=16).digest(),
        parent=claimed.parent,
        schedule=claimed.schedule,
        job=claimed.job,
    )


async def finish(execution: Execution, command: FinishRun) -> None:
    await execution.host.work.finish_run(command)
    finished(execution, command)


async def spawn(execution: Execution, value: object) -> None:
    """A generator is over together with the jobs it returned, or failed because of them."""
    claimed, definition = execution.claimed, execution.definition
    assert definition.spawns is not None
    try:
        jobs = definition.spawns(value, execution.codec)
        output = execution.codec.encode([job.name for job in jobs])
        namespace, run_id, token = execution.host.namespace, claimed.run_id, claimed.token
        added = await execution.host.work.add_jobs(
            AddJobs(namespace=namespace, run_id=run_id, token=token, jobs=jobs, output=output)
        )
    except InvalidInput as refused:  # also by the way to a server, into which not everything fits
        failure = Failure(kind=FailureKind.LOGIC, type="InvalidGraph", message=str(refused))
        return await finish(execution, failed(execution, failure))
    _ended(execution, added.status, added.failure)


def finished(execution: Execution, command: FinishRun) -> None:
    """The end is on record."""
    _ended(execution, command.status, command.failure)


def _ended(execution: Execution, status: RunStatus, failure: Failure | None) -> None:
    execution.outcome, execution.ending.departure = status, DEPARTURES[status]
    if failure is not None:
        execution.ending.error = failure.type
        failures.tell_run(execution.claimed, failure)


async def hold(execution: Execution, why: ReplayMismatch | Failure) -> None:
    """A person has to look before it goes on."""
    reason, claimed = why, execution.claimed
    if isinstance(reason, ReplayMismatch):
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message=str(why), step=reason.step)
    await execution.host.work.hold_run(
        HoldRun(namespace=execution.host.namespace, run_id=claimed.run_id, token=claimed.token, reason=reason)
    )
    execution.ending.departure = Departure.PAUSED


async def release(execution: Execution, *, delay_for: Duration = NO_DELAY) -> None:
    claimed = execution.claimed
    await execution.host.work.release_run(
        Claim(namespace=execution.host.namespace, run_id=claimed.run_id, token=claimed.token, delay_for=delay_for)
    )
    execution.ending.departure = Departure.RELEASED
