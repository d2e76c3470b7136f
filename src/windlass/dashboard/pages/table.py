"""Every page and everything that can be done on one: the routes and the tests are made from this table."""

from __future__ import annotations

from windlass.dashboard.asking import View
from windlass.dashboard.pages import (
    graphs,
    namespaces,
    overview,
    pipelines,
    queues,
    run,
    run_actions,
    runs,
    schedules,
    signals,
    workers,
)

VIEWS: tuple[View, ...] = (
    *overview.VIEWS,
    *runs.VIEWS,
    *run.VIEWS,
    *run_actions.VIEWS,
    *graphs.VIEWS,
    *pipelines.VIEWS,
    *signals.VIEWS,
    *schedules.VIEWS,
    *workers.VIEWS,
    *queues.VIEWS,
    *namespaces.VIEWS,
)
