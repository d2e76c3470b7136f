"""Find bodies that take long, beside what the same steps took before."""

from __future__ import annotations

from windlass.model.overview import LongStep
from windlass.model.run import Run
from windlass.model.time import Duration, Instant
from windlass.rules import long_steps as rules
from windlass.store.base import Tx
from windlass.store.queries.long_steps import LongStepQueries

RUNS_LOOKED_AT = 1_000  # that workers hold, and as many that ended lately
MOST_CANDIDATES = 20  # bodies whose history is read at once


async def long_step(tx: Tx, run: Run, *, step: str, started_at: Instant, now: Instant) -> LongStep | None:
    """The step, if it takes long by what is known of it."""
    if now - started_at < rules.SHORTEST:
        return None
    typical_for = rules.typical(await _durations(LongStepQueries(tx.connection), run, step))
    if not rules.is_long(now - started_at, typical_for):
        return None
    return LongStep(run=run, step=step, since=started_at, typical_for=typical_for)


async def long_steps(tx: Tx, namespace: str, *, now: Instant) -> tuple[list[LongStep], bool]:
    """Those of a namespace, the longest first, and whether there may be more."""
    queries = LongStepQueries(tx.connection)
    running = await queries.running(namespace, span=rules.SHORTEST, looked=RUNS_LOOKED_AT, limit=MOST_CANDIDATES + 1)
    found = []
    for item in running[:MOST_CANDIDATES]:
        step = await long_step(tx, item.run, step=item.step, started_at=item.started_at, now=now)
        if step is not None:
            found.append(step)
    return found, len(running) > MOST_CANDIDATES


async def _durations(queries: LongStepQueries, run: Run, step: str) -> list[Duration]:
    """Of its last completed attempts: in this run, then in the runs of its workflow that ended lately."""
    own = await queries.durations_in_run(run.namespace, run.id, keys=rules.earlier_keys(step))
    left = rules.MOST - len(own)
    if left <= 0:
        return own
    others = await queries.durations_in_ended_runs(
        run.namespace, name=run.name, key=rules.first_key(step), looked=RUNS_LOOKED_AT, limit=left
    )
    return [*own, *others]
