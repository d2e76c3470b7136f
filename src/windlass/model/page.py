"""Lists that are read page by page, by key, never by offset."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import Instant


class ListRuns(Struct, frozen=True, kw_only=True):
    """Newest first. `before` is the id of the last run of the previous page."""

    namespace: str
    status: RunStatus | None = None
    name: str | None = None
    queue: str | None = None
    created_after: Instant | None = None  # then, or later
    parent: RunId | None = None  # only its children
    schedule: str | None = None  # only runs that this one has started
    before: str | None = None
    limit: int = 50


class RunPage(Struct, frozen=True, kw_only=True):
    runs: tuple[Run, ...]
    next: str | None  # pass as `before`; null on the last page
