"""What cannot be a graph leaves nothing behind."""

from __future__ import annotations

import pytest

from windlass import App, InvalidInput, JobContext
from windlass.model.page import ListRuns
from windlass.settings import Settings


async def build(ctx: JobContext) -> None: ...


async def test_a_graph_that_cannot_run_is_not_started() -> None:
    app = App("sqlite:///:memory:", settings=Settings())
    release = app.graph("release")
    release.job(needs=["missing"])(build)

    async with app:
        with pytest.raises(InvalidInput) as caught:
            await app.start(release)
        runs = await (await app._services.runs()).list_runs(ListRuns(namespace="default"))

    assert caught.value.reason == "unknown_job"
    assert runs.runs == ()
