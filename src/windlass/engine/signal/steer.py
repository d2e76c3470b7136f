"""What people do to signals: change, pause, resume, cancel and forget them.

The subject is locked before the signal, and marked: so a transition that is on its way comes before the change, or sees
it. A pause keeps what happens meanwhile: firings are created, and wait until the signal is resumed.
"""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.signal.noting import SUBJECT, noted
from windlass.errors import NotFound, WrongState
from windlass.model.signal import (
    DELETED,
    UPDATED,
    DeleteSignal,
    Signal,
    SignalId,
    SignalNews,
    SignalStatus,
    SignalVerb,
    SteerSignal,
    TriggerKind,
    UpdateSignal,
)
from windlass.notify.local import signals_topic
from windlass.rules import signals as rules
from windlass.rules.limits import check_note, check_payload, check_person
from windlass.rules.triggers import check_action, check_states
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.signal_rows import news_to_bytes


def no_signal(signal_id: SignalId) -> NotFound:
    return NotFound("signal", signal_id, hint="If it did once, it was deleted. See: windlass signals")


async def lock_signal(tx: Tx, namespace: str, signal_id: SignalId, *, marks: bool) -> Signal:
    """The signal under its lock; with `marks` behind that of its subject. Raises NotFound."""
    seen = await tx.signals.load(namespace, signal_id)
    while seen is not None:
        trigger = seen.trigger
        is_single = trigger.kind is not TriggerKind.TIME and not rules.is_pattern(trigger)
        if marks and is_single:
            await tx.arming.arm(namespace, subject_kind=trigger.kind.subject_kind, id=trigger.subject)
        locked = (await tx.signals.lock(namespace, ids=[signal_id])).get(signal_id)
        if locked is None or locked.trigger.subject == trigger.subject or not marks:
            seen = locked
            break
        seen = locked  # the run it watches was tried again meanwhile, and it watches the new one
    if seen is None:
        raise no_signal(signal_id)
    return seen


async def steer_signal(parts: Parts, command: SteerSignal) -> bool:
    """True: something changed."""
    by, note = check_person(command.by), check_note(command.note)
    audit = Audit.of_caller("steer_signal")
    tried: list[Signal] = []

    async def steer(tx: Tx) -> bool:
        # What a pause does not see is held when it is worked; what a cancellation does not see would wait for ever.
        was = await lock_signal(tx, command.namespace, command.signal_id, marks=command.verb is not SignalVerb.PAUSE)
        if was in tried or (command.is_again and await _is_done(tx, was, command.deed_id)):
            return True  # by a try whose answer was lost
        after = await _steered(tx, was, command, by=by, note=note)
        if after == was:
            return False
        await tx.signals.save([after])
        tried.append(after)
        await audit.note(tx, was.namespace, subject=was.id, before=was.status, after=after.status)
        return True

    has_changed = await parts.run_tx("steer_signal", steer)
    parts.hub.publish(signals_topic())
    return has_changed


async def _is_done(tx: Tx, signal: Signal, deed_id: str) -> bool:
    """Did this very call change it, however it stands by now?"""
    entries = await tx.log.of_subject(signal.namespace, kind=SUBJECT, id=signal.id)
    return bool(deed_id) and any(SignalNews.from_log(entry.data).deed == deed_id for entry in entries)


async def _steered(tx: Tx, was: Signal, command: SteerSignal, *, by: str | None, note: str | None) -> Signal:
    now, news = await tx.now(), SignalNews(by=by, note=note, deed=command.deed_id or None)
    match command.verb:
        case SignalVerb.PAUSE:
            after = rules.paused(was, now=now, by=by, reason=note)
        case SignalVerb.RESUME:
            after = rules.armed(was, now=now, by=by)
            await _check_subject(tx, was)
        case SignalVerb.CANCEL:
            after = rules.cancelled(was, now=now, by=by, reason=note)
    if command.verb is SignalVerb.RESUME and not after.is_declared and after.declared_in is not None:
        raise WrongState(
            "Signal", was.id, "no longer declared", wanted="one that its program declares", hint="Declare it again."
        )
    if after == was:
        return was
    await tx.log.append([noted(after, was=was.status, cause=command.verb, news=news)])
    if command.verb is SignalVerb.PAUSE:
        await tx.held_firings.hold(was.namespace, was.id)
    elif command.verb is SignalVerb.CANCEL:
        await tx.held_firings.supersede(was.namespace, was.id, error="its signal was cancelled")
    elif was.status is SignalStatus.FIRED:  # armed anew: what fired in between does not count either
        await tx.held_firings.supersede(was.namespace, was.id, error="its signal had fired, and was armed anew since")
    else:
        await tx.held_firings.release(was.namespace, was.id)
        await tx.held_firings.requeue_failed(was.namespace, was.id)
    if was.status is SignalStatus.FIRED:  # armed anew: what happened in between does not count
        place = await tx.arming.place(was.namespace, was.id)
        after = replace(after, armed_xid=place.xid, armed_seq=place.seq)
    return after


