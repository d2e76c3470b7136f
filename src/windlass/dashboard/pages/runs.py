"""Runs, filtered by what stands in the address: a list that somebody looks at can be sent to somebody else."""

from __future__ import annotations

from windlass.dashboard.asking import Ask, Page, View, chosen, queried
from windlass.model.overview import SearchRuns
from windlass.model.run import Run, RunStatus
from windlass.model.time import DAY, HOUR, MINUTE, Duration, Instant
from windlass.rules.limits import check_name, check_queue, check_run_id

SPANS = {
    "15m": ("in the last 15 minutes", Duration(15 * MINUTE)),
    "1h": ("in the last hour", Duration(HOUR)),
    "1d": ("in the last day", Duration(DAY)),
    "7d": ("in the last week", Duration(7 * DAY)),
}
FILTERS = ("text", "status", "workflow", "queue", "within")
LONGEST_TEXT = 255  # as a start key


async def show(ask: Ask) -> Page:
    filters = {name: ask.query.get(name, "").strip()[:LONGEST_TEXT] for name in FILTERS}
    within = chosen(filters, "within", SPANS, what="span of time")
    before = ask.query.get("before")
    found = await ask.pages.search_runs(
        SearchRuns(
            namespace=ask.namespace,
            status=chosen(filters, "status", {status.value: status for status in RunStatus}, what="status"),
            name=check_name(filters["workflow"], what="workflow") if filters["workflow"] else None,
            queue=check_queue(filters["queue"]) if filters["queue"] else None,
            text=filters["text"] or None,
            created_after=None if within is None else Instant(ask.now - within[1]),
            before=check_run_id(before) if before else None,
        )
    )
    rows = [
        {"run": row.run, "key": row.key, "failure": row.failure, "took": took(row.run, ask.now)} for row in found.runs
    ]
    values = {
        "title": "Runs",
        "place": "runs",
        "rows": rows,
        "filters": filters,
        "is_filtered": any(filters.values()) or bool(before),
        "statuses": [status.value for status in RunStatus],
        "spans": {name: label for name, (label, _) in SPANS.items()},
        "workflows": sorted({row.run.name for row in found.runs}),
        "looked_back_to": found.looked_back_to,
        "next": None if found.next is None else ask.to("runs") + queried({**filters, "before": found.next}),
    }
    return Page("runs.html", values)


def took(run: Run, now: Instant) -> int | None:
    """From its beginning to its end, or to now."""
    if run.started_at is None:
        return None
    return max(0, (now if run.finished_at is None else run.finished_at) - run.started_at)


VIEWS = (View(path="/runs", operation="list_runs", handler=show),)
