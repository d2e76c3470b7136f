"""Schedules in a database, fired and executed by hand: nothing happens but what the test says, at the time it says."""

from __future__ import annotations

from typing import Any

from tests.integration.conftest import BROKEN
from windlass import Context
from windlass.engine.coordinator import fire_schedules
from windlass.model.commands import ClaimRuns, FinishRun
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Served
from windlass.testing.harness import Harness

WORKER = WorkerId("wrk_01KDVQ0000000000000000000A")
GRACE = Duration(10 * SECOND)


class Timetable:
    """A harness without a worker, and the hands to do what a coordinator and a worker would."""

    def __init__(self, harness: Harness) -> None:
        self.harness, self.schedules = harness, harness.app.schedules
        self.polls = 0

    async def fire(self, after: str = "0s") -> int:
        """Let time pass, and look once, as a coordinator does."""
        self.harness.clock.advance(after)
        looked = await fire_schedules.tick(self.harness.opened.engine.parts, grace=GRACE, batch=100)
        return looked.fired

    async def work(self, *names: str, fails: bool = False, took: str = "0s") -> int:
        """Execute what is due of these workflows, to its end."""
        self.polls += 1
        command = ClaimRuns(
            namespace="default",
            worker=WORKER,
            poll=self.polls,
            served=tuple(Served("default", name) for name in names),
            limit=100,
            visibility_for=Duration(300 * SECOND),
            wait_for=Duration(0),
        )
        claimed = await self.harness.opened.work.claim_runs(command)
        self.harness.clock.advance(took)
        for run in claimed:
            end = FinishRun(
                namespace="default",
                run_id=run.run_id,
                token=run.token,
                status=RunStatus.FAILED if fails else RunStatus.COMPLETED,
                output=None if fails else b'"sent"',
                failure=BROKEN if fails else None,
                schedule=run.schedule,
            )
            await self.harness.opened.work.finish_run(end)
        return len(claimed)


def declare(harness: Harness) -> tuple[Any, Any]:
    """Two workflows: a report of a region, and a clean-up."""

    @harness.app.workflow
    async def report(ctx: Context, region: str) -> str:
        return region

    @harness.app.workflow
    async def clean(ctx: Context) -> None: ...

    return report, clean
