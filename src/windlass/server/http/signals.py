"""Routes for those who say what to do when something happens, and who look at what was done."""

from __future__ import annotations

from windlass.api.checks import check
from windlass.api.grpc.table import page
from windlass.errors import InvalidInput
from windlass.model.signal import (
    DeleteSignal,
    ListFirings,
    ListSignals,
    Signal,
    SignalId,
    SignalVerb,
    SteerSignal,
    UpdateSignal,
)
from windlass.rules.limits import check_signal_id
from windlass.server.http import asked_of_signals as asked
from windlass.server.http import telling_of_signals as telling
from windlass.server.http import told
from windlass.server.http import told_of_signals as told_of
from windlass.server.http.asked import DeedRequest, PersonQuery
from windlass.server.http.calls import NAMESPACE, Call, Kind, Row
from windlass.server.http.items import encoded
from windlass.server.http.signal_bodies import create_command, located

SIGNALS = f"{NAMESPACE}/signals"
SIGNAL = f"{SIGNALS}/{{signal_id}}"
LEAST_SIZE = 1_000  # of what stands around its payload


async def create_signal(call: Call) -> told_of.SignalDetail:
    try:
        return telling.view(await call.service.signals.create_signal(await create_command(call)))
    except InvalidInput as error:
        raise located(error, call.body.trigger) from None


async def list_signals(call: Call) -> told_of.SignalsAnswer:
    query: asked.SignalsQuery = call.query
    command = ListSignals(
        namespace=call.namespace,
        subject_kind=query.subject_kind,
        subject=query.subject,
        status=query.status,
        before=query.before,
        limit=query.limit,
    )
    found = await call.service.signals.list_signals(check(command))
    signals, has_more = page(found.signals, _size)  # large ones make a shorter page
    return told_of.SignalsAnswer(
        signals=[telling.signal(row) for row in signals], next=signals[-1].id if has_more else found.next
    )


def _size(row: Signal) -> int:
    return LEAST_SIZE + len(row.payload or b"") + len(row.action.input or b"")


async def get_signal(call: Call) -> told_of.SignalDetail:
    return telling.view(await call.service.signals.get_signal(call.namespace, _id(call)))


async def read_signal_log(call: Call) -> told_of.SignalLogAnswer:
    entries = await call.service.signals.read_signal_log(call.namespace, _id(call))
    return told_of.SignalLogAnswer(entries=[telling.entry(entry) for entry in entries])


async def explain_signal(call: Call) -> told_of.SignalExplanation:
    id = _id(call)
    return telling.explanation(await call.service.signals.explain_signal(call.namespace, id), id)


async def update_signal(call: Call) -> told_of.SignalDetail:
    wanted: asked.UpdateSignalRequest = call.body
    command = UpdateSignal(
        namespace=call.namespace,
        signal_id=_id(call),
        to=None if wanted.to is None else tuple(wanted.to),
        payload=encoded(call, wanted.payload, what="payload"),
        repeats=wanted.repeats,
        by=wanted.by,
    )
    if (command.to, command.payload, command.repeats) == (None, None, None):
        raise InvalidInput("Nothing is to be changed: give to, payload or repeats.", reason="invalid_input")
    return telling.view(await call.service.signals.update_signal(check(command)))


async def pause_signal(call: Call) -> told_of.SignalDetail:
    return await _steered(call, SignalVerb.PAUSE)


async def resume_signal(call: Call) -> told_of.SignalDetail:
    return await _steered(call, SignalVerb.RESUME)


async def cancel_signal(call: Call) -> told_of.SignalDetail:
    return await _steered(call, SignalVerb.CANCEL)


async def _steered(call: Call, verb: SignalVerb) -> told_of.SignalDetail:
    command = SteerSignal(
        namespace=call.namespace, signal_id=_id(call), verb=verb, by=call.body.by, note=call.body.note
    )
    return telling.view(await call.service.signals.steer_signal(check(command)))


