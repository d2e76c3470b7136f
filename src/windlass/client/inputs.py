"""Inputs of a pipeline, as many as are asked for, whatever of them a page leaves out."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.api.service import Pipelines
from windlass.model.pipeline import Input
from windlass.model.pipeline_commands import ListInputs

MOST_PAGES = 50


async def listed_inputs(pipelines: Pipelines, query: ListInputs) -> list[Input]:
    """A status is only known once an input was looked at, so a page may have fewer than were asked for, or none."""
    found: list[Input] = []
    for _ in range(MOST_PAGES):
        page = await pipelines.list_inputs(query)
        found += page.inputs
        if page.next is None or len(found) >= query.limit:
            break
        query = replace(query, before=page.next)
    return found[: query.limit]
