"""Everything that can be asked for over HTTP: the routes, the document and the tests are made from this table."""

from __future__ import annotations

from windlass.server.http import (
    control,
    feed,
    graphs,
    items,
    pipeline_control,
    pipelines,
    runs,
    schedules,
    signals,
    tenants,
)
from windlass.server.http.calls import Row

# Paths without parameters first: "/runs/by-key" is no run.
ROWS: tuple[Row, ...] = (
    *runs.ROWS,
    *control.ROWS,
    *schedules.ROWS,
    *graphs.ROWS,
    *pipelines.ROWS,
    *pipeline_control.ROWS,
    *items.ROWS,
    *signals.ROWS,
    *feed.ROWS,
    *tenants.ROWS,
)
PUBLIC = frozenset(row.path for row in ROWS if row.operation is None)
OPS = {row.op: row for row in ROWS if row.op}


def by_path() -> dict[str, dict[str, Row]]:
    """The methods of every path, in the order in which paths are to be tried."""
    found: dict[str, dict[str, Row]] = {}
    for row in sorted(ROWS, key=lambda row: (row.path.count("{"), row.path)):
        found.setdefault(row.path, {})[row.method] = row
    return found
