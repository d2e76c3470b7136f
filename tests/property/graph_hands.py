"""A worker without code: it claims jobs of planned graphs, and ends them as planned, in an order that chance decides.

Several may work on the same graphs, each in a process of its own. One that comes after another has died goes on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence

from tests.property.graph_plans import GRAPH, JOB, Plan
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost
from windlass.model.commands import CancelRun, ClaimedRun, ClaimRuns, FinishRun, StartRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import AddJobs, NewJob
from windlass.model.run import RunId, RunKind, RunStatus, WorkerId
from windlass.model.time import MINUTE, Duration
from windlass.model.worker import Served

NAMESPACE = "default"
SERVED = (Served("default", GRAPH), Served("default", JOB))
VISIBLE_FOR = Duration(5 * MINUTE)
NO_WAIT = Duration(0)
SHORTLY = 0.0005
TURNS_OF_LOOP = 20  # within which something is claimed that can be
BROKEN = Failure(kind=FailureKind.LOGIC, type="Planned", message="as planned")


def start_of(plan: Plan) -> StartRun:
    return StartRun(
        namespace=NAMESPACE,
        name=GRAPH,
        version="",
        queue="default",
        priority=0,
        input=plan.input,
        input_hash=plan.input,
        key=f"graph-{plan.number}",
    )


class Hands:
    def __init__(
        self,
        engine: Engine,
        plans: Sequence[Plan],
        chance: random.Random,
        *,
        worker: WorkerId,
        visibility_for: Duration = VISIBLE_FOR,
    ) -> None:
        self._engine, self._chance, self._worker = engine, chance, worker
        self._visibility_for = visibility_for
        self._plans: Mapping[bytes, Plan] = {plan.input: plan for plan in plans}
        self._ends = {plan.input: plan.ends() for plan in plans}
        self._polls = 0
        self.held: list[ClaimedRun] = []

    async def turn(self, *, most: int = 3) -> int:
        """Claim some of what is due, and end some of what is held at the same moment. Answers how many were ended."""
        self.held += await self._claim(limit=self._chance.randint(1, 2 * most))
        count = min(len(self.held), self._chance.randint(1, most))
        chosen = self._chance.sample(self.held, count)
        ids = {run.run_id for run in chosen}
        self.held = [run for run in self.held if run.run_id not in ids]
        await asyncio.gather(*(self._end(run) for run in chosen))
        return count

    async def _claim(self, *, limit: int, wait_for: Duration = NO_WAIT) -> list[ClaimedRun]:
        self._polls += 1
        return await self._engine.work.claim_runs(
            ClaimRuns(
                namespace=NAMESPACE,
                worker=self._worker,
                poll=self._polls,
                served=SERVED,
                limit=limit,
                visibility_for=self._visibility_for,
                wait_for=wait_for,
            )
        )

    async def _end(self, run: ClaimedRun) -> None:
        plan = self._plans[run.input]
        try:
            if run.kind is RunKind.WORKFLOW:
                await self._add(run, plan.jobs())
            elif run.kind is RunKind.GROUP:
                await self._generate(run, plan)
            else:
                await self._finish(run, self._ends[run.input][run.job or ""])
        except ClaimLost:
            pass  # somebody else has it: whoever was slow for too long is taken for dead

    async def _generate(self, run: ClaimedRun, plan: Plan) -> None:
        jobs = plan.brought_by(run.job or "")
        if jobs is None:
            await self._finish(run, RunStatus.FAILED)
        else:
            await self._add(run, jobs)

    async def _add(self, run: ClaimedRun, jobs: tuple[NewJob, ...]) -> None:
        await self._engine.work.add_jobs(
            AddJobs(namespace=NAMESPACE, run_id=run.run_id, token=run.token, jobs=jobs, output=b"[]")
        )

    async def _finish(self, run: ClaimedRun, status: RunStatus) -> None:
        if status is RunStatus.CANCELLED:
            await self._engine.control.cancel_run(CancelRun(namespace=NAMESPACE, run_id=run.run_id))
            return
        is_good = status is RunStatus.COMPLETED
        await self._engine.work.finish_run(
            FinishRun(
                namespace=NAMESPACE,
                run_id=run.run_id,
                token=run.token,
                status=status,
                output=b'"%s"' % (run.job or "").encode() if is_good else None,
                failure=None if is_good else BROKEN,
                result_hash=status.encode(),
                parent=run.parent,
                job=run.job,
            )
        )

    async def is_over(self, graph: RunId) -> bool:
        return (await self._engine.runs.get_run(NAMESPACE, graph)).run.status.is_terminal


class WaitingHands(Hands):
    """Asks for more before it ends what it holds: so what it releases is claimed for it in the same transaction."""

    _asking: asyncio.Task[list[ClaimedRun]] | None = None

    async def turn(self, *, most: int = 3) -> int:
        await self._take(most)
        chosen = self._chance.sample(self.held, min(len(self.held), self._chance.randint(1, most)))
        ids = {run.run_id for run in chosen}
        self.held = [run for run in self.held if run.run_id not in ids]
        await asyncio.gather(*(self._end(run) for run in chosen))
        return len(chosen)

    async def leave(self) -> None:
        """Ask for nothing more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    async def _take(self, most: int) -> None:
        """What has come; wait a moment for it if there is nothing else to do."""
        for _ in range(TURNS_OF_LOOP):
            if self._asking is not None and self._asking.done():
                self.held += self._asking.result()
                self._asking = None
            if self._asking is None:
                limit = self._chance.randint(1, 2 * most)
                self._asking = asyncio.create_task(self._claim(limit=limit, wait_for=VISIBLE_FOR))
            await asyncio.sleep(0 if self.held else SHORTLY)
            if self.held:
                return
