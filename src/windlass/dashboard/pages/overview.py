"""The first page: what needs somebody, then how things stand, then the last hour."""

from __future__ import annotations

from windlass.dashboard import attention, chart, first
from windlass.dashboard.asking import Ask, Page, View
from windlass.dashboard.pages.queues import rows
from windlass.model.page import ListRuns
from windlass.model.time import Instant


async def show(ask: Ask) -> Page:
    service, namespace = ask.service, ask.namespace
    found = await ask.pages.read_attention(namespace)
    seen = attention.Situation(
        attention=found,
        workers=await service.runs.list_workers(namespace, Instant(ask.now - attention.LOST_FOR)),
        queues=await ask.desk.list_queues(namespace),
        schedules=await service.schedules.list_schedules(namespace),
        pipelines=await service.pipelines.list_pipelines(namespace),
        effects=await service.pipelines.list_open_effects(namespace),
        is_enabled=(await service.namespaces.get_namespace(namespace)).is_enabled,
        now=found.now,
    )
    minutes = await ask.pages.read_minutes(namespace, chart.since(ask.now))
    needs, left_out = attention.needs(seen, ask.to), attention.left_out(seen, ask.to)
    values = {
        "title": "Overview",
        "place": "overview",
        "every": 10_000,
        "needs": needs,
        "left_out": left_out,
        "is_new": not needs and not left_out and await _is_new(ask),
        "first_program": first.PROGRAM,
        "tiles": attention.tiles(seen, ask.to),
        "ended": chart.ended(minutes, now=ask.now),
        "took": chart.took(minutes, now=ask.now),
        "queues": rows(seen.queues),
    }
    return Page("overview.html", values)


async def _is_new(ask: Ask) -> bool:
    page = await ask.service.runs.list_runs(ListRuns(namespace=ask.namespace, limit=1))
    return not page.runs


VIEWS = (View(path="", operation="list_runs", handler=show),)
