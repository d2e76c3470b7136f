"""WorkflowService: how each of its calls is answered."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.api.checks import check
from windlass.api.grpc import envelopes as of
from windlass.api.grpc.errors import to_detail
from windlass.api.grpc.mirror import mirror
from windlass.api.grpc.table import Call, Row, page
from windlass.api.starts import Starts, hash_of_payload
from windlass.model.commands import (
    Cancelled,
    CancelRun,
    Decide,
    Outcome,
    PauseRun,
    ResumeRun,
    RetryRun,
    SendEvent,
    Sent,
    Started,
)
from windlass.model.explanation import Explanation
from windlass.model.message import Decision
from windlass.model.page import ListRuns, RunPage
from windlass.model.run import RunView
from windlass.model.step import Step
from windlass.model.time import SECOND, Duration
from windlass.rules.limits import check_key, check_run_id
from windlass.v1 import workflow_pb2
from windlass.v1.model_pb2 import StartedRun

LONGEST_WAIT = Duration(30 * SECOND)
DEFAULT_PAGE = 50
SERVICE = "WorkflowService"

_STARTED = mirror(Started, StartedRun.DESCRIPTOR)


def rows(starts: Starts) -> list[Row]:
    """Their starts are looked at by one object: what it knows of workflows is known for all of them."""

    async def start_one(call: Call, asked: of.StartOne) -> Started:
        (outcome,) = await starts.start([asked.run], allow_unknown=asked.allow_unknown)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def start_many(call: Call, asked: of.StartMany) -> Any:
        answer = workflow_pb2.StartRunsResponse()
        for outcome in await starts.start(asked.runs, allow_unknown=asked.allow_unknown):
            if isinstance(outcome, Exception):
                answer.outcomes.add(error=to_detail(outcome, request_id=call.caller.request_id))
            else:
                answer.outcomes.add(started=_STARTED.to_message(outcome))
        return answer

    return [
        Row(SERVICE, "StartRun", "start_runs", of.StartOne, Started, start_one),
        Row(SERVICE, "StartRuns", "start_runs", of.StartMany, None, start_many),
        *ROWS,
    ]


async def _get_run(call: Call, asked: of.OfRun) -> RunView:
    check_run_id(asked.run_id)
    return await call.service.runs.get_run(asked.namespace, asked.run_id)


async def _find_run(call: Call, asked: of.OfKey) -> RunView:
    return await call.service.runs.find_run(asked.namespace, check_key(asked.key))


async def _list_runs(call: Call, asked: ListRuns) -> RunPage:
    return await call.service.runs.list_runs(check(asked if asked.limit else replace(asked, limit=DEFAULT_PAGE)))


async def _list_steps(call: Call, asked: of.ListSteps) -> of.Steps:
    check_run_id(asked.run_id)
    found = await call.service.runs.list_steps(asked.namespace, asked.run_id)
    steps, has_more = page(found, _size_of_step)
    if has_more or asked.after_key is not None:
        # By what never changes: a step that ends between two answers may have begun before all that were seen.
        last = (asked.after_key or "", asked.after_attempt)
        left = sorted([step for step in found if (step.key, step.attempt) > last], key=lambda it: (it.key, it.attempt))
        steps, has_more = page(left, _size_of_step)
    return of.Steps(steps=steps, has_more=has_more)


def _size_of_step(step: Step) -> int:
    return len(step.output or b"") + 500


async def _list_messages(call: Call, asked: of.OfRunAfter) -> of.Messages:
    check_run_id(asked.run_id)
    found = await call.service.runs.list_messages(asked.namespace, asked.run_id)
    left = [item for item in found if item.seq > asked.after]
    messages, has_more = page(left, lambda item: len(item.payload) + 500)
    return of.Messages(messages=messages, has_more=has_more)


async def _read_log(call: Call, asked: of.OfRunAfter) -> of.LogEntries:
    check_run_id(asked.run_id)
    found = await call.service.runs.read_log(asked.namespace, asked.run_id)
    entries, has_more = page([entry for entry in found if entry.seq > asked.after], lambda entry: 500)
    return of.LogEntries(entries=entries, has_more=has_more)


async def _explain_run(call: Call, asked: of.OfRun) -> Explanation:
    check_run_id(asked.run_id)
    return await call.service.runs.explain_run(asked.namespace, asked.run_id)


async def _wait_for_result(call: Call, asked: of.WaitForResult) -> Outcome:
    check_run_id(asked.run_id)
    wait_for = Duration(min(max(0, asked.wait_for), LONGEST_WAIT))
    return await call.service.runs.wait_for_result(asked.namespace, asked.run_id, wait_for)


async def _cancel_run(call: Call, asked: CancelRun) -> Cancelled:
    return await call.service.control.cancel_run(check(asked))


async def _retry_run(call: Call, asked: RetryRun) -> Started:
    return await call.service.control.retry_run(check(asked))


async def _pause_run(call: Call, asked: PauseRun) -> of.Paused:
    return of.Paused(status=await call.service.control.pause_run(check(asked)))


async def _resume_run(call: Call, asked: ResumeRun) -> RunView:
    return await call.service.control.resume_run(check(asked))


async def _send_event(call: Call, asked: SendEvent) -> Sent:
    if not asked.payload_hash:
        asked = replace(asked, payload_hash=hash_of_payload(asked.payload))
    return await call.service.control.send_event(check(asked))


async def _decide(call: Call, asked: Decide) -> Decision:
    return await call.service.control.decide(check(asked))


ROWS = [
    Row(SERVICE, "GetRun", "get_run", of.OfRun, RunView, _get_run),
    Row(SERVICE, "FindRun", "find_run", of.OfKey, RunView, _find_run),
    Row(SERVICE, "ListRuns", "list_runs", ListRuns, RunPage, _list_runs),
    Row(SERVICE, "ListSteps", "list_steps", of.ListSteps, of.Steps, _list_steps),
    Row(SERVICE, "ListMessages", "list_messages", of.OfRunAfter, of.Messages, _list_messages),
    Row(SERVICE, "ReadLog", "read_log", of.OfRunAfter, of.LogEntries, _read_log),
    Row(SERVICE, "ExplainRun", "explain_run", of.OfRun, Explanation, _explain_run),
    Row(SERVICE, "WaitForResult", "wait_for_result", of.WaitForResult, Outcome, _wait_for_result, is_long=True),
    Row(SERVICE, "CancelRun", "cancel_run", CancelRun, Cancelled, _cancel_run),
    Row(SERVICE, "RetryRun", "retry_run", RetryRun, Started, _retry_run),
    Row(SERVICE, "PauseRun", "pause_run", PauseRun, of.Paused, _pause_run),
    Row(SERVICE, "ResumeRun", "resume_run", ResumeRun, RunView, _resume_run),
    Row(SERVICE, "SendEvent", "send_event", SendEvent, Sent, _send_event),
    Row(SERVICE, "Decide", "decide", Decide, Decision, _decide),
]