async def _check_subject(tx: Tx, signal: Signal) -> None:
    """Nobody waits again for what cannot come. A run that is over may be tried again, and takes its signals along."""
    trigger, has_fired = signal.trigger, signal.status is SignalStatus.FIRED
    if not has_fired or trigger.kind is TriggerKind.TIME or rules.is_pattern(trigger):
        return
    subject = await tx.arming.arm(signal.namespace, subject_kind=trigger.kind.subject_kind, id=trigger.subject)
    is_item = trigger.kind is TriggerKind.ITEM
    if subject is None or (is_item and rules.is_over_for_good(trigger.kind, subject.status)):
        found = f"on {trigger.subject}, which is {'gone' if subject is None else f'{subject.status}, for good'}"
        raise WrongState(
            "Signal", signal.id, found, wanted="one whose subject can still change", hint="Create another one."
        )


async def update_signal(parts: Parts, command: UpdateSignal) -> bool:
    """True: something changed."""
    by, audit = check_person(command.by), Audit.of_caller("update_signal")
    check_payload(command.payload, what="payload")
    tried: list[Signal] = []

    async def update(tx: Tx) -> bool:
        was = await lock_signal(tx, command.namespace, command.signal_id, marks=True)
        if was in tried:
            return True
        if not was.status.is_live:
            raise WrongState("Signal", was.id, was.status, wanted="one that is armed or paused")
        if was.declared_in is not None:
            hint = f"Change it in {was.declared_in}."
            raise WrongState("Signal", was.id, "declared in code", wanted="one that was created", hint=hint)
        after = _updated(was, command)
        if after == was:
            return False
        after = replace(after, changed_at=await tx.now(), changed_by=by)
        if rules.is_pattern(after.trigger) and after.trigger != was.trigger:
            await tx.watch.hold_cursor(was.namespace)  # before the place is known, so that nothing behind it is passed
        await tx.log.append([noted(after, was=was.status, cause=UPDATED, news=SignalNews(by=by))])
        if after.trigger != was.trigger:  # what happened before does not count
            place = await tx.arming.place(was.namespace, was.id)
            after = replace(after, armed_xid=place.xid, armed_seq=place.seq)
        await tx.signals.save([after])
        await audit.note(tx, was.namespace, subject=was.id, before=was.status, after="updated")
        tried.append(after)
        return True

    return await parts.run_tx("update_signal", update)


def _updated(was: Signal, command: UpdateSignal) -> Signal:
    after = was
    if command.to is not None:
        states = check_states(was.trigger.kind, command.to)
        after = replace(after, trigger=replace(was.trigger, to=states))
    if command.payload is not None and command.payload != was.payload:
        after = replace(after, payload=command.payload, action=replace(was.action, payload_hash=b""))
    if command.repeats is not None:
        after = replace(after, repeats=command.repeats)
        check_action(after.action, after.trigger, repeats=after.repeats)
    return after


async def delete_signal(parts: Parts, command: DeleteSignal) -> None:
    by, audit, tries = check_person(command.by), Audit.of_caller("delete_signal"), int(command.is_again)

    async def delete(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        try:
            signal = await lock_signal(tx, command.namespace, command.signal_id, marks=True)
        except NotFound:
            if tries > 1:
                return  # by a try whose answer was lost
            raise
        await tx.signals.delete(signal.namespace, signal.id)
        entry = NewLogEntry(
            namespace=signal.namespace,
            subject_kind=SUBJECT,
            subject_id=signal.id,
            from_status=signal.status,
            to_status="deleted",
            cause=DELETED,
            data=news_to_bytes(SignalNews(by=by)),
        )
        await tx.log.append([entry])
        await audit.note(tx, signal.namespace, subject=signal.id, before=signal.status, after="deleted")

    await parts.run_tx("delete_signal", delete)
