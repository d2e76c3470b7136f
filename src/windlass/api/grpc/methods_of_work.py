"""WorkerService: how each of its calls is answered. A worker reaches runs through its claims, and no other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from windlass.answers import Answer, outcomes
from windlass.api.checks import check
from windlass.api.grpc import envelopes as of
from windlass.api.grpc.errors import to_detail
from windlass.api.grpc.mirror import mirror
from windlass.api.grpc.table import PAGE_BYTES, Call, Row, page
from windlass.errors import Forbidden, NotFound, WindlassError
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import (
    Cancelled,
    CancelRun,
    Claim,
    ClaimedRun,
    ClaimRuns,
    FinishRun,
    Heartbeat,
    HoldRun,
    LookAtClaims,
    OpenWait,
    RegisterWorker,
    Registration,
    SendEvent,
    Sent,
    Suspend,
    Suspended,
    WaitStep,
)
from windlass.model.run import RunStatus
from windlass.model.step import StepKind, StepRecord
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Served, ServedPipeline
from windlass.rules.limits import check_limit, check_worker_id
from windlass.v1 import worker_pb2

LONGEST_WAIT = Duration(30 * SECOND)
MOST_WRITES = 1_000  # of one call
HASH_BYTES = 16
SERVICE = "WorkerService"

_CLAIMED = mirror(ClaimedRun, worker_pb2.ClaimedRun.DESCRIPTOR)


# Presence


async def _register(call: Call, asked: RegisterWorker) -> Registration:
    asked = check(asked)
    left_out = _not_allowed(call, (*asked.served, *asked.pipelines))
    if asked.leaves_out and left_out:
        asked = _narrow(call, asked, left_out)
    check_queues(call, (*asked.served, *asked.pipelines))
    await call.service.work.register_worker(asked)
    return Registration(left_out=left_out)


def _narrow(call: Call, asked: RegisterWorker, left_out: Sequence[str]) -> RegisterWorker:
    """What is left of it for this key. Raises Forbidden if that is nothing."""
    served = tuple(lane for lane in asked.served if lane.queue not in left_out)
    pipelines = tuple(lane for lane in asked.pipelines if lane.queue not in left_out)
    if not served and not pipelines:
        allowed, named = (", ".join(map(repr, queues)) for queues in (call.caller.queues, left_out))
        raise Forbidden(
            f"This key may serve queue {allowed} only, and this worker serves {named}: nothing is left. "
            f"Use a key for these, or declare with queue={call.caller.queues[0]!r} what it is to execute."
        )
    return replace(asked, served=served, pipelines=pipelines)


async def _heartbeat(call: Call, asked: Heartbeat) -> of.Beaten:
    try:
        beaten = await call.service.work.heartbeat(check(asked))
    except NotFound:
        return of.Beaten(accepted=False)
    return of.Beaten(accepted=True, should_drain=beaten.should_drain)


async def _drain(call: Call, asked: of.OfWorker) -> of.Nothing:
    check_worker_id(asked.id)
    await call.service.control.drain_worker(asked.namespace, asked.id)
    return of.Nothing()


async def _deregister(call: Call, asked: of.Deregister) -> of.Nothing:
    check_worker_id(asked.id)
    await call.service.work.deregister_worker(asked.namespace, asked.id, asked.ended)
    return of.Nothing()


async def _listen(call: Call, asked: of.Listen) -> of.Heard:
    check_worker_id(asked.worker)
    wait_for = capped_wait(asked.wait_for)
    return of.Heard(should_drain=await call.service.work.listen(asked.namespace, asked.worker, wait_for))


# Claims


async def _poll(call: Call, asked: ClaimRuns) -> Any:
    arrived_at = call.clock.monotonic()
    # Claims first and looks then: this may be a repeat, and a look does not see what the first one has claimed.
    asked = check(replace(asked, wait_for=capped_wait(asked.wait_for), expects_more=True))
    check_queues(call, asked.served)
    claimed = await call.service.work.claim_runs(asked)
    answer = worker_pb2.PollResponse()
    if claimed:
        answer.claimed_after = max(0, min(run.asked_at for run in claimed) - arrived_at)
    room = PAGE_BYTES
    for place, run in enumerate(claimed):
        if room <= 0 and place:  # the others get their turn when this worker, or another one, asks again
            for left in claimed[place:]:
                await call.service.work.release_run(
                    Claim(namespace=asked.namespace, run_id=left.run_id, token=left.token)
                )
            break
        history, has_more = page(run.history, _size, room=max(1, room)) if run.history else ((), False)
        message = _CLAIMED.to_message(run if not has_more else replace(run, history=history))
        message.has_more_history = has_more
        answer.runs.append(message)
        room -= len(run.input) + sum(map(_size, history))
    return answer


def _size(record: StepRecord) -> int:
    return len(record.output or b"") + 200


async def _read_history(call: Call, asked: of.ReadHistory) -> of.History:
    claim = check(Claim(namespace=asked.namespace, run_id=asked.run_id, token=asked.token))
    found = await call.service.work.read_history(claim)
    history, has_more = page(found[max(0, asked.skip) :], _size)
    return of.History(history=history, has_more=has_more)


async def _look_at_claims(call: Call, asked: LookAtClaims) -> of.Looked:
    return of.Looked(states=await call.service.work.look_at_claims(check(asked)))


async def _hold_run(call: Call, asked: HoldRun) -> of.Nothing:
    await call.service.work.hold_run(check(asked))
    return of.Nothing()


async def _release_run(call: Call, asked: Claim) -> of.Nothing:
    await call.service.work.release_run(check(asked))
    return of.Nothing()


async def _renew_claim(call: Call, asked: Claim) -> of.Nothing:
    await call.service.work.renew_claim(check(asked))
    return of.Nothing()


async def _renew_claims(call: Call, asked: RenewClaims) -> RenewedClaims:
    return await call.service.work.renew_claims(check(asked))


# Writes


async def _begin_steps(call: Call, asked: of.BeginSteps) -> Any:
    return await _write(call, asked.steps, call.service.work.begin_step)


async def _complete_steps(call: Call, asked: of.CompleteSteps) -> Any:
    return await _write(call, asked.steps, call.service.work.complete_step)


async def _finish_runs(call: Call, asked: of.FinishRuns) -> Any:
    return await _write(call, [_with_hash(item) for item in asked.runs], call.service.work.finish_run)


async def _write(call: Call, commands: Sequence[Any], write: Callable[[Any], Answer[Any]]) -> Any:
    """Each has an outcome of its own: one that is refused does not keep its neighbours from being written."""
    check_limit(len(commands), what="number of writes", low=1, high=MOST_WRITES)
    answers: list[Answer[Any]] = []
    for command in commands:
        try:
            answers.append(write(check(command)))
        except WindlassError as refused:
            refusal: Answer[Any] = Answer()
            refusal.settle(refused)
            answers.append(refusal)
    found = await outcomes(answers)
    answer = worker_pb2.WriteOutcomes(at=[0 if isinstance(item, Exception) else item for item in found])
    for index, item in enumerate(found):
        if isinstance(item, Exception):
            answer.refused.add(index=index, error=to_detail(item, request_id=call.caller.request_id))
    return answer


def _with_hash(command: FinishRun) -> FinishRun:
    if command.result_hash:
        return command
    return replace(command, result_hash=blake2b(command.output or b"", digest_size=HASH_BYTES).digest())


async def _complete_run(call: Call, asked: of.CompleteRun) -> of.Written:
    command = FinishRun(
        namespace=asked.namespace,
        run_id=asked.run_id,
        token=asked.token,
        status=RunStatus.COMPLETED,
        output=asked.output,
        knows_family=False,
    )
    return of.Written(at=await call.service.work.finish_run(check(_with_hash(command))))


async def _fail_run(call: Call, asked: of.FailRun) -> of.Written:
    command = FinishRun(
        namespace=asked.namespace,
        run_id=asked.run_id,
        token=asked.token,
        status=RunStatus.FAILED,
        failure=asked.failure,
        knows_family=False,
    )
    return of.Written(at=await call.service.work.finish_run(check(_with_hash(command))))


async def _suspend(call: Call, asked: Suspend) -> Suspended:
    return await call.service.work.suspend_run(check(asked))


async def _fail_step(call: Call, asked: of.FailOne) -> Suspended:
    return await _suspend(call, replace(_parking(asked), failures=(asked.step,)))


async def _sleep(call: Call, asked: of.SleepOne) -> Suspended:
    wait = WaitStep(
        namespace=asked.namespace,
        run_id=asked.run_id,
        token=asked.token,
        key=asked.key,
        kind=StepKind.SLEEP,
        input_hash=asked.input_hash,
        due_for=asked.sleep_for,
    )
    return await _suspend(call, replace(_parking(asked), waits=(wait,)))


async def _wait_for(call: Call, asked: of.WaitOne) -> Suspended:
    parking = _parking(asked)
    opened = OpenWait(key=asked.step.key, order=asked.order)
    return await _suspend(call, replace(parking, waits=(asked.step,), open=(opened,)))


def _parking(asked: of.FailOne | of.SleepOne | of.WaitOne) -> Suspend:
    return Suspend(
        namespace=asked.namespace, run_id=asked.run_id, token=asked.token, park=True, is_again=asked.is_again
    )


# Children


async def _send_to_child(call: Call, asked: of.SendToChild) -> Sent:
    command = SendEvent(
        namespace=asked.namespace,
        run_id=asked.child,
        event=asked.event,
        id=asked.id,
        payload=asked.payload,
        payload_hash=asked.payload_hash,
    )
    return await call.service.work.send_to_child(_claim_of(asked), check(command))


async def _cancel_child(call: Call, asked: of.CancelChild) -> Cancelled:
    command = CancelRun(namespace=asked.namespace, run_id=asked.child, by=asked.run_id, is_again=asked.is_again)
    return await call.service.work.cancel_child(_claim_of(asked), check(command))


def _claim_of(asked: of.SendToChild | of.CancelChild) -> Claim:
    return check(Claim(namespace=asked.namespace, run_id=asked.run_id, token=asked.token))


def check_queues(call: Call, served: Sequence[Served | ServedPipeline]) -> None:
    others = _not_allowed(call, served)
    if others:
        raise Forbidden(f"This key may not serve queue {others[0]!r}.")


def _not_allowed(call: Call, served: Sequence[Served | ServedPipeline]) -> tuple[str, ...]:
    return tuple(sorted({lane.queue for lane in served if not call.caller.may_serve(lane.queue)}))


def capped_wait(wait_for: Duration) -> Duration:
    return Duration(min(max(0, wait_for), LONGEST_WAIT))


ROWS = [
    Row(SERVICE, "Register", "register_worker", RegisterWorker, Registration, _register),
    Row(SERVICE, "Heartbeat", "heartbeat", Heartbeat, of.Beaten, _heartbeat),
    Row(SERVICE, "Drain", "drain_self", of.OfWorker, of.Nothing, _drain),
    Row(SERVICE, "Deregister", "deregister_worker", of.Deregister, of.Nothing, _deregister),
    Row(SERVICE, "Poll", "claim_runs", ClaimRuns, None, _poll, is_long=True, renamed=(("poll", "poll_id"),)),
    Row(SERVICE, "ReadHistory", "read_history", of.ReadHistory, of.History, _read_history),
    Row(SERVICE, "Listen", "listen", of.Listen, of.Heard, _listen, is_long=True),
    Row(SERVICE, "LookAtClaims", "look_at_claims", LookAtClaims, of.Looked, _look_at_claims),
    Row(SERVICE, "BeginSteps", "begin_steps", of.BeginSteps, None, _begin_steps),
    Row(SERVICE, "CompleteSteps", "complete_steps", of.CompleteSteps, None, _complete_steps),
    Row(SERVICE, "Suspend", "suspend_run", Suspend, Suspended, _suspend),
    Row(SERVICE, "FailStep", "suspend_run", of.FailOne, Suspended, _fail_step),
    Row(SERVICE, "Sleep", "suspend_run", of.SleepOne, Suspended, _sleep),
    Row(SERVICE, "Wait", "suspend_run", of.WaitOne, Suspended, _wait_for),
    Row(SERVICE, "FinishRuns", "finish_runs", of.FinishRuns, None, _finish_runs),
    Row(SERVICE, "CompleteRun", "finish_runs", of.CompleteRun, of.Written, _complete_run),
    Row(SERVICE, "FailRun", "finish_runs", of.FailRun, of.Written, _fail_run),
    Row(SERVICE, "HoldRun", "hold_run", HoldRun, of.Nothing, _hold_run),
    Row(SERVICE, "ReleaseRun", "release_run", Claim, of.Nothing, _release_run),
    Row(SERVICE, "RenewClaim", "renew_claim", Claim, of.Nothing, _renew_claim),
    Row(SERVICE, "RenewClaims", "renew_claims", RenewClaims, RenewedClaims, _renew_claims),
    Row(SERVICE, "SendToChild", "send_to_child", of.SendToChild, Sent, _send_to_child),
    Row(SERVICE, "CancelChild", "cancel_child", of.CancelChild, Cancelled, _cancel_child),
]
