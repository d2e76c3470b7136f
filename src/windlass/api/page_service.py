"""The door for pages: what the dashboard reads beside the other doors.

In process only, and no part of `Service`: the dashboard is served by whoever has the database open.
"""

from __future__ import annotations

from typing import Protocol

from windlass.model.overview import (
    Attention,
    FoundRuns,
    ListSteps,
    LogPage,
    Minute,
    RunPreview,
    SearchRuns,
    SentMessage,
    StepPage,
)
from windlass.model.run import RunId
from windlass.model.step import Step
from windlass.model.time import Instant


class Pages(Protocol):
    """For those who look. Each answer has a bound, and costs the same however long the history is."""

    async def search_runs(self, query: SearchRuns) -> FoundRuns: ...

    async def read_attention(self, namespace: str) -> Attention: ...

    async def read_minutes(self, namespace: str, since: Instant) -> tuple[Minute, ...]:
        """The earliest first."""
        ...

    async def preview_run(self, namespace: str, run_id: RunId) -> RunPreview: ...

    async def list_steps(self, query: ListSteps) -> StepPage: ...

    async def read_output(self, namespace: str, run_id: RunId, *, step_key: str, attempt: int) -> bytes:
        """All of what one attempt came to. Raises NotFound."""
        ...

    async def find_asked(self, namespace: str, run_id: RunId) -> Step | None:
        """What somebody is asked in a run, if anything."""
        ...

    async def list_messages(self, namespace: str, run_id: RunId, limit: int = 50) -> tuple[SentMessage, ...]:
        """The newest first."""
        ...

    async def list_entries(self, namespace: str, subject_kind: str, subject_id: str, limit: int = 200) -> LogPage: ...
