"""Enter what the code of a program says about signals: new ones are armed, changed ones changed, others paused."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.signal.create import Raced, arm, enter, new_signal
from windlass.engine.signal.noting import noted
from windlass.errors import AlreadyExists, NotFound
from windlass.model.signal import (
    UPDATED,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    Signal,
    SignalId,
    SignalNews,
    SignalStatus,
)
from windlass.model.time import Instant
from windlass.notify.local import signals_topic
from windlass.rules import signals as rules
from windlass.rules.limits import check_name
from windlass.rules.triggers import check_action, check_trigger
from windlass.store.base import Tx

LOGGER = logging.getLogger("windlass.coordinator")

KEY = "on:"  # before the name of a declaration: its key
UNDECLARED = "undeclared"  # cause in the log
GONE = "it is no longer declared"  # why it is paused

News = tuple[int, str]  # a level of the log, and what is said


async def declare_signals(parts: Parts, command: DeclareSignals) -> None:
    """One transaction: what the program says now, and what it says no more."""
    said = {item.name: _checked(item) for item in command.signals}
    ids = {name: SignalId(parts.ids.signal()) for name in said}
    audit, news = Audit.of_caller("declare_signals"), list[News]()

    async def enter_all(tx: Tx) -> None:
        news.clear()
        missing = await _arm_all(tx, command.namespace, said.values())  # before any signal is locked
        known = {item.key: item for item in await tx.signals.of_program(command.namespace, command.program)}
        for key in sorted({f"{KEY}{name}" for name in said} | {key for key in known if key is not None}):
            name = key.removeprefix(KEY)
            if name in missing:
                # A pipeline of another program that has not started yet: the next start finds it.
                news.append((logging.WARNING, f"Signal {name!r} is not armed: {missing[name]}"))
            elif name in said:
                news.extend(await _enter_one(tx, command, said[name], ids[name]))
            else:
                news.extend(await _take_back(tx, known[key]))
        if news:
            changed = "; ".join(text for _, text in news)[:500]
            await audit.note(tx, command.namespace, subject=command.program, after=changed)

    while True:
        try:
            await parts.run_tx("declare_signals", enter_all)
            break
        except Raced:
            continue
    for level, text in news:
        LOGGER.log(level, text, extra={"namespace": command.namespace})
    if command.signals:
        parts.hub.publish(signals_topic())


async def _arm_all(tx: Tx, namespace: str, said: Iterable[DeclaredSignal]) -> dict[str, NotFound]:
    """Lock and mark all that is watched by itself, in one order for everybody. Answers with what is not there."""
    missing: dict[str, NotFound] = {}
    for item in sorted(said, key=lambda item: (item.trigger.kind.subject_kind, item.trigger.subject, item.name)):
        try:
            await arm(tx, namespace, item.trigger)
        except NotFound as error:
            missing[item.name] = error
    return missing


def _checked(item: DeclaredSignal) -> DeclaredSignal:
    trigger = check_trigger(item.trigger)
    action = check_action(item.action, trigger, repeats=item.repeats)
    return replace(item, name=check_name(item.name, what="signal name"), trigger=trigger, action=action)


async def _enter_one(tx: Tx, command: DeclareSignals, said: DeclaredSignal, signal_id: SignalId) -> list[News]:
    now, key = await tx.now(), f"{KEY}{said.name}"
    was = await tx.signals.by_key(command.namespace, key)
    if was is None:
        asked = CreateSignal(
            namespace=command.namespace, trigger=said.trigger, action=said.action, repeats=said.repeats, key=key
        )
        signal = replace(new_signal(asked, signal_id, now=now), declared_in=command.program, is_declared=True)
        await enter(tx, signal, by=None)
        return [(logging.INFO, f"Signal {said.name!r} is new.")]
    was = (await tx.signals.lock(command.namespace, ids=[was.id]))[was.id]
    if was.declared_in is None:
        raise AlreadyExists(f"Key {key!r} belongs to signal {was.id}, which was made by hand.", owner=was.id)
    after = _redeclared(was, said, command, now=now)
    if after == was:
        return []
    if rules.is_pattern(after.trigger) and after.trigger != was.trigger:
        await tx.watch.hold_cursor(was.namespace)  # before the place is known, so that nothing behind it is passed
    await tx.log.append([noted(after, was=was.status, cause=UPDATED)])
    if after.trigger != was.trigger:  # what happened before the code said so does not count
        place = await tx.arming.place(was.namespace, was.id)
        after = replace(after, armed_xid=place.xid, armed_seq=place.seq)
    await tx.signals.save([after])
    if was.status is SignalStatus.PAUSED and after.status is SignalStatus.ARMED:
        await tx.held_firings.release(was.namespace, was.id)
    return [(logging.INFO, f"Signal {said.name!r} has changed.")]


def _redeclared(was: Signal, said: DeclaredSignal, command: DeclareSignals, *, now: Instant) -> Signal:
    """What the code says now. One that was paused because nothing declared it goes on; one that a person paused not."""
    after = replace(
        was,
        trigger=said.trigger,
        action=said.action,
        repeats=said.repeats,
        declared_in=command.program,
        is_declared=True,
    )
    if not was.is_declared and was.status is SignalStatus.PAUSED and was.reason == GONE:
        after = rules.armed(after, now=now, by=None)
    return after if after == was else replace(after, changed_at=now)


async def _take_back(tx: Tx, signal: Signal) -> list[News]:
    locked = (await tx.signals.lock(signal.namespace, ids=[signal.id])).get(signal.id)
    if locked is None or not locked.is_declared:
        return []
    now = await tx.now()
    gone = replace(locked, is_declared=False)
    if locked.status is SignalStatus.ARMED:
        gone = rules.paused(gone, now=now, by=None, reason=GONE)
        await tx.held_firings.hold(gone.namespace, gone.id)
    await tx.signals.save([gone])
    await tx.log.append([noted(gone, was=locked.status, cause=UNDECLARED, news=SignalNews(note=GONE))])
    name = (locked.key or "").removeprefix(KEY)
    text = (
        f"Signal {name!r} is no longer declared, and paused. Declare it again, or: windlass signals delete {signal.id}"
    )
    return [(logging.WARNING, text)]
