"""What is said beside an answer: names that were perhaps meant, and what a run waits for now."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

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


def unserved(lanes: Collection[Served], *, workflow: str, version: str, queue: str) -> str | None:
    """What keeps those who serve these lanes from taking runs of a workflow; none: nothing, or nobody is there yet."""
    same = [lane for lane in lanes if lane.name == workflow]
    if lanes and not same:
        return f"No live worker runs workflow {workflow!r}.{nearest(workflow, {lane.name for lane in lanes})}"
    if same and all(lane.version != version for lane in same):
        return f"Live workers run {workflow!r} of another version only: name the code with --app."
    if same and all(lane.queue != queue for lane in same):
        queues = ", ".join(sorted({repr(lane.queue) for lane in same}))
        return f"Live workers run {workflow!r} in {queues}, and none in queue {queue!r}."
    return None


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
