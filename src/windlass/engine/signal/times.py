"""Fire the signals whose time has come: a firing for that time, and the next time, together."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.model.signal import Signal
from windlass.model.time import Instant
from windlass.rules import signals as rules
from windlass.store.base import Tx
from windlass.store.queries.firings import NewFiring

SUBJECT, DUE = "time", "due"  # what a firing of a time is about, and what has become of it


async def fire_times(parts: Parts, *, batch: int) -> int:
    """Answers with how many had come: as many as asked for, and there may be more."""

    async def fire(tx: Tx) -> int:
        due = await tx.watch.lock_due(limit=batch)
        if not due:
            return 0
        now = await tx.now()
        await tx.firings.insert([_firing(signal, now=now) for signal in due])
        await tx.signals.save([replace(signal, available_at=rules.next_time(signal, now=now)) for signal in due])
        return len(due)

    return await parts.run_tx("fire_times", fire)


def _firing(signal: Signal, *, now: Instant) -> NewFiring:
    at = Instant(signal.available_at or now)
    return NewFiring(
        namespace=signal.namespace,
        signal_id=signal.id,
        cause=str(at),
        subject_kind=SUBJECT,
        subject_id=signal.id,
        from_status=None,
        to_status=DUE,
        happened_at=at,
        available_at=now,
    )
