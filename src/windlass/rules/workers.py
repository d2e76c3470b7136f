"""Who counts as alive, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served, Worker

LIVE_FOR = Duration(30 * SECOND)  # three heartbeats: a worker not seen for longer does not count


def is_live(worker: Worker, *, now: Instant) -> bool:
    return worker.stopped_at is None and now - worker.seen_at <= LIVE_FOR


def can_take(worker: Worker, wanted: Served, *, now: Instant) -> bool:
    return is_live(worker, now=now) and wanted in worker.served


def could_set_free(worker: Worker, served: Sequence[Served]) -> bool:
    """Does it hold, as far as its lanes tell, what a worker with these lanes could take?"""
    return not set(served).isdisjoint(worker.served)
