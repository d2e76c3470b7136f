"""Engines with one thing wrong, each of which the model test has to notice."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, ClassVar

from msgspec.structs import replace

from tests.lives.faults import Moment
from tests.model import operations as do
from tests.model.subject import Doors, Subject
from windlass.engine.release import save_run
from windlass.model.commands import (
    Cancelled,
    CancelRun,
    Claim,
    ClaimRuns,
    FinishRun,
    RetryRun,
    SendEvent,
    Sent,
    Started,
    Suspend,
)
from windlass.model.message import MessageKind
from windlass.model.run import CANCELLED_BY, Deed, Run, RunId, RunStatus
from windlass.model.schedule_commands import ResumeSchedule
from windlass.model.step import StepStatus
from windlass.model.time import Instant
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries


class Wrapped:
    """A door with one thing wrong behind it."""

    door = "work"
    about: ClassVar[tuple[str, ...]] = ()  # what stories have to be about in which it shows

    def __init__(self, subject: Subject) -> None:
        self._real: Any = getattr(subject._engine, self.door)
        self._store = subject._store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def _run(self, run_id: str | None) -> Run | None:
        if run_id is None:
            return None
        return await self._store.read("run", lambda tx: tx.runs.load(do.NAMESPACE, id=RunId(run_id)))


# Claims


class RenewsBackwards(Wrapped):
    """I-20: a renewal never shortens a claim."""

    async def renew_claim(self, claim: Claim) -> None:
        await self._real.renew_claim(claim)

        async def shorten(tx: Tx) -> None:
            run = await tx.runs.lock(claim.namespace, id=claim.run_id)
            assert run is not None
            ends_at = Instant(await tx.now() + claim.visibility_for)
            await tx.runs.save(replace(run, available_at=ends_at), was=run)

        await self._store.run_tx("shorten", shorten)


class AsksForNoToken(Wrapped):
    """I-18: a write with an old token changes nothing."""

    async def release_run(self, claim: Claim) -> None:
        run = await self._run(claim.run_id)
        await self._real.release_run(claim if run is None else replace(claim, token=run.token))


class ServesNoQueue(Wrapped):
    """A claim is for the lanes that are served, and no others."""

    async def claim_runs(self, command: ClaimRuns) -> Any:
        return await self._real.claim_runs(replace(command, served=do.LANES))


class ClaimsBlindly(Wrapped):
    """Takes whatever is due where the engine would take a second look."""

    async def claim_runs(self, command: ClaimRuns) -> Any:
        if not await self._store.read("blind spot", self._is_blind_to):
            return await self._real.claim_runs(command)
        await self._store.run_tx("claim_blindly", lambda tx: self._claim(tx, command))
        return []

    async def _claim(self, tx: Tx, command: ClaimRuns) -> None:
        await tx.runs.claim(
            namespace=command.namespace,
            served=command.served,
            limit=command.limit,
            worker=command.worker,
            poll=command.poll,
            claim_for=command.claim_for,
        )

    async def _is_blind_to(self, tx: Tx) -> bool:
        raise NotImplementedError


class IgnoresGates(ClaimsBlindly):
    """I-24: nothing is claimed behind a gate that is closed."""

    about = ("gate",)

    async def _is_blind_to(self, tx: Tx) -> bool:
        return bool(await tx.gates.closed(do.NAMESPACE))

    async def _claim(self, tx: Tx, command: ClaimRuns) -> None:
        closed = await tx.gates.closed(do.NAMESPACE)
        for gate in closed:
            await tx.gates.set(replace(gate, is_paused=False))
        await super()._claim(tx, command)
        for gate in closed:
            await tx.gates.set(gate)


class IgnoresExpiry(ClaimsBlindly):
    """Whoever claims a run that is too late ends it."""

    about = ("claim", "start")

    async def _is_blind_to(self, tx: Tx) -> bool:
        now, rows = await tx.now(), await CheckQueries(tx.connection).runs()
        return any(row.run.expires_at is not None and row.run.expires_at <= now for row in rows)


# Waits


class IgnoresTheInbox(Wrapped):
    """What has come before the run waits for it is there."""

    about = ("await", "send")

    async def suspend_run(self, command: Suspend) -> Any:
        return await self._real.suspend_run(replace(command, open=()))


class SendsQuietly(Wrapped):
    """A run that waits for an event is woken by it."""

    door, about = "control", ("await", "send")

    async def send_event(self, command: SendEvent) -> Sent:
        run = await self._run(command.run_id)
        if run is None or run.status is not RunStatus.WAITING or await self._is_known(command):
            sent: Sent = await self._real.send_event(command)
            return sent
        await self._store.run_tx("put", lambda tx: put(tx, command, id=command.id))
        return Sent(is_repeat=False)

    async def _is_known(self, command: SendEvent) -> bool:
        async def find(tx: Tx) -> bool:
            kind = MessageKind.EVENT
            return await tx.inbox.find(command.namespace, run_id=command.run_id, kind=kind, id=command.id) is not None

        return await self._store.read("known", find)


class SendsTwice(Wrapped):
    """I-57: the same id is the same event."""

    door, about = "control", ("send", "repeat")

    async def send_event(self, command: SendEvent) -> Sent:
        sent: Sent = await self._real.send_event(command)
        if sent.is_repeat:
            await self._store.run_tx("put", lambda tx: put(tx, command, id=f"{command.id} again"))
        return sent


async def put(tx: Tx, command: SendEvent, *, id: str) -> bool:
    return await tx.inbox.add(
        command.namespace,
        run_id=command.run_id,
        kind=MessageKind.EVENT,
        name=command.event,
        id=id,
        payload=command.payload,
        payload_hash=command.payload_hash,
    )


# Families


class EndsUnnoticed(Wrapped):
    """I-14: who waits for a child goes on when it ends."""

    about = ("gather", "finish")

    def finish_run(self, command: FinishRun) -> Awaitable[Instant]:
        answer: Awaitable[Instant] = self._real.finish_run(replace(command, parent=None))
        return answer


class CountsNoChild(Wrapped):
    """Who waits for all children of a map is woken by the last one."""

    about = ("gather", "finish")

    async def finish_run(self, command: FinishRun) -> Instant:
        before = await self._run(command.parent)
        at: Instant = await self._real.finish_run(command)
        after = await self._run(command.parent)
        if before is not None and after is not None and after.status is before.status and after.unmet != before.unmet:
            forgotten = replace(after, unmet=before.unmet)
            await self._store.run_tx("forget", lambda tx: tx.runs.save(forgotten, was=after))
        return at


class CancelsAlone(Wrapped):
    """I-14: children that follow a run are cancelled with it."""

    door, about = "control", ("gather", "cancel")

    async def cancel_run(self, command: CancelRun) -> Cancelled:
        run = await self._run(command.run_id)
        if run is None or run.status.is_terminal or run.parent is not None or run.status is RunStatus.PAUSED:
            cancelled: Cancelled = await self._real.cancel_run(command)
            return cancelled

        async def cancel(tx: Tx) -> None:
            deed = Deed(by=command.by, note=command.note)
            await save_run(tx, rules.cancel(run, now=await tx.now()), was=run, cause=CANCELLED_BY, deed=deed)

        await self._store.run_tx("cancel_alone", cancel)
        return Cancelled(status=RunStatus.CANCELLED, is_done=True)


class CopiesFailures(Wrapped):
    """A retry keeps what is done, and nothing else."""

    door, about = "control", ("wait", "cancel", "retry")

    async def retry_run(self, command: RetryRun) -> Started:
        started: Started = await self._real.retry_run(command)
        if not started.is_repeat:

            async def copy(tx: Tx) -> None:
                found = await tx.steps.histories(command.namespace, run_ids=[command.run_id])
                failed = [step for step in found.get(command.run_id, ()) if step.status is StepStatus.FAILED]
                await tx.steps.settle([replace(step, run_id=started.run_id) for step in failed])

            await self._store.run_tx("copy_failures", copy)
        return started


# Schedules


class EndsOutOfTurn(Wrapped):
    """I-54: the run that waits behind another of its schedule goes on when that ends."""

    about = ("plan", "trigger", "finish")

    def finish_run(self, command: FinishRun) -> Awaitable[Instant]:
        answer: Awaitable[Instant] = self._real.finish_run(replace(command, schedule=None))
        return answer


class AsksForEverything(Wrapped):
    """I-53: what passed during a pause is over unless it is asked for."""

    door, about = "schedules", ("plan", "fire", "halt", "go_on")

    async def resume_schedule(self, command: ResumeSchedule) -> Any:
        return await self._real.resume_schedule(replace(command, backfill=True))


class Planted(Subject):
    """Behind one of its doors stands something else."""

    wrapped: type[Wrapped]

    def doors(self) -> Doors:
        return super().doors()._replace(**{self.wrapped.door: self.wrapped(self)})


def with_bug(wrapped: type[Wrapped]) -> type[Subject]:
    return type(f"Planted{wrapped.__name__}", (Planted,), {"wrapped": wrapped})


class PlantedRecovery(Subject):
    """I-17: a process that begins does not take away what another one holds."""

    def ask_and_die(self, call: do.Call | None, moment: Moment) -> list[str]:
        made = super().ask_and_die(call, moment)
        for row in self.rows("runs")["runs"].values():
            if row.run.status == "running":
                claim = Claim(namespace=do.NAMESPACE, run_id=row.run.id, token=row.run.token)
                self.ask(do.Call("release_run", (claim,)))
        return made
