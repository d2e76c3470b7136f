"""Mark workers offline that have been silent for too long. Their claims expire by themselves; their locks still tell.

Silence proves nothing: a worker that is stuck or cut off may come back, finds itself unknown at its next heartbeat, and
registers anew. So no run is touched here. What it holds goes to others when its claim ends, or at once if its lock
shows that it is dead: engine/death.py looks at offline workers too, for as long as they hold something.
"""

from __future__ import annotations

import logging

from windlass.engine.parts import Parts
from windlass.model.time import SECOND, Duration

LOGGER = logging.getLogger("windlass.coordinator")


async def tick(parts: Parts, *, silent_for: Duration, batch: int) -> int:
    """Mark one batch, of every namespace, the longest silent first. Fewer than `batch`: there were no more."""
    is_any = await parts.store.read(
        "silent_worker", lambda tx: tx.workers.is_any_silent(silent_for=silent_for), single=True
    )
    if not is_any:
        return 0  # as nearly always: nobody has to wait for a lock because of it
    count = await parts.run_tx(
        "expire_workers", lambda tx: tx.workers.expire(silent_for=silent_for, limit=batch), single=True
    )
    if count:
        who = "1 worker is" if count == 1 else f"{count} workers are"
        about = {"duty": "expire_workers", "count": count}
        LOGGER.warning("%s marked offline after %g s of silence.", who, silent_for / SECOND, extra=about)
    return count
