"""What becomes of the pipelines that a worker held: it left, or it is dead."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import Desk
from windlass.engine.pipeline.release import give_back
from windlass.model.run import WorkerId
from windlass.store.base import Tx


async def leave_pipelines(parts: Parts, tx: Tx, namespace: str, *, worker: WorkerId) -> set[tuple[str, str]]:
    """A worker has said goodbye: what it could not give back is given back. Answers with the queues to wake."""
    held = await tx.pipelines.lock_held_by(namespace, worker=worker)
    if not held:
        return set()
    desk = Desk(tx, namespace, now=await tx.now())
    await desk.read(held)
    attempts = Attempts(desk, parts.ids)
    for name in sorted(held):
        await give_back(desk, attempts, name)
    await desk.save()
    return desk.woken


async def free_pipelines(tx: Tx, namespace: str, *, worker: WorkerId, is_proof: bool) -> int:
    """A worker was found dead: its claims end now, and whoever claims next recovers them. Answers with how many.

    `is_proof`: its process is gone, so nobody is inside of what it has called any more. A lost session proves less.
    """
    held = await tx.pipelines.lock_held_by(namespace, worker=worker)
    if not held:
        return 0
    now = await tx.now()
    await tx.pipelines.save([replace(item, available_at=now) for item in held.values()])
    if is_proof:
        owners = [(item.run_id, item.token) for item in held.values() if item.run_id is not None]
        await tx.effects.end_calls(namespace, owners=owners)
    return len(held)
