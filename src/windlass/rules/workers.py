"""Who counts as alive, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served, ServedPipeline, Standing, Worker

LIVE_FOR = Duration(30 * SECOND)  # three heartbeats: a worker not seen for longer does not count
LONGEST_HEARTBEAT = Duration(10 * SECOND)
MOST_LANES = 1_000  # that one worker serves behind a server: each is looked at whenever it asks for work


def is_live(worker: Worker, *, now: Instant) -> bool:
    return worker.stopped_at is None and now - worker.seen_at <= LIVE_FOR


def standing(worker: Worker, *, now: Instant, silent_for: Duration) -> Standing:
    """Silence comes before draining: whether it still does what it was asked to, nobody knows."""
    if worker.stopped_at is not None:
        return Standing.OFFLINE
    if now - worker.seen_at > silent_for:
        return Standing.SILENT
    return Standing.DRAINING if worker.is_draining else Standing.ONLINE


def said_goodbye(worker: Worker) -> bool:
    """Whether it left in order. One that was found dead, or was silent for too long, was last seen before that."""
    return worker.stopped_at is not None and worker.seen_at >= worker.stopped_at


def heartbeat_every(silent_for: Duration) -> Duration:
    """Often enough that two may be lost before the silence is noticed."""
    return Duration(min(LONGEST_HEARTBEAT, silent_for // 3))


def can_take(worker: Worker, wanted: Served, *, now: Instant) -> bool:
    return is_live(worker, now=now) and not worker.is_draining and wanted in worker.served


def could_set_free(worker: Worker, served: Sequence[Served], pipelines: Sequence[ServedPipeline] = ()) -> bool:
    """Does it hold, as far as its lanes tell, what a worker with these lanes and pipelines could take?

    Pipelines by their names: one that was declared anew is for another revision, whoever holds it.
    """
    names = {(item.queue, item.name) for item in pipelines}
    is_keeper = any((item.queue, item.name) in names for item in worker.pipelines)
    return is_keeper or not set(served).isdisjoint(worker.served)
