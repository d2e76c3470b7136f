"""What is said beside an answer: names that were perhaps meant, and what a run waits for now."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from windlass.api.service import Runs
from windlass.cli.waits import in_brief, in_short
from windlass.model.run import RunView
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.rules.workers import is_live

SHOWN_NAMES = 4


async def served_now(runs: Runs, *, namespace: str, now: Instant) -> frozenset[Served]:
    """What live workers execute at the moment."""
    workers = await runs.list_workers(namespace)
    return frozenset(lane for worker in workers if is_live(worker, now=now) for lane in worker.served)


async def waits_for_now(runs: Runs, view: RunView, *, now: Instant) -> str:
    """What a run waits for, as a record says it; nothing if it is over."""
    if view.run.status.is_terminal:
        return ""
    return in_short(view.run, failure=view.failure, now=now, brief=await in_brief(runs, view.run, now=now))


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence with the name that was perhaps meant, else with some of those there are; nothing if there are none."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    if not names:
        return ""
    shown = ", ".join(repr(item) for item in names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
    return f" Known: {shown}."
