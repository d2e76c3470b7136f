"""End the signals on something that is gone, and say why."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.engine.signal.noting import noted
from windlass.model.signal import RESOLVED, SignalNews
from windlass.rules import signals as rules
from windlass.store.base import Tx


async def resolve_signals(tx: Tx, namespace: str, *, kind: str, subjects: Iterable[str], reason: str) -> int:
    """Live signals on subjects that this transaction has locked, and removes. What they have fired is still worked."""
    found = await tx.signals.on(namespace, subject_kind=kind, subjects=subjects)
    if not found:
        return 0
    locked = await tx.signals.lock(namespace, ids=[signal.id for signal in found])
    live = [signal for signal in locked.values() if signal.status.is_live]
    now = await tx.now()
    ended = [rules.resolved(signal, now=now, reason=reason) for signal in live]
    await tx.signals.save(ended)
    for signal in live:
        await tx.held_firings.release(namespace, signal.id)
    news = SignalNews(note=reason)
    await tx.log.append(
        [noted(after, was=was.status, cause=RESOLVED, news=news) for after, was in zip(ended, live, strict=True)]
    )
    return len(ended)
