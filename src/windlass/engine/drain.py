"""Ask a worker to leave. It does so by itself: nothing it holds is taken from it, and its claims stay valid meanwhile.

drain ──► its row says so ──► a hint, else its next heartbeat ──► it claims nothing new, bodies end within its grace
                                                             └──► it gives the rest back, and says goodbye
"""

from __future__ import annotations

import difflib

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.errors import NotFound, WrongState
from windlass.model.run import Deed, WorkerId
from windlass.model.worker import Standing, Worker
from windlass.notify.local import worker_topic
from windlass.rules.limits import check_person, check_worker_id
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes

CAUSE = "drain"
CLOSE = 3  # ids that look alike


async def drain_worker(parts: Parts, namespace: str, id: WorkerId, *, by: str | None) -> Worker:
    """The worker as it stands now, with what it holds now. Asked again, it is left as it is."""
    check_worker_id(id)
    audit, deed = Audit.of_caller("drain_worker"), Deed(by=check_person(by))

    async def ask(tx: Tx) -> Worker:
        if await tx.workers.drain(namespace, id=id):
            await tx.log.append([_noted(namespace, id, deed)])
            await audit.note(tx, namespace, subject=id, before=Standing.ONLINE, after=Standing.DRAINING)
        worker = await _there(tx, namespace, id)
        return replace(worker, active=await tx.runs.slots_in_use(namespace, worker=id))

    worker = await parts.run_tx("drain_worker", ask)
    parts.hub.publish(worker_topic(namespace, id))
    return worker


async def should_drain(parts: Parts, namespace: str, id: WorkerId) -> bool:
    """Whether somebody has asked this worker to leave."""

    async def look(tx: Tx) -> bool:
        return await tx.workers.should_drain(namespace, id=id)

    return await until_answered(parts.clock, lambda: parts.store.read("should_drain", look, single=True))


async def _there(tx: Tx, namespace: str, id: WorkerId) -> Worker:
    worker = await tx.workers.find(namespace, id=id)
    if worker is None:
        known = [other.id for other in await tx.workers.live(namespace)]
        close = difflib.get_close_matches(id, known, n=CLOSE)
        raise NotFound("worker", id, close=close, hint="See which there are: windlass workers")
    if worker.stopped_at is not None:
        hint = "It takes nothing any more; see which are there: windlass workers"
        raise WrongState("worker", id, Standing.OFFLINE.value, wanted="one that is there", hint=hint)
    return worker


def _noted(namespace: str, id: WorkerId, deed: Deed) -> NewLogEntry:
    return NewLogEntry(
        namespace=namespace,
        subject_kind="worker",
        subject_id=id,
        from_status=Standing.ONLINE,
        to_status=Standing.DRAINING,
        cause=CAUSE,
        data=deed_to_bytes(deed),
    )
