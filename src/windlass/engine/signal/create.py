"""Arm a signal: from that commit on, whatever it waits for creates a firing in its own transaction.

    lock the subject, and mark it watched ─► note it in the log: that place is the arming point ─► the signal
    what the subject did before that counts only `since_beginning`; if it is in the state already, the answer says so

A signal on a whole workflow has no subject to lock: the log behind its place is examined once more (reconcile.py).
"""

from __future__ import annotations

import difflib

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.signal.noting import noted
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WindlassError, WrongState
from windlass.model.feed import BEGINNING
from windlass.model.gate import GateKind
from windlass.model.run import RunId, RunKind
from windlass.model.signal import (
    CREATED,
    RESOLVED,
    ActionKind,
    CreateSignal,
    Signal,
    SignalId,
    SignalNews,
    SignalStatus,
    SignalView,
    Trigger,
    TriggerKind,
)
from windlass.model.time import Instant
from windlass.notify.local import signals_topic
from windlass.rules import signals as rules
from windlass.rules.limits import check_key, check_payload, check_person
from windlass.rules.triggers import check_action, check_trigger
from windlass.store.base import Tx
from windlass.store.queries.firings import NewFiring
from windlass.store.queries.signals import Subject

# A graph is a run of its workflow until a worker has entered its jobs.
OWN_KINDS = {TriggerKind.JOB: (RunKind.JOB, RunKind.GROUP), TriggerKind.GRAPH: (RunKind.GRAPH, RunKind.WORKFLOW)}


class Raced(WindlassError):
    """Somebody else has taken the key meanwhile: look again."""


async def create_signal(parts: Parts, command: CreateSignal) -> SignalView:
    command = checked(command)
    audit, signal_id = Audit.of_caller("create_signal"), command.signal_id or SignalId(parts.ids.signal())

    async def create(tx: Tx) -> SignalView:
        known = await _known(tx, command, signal_id)
        if known is not None:
            return SignalView(signal=known, has_changed=False)
        subject = await arm(tx, command.namespace, command.trigger)
        await check_targets(tx, command)
        view = await _enter(tx, command, signal_id, subject)
        await audit.note(tx, command.namespace, subject=signal_id, after=view.signal.status)
        return view

    while True:
        try:
            view = await parts.run_tx("create_signal", create)
        except Raced:
            continue
        parts.hub.publish(signals_topic())
        return view


def checked(command: CreateSignal) -> CreateSignal:
    """Raises InvalidInput."""
    trigger = check_trigger(command.trigger)
    if command.since_beginning and (rules.is_pattern(trigger) or trigger.kind is TriggerKind.TIME):
        text = "Invalid trigger, since 'beginning': only a signal on one subject can count what it did before."
        raise InvalidInput(text, reason="invalid_trigger", path="since")
    check_payload(command.payload, what="payload")
    check_person(command.by)
    if command.key is not None:
        check_key(command.key)
    action = check_action(command.action, trigger, repeats=command.repeats)
    return replace(command, trigger=trigger, action=action)


async def _known(tx: Tx, command: CreateSignal, signal_id: SignalId) -> Signal | None:
    """The one that the id or the key belongs to, if that is the same signal."""
    found = await tx.signals.load(command.namespace, signal_id)
    if found is None and command.key is not None:
        found = await tx.signals.by_key(command.namespace, command.key)
    if found is None:
        return None
    trigger = replace(command.trigger, subject=await _watched_by_now(tx, command, found))
    asked = (trigger, command.action, command.payload, command.repeats)
    if (found.trigger, found.action, found.payload, found.repeats) == asked and found.key == command.key:
        return found
    what = f"Key {command.key!r}" if found.key == command.key and command.key is not None else f"Id {found.id}"
    text = f"{what} belongs to signal {found.id}, which watches or does something else. Use another key."
    raise AlreadyExists(text, reason="idempotency_conflict", owner=found.id)


async def _watched_by_now(tx: Tx, command: CreateSignal, found: Signal) -> str:
    """Whom the signal asked for watches: a run that was tried again took it along to the run that does so."""
    subject = command.trigger.subject
    if command.trigger.kind.subject_kind == "run":
        while subject != found.trigger.subject:
            after = await tx.retries.of(command.namespace, run_id=RunId(subject))
            if after is None:
                return command.trigger.subject
            subject = after
    return subject


async def arm(tx: Tx, namespace: str, trigger: Trigger) -> Subject | None:
    """Lock what is watched by itself, and mark it. None: there is no such thing to lock. Raises NotFound."""
    if trigger.kind is TriggerKind.TIME or rules.is_pattern(trigger):
        return None
    kind = trigger.kind.subject_kind
    subject = await tx.arming.arm(namespace, subject_kind=kind, id=trigger.subject)
    if subject is None:
        raise await _no_subject(tx, namespace, trigger)
    wanted = OWN_KINDS.get(trigger.kind, ())
    if wanted and subject.kind not in wanted:
        text = f"Run {trigger.subject} is a {subject.kind}, not a {wanted[0]}."
        raise InvalidInput(f"Invalid trigger: {text}", reason="invalid_trigger", path="subject")
    return subject