async def delete_signal(call: Call) -> told.DoneAnswer:
    command = DeleteSignal(namespace=call.namespace, signal_id=_id(call), by=call.query.by)
    await call.service.signals.delete_signal(check(command))
    return told.DoneAnswer(is_done=True)


async def list_firings(call: Call) -> told_of.FiringsAnswer:
    query: asked.FiringsQuery = call.query
    command = ListFirings(
        namespace=call.namespace,
        signal_id=None if query.signal_id is None else SignalId(query.signal_id),
        status=query.status,
        before=query.before,
        limit=query.limit,
    )
    found = await call.service.signals.list_firings(check(command))
    return told_of.FiringsAnswer(firings=[telling.firing(row) for row in found.firings], next=found.next)


def _id(call: Call) -> SignalId:
    return SignalId(check_signal_id(call.path["signal_id"]))


ROWS = (
    Row(
        method="POST",
        path=SIGNALS,
        operation="create_signal",
        op="work.signal.create",
        summary="Make a signal, and arm it. The same key with the same trigger, action and payload is the same signal.",
        handler=create_signal,
        body=asked.SignalRequest,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="GET",
        path=SIGNALS,
        operation="list_signals",
        op="work.signal.list",
        summary="List signals, the newest first, page by page.",
        handler=list_signals,
        query=asked.SignalsQuery,
        answer=told_of.SignalsAnswer,
    ),
    Row(
        method="GET",
        path=f"{SIGNALS}/stream",
        operation="follow_signals",
        id="stream_signals",
        summary="What becomes of signals, as server-sent events. Last-Event-ID or `cursor` says where to go on.",
        query=asked.SignalStreamQuery,
        answer=told_of.FiredEvent,
        kind=Kind.STREAM,
    ),
    Row(
        method="GET",
        path=SIGNAL,
        operation="get_signal",
        op="work.signal.get",
        summary="A signal, the state its subject is in, and how many of its firings wait or failed.",
        handler=get_signal,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="DELETE",
        path=SIGNAL,
        operation="delete_signal",
        op="work.signal.delete",
        summary="Forget a signal and its firings. What they did stays.",
        handler=delete_signal,
        query=PersonQuery,
        answer=told.DoneAnswer,
    ),
    Row(
        method="GET",
        path=f"{SIGNAL}/log",
        operation="read_signal_log",
        op="work.signal.log",
        summary="What became of a signal, the oldest first, with what its firings did.",
        handler=read_signal_log,
        answer=told_of.SignalLogAnswer,
    ),
    Row(
        method="GET",
        path=f"{SIGNAL}/explanation",
        operation="explain_signal",
        op="work.signal.explain",
        summary="Why a signal has not fired, or what became of it.",
        handler=explain_signal,
        answer=told_of.SignalExplanation,
    ),
    Row(
        method="POST",
        path=f"{SIGNAL}/update",
        operation="update_signal",
        op="work.signal.update",
        summary="Change the states it waits for, its payload, or whether it repeats. What is not given stays.",
        handler=update_signal,
        body=asked.UpdateSignalRequest,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="POST",
        path=f"{SIGNAL}/pause",
        operation="steer_signal",
        id="pause_signal",
        op="work.signal.pause",
        summary="Do nothing until it is resumed. What happens meanwhile is kept, and waits.",
        handler=pause_signal,
        body=DeedRequest,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="POST",
        path=f"{SIGNAL}/resume",
        operation="steer_signal",
        id="resume_signal",
        op="work.signal.resume",
        summary="Go on: arm one that has fired anew, and try again what failed.",
        handler=resume_signal,
        body=DeedRequest,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="POST",
        path=f"{SIGNAL}/cancel",
        operation="steer_signal",
        id="cancel_signal",
        op="work.signal.cancel",
        summary="Call it off, for good.",
        handler=cancel_signal,
        body=DeedRequest,
        answer=told_of.SignalDetail,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/firings",
        operation="list_firings",
        op="work.firings.list",
        summary="List firings of a signal or of all, the newest first, page by page.",
        handler=list_firings,
        query=asked.FiringsQuery,
        answer=told_of.FiringsAnswer,
    ),
)
