"""Notice that a worker is dead, and give back what it held. A free lock tells; silence alone never does.

probe ──► whose death would matter?   one read
      ──► seize the lock of each      held: it lives · free: it is dead, or its session is lost
      ──► one transaction             the row of the worker stops, its runs go back under their tokens
"""

from __future__ import annotations

import logging

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.pipeline.leave import free_pipelines, leave_pipelines
from windlass.engine.pipeline.waking import wake_all
from windlass.engine.release import given_back, save_run
from windlass.errors import WindlassError
from windlass.model.commands import Probed, ProbeWorkers, RegisterWorker, Registration
from windlass.model.run import DEATH, SESSION_LOST, Run, WorkerId
from windlass.model.time import Duration
from windlass.model.worker import EndedRuns, LockKind, Worker
from windlass.notify.local import queue_topic
from windlass.rules import runs as run_rules
from windlass.rules import workers as rules
from windlass.rules.gates import gates_of
from windlass.rules.limits import check_worker_id
from windlass.store.base import Tx
from windlass.store.queries.gates import NewGate

LOGGER = logging.getLogger("windlass.worker")

# What a free lock proves: the cause in the log, and what is said about the worker.
PROOF = {LockKind.FILE: (DEATH, "is dead"), LockKind.SESSION: (SESSION_LOST, "has lost its session")}


async def register_worker(parts: Parts, command: RegisterWorker) -> Registration:
    """Enter a worker. Its lock comes first: a row that names a lock says that the lock is held."""
    check_worker_id(command.id)
    lock = None
    if not command.is_remote:
        lock = await until_answered(parts.clock, lambda: parts.store.locks.take(command.id))
    gates = [NewGate(command.namespace, *gate) for gate in gates_of(command.namespace, command.served)]

    async def register(tx: Tx) -> None:
        await tx.workers.register(replace(command, lock=lock))
        await tx.gates.enter(gates)  # from now on a pause waits for the claims of this worker

    await parts.run_tx("register_worker", register)
    return Registration(lock=lock)


async def deregister_worker(parts: Parts, namespace: str, id: WorkerId, *, ended: EndedRuns | None = None) -> None:
    """Note that a worker has gone, and give back what it could not. Its lock goes last.

    Without a goodbye the lock is left for others to find free; after one nobody looks for this worker any more.
    """
    left: list[Run] = []

    async def leave(tx: Tx) -> set[tuple[str, str]]:
        left.clear()
        await tx.workers.stop(namespace, id=id, ended=ended)
        # Also if it counted as offline before: whoever marked it so has touched no run.
        left.extend(await tx.runs.lock_held_by(namespace, worker=id))
        for run in left:
            released = run_rules.release(run, now=await tx.now(), delay_for=Duration(0))
            await save_run(tx, released, was=run, cause=given_back(released, "release"))
        return await leave_pipelines(parts, tx, namespace, worker=id)

    is_noted = False
    woken: set[tuple[str, str]] = set()
    try:
        woken = await parts.run_tx("deregister_worker", leave)
        is_noted = True
    finally:
        await parts.store.locks.release(id, for_good=is_noted)
    for queue in sorted({run.queue for run in left}):
        parts.hub.publish(queue_topic(namespace, queue))
    wake_all(parts, woken)


async def probe_workers(parts: Parts, command: ProbeWorkers) -> Probed:
    # Cancelled half-way, it would keep a lock that others have to ask about.
    return await parts.whole(_probe(parts, command))


async def _probe(parts: Parts, command: ProbeWorkers) -> Probed:
    locks = parts.store.locks
    lock = await locks.take(command.worker)
    found = await parts.store.read(
        "probed_workers",
        lambda tx: tx.workers.probed(command.namespace, by=command.worker, everyone=command.everyone),
        single=True,
    )
    others = {worker.id: worker for worker in found if worker.id != command.worker}
    if command.everyone:
        await locks.sweep(await parts.store.read("open_workers", lambda tx: tx.workers.everywhere(), single=True))
    suspects = [
        worker.id
        for worker in others.values()
        if command.everyone or rules.could_set_free(worker, command.served, command.pipelines)
    ]
    dead = [id for id in await locks.free(suspects) if await _bury_if_dead(parts, others[id])]
    return Probed(is_registered=len(others) < len(found), lock=lock, dead=tuple(dead))


async def _bury_if_dead(parts: Parts, worker: Worker) -> bool:
    if not await parts.store.locks.seize(worker.id):
        return False
    is_buried = False
    try:
        is_buried = await _bury(parts, worker)
    finally:
        await parts.store.locks.release(worker.id, for_good=is_buried)
    return is_buried


async def _bury(parts: Parts, worker: Worker) -> bool:
    """Whether the dead one has left nothing behind; with false, somebody has to look again."""
    assert worker.lock is not None
    cause, found = PROOF[worker.lock]

    async def bury(tx: Tx) -> int:
        # One that counts as offline already was silent, and is dead now, or has left meanwhile and holds nothing.
        await tx.workers.stop(worker.namespace, id=worker.id, is_goodbye=False)
        now, held = await tx.now(), await tx.runs.lock_held_by(worker.namespace, worker=worker.id)
        for run in held:
            taken = run_rules.take_from_dead(run, now=now)
            await save_run(tx, taken, was=run, cause=given_back(taken, cause))
        is_proof = worker.lock is LockKind.FILE
        if is_proof:  # nobody is inside of what these have called
            await tx.effects.end_calls(worker.namespace, owners=[(run.id, run.token) for run in held])
        return len(held) + await free_pipelines(tx, worker.namespace, worker=worker.id, is_proof=is_proof)

    try:
        count = await parts.run_tx("bury_worker", bury)
    except WindlassError as error:
        LOGGER.warning("Worker %s %s, but what it held cannot be given back yet: %s", worker.id, found, error)
        return False
    LOGGER.log(
        logging.WARNING if count else logging.INFO,
        "Worker %s (%s, pid %d) %s; what it held that can be claimed again: %d.",
        worker.id,
        worker.host,
        worker.pid,
        found,
        count,
    )
    for queue in sorted({item.queue for item in worker.served}):
        parts.hub.publish(queue_topic(worker.namespace, queue))
    wake_all(parts, {(worker.namespace, item.queue) for item in worker.pipelines})
    return True