async def _no_subject(tx: Tx, namespace: str, trigger: Trigger) -> NotFound:
    if trigger.kind is TriggerKind.PIPELINE:
        known = [pipeline.name for pipeline in await tx.pipelines.list(namespace)]
        close = difflib.get_close_matches(trigger.subject, known, n=3)
        return NotFound("Pipeline", trigger.subject, close=close, hint="" if close else "See: windlass pipelines")
    if trigger.kind is TriggerKind.ITEM:
        return NotFound("item", trigger.subject, hint="If it did once, it was deleted. See: windlass items")
    return no_run(RunId(trigger.subject))


async def check_targets(tx: Tx, command: CreateSignal) -> None:
    """What is watched by name, or started, is known here; whom something is sent to can receive it."""
    names = []
    if command.trigger.kind is TriggerKind.WORKFLOW:
        names.append(command.trigger.subject)
    if command.action.kind is ActionKind.START:
        names.append(command.action.workflow)
    for name in [] if command.allow_unknown else names:
        if await tx.gates.load(command.namespace, kind=GateKind.WORKFLOW, name=name) is None:
            close = difflib.get_close_matches(name, await tx.gates.workflows(command.namespace), n=3)
            hint = "" if close else "No worker of this namespace has ever run it. Start one first."
            raise NotFound("Workflow", name, close=close, hint=hint)
    if command.action.kind is ActionKind.SEND:
        run_id = RunId(command.action.run_id or "")
        run = await tx.runs.load(command.namespace, id=run_id)
        if run is None:
            raise no_run(run_id)
        if run.status.is_terminal:
            raise WrongState("Run", run.id, run.status, wanted="one that can still receive an event")


async def _enter(tx: Tx, command: CreateSignal, signal_id: SignalId, subject: Subject | None) -> SignalView:
    signal = await enter(tx, new_signal(command, signal_id, now=await tx.now()), by=command.by)
    state = None if subject is None else subject.status
    firings = await _past(tx, signal) if command.since_beginning else []
    await tx.firings.insert(firings)
    is_already = state in signal.trigger.to and not command.since_beginning
    if state is not None and rules.is_over_for_good(signal.trigger.kind, state) and not firings:
        signal = await _never(tx, signal, state, is_already=is_already)
    return SignalView(signal=signal, state=state, already=is_already, queued=len(firings))


async def enter(tx: Tx, signal: Signal, *, by: str | None) -> Signal:
    """Write a new signal, armed from this place of the log on. Raises Raced if its key is taken."""
    is_pattern, has_others = rules.is_pattern(signal.trigger), False
    if is_pattern:
        await tx.watch.hold_cursor(signal.namespace)  # before the place is known, so that nothing behind it is passed
        has_others = bool(await tx.watch.patterns(signal.namespace))
    await tx.log.append([noted(signal, was=None, cause=CREATED, news=SignalNews(by=by))])
    place = await tx.arming.place(signal.namespace, signal.id)
    signal = replace(signal, armed_xid=place.xid, armed_seq=place.seq)
    if is_pattern and not has_others:
        await tx.watch.move_cursor(signal.namespace, place)
    if not await tx.signals.insert(signal):
        raise Raced
    return signal


async def _past(tx: Tx, signal: Signal) -> list[NewFiring]:
    """What its subject did before: all of it, or the first time if once is enough."""
    kind, id = signal.trigger.kind.subject_kind, signal.trigger.subject
    entries = await tx.log.of_subject(signal.namespace, kind=kind, id=id)
    meant = [entry for entry in entries if rules.is_meant(signal.trigger, entry)]
    now = await tx.now()
    counted = meant if signal.repeats else meant[:1]
    return [NewFiring.of_entry(signal, entry, available_at=now) for entry in counted]


async def _never(tx: Tx, signal: Signal, state: str, *, is_already: bool) -> Signal:
    """Its subject is over, and will enter nothing any more: a signal that waits for that says so."""
    what = "that does not count" if is_already else "it enters no other state"
    reason = f"{signal.trigger.subject} was {state} already, for good; {what}"
    ended = rules.resolved(signal, now=await tx.now(), reason=reason)
    await tx.signals.save([ended])
    await tx.log.append([noted(ended, was=signal.status, cause=RESOLVED, news=SignalNews(note=reason))])
    return ended


def new_signal(command: CreateSignal, signal_id: SignalId, *, now: Instant) -> Signal:
    return Signal(
        namespace=command.namespace,
        id=signal_id,
        key=command.key,
        trigger=command.trigger,
        action=command.action,
        payload=command.payload,
        repeats=command.repeats,
        status=SignalStatus.ARMED,
        reason=None,
        fired=0,
        last_fired_at=None,
        available_at=rules.first_time(command.trigger, now=now) if command.trigger.kind is TriggerKind.TIME else None,
        declared_in=None,
        is_declared=False,
        armed_xid=BEGINNING.xid,
        armed_seq=BEGINNING.seq,
        changed_by=command.by,
        created_at=now,
        changed_at=now,
    )
