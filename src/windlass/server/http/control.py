"""Routes for those who steer runs, queues, workers and readers of the log."""

from __future__ import annotations

from windlass.api.checks import check, check_cursor_name
from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.commands import CancelRun, Decide, PauseRun, ResumeRun, RetryRun, SendEvent, SetGate
from windlass.model.run import WorkerId
from windlass.model.time import Instant
from windlass.rules.limits import check_person, check_worker_id
from windlass.server.http import asked, telling, told
from windlass.server.http.calls import NAMESPACE, Call, Row
from windlass.server.http.runs import RUN


async def send_event(call: Call) -> told.SentAnswer:
    wanted: asked.EventRequest = call.body
    data, hashed = _encoded(call.site.codec, wanted.payload)
    command = SendEvent(
        namespace=call.namespace,
        run_id=call.run_id,
        event=wanted.event,
        id=wanted.id or call.site.ids.message(),
        payload=data,
        payload_hash=hashed,
    )
    sent = await call.service.control.send_event(check(command))
    return told.SentAnswer(id=command.id, is_repeat=sent.is_repeat)


def _encoded(codec: Codec, payload: object) -> tuple[bytes, bytes]:
    try:
        return codec.encode_hashed(payload)
    except InvalidInput as error:
        path = error.path.replace("$", "payload", 1)
        raise InvalidInput(f"payload: {error}", reason=error.reason, path=path) from None


async def decide(call: Call) -> told.DecisionAnswer:
    wanted: asked.DecisionRequest = call.body
    command = Decide(
        namespace=call.namespace,
        run_id=call.run_id,
        is_approved=wanted.is_approved,
        by=wanted.by,
        note=wanted.note,
        step=wanted.step,
    )
    return telling.decision(await call.service.control.decide(check(command)))


async def cancel_run(call: Call) -> told.CancelledAnswer:
    command = CancelRun(namespace=call.namespace, run_id=call.run_id, by=call.body.by, note=call.body.note)
    done = await call.service.control.cancel_run(check(command))
    return told.CancelledAnswer(status=done.status, is_done=done.is_done, children=list(done.children))


async def retry_run(call: Call) -> told.StartedAnswer:
    command = RetryRun(namespace=call.namespace, run_id=call.run_id, from_step=call.body.from_step, by=call.body.by)
    started = await call.service.control.retry_run(check(command))
    return told.StartedAnswer(run_id=started.run_id, is_repeat=started.is_repeat)


async def pause_run(call: Call) -> told.StatusAnswer:
    command = PauseRun(namespace=call.namespace, run_id=call.run_id, by=call.body.by, note=call.body.note)
    return told.StatusAnswer(status=await call.service.control.pause_run(check(command)))


async def resume_run(call: Call) -> told.RunDetail:
    command = ResumeRun(namespace=call.namespace, run_id=call.run_id, by=call.body.by)
    return telling.view(await call.service.control.resume_run(check(command)))


async def set_gate(call: Call) -> told.GateDetail:
    wanted: asked.GateRequest = call.body
    command = SetGate(
        namespace=call.namespace,
        kind=wanted.kind,
        name=wanted.name,
        is_paused=wanted.is_paused,
        by=wanted.by,
        note=wanted.note,
    )
    return telling.gate(await call.service.control.set_gate(check(command)))


async def list_gates(call: Call) -> told.GatesAnswer:
    gates = await call.service.control.list_gates(call.namespace)
    return told.GatesAnswer(gates=[telling.gate(gate) for gate in gates])


async def drain_worker(call: Call) -> told.WorkerDetail:
    id = WorkerId(check_worker_id(call.path["worker_id"]))
    worker = await call.service.control.drain_worker(call.namespace, id, by=check_person(call.body.by))
    return telling.worker(worker, now=Instant(call.site.clock.now()))


async def move_cursor(call: Call) -> told.CursorAnswer:
    name = check_cursor_name(call.path["name"])
    seq = await call.service.control.move_cursor(call.namespace, name, call.body.seq)
    return told.CursorAnswer(name=name, seq=seq)


async def drop_cursor(call: Call) -> told.DroppedAnswer:
    name = check_cursor_name(call.path["name"])
    return told.DroppedAnswer(is_dropped=await call.service.control.drop_cursor(call.namespace, name))


ROWS = (
    Row(
        method="POST",
        path=f"{RUN}/events",
        operation="send_event",
        summary="Send an event to a run, which keeps it until it is received, once. The same id is the same event.",
        handler=send_event,
        body=asked.EventRequest,
        answer=told.SentAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUN}/decision",
        operation="decide",
        summary="Approve or reject what a run waits for. The same decision again is a repeat.",
        handler=decide,
        body=asked.DecisionRequest,
        answer=told.DecisionAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUN}/cancel",
        operation="cancel_run",
        summary="End a run, and the children that follow it. One that is over stays as it is.",
        handler=cancel_run,
        body=asked.DeedRequest,
        answer=told.CancelledAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUN}/retry",
        operation="retry_run",
        summary="Try it once more, as a new run with its completed steps. A second retry answers with the first.",
        handler=retry_run,
        body=asked.RetryRequest,
        answer=told.StartedAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUN}/pause",
        operation="pause_run",
        summary="Hold a run until it is resumed.",
        handler=pause_run,
        body=asked.DeedRequest,
        answer=told.StatusAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUN}/resume",
        operation="resume_run",
        summary="Let a paused run go on.",
        handler=resume_run,
        body=asked.PersonRequest,
        answer=told.RunDetail,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/gates",
        operation="list_gates",
        op="gates.list",
        summary="What is paused as a whole.",
        handler=list_gates,
        answer=told.GatesAnswer,
    ),
    Row(
        method="PUT",
        path=f"{NAMESPACE}/gates",
        operation="set_gate",
        summary="Pause or resume a queue, a workflow or the namespace.",
        handler=set_gate,
        body=asked.GateRequest,
        answer=told.GateDetail,
    ),
    Row(
        method="POST",
        path=f"{NAMESPACE}/workers/{{worker_id}}/drain",
        operation="drain_worker",
        summary="Ask a worker to leave: it claims nothing new, and goes once what it holds is done.",
        handler=drain_worker,
        body=asked.PersonRequest,
        answer=told.WorkerDetail,
    ),
    Row(
        method="PUT",
        path=f"{NAMESPACE}/cursors/{{name}}",
        operation="move_cursor",
        summary="Say how far a reader of the log has come: nothing behind that is removed from it.",
        handler=move_cursor,
        body=asked.CursorRequest,
        answer=told.CursorAnswer,
    ),
    Row(
        method="DELETE",
        path=f"{NAMESPACE}/cursors/{{name}}",
        operation="drop_cursor",
        summary="Forget a reader of the log.",
        handler=drop_cursor,
        answer=told.DroppedAnswer,
    ),
)
