"""The door of a worker that can die: where it writes, where it is to be killed, and nothing after that.

    Fate          notes every write of the workers of one harness, and says at which of them one dies
    MortalWork    what a worker speaks through; dead, it lets nothing pass, in neither direction

A worker changes the world only through `api.service.Work`, one transaction per call. So killing it just before a call
reaches the store, or just after the call is done and before the worker hears of it, leaves the same rows behind as
`kill -9` at that moment.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from windlass.answers import Answer, answer_of
from windlass.api.service import Work
from windlass.errors import ClaimLost
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import (
    BeginStep,
    Cancelled,
    CancelRun,
    Claim,
    ClaimedRun,
    ClaimRuns,
    ClaimState,
    CompleteStep,
    FailStep,
    FinishRun,
    Heartbeat,
    Heartbeaten,
    HoldRun,
    LookAtClaims,
    OpenWait,
    Probed,
    ProbeWorkers,
    RegisterWorker,
    Registration,
    SendEvent,
    Sent,
    Suspend,
    Suspended,
    WaitStep,
)
from windlass.model.graph import Added, AddJobs, NeedsOf, ReadNeeds
from windlass.model.run import WorkerId
from windlass.model.step import StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns
from windlass.testing.mortal_pipelines import WHAT as pipeline_writes
from windlass.testing.mortal_pipelines import MortalPipelines
from windlass.worker.worker import Worker

T = TypeVar("T")

WHAT = {
    "claim_runs": "claim",
    "add_jobs": "jobs",
    "begin_step": "begin",
    "complete_step": "result",
    "suspend_run": "wait",
    "finish_run": "end",
    "hold_run": "pause",
    "release_run": "release",
    "renew_claim": "renewal of the claim",
    "renew_claims": "renewal of the claim while a step is at work",
    **pipeline_writes,
}


class CrashPoint(NamedTuple):
    """One place where a worker may die: before a write reaches the store, or after it and before the worker knows."""

    write: str
    workflow: str
    keys: tuple[str, ...]  # of the steps that are written about
    time: int  # from 1: the how manieth such write
    is_after: bool

    def __str__(self) -> str:
        about = " and ".join(map(repr, self.keys)) + " in " if self.keys else ""
        again = f" (time {self.time})" if self.time > 1 else ""
        moment = "after" if self.is_after else "before"
        return f"{moment} the {WHAT[self.write]} of {about}{self.workflow} was recorded{again}"


class PlannedCrash:
    """To die once, before or after what becomes of a step is recorded."""

    def __init__(self, key: str, *, is_after: bool) -> None:
        self.key, self.is_after, self.has_happened = key, is_after, False

    def __str__(self) -> str:
        return f"crash({'after' if self.is_after else 'before'}={self.key!r})"

    def fits(self, point: CrashPoint) -> bool:
        is_outcome = point.write in ("complete_step", "suspend_run")
        return is_outcome and self.is_after is point.is_after and self.key in point.keys


class Fate:
    """Every write of the workers of one harness, and at which of them one dies."""

    def __init__(self, *, crash_at: CrashPoint | None = None) -> None:
        self.points: list[CrashPoint] = []
        self.plans: list[PlannedCrash] = []
        self.has_crashed = False  # at the point that was asked for
        self._crash_at = crash_at
        self._times: Counter[CrashPoint] = Counter()

    def reach(self, point: CrashPoint) -> bool:
        """Note a point. True: the worker dies here."""
        self._times[point] += 1
        point = point._replace(time=self._times[point])
        self.points.append(point)
        if point == self._crash_at and not self.has_crashed:
            self.has_crashed = True
            return True
        plan = next((plan for plan in self.plans if not plan.has_happened and plan.fits(point)), None)
        if plan is not None:
            plan.has_happened = True
        return plan is not None


class MortalPresence:
    """api.service.Workers, passed through for as long as the worker lives: the dead are silent, and hear nothing."""

    def __init__(self, work: Work, fate: Fate, *, on_death: Callable[[MortalWork], None]) -> None:
        self.worker: Worker | None = None  # who speaks through it, once it has begun
        self.is_dead = False
        self._work, self._fate, self._on_death = work, fate, on_death

    async def register_worker(self, command: RegisterWorker) -> Registration:
        # No silence for ever: whoever ends a worker waits for registrations that are on their way, dead or alive.
        return Registration() if self.is_dead else await self._work.register_worker(command)

    async def listen(self, namespace: str, worker: WorkerId, wait_for: Duration) -> bool:
        return await self._while_alive(self._work.listen, namespace, worker, wait_for)

    async def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        return await self._while_alive(self._work.heartbeat, command)

    async def probe_workers(self, command: ProbeWorkers) -> Probed:
        return await self._while_alive(self._work.probe_workers, command)

    async def deregister_worker(self, namespace: str, id: WorkerId, ended: EndedRuns | None = None) -> None:
        if not self.is_dead:  # else it says no goodbye
            await self._work.deregister_worker(namespace, id, ended)

    async def look_at_claims(self, command: LookAtClaims) -> tuple[ClaimState, ...]:
        return await self._while_alive(self._work.look_at_claims, command)

    async def read_history(self, claim: Claim) -> tuple[StepRecord, ...]:
        return await self._while_alive(self._work.read_history, claim)

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        return await self._while_alive(self._work.read_needs, command)

    async def send_to_child(self, claim: Claim, command: SendEvent) -> Sent:
        return await self._while_alive(partial(self._work.send_to_child, claim), command)

    async def cancel_child(self, claim: Claim, command: CancelRun) -> Cancelled:
        return await self._while_alive(partial(self._work.cancel_child, claim), command)

    async def _while_alive(self, call: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        if self.is_dead:
            await _for_ever()
        answer = await call(*arguments)
        if self.is_dead:
            await _for_ever()
        return answer


class MortalWork(MortalPresence, MortalPipelines):
    """api.service.Work: every write about a run is a place to die, before it and behind it."""

    def __init__(self, work: Work, fate: Fate, *, on_death: Callable[[MortalWork], None]) -> None:
        super().__init__(work, fate, on_death=on_death)
        self._workflows: dict[str, str] = {}  # by run; a pipeline is known by its name

    def die(self) -> None:
        """From now on nothing passes. What the worker had sent before may still be carried out."""
        if not self.is_dead:
            self.is_dead = True
            self._on_death(self)

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        claimed = await self._while_alive(self._work.claim_runs, command)
        for run in claimed:
            self._workflows[run.run_id] = run.name
        # Before a claim it holds nothing, and its death is not worth a look.
        if claimed and any([self._reach("claim_runs", run.run_id, is_after=True) for run in claimed]):
            await _for_ever()
        return claimed

    def begin_step(self, command: BeginStep) -> Answer[Instant]:
        return self._submitted("begin_step", self._work.begin_step, command, (command.key,))

    def complete_step(self, command: CompleteStep) -> Answer[Instant]:
        return self._submitted("complete_step", self._work.complete_step, command, (command.key,))

    def finish_run(self, command: FinishRun) -> Answer[Instant]:
        return self._submitted("finish_run", self._work.finish_run, command)

    async def suspend_run(self, command: Suspend) -> Suspended:
        about: tuple[FailStep | WaitStep | OpenWait, ...] = (*command.failures, *command.waits, *command.open)
        keys = tuple(dict.fromkeys(item.key for item in about))
        return await self._submitted("suspend_run", self._work.suspend_run, command, keys)

    async def add_jobs(self, command: AddJobs) -> Added:
        return await self._submitted("add_jobs", self._work.add_jobs, command)

    async def hold_run(self, command: HoldRun) -> None:
        await self._submitted("hold_run", self._work.hold_run, command)

    async def release_run(self, claim: Claim) -> None:
        await self._submitted("release_run", self._work.release_run, claim)

    async def renew_claim(self, claim: Claim) -> None:
        await self._submitted("renew_claim", self._work.renew_claim, claim)

    async def renew_claims(self, command: RenewClaims) -> RenewedClaims:
        items = [*command.runs, *command.pipelines]
        if self.is_dead or any([self._reach("renew_claims", item.id, is_after=False) for item in items]):
            raise ClaimLost(items[0].id, token=items[0].token)
        renewed = await self._work.renew_claims(command)
        if any([self._reach("renew_claims", item.id, is_after=True) for item in items]):
            raise ClaimLost(items[0].id, token=items[0].token)
        return renewed

    def _submitted(
        self, write: str, call: Callable[[Any], Awaitable[T]], command: Any, keys: tuple[str, ...] = ()
    ) -> Answer[T]:
        """Send a write at once, unless the worker dies before; its answer is lost if the worker dies behind it."""
        answer: Answer[T] = Answer()
        subject = str(getattr(command, "pipeline", "") or getattr(command, "subject", "") or command.run_id)
        lost = ClaimLost(subject, token=command.token)
        if self.is_dead or self._reach(write, subject, keys, is_after=False):
            answer.settle(lost)
            return answer

        def answered(outcome: Any) -> None:
            is_refused = isinstance(outcome, Exception)
            is_lost = self.is_dead or (not is_refused and self._reach(write, subject, keys, is_after=True))
            answer.settle(lost if is_lost else outcome)

        answer_of(call(command)).then(answered)
        return answer

    def _reach(self, write: str, subject: str, keys: tuple[str, ...] = (), *, is_after: bool) -> bool:
        workflow = self._workflows.get(subject, subject)
        if self._fate.reach(CrashPoint(write, workflow, keys, 0, is_after)):
            self.die()
        return self.is_dead


async def _for_ever() -> None:
    """No answer comes: whoever waits is taken away with the worker."""
    await asyncio.get_running_loop().create_future()
