"""Which step is running here: what a step's body may know about itself; and whether it is a workflow that asks.

Steps get no `ctx`. The worker sets `STEP` before it enters a body, also in the thread of a sync one, and `RUN` for the
tasks of a workflow, which is not set in the bodies of its steps.
"""

from __future__ import annotations

from contextvars import ContextVar
from datetime import datetime

from msgspec import Struct

from windlass.errors import NotAllowed
from windlass.model.duration import from_instant
from windlass.model.time import Instant


class StepInfo(Struct, frozen=True, kw_only=True):
    """The step that is running: hand `idempotency_key` to the outside world, it is the same at every attempt."""

    key: str
    name: str
    attempt: int  # 1 for the first
    run_id: str
    idempotency_key: str
    stops_at: Instant | None = None

    @property
    def deadline(self) -> datetime | None:
        """When the body will be stopped."""
        return None if self.stops_at is None else from_instant(self.stops_at)


STEP: ContextVar[StepInfo] = ContextVar("windlass_step")
RUN: ContextVar[str] = ContextVar("windlass_run")  # the id of the run whose workflow this is


def current_step() -> StepInfo:
    """The step whose body is running. Raises NotAllowed outside of a step, also in the body of a workflow.

    Example: `requests.post(url, headers={"Idempotency-Key": windlass.current_step().idempotency_key})`.
    """
    info = STEP.get(None)
    if info is None:
        raise NotAllowed("current_step() is for the body of a step, and no step is running here.")
    return info
