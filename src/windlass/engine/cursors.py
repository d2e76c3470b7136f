"""Remember how far a program has read the log, so that nothing is removed before it has."""

from __future__ import annotations

from windlass.engine.parts import Parts
from windlass.rules.limits import check_limit, check_name
from windlass.store.base import Tx

LAST_SEQ = 2**63 - 1


async def move_cursor(parts: Parts, namespace: str, name: str, seq: int) -> int:
    """Where the cursor stands now: it never goes back."""
    check_name(name, what="cursor")
    check_limit(seq, what="seq", low=0, high=LAST_SEQ)
    return await parts.run_tx("move_cursor", lambda tx: tx.cursors.move(namespace, name=name, seq=seq))


async def drop_cursor(parts: Parts, namespace: str, name: str) -> bool:
    """False: there is no such cursor."""
    check_name(name, what="cursor")
    tries: list[bool] = []

    async def drop(tx: Tx) -> None:
        tries.append(await tx.cursors.drop(namespace, name=name))

    await parts.run_tx("drop_cursor", drop)
    return any(tries)  # one whose answer was lost may have dropped it
