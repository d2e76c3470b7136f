"""Graphs, and one of them as a picture of its jobs."""

from __future__ import annotations

import asyncio
from typing import Any

from windlass.dashboard import first, graph_picture
from windlass.dashboard.asking import Ask, Page, View, chosen, queried
from windlass.dashboard.pages.runs import took
from windlass.errors import NotFound
from windlass.model.graph import Graph, JobView, ListGraphs, ListJobs
from windlass.rules.limits import check_name, check_run_id

MOST_ROWS = 200
ALL = "*"  # no job is called like this
OPEN = {"open": True, "over": False}


async def show_all(ask: Ask) -> Page:
    filters = {name: ask.query.get(name, "").strip() for name in ("name", "open")}
    before = ask.query.get("before")
    found = await ask.service.graphs.list_graphs(
        ListGraphs(
            namespace=ask.namespace,
            name=check_name(filters["name"], what="graph") if filters["name"] else None,
            is_open=chosen(filters, "open", OPEN, what="choice"),
            before=check_run_id(before) if before else None,
        )
    )
    values = {
        "title": "Graphs",
        "place": "graphs",
        "graphs": found.graphs,
        "first_graph": first.GRAPH,
        "filters": filters,
        "is_filtered": any(filters.values()) or bool(before),
        "next": None if found.next is None else ask.to("graphs") + queried({**filters, "before": found.next}),
    }
    return Page("graphs.html", values)


async def show(ask: Ask) -> Page:
    view = await ask.service.graphs.get_graph(ask.namespace, ask.run_id)
    jobs = await _jobs(ask)
    values = {
        "title": f"{view.run.name} {view.run.id}",
        "place": "graphs",
        "every": 0 if view.run.status.is_terminal else 3_000,
        "view": view,
        "run": view.run,
        "explanation": await ask.service.runs.explain_run(ask.namespace, view.run.id),
        "summary": _summary(view.graph),
        "all": ALL,
        **await asyncio.to_thread(_pictured, ask, jobs),
        "jobs": [_row(job, ask) for job in _worst_first(jobs)[:MOST_ROWS]],
        "hidden_jobs": f"{len(jobs) - MOST_ROWS:,} more jobs are not listed." if len(jobs) > MOST_ROWS else "",
    }
    return Page("graph.html", values)


async def _jobs(ask: Ask) -> list[JobView]:
    found: list[JobView] = []
    after: int | None = -1
    while after is not None:
        page = await ask.service.graphs.list_jobs(ListJobs(namespace=ask.namespace, graph=ask.run_id, after=after))
        found += page.jobs
        after = page.next
    return found


def _pictured(ask: Ask, jobs: list[JobView]) -> dict[str, Any]:
    """In a thread: a large graph takes a while. A group that is folded unfolds by a click on it."""
    wanted, folds = ask.query.get("unfold", ""), graph_picture.folds(jobs)
    if wanted and wanted != ALL and wanted not in folds.values():
        raise NotFound("group", wanted[:200])
    is_small = len(jobs) < graph_picture.FOLD_FROM
    folded = {} if wanted == ALL or is_small else {job: name for job, name in folds.items() if name != wanted}
    picture = graph_picture.draw(
        jobs,
        fold=folded,
        link=lambda run_id: ask.to("runs", run_id),
        unfold=lambda name: ask.to("graphs", ask.run_id, unfold=name),
    )
    hidden = picture["hidden"]
    return {
        "picture": picture,
        "picture_note": f"{hidden:,} more boxes would not fit into a picture." if hidden else "",
        "is_folded": bool(folded),
        "is_unfolded": bool(wanted and folds and not is_small),
    }


def _summary(graph: Graph) -> str:
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (graph.completed, "completed"),
            (graph.failed, "failed"),
            (graph.open, "not over"),
            (graph.skipped, "skipped"),
            (graph.cancelled, "cancelled"),
        )
        if count
    ]
    return f"{graph.jobs:,} {'job' if graph.jobs == 1 else 'jobs'}: {', '.join(parts)}" if parts else "No jobs yet"


def _worst_first(jobs: list[JobView]) -> list[JobView]:
    """What failed and what is at work stands on top; else as it was written."""
    ranks = {status: rank for rank, status in enumerate(graph_picture.RANKS)}
    return sorted(jobs, key=lambda job: (ranks[job.status], job.state.position))


def _row(job: JobView, ask: Ask) -> dict[str, Any]:
    by = job.state.decided_by
    return {
        "name": job.name,
        "status": job.status,
        "run_id": job.run.id,
        "failure": job.failure,
        "why": f"because of {by}" if by else "",
        "needs": ", ".join(need.upstream for need in job.needs[:6]) + (", …" if len(job.needs) > 6 else ""),
        "took": took(job.run, ask.now),
    }


VIEWS = (
    View(path="/graphs", operation="list_graphs", handler=show_all),
    View(path="/graphs/{run_id}", operation="get_graph", handler=show),
)
