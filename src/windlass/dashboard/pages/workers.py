"""Workers: who is there, what each is at, and whom nobody has heard of for a while."""

from __future__ import annotations

from typing import Any

from windlass.dashboard.asking import Ask, Page, Redirect, View
from windlass.model.run import WorkerId
from windlass.model.time import HOUR, Instant
from windlass.model.worker import Worker
from windlass.rules.limits import check_worker_id
from windlass.rules.workers import LIVE_FOR, standing

MOST_ROWS = 200


async def show(ask: Ask) -> Page:
    found = await ask.service.runs.list_workers(ask.namespace, Instant(ask.now - HOUR))
    values = {
        "title": "Workers",
        "place": "workers",
        "every": 2_000,
        "workers": [_row(worker, now=ask.now) for worker in found[:MOST_ROWS]],
        "hidden": f"{len(found) - MOST_ROWS:,} more are not shown." if len(found) > MOST_ROWS else "",
    }
    return Page("workers.html", values)


def _row(worker: Worker, *, now: Instant) -> dict[str, Any]:
    served: dict[str, set[str]] = {}
    for lane in worker.served:
        served.setdefault(f"queue {lane.queue}:", set()).add(lane.name)
    for item in worker.pipelines:
        served.setdefault("pipelines:", set()).add(item.name)
    return {
        "worker": worker,
        "standing": standing(worker, now=now, silent_for=LIVE_FOR).value,
        "serves": [(what, sorted(names)) for what, names in sorted(served.items())],
    }


async def drain(ask: Ask) -> Redirect:
    id = WorkerId(check_worker_id(ask.path["worker_id"]))
    await ask.service.control.drain_worker(ask.namespace, id, by=ask.caller.key)
    return Redirect(ask.to("workers"), "draining")


VIEWS = (
    View(path="/workers", operation="list_workers", handler=show),
    View(path="/workers/{worker_id}/drain", operation="drain_worker", handler=drain, method="POST"),
)
